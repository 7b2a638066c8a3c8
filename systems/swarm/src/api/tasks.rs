//! Operations on tasks.

use axum::http::Method;
use serde_json::{Value, json};

use super::args::Args;
use super::kind::{AGENT, COUNT, Kind, TASK};
use super::op::Op;
use super::param::Param;
use super::swarms::{BY, IN_SWARM};
use super::{Desk, Refused, told};
use crate::keys::{AgentId, SwarmId, TaskId};
use crate::model::{Priority, TaskKind, TaskStatus};
use crate::state::{Claim, Claimed, MOST_VALUE, NewTask, OpError};

const WHICH_TASK: Param = Param::subject("task", TASK, "The task's id.", "task_auth_001");

/// A claim, as its holder brings it back with every report.
const HOLDER: Param = Param::required("agent", AGENT, "Who holds the task.", "agent_dev00001");
const FENCE: Param =
    Param::required("fence", COUNT, "The number that the claim answered. With an old one it is `lost`.", "1");

const RESULT: Kind = Kind::Json(MOST_VALUE);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "task_create",
        words: &["task", "create"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks",
        summary: "Add a task to a swarm",
        promise: "It can be claimed, or is `blocked` until all that it depends on is completed. Answers its status.",
        params: &[
            IN_SWARM,
            Param::subject(
                "task",
                TASK,
                "Its id: `task_` and 8 to 32 letters, digits or `_`.",
                "task_auth_001",
            ),
            Param::required("title", Kind::Text(200), "What it is called.", "Login form"),
            Param::required(
                "description",
                Kind::Text(1000),
                "What is to be done.",
                "A form with two fields.",
            ),
            Param::with_default(
                "type",
                Kind::OneOf(TaskKind::WORDS),
                "implementation",
                "What kind of work it is.",
                "review",
            ),
            Param::with_default(
                "priority",
                Kind::OneOf(Priority::WORDS),
                "medium",
                "How urgent it is: urgent ones are claimed first, then old ones.",
                "high",
            ),
            Param::optional(
                "dependencies",
                Kind::List(&TASK, 1000),
                "Tasks that must be completed first. They are there already.",
                "task_design_01,task_schema_01",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(create(desk, args)),
    },
    Op {
        name: "task_claim",
        words: &["task", "claim"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/claim",
        summary: "Take a task under a lease",
        promise: "The most urgent one that can be claimed, or the one that is named. One agent holds it at a time: the answer's \
                  `fence` goes into every report, and without a sign of life the task goes back after its lease, 90 s if nothing else is set. `claimed` is false \
                  when nothing can be claimed. Who holds a task and asks again is told that claim once more.",
        params: &[
            IN_SWARM,
            Param::required("agent", AGENT, "Who takes it.", "agent_dev00001"),
            Param::optional(
                "task",
                TASK,
                "This very task; refused as `held` if somebody has it.",
                "task_auth_001",
            ),
        ],
        carry: |desk, args| Box::pin(claim(desk, args)),
    },
    Op {
        name: "task_progress",
        words: &["task", "progress"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/{task}/progress",
        summary: "Report how far a task is",
        promise: "Renews the lease. Refused as `lost` when the claim is no longer the current one.",
        params: &[
            IN_SWARM,
            WHICH_TASK,
            HOLDER,
            FENCE,
            Param::required("progress", Kind::Number(0.0, 100.0), "How far, in percent.", "40"),
        ],
        carry: |desk, args| Box::pin(progress(desk, args)),
    },
    Op {
        name: "task_complete",
        words: &["task", "complete"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/{task}/complete",
        summary: "Finish a task with its result",
        promise: "Once: a second report is refused. Tasks that waited for nothing else can be claimed from then on; answers how many.",
        params: &[
            IN_SWARM,
            WHICH_TASK,
            HOLDER,
            FENCE,
            Param::with_default("result", RESULT, "{}", "What came out: any JSON.", r#"{"files":3}"#),
        ],
        carry: |desk, args| Box::pin(complete(desk, args)),
    },
    Op {
        name: "task_fail",
        words: &["task", "fail"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/{task}/fail",
        summary: "Give a task up",
        promise: "It has failed, or with `again` it is tried again by whoever comes. What has failed waits for task_retry or task_cancel.",
        params: &[
            IN_SWARM,
            WHICH_TASK,
            HOLDER,
            FENCE,
            Param::optional("again", Kind::Flag, "It can be claimed again.", "true"),
        ],
        carry: |desk, args| Box::pin(fail(desk, args)),
    },
    Op {
        name: "task_retry",
        words: &["task", "retry"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/{task}/retry",
        summary: "Try a task again that has failed",
        promise: "It can be claimed, as one more attempt. Answers how many there were before.",
        params: &[IN_SWARM, WHICH_TASK, BY],
        carry: |desk, args| Box::pin(retry(desk, args)),
    },
    Op {
        name: "task_cancel",
        words: &["task", "cancel"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/tasks/{task}/cancel",
        summary: "Call a task off",
        promise: "One that is pending, blocked or failed; for good. One that is under way is `held`: its holder gives it up. What \
                  waits for it stays blocked, and is answered.",
        params: &[IN_SWARM, WHICH_TASK, BY],
        carry: |desk, args| Box::pin(cancel(desk, args)),
    },
    Op {
        name: "task_show",
        words: &["task", "show"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/tasks/{task}",
        summary: "Show one task",
        promise: "Everything that is kept of it, its result included.",
        params: &[IN_SWARM, WHICH_TASK],
        carry: |desk, args| Box::pin(show(desk, args)),
    },
];

async fn create(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let new = NewTask {
        id: args.id("task")?,
        title: args.text("title")?.to_owned(),
        description: args.text("description")?.to_owned(),
        kind: args.word("type")?,
        priority: args.word("priority")?,
        dependencies: args.ids("dependencies")?,
    };
    let status = desk.swarms.create_task(&args.id("swarm")?, &new, args.by()).await?;
    Ok(json!({ "task": new.id.as_str(), "status": status.word() }))
}

async fn claim(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, agent): (SwarmId, AgentId) = (args.id("swarm")?, args.id("agent")?);
    let claimed = match args.id_if::<TaskId>("task")? {
        None => desk.swarms.claim(&swarm, &agent).await?,
        Some(task) => match desk.swarms.claim_task(&swarm, &agent, &task).await? {
            Claimed::Nothing => return Err(why_not(desk, &swarm, &task).await?.into()),
            claimed => claimed,
        },
    };
    let Claimed::Task(claim) = claimed else { return Ok(json!({ "claimed": false })) };
    let mut told = json!({ "claimed": true, "fence": claim.fence, "attempt": claim.attempt });
    // Taken it is: what it says of itself is a convenience, and no reason to fail.
    if let Ok(fields) = desk.swarms.task(&swarm, &claim.task).await {
        for (name, value) in
            told::record("task", claim.task.as_str(), &fields).as_object().into_iter().flatten()
        {
            told.as_object_mut().map(|told| told.entry(name).or_insert_with(|| value.clone()));
        }
    }
    told["task"] = claim.task.as_str().into();
    Ok(told)
}

/// Why the task that was named cannot be claimed.
async fn why_not(desk: &Desk, swarm: &SwarmId, task: &TaskId) -> Result<OpError, Refused> {
    let fields = desk.swarms.task(swarm, task).await?;
    let text = |field: &str| fields.get(field).cloned().unwrap_or_default();
    Ok(match text("status").as_str() {
        "in_progress" => OpError::Held { task: task.to_string(), agent: text("assignedAgent") },
        // All that can be claimed are listed, in the order in which they are.
        "pending" => OpError::NotListed { task: task.to_string() },
        status => {
            OpError::Move { id: task.to_string(), from: status.to_owned(), to: "in_progress".to_owned() }
        }
    })
}

fn claim_of(args: &Args) -> Result<Claim, Refused> {
    let (swarm, task, agent) = (args.id("swarm")?, args.id("task")?, args.id("agent")?);
    // The fence is what tells claims apart; how many tries there were is nothing to it.
    Ok(Claim { swarm, task, agent, fence: args.whole("fence")?, attempt: 0 })
}

async fn progress(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    Ok(told::done(desk.swarms.progress(&claim_of(args)?, args.number("progress")?).await?))
}

async fn complete(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let ready = desk.swarms.complete_task(&claim_of(args)?, &args.json("result")?).await?;
    Ok(json!({ "status": "completed", "madeReady": ready }))
}

async fn fail(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    Ok(told::done(desk.swarms.fail_task(&claim_of(args)?, args.flag("again")).await?))
}

async fn retry(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, task): (SwarmId, TaskId) = (args.id("swarm")?, args.id("task")?);
    let attempt = desk.swarms.retry_task(&swarm, &task, args.by()).await?;
    Ok(json!({ "status": TaskStatus::Pending.word(), "attempt": attempt }))
}

async fn cancel(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, task): (SwarmId, TaskId) = (args.id("swarm")?, args.id("task")?);
    let waiting = desk.swarms.cancel_task(&swarm, &task, args.by()).await?;
    let waiting: Vec<&str> = waiting.iter().map(TaskId::as_str).collect();
    Ok(json!({ "status": TaskStatus::Cancelled.word(), "waiting": waiting }))
}

async fn show(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, task): (SwarmId, TaskId) = (args.id("swarm")?, args.id("task")?);
    Ok(told::record("task", task.as_str(), &desk.swarms.task(&swarm, &task).await?))
}
