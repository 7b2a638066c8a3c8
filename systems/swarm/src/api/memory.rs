//! Operations on memories.

use axum::http::Method;
use serde_json::{Value, json};

use super::args::Args;
use super::kind::{AGENT, Kind, MEMORY, TAG};
use super::op::Op;
use super::param::Param;
use super::swarms::IN_SWARM;
use super::{Desk, Refused, told};
use crate::keys::{MemoryId, MemoryType, SwarmId, Tag};
use crate::state::{MOST_VALUE, NewMemory, OpError};

/// The contract's kinds of memories.
const TYPES: [&str; MemoryType::ALL.len()] = {
    let mut words = [""; MemoryType::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = MemoryType::ALL[at].as_str();
        at += 1;
    }
    words
};

const WHICH_TYPE: Param = Param::subject("type", Kind::OneOf(&TYPES), "What kind of memory.", "knowledge");
const WHICH_MEMORY: Param = Param::subject("memory", MEMORY, "The memory's id.", "mem_test_results");
const TAGS: Kind = Kind::List(&TAG, 20);

const CONTENT: Kind = Kind::Json(MOST_VALUE);

pub(super) static OPS: &[Op] = &[
    Op {
        name: "memory_put",
        words: &["memory", "put"],
        method: Method::PUT,
        path: "/api/swarms/{swarm}/memory/{type}/{memory}",
        summary: "Keep a memory",
        promise: "Any JSON of at most 100 KB, or 1 MB that can be packed into them; two hours from its last write and as long as its swarm. One that is there is \
                  replaced, with its tags. Safe to repeat.",
        params: &[
            IN_SWARM,
            WHICH_TYPE,
            Param::subject(
                "memory",
                MEMORY,
                "Its id: `mem_` and 8 to 32 letters, digits or `_`.",
                "mem_test_results",
            ),
            Param::required("agent", AGENT, "Whose it is.", "agent_dev00001"),
            Param::required("content", CONTENT, "What it says: any JSON.", r#"{"passed":41,"failed":1}"#),
            Param::optional("tags", TAGS, "What it is found by.", "frontend,login"),
        ],
        carry: |desk, args| Box::pin(put(desk, args)),
    },
    Op {
        name: "memory_get",
        words: &["memory", "get"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/memory/{type}/{memory}",
        summary: "Read one memory",
        promise: "As it was kept last.",
        params: &[IN_SWARM, WHICH_TYPE, WHICH_MEMORY],
        carry: |desk, args| Box::pin(get(desk, args)),
    },
    Op {
        name: "memory_search",
        words: &["memory", "search"],
        method: Method::GET,
        path: "/api/swarms/{swarm}/memory",
        summary: "Find memories by their tags",
        promise: "Those that have all of the tags. Costs what it finds, never a scan.",
        params: &[IN_SWARM, Param::required("tags", TAGS, "All of these.", "frontend,login")],
        carry: |desk, args| Box::pin(search(desk, args)),
    },
];

async fn put(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let new = NewMemory {
        kind: args.word("type")?,
        id: args.id("memory")?,
        agent: args.id("agent")?,
        content: args.json("content")?,
        tags: args.ids("tags")?,
    };
    desk.swarms.put_memory(&args.id("swarm")?, &new).await?;
    Ok(json!({ "memory": new.id.as_str(), "bytes": new.content.len() }))
}

async fn get(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, memory): (SwarmId, MemoryId) = (args.id("swarm")?, args.id("memory")?);
    match desk.swarms.memory(&swarm, args.word("type")?, &memory).await? {
        Some(memory) => Ok(told::memory(&memory)),
        None if desk.swarms.is_there(&swarm).await? => {
            Err(OpError::Unknown { id: memory.to_string() }.into())
        }
        None => Err(OpError::NoSwarm { swarm: swarm.to_string() }.into()),
    }
}

async fn search(desk: &Desk, args: &Args) -> Result<Value, Refused> {
    let (swarm, tags): (SwarmId, Vec<Tag>) = (args.id("swarm")?, args.ids("tags")?);
    let found = desk.swarms.search_memory(&swarm, &tags).await?;
    if found.is_empty() && !desk.swarms.is_there(&swarm).await? {
        return Err(OpError::NoSwarm { swarm: swarm.to_string() }.into());
    }
    Ok(json!({ "memories": found.iter().map(told::memory).collect::<Vec<_>>() }))
}
