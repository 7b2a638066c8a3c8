//! `keyplane swarm mcp`: the operations as tools, for the program that started this one.

use keyplane_swarm::api::Tools;

use super::desk;
use crate::args::Given;
use crate::outcome::{Failure, Outcome};

pub(super) const HELP: &str = "For programs that start their tools themselves: `command` is keyplane, `args` are swarm and mcp. It ends when its input does.\n\n\
     Exit codes: 0 its input has ended; 2 bad settings; 3 the store cannot be reached.\n\n\
     Examples:\n  keyplane swarm mcp\n  keyplane swarm mcp --url redis://127.0.0.1:6379";

pub(super) async fn run(given: &Given) -> Result<Outcome, Failure> {
    let (desk, _) = desk(given).await?;
    Tools::new(desk).serve_stdio().await.map_err(|error| Failure::new(error.to_string()))?;
    Ok(Outcome::Fine)
}
