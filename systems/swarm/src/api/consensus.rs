//! Operations on consensus rounds.

use axum::http::Method;
use serde_json::{Value, json};

use super::args::Args;
use super::kind::{AGENT, COUNT, Kind, PHASE, SHARE};
use super::op::Op;
use super::param::Param;
use super::swarms::{BY, IN_SWARM};
use super::{Desk, Refused, told};
use crate::keys::{Round, SwarmId};
use crate::state::NewRound;

/// Tries of a round.
const TRIES: Kind = Kind::Whole(1, 1000);

const WHICH_ROUND: Param =
    Param::subject("round", Kind::Whole(1, 1 << 53), "The round's number; they count from 1.", "1");

pub(super) static OPS: &[Op] = &[
    Op {
        name: "consensus_open",
        words: &["consensus", "open"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/consensus",
        summary: "Open the next consensus round",
        promise: "It takes votes of validators until it is closed. Answers its number.",
        params: &[
            IN_SWARM,
            Param::required("eligible", Kind::Whole(1, 900), "Validators that may vote.", "3"),
            Param::with_default("requiredConfidence", SHARE, "0.9", "The score that it needs.", "0.85"),
            Param::with_default("lasts", Kind::Time(86_400), "30m", "How long it is open.", "10m"),
            Param::optional("phase", PHASE, "The phase that is judged.", "phase_implement"),
            Param::with_default("iteration", COUNT, "0", "Tries before this one.", "1"),
            Param::with_default("mostTries", TRIES, "10", "Tries before a person is asked.", "5"),
            BY,
        ],
        carry: |desk, args| Box::pin(open(desk, args)),
    },
    Op {
        name: "consensus_vote",
        words: &["consensus", "vote"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/consensus/{round}/vote",
        summary: "Cast a validator's vote",
        promise: "One for each validator: the last one counts. It passes from a confidence of 0.75 on. Refused for agents that are \
                  no validators of the swarm or have left it, for others when as many have voted as are eligible, and after \
                  its time. Answers how many have voted.",
        params: &[
            IN_SWARM,
            WHICH_ROUND,
            Param::required("agent", AGENT, "Who votes.", "agent_val00001"),
            Param::required("confidence", SHARE, "How sure it is that the work is good.", "0.9"),
            Param::with_default("reasoning", Kind::Text(2000), "", "Why.", "All criteria hold."),
        ],
        carry: |desk, args| Box::pin(vote(desk, args)),
    },
    Op {
        name: "consensus_close",
        words: &["consensus", "close"],
        method: Method::POST,
        path: "/api/swarms/{swarm}/consensus/{round}/close",
        summary: "Close a round and decide",
        promise: "When all have voted or its time is up. It is achieved with two thirds of the votes and the required score, in which \
                  the absent count as 0. Answers PROCEED, RETRY while tries are left, or ESCALATE.",
        params: &[
            IN_SWARM,
            WHICH_ROUND,
            Param::optional(
                "mostTries",
                TRIES,
                "Tries before a person is asked, if others than it was opened with.",
                "5",
            ),
            BY,
        ],
        carry: |desk, args| Box::pin(close(desk, args)),
    },
    Op {
        name: "consensus_show",
        words: &["consensus", "show"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/consensus/{round}",
        summary: "Show one round",
        promise: "Threshold, score so far, votes, and the decision once it is closed.",
        params: &[IN_SWARM, WHICH_ROUND],
        carry: |desk, args| Box::pin(show(desk, args)),
    },
];

fn round_of(args: &Args) -> Result<Round, Refused> {
    Round::new(args.whole("round")?).map_err(|error| Refused::bad_argument("round", &error))
}

async fn open(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let new = NewRound {
        required: args.number("requiredConfidence")?,
        eligible: args.whole("eligible")?,
        lasts: args.time("lasts")?,
        phase: args.id_if("phase")?,
        iteration: args.whole("iteration")?,
        most_tries: args.whole("mostTries")?,
    };
    let round = desk.swarms.open_round(&args.id("swarm")?, &new, args.by()).await?;
    Ok(json!({ "round": round }))
}

async fn vote(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, round): (SwarmId, Round) = (args.id("swarm")?, round_of(args)?);
    let (confidence, reasoning) = (args.number("confidence")?, args.text("reasoning")?);
    let voted = desk.swarms.vote(&swarm, &args.id("agent")?, round, confidence, reasoning).await?;
    Ok(json!({ "voted": voted }))
}

async fn close(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, round): (SwarmId, Round) = (args.id("swarm")?, round_of(args)?);
    let (tally, decision, done) =
        desk.swarms.close_round(&swarm, round, args.whole_if("mostTries"), args.by()).await?;
    Ok(json!({
        "decision": decision.word(),
        "achieved": tally.is_achieved,
        "score": tally.score,
        "quorum": tally.quorum,
        "hasQuorum": tally.has_quorum,
        "version": done.version,
    }))
}

async fn show(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, round): (SwarmId, Round) = (args.id("swarm")?, round_of(args)?);
    let mut told = told::record("round", "", &desk.swarms.round(&swarm, round).await?);
    told["round"] = round.get().into();
    Ok(told)
}
