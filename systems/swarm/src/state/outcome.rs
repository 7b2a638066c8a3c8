//! Answers of scripts: a word, and what belongs to it.

use keyplane_store::Reply;

use super::error::OpError;
use crate::keys::SwarmId;

/// A change that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// The version of what was changed.
    pub version: u64,
    /// The swarm's children lived for less than half a lifetime more than itself, so this change has drawn the next horizon.
    pub horizon_is_near: bool,
}

/// An answer, taken apart.
#[derive(Debug)]
pub(super) struct Told(Vec<String>);

impl Told {
    pub(super) fn new(replies: &[Reply]) -> Self {
        let text = |reply: &Reply| match reply {
            Reply::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Reply::Int(number) => number.to_string(),
            _ => String::new(),
        };
        Self(replies.iter().map(text).collect())
    }

    pub(super) fn word(&self) -> &str {
        self.text(0)
    }

    pub(super) fn text(&self, at: usize) -> &str {
        self.0.get(at).map_or("", String::as_str)
    }

    pub(super) fn number(&self, at: usize) -> u64 {
        self.text(at).parse().unwrap_or_default()
    }

    fn size(&self, at: usize) -> usize {
        self.text(at).parse().unwrap_or_default()
    }

    pub(super) fn done(&self) -> Done {
        Done { version: self.number(1), horizon_is_near: self.is_near() }
    }

    /// Whether the next horizon is to be drawn. Wherever a script says so, nothing else that it answers is this word.
    pub(super) fn is_near(&self) -> bool {
        self.word() == "ok" && self.0.iter().any(|text| text == "near")
    }

    /// What all operations have in common; `id` is what was to be changed.
    pub(super) fn refusal(&self, swarm: &SwarmId, id: &str, to: &str) -> OpError {
        let (swarm, id) = (swarm.to_string(), id.to_owned());
        match self.word() {
            "gone" => OpError::NoSwarm { swarm },
            "over" => OpError::Over { swarm, status: self.text(1).to_owned() },
            "fenced" => OpError::Fenced { swarm },
            "unsaved" => OpError::Unsaved { swarm },
            "waits" => OpError::Waits { swarm, status: self.text(1).to_owned() },
            "exists" => OpError::Exists { id },
            "remains" => OpError::Remains { swarm: id },
            "unknown" => OpError::Unknown { id },
            "missing" => OpError::Unknown { id: self.text(1).to_owned() },
            "conflict" => OpError::Conflict { id, found: self.number(1) },
            "moved" => OpError::Move { id, from: self.text(1).to_owned(), to: to.to_owned() },
            "lost" => {
                OpError::Lost { task: id, status: self.text(1).to_owned(), agent: self.text(2).to_owned() }
            }
            "runs" => OpError::Runs { id, runs: self.number(1) },
            "closed" => OpError::Closed { round: id, status: self.text(1).to_owned() },
            "late" => OpError::Late { round: id, until: self.text(1).to_owned() },
            "full" => OpError::Full { round: id, votes: self.number(1) },
            "crowded" => OpError::Crowded { list: self.text(1).to_owned(), most: self.number(2) },
            "large" => OpError::TooLarge { what: id, bytes: self.size(1), most: self.size(2) },
            "early" => OpError::Early { round: id, until: self.text(1).to_owned() },
            "held" => OpError::Held { task: id, agent: self.text(1).to_owned() },
            "busy" => OpError::Busy { agent: id, task: self.text(1).to_owned() },
            "idle" => OpError::TakesNone { agent: id, status: self.text(1).to_owned() },
            "open" => OpError::Open { waiting: self.number(1), under_way: self.number(2) },
            _ => OpError::Unreadable(self.0.join(" ")),
        }
    }
}
