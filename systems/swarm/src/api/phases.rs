//! Operations on phases of the loop.

use axum::http::Method;
use serde_json::Value;

use super::args::Args;
use super::kind::{Kind, PHASE, TASK};
use super::op::Op;
use super::param::Param;
use super::swarms::{BY, IN_SWARM};
use super::{Desk, Refused, told};
use crate::keys::{PhaseId, SwarmId};
use crate::model::{LoopLevel, PhaseStatus};
use crate::state::NewPhase;

const WHICH_PHASE: Param = Param::subject("phase", PHASE, "The phase's id.", "phase_implement");

/// A criterion, in words.
const CRITERION: Kind = Kind::Text(200);
const CRITERIA: Kind = Kind::List(&CRITERION, 100);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "phase_create",
        words: &["phase", "create"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/phases",
        summary: "Add a phase to a swarm",
        promise: "It is pending. Answers its version.",
        params: &[
            IN_SWARM,
            Param::subject(
                "phase",
                PHASE,
                "Its id: `phase_` and 8 to 32 letters, digits or `_`.",
                "phase_implement",
            ),
            Param::required("name", Kind::Text(200), "What it is called.", "Implementation"),
            Param::required(
                "loopLevel",
                Kind::Whole(0, 4),
                "Which level of the loop runs in it: 0 epic, 1 phase execution, 2 consensus validation, 3 implementation, \
                 4 product-owner decision.",
                "3",
            ),
            Param::optional("tasks", Kind::List(&TASK, 1000), "Its tasks.", "task_auth_001"),
            Param::optional(
                "entryCriteria",
                CRITERIA,
                "What holds before it becomes active, in words.",
                "designed",
            ),
            Param::optional(
                "exitCriteria",
                CRITERIA,
                "What holds before it is completed, in words.",
                "tested",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(create(desk, args)),
    },
    Op {
        name: "phase_move",
        words: &["phase", "move"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/phases/{phase}/move",
        summary: "Move a phase on",
        promise: "Refused as `unmet` while criteria of the move are not named in `met`. Levels 2 and 3 run at most ten times.",
        params: &[
            IN_SWARM,
            WHICH_PHASE,
            Param::required("to", Kind::OneOf(PhaseStatus::WORDS), "What it becomes.", "active"),
            Param::optional("met", CRITERIA, "The criteria that hold.", "designed"),
            BY,
        ],
        carry: |desk, args| Box::pin(go_on(desk, args)),
    },
    Op {
        name: "phase_show",
        words: &["phase", "show"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/phases/{phase}",
        summary: "Show one phase",
        promise: "Everything that is kept of it.",
        params: &[IN_SWARM, WHICH_PHASE],
        carry: |desk, args| Box::pin(show(desk, args)),
    },
];

async fn create(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let level = LoopLevel::new(args.whole("loopLevel")?);
    let new = NewPhase {
        id: args.id("phase")?,
        name: args.text("name")?.to_owned(),
        level: level.map_err(|error| Refused::bad_argument("loopLevel", &error))?,
        tasks: args.ids("tasks")?,
        entry: args.texts("entryCriteria"),
        exit: args.texts("exitCriteria"),
    };
    Ok(told::done(desk.swarms.create_phase(&args.id("swarm")?, &new, args.by()).await?))
}

async fn go_on(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, phase): (SwarmId, PhaseId) = (args.id("swarm")?, args.id("phase")?);
    let met = args.texts("met");
    Ok(told::done(desk.swarms.move_phase(&swarm, &phase, args.word("to")?, &met, args.by()).await?))
}

async fn show(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, phase): (SwarmId, PhaseId) = (args.id("swarm")?, args.id("phase")?);
    Ok(told::record("phase", phase.as_str(), &desk.swarms.phase(&swarm, &phase).await?))
}
