//! One operation, carried out and shown.

use keyplane_swarm::api::{Op, Refused};
use serde_json::{Map, Value};

use super::{desk, show};
use crate::args::Given;
use crate::outcome::{Failure, Kind, Outcome};
use crate::output::Output;

/// How long one question waits when events are followed.
const WAIT: &str = "10s";

pub(super) async fn run(
    op: &'static Op,
    mut arguments: Map<String, Value>,
    follows: bool,
    given: &Given,
    output: &Output,
) -> Result<Outcome, Failure> {
    let (desk, _) = desk(given).await?;
    if follows {
        arguments.insert("wait".to_owned(), WAIT.into());
    }
    loop {
        let told = match op.carry_out(&desk, arguments.clone()).await {
            Ok(told) => told,
            Err(refused) => return refuse(refused, output),
        };
        if !follows {
            show::answer(&told, output)?;
            return Ok(Outcome::Fine);
        }
        show::events(&told["events"], output)?;
        arguments.insert("after".to_owned(), told["next"].clone());
    }
}

/// Bad input and a store that is away are failures; whatever else stands against it is what was found.
fn refuse(refused: Refused, output: &Output) -> Result<Outcome, Failure> {
    let failure = Failure::new(refused.message).code(refused.code).help(refused.help);
    match refused.blame.exit_code() {
        3 => Err(failure.of(Kind::Unreachable)),
        2 => Err(failure),
        _ => {
            output.failure(&failure);
            Ok(Outcome::Finding)
        }
    }
}
