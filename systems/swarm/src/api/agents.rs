//! Operations on agents.

use axum::http::Method;
use serde_json::Value;

use super::args::Args;
use super::kind::{AGENT, Kind, ROLE, SHARE};
use super::op::Op;
use super::param::Param;
use super::swarms::{BY, EXPECTED, IN_SWARM};
use super::{Desk, Refused, told};
use crate::keys::{AgentId, SwarmId};
use crate::model::{AgentKind, AgentStatus};
use crate::state::{AgentChange, NewAgent};

/// The agent that is spoken of.
pub(super) const WHICH_AGENT: Param = Param::subject("agent", AGENT, "The agent's id.", "agent_dev00001");

const METADATA: Param = Param::optional(
    "metadata",
    Kind::Object(16 * 1024),
    "What it says about itself: `specialization`, `experience` (junior, mid, senior, expert), `capabilities`.",
    r#"{"experience":"senior"}"#,
);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "agent_register",
        words: &["agent", "register"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/agents",
        summary: "Add an agent to a swarm",
        promise: "It is idle. Without a sign of life within its lease, 90 s if nothing else is set, it counts as interrupted. Its role is fixed from now on.",
        params: &[
            IN_SWARM,
            Param::subject(
                "agent",
                AGENT,
                "Its id: `agent_` and 8 to 32 letters, digits or `_`.",
                "agent_dev00001",
            ),
            Param::required("role", ROLE, "What it can do, such as coder, tester or reviewer.", "coder"),
            Param::with_default(
                "type",
                Kind::OneOf(AgentKind::WORDS),
                "implementer",
                "Its part in the loop; validators vote.",
                "validator",
            ),
            METADATA,
            BY,
        ],
        carry: |desk, args| Box::pin(register(desk, args)),
    },
    Op {
        name: "agent_heartbeat",
        words: &["agent", "heartbeat"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/agents/{agent}/heartbeat",
        summary: "Say that an agent is alive",
        promise: "Renews its lease and that of the task it holds. Safe to repeat.",
        params: &[IN_SWARM, WHICH_AGENT],
        carry: |desk, args| Box::pin(heartbeat(desk, args)),
    },
    Op {
        name: "agent_update",
        words: &["agent", "update"],
        method: Method::PATCH,
        path: "/api/swarms/{swarm}/agents/{agent}",
        summary: "Change an agent: its status, confidence or metadata",
        promise: "A sign of life, too. With `expected` it is refused when another change came first. Answers the new version.",
        params: &[
            IN_SWARM,
            WHICH_AGENT,
            Param::optional("status", Kind::OneOf(AgentStatus::WORDS), "What it is doing.", "active"),
            Param::optional("confidence", SHARE, "How sure it is of its work, 0 to 1.", "0.8"),
            METADATA,
            EXPECTED,
            Param::optional(
                "by",
                Kind::Text(100),
                "Who does it; the agent itself unless it is said.",
                "alice",
            ),
        ],
        carry: |desk, args| Box::pin(update(desk, args)),
    },
    Op {
        name: "agent_show",
        words: &["agent", "show"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/agents/{agent}",
        summary: "Show one agent",
        promise: "Everything that is kept of it.",
        params: &[IN_SWARM, WHICH_AGENT],
        carry: |desk, args| Box::pin(show(desk, args)),
    },
];

async fn register(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let new = NewAgent {
        id: args.id("agent")?,
        role: args.id("role")?,
        kind: args.word("type")?,
        metadata: args.json_if("metadata"),
    };
    Ok(told::done(desk.swarms.register(&args.id("swarm")?, &new, args.by()).await?))
}

async fn heartbeat(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    Ok(told::done(desk.swarms.heartbeat(&args.id("swarm")?, &args.id("agent")?).await?))
}

async fn update(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let change = AgentChange {
        expected: args.whole_if("expected"),
        status: args.word_if("status")?,
        confidence: args.number_if("confidence"),
        metadata: args.json_if("metadata"),
    };
    if change.status.is_none() && change.confidence.is_none() && change.metadata.is_none() {
        return Err(Refused::nothing_to_change("status, confidence, metadata"));
    }
    let agent: AgentId = args.id("agent")?;
    let by = args.text_if("by").unwrap_or(agent.as_str());
    Ok(told::done(desk.swarms.update_agent(&args.id("swarm")?, &agent, &change, by).await?))
}

async fn show(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, agent): (SwarmId, AgentId) = (args.id("swarm")?, args.id("agent")?);
    Ok(told::record("agent", agent.as_str(), &desk.swarms.agent(&swarm, &agent).await?))
}
