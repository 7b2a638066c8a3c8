//! `keyplane swarm`: agent swarms. Its commands are the operations of the [table](keyplane_swarm::api), and those that serve them.

mod carry;
mod command;
#[cfg(feature = "mcp")]
mod mcp;
mod serve;
mod show;
pub(crate) mod sim;

use keyplane_config::{Section, SwarmSettings};
use keyplane_swarm::api::Desk;
use keyplane_swarm::{Settings, Swarms};

use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;
use crate::session;
use crate::site::Site;

pub(crate) use command::Swarm;

pub(crate) fn run(command: &Swarm, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    match command {
        Swarm::Op { op, given: arguments, follows } => {
            let ended = session::run(carry::run(op, arguments.clone(), *follows, given, output))?;
            ended.unwrap_or(Ok(Outcome::Interrupted))
        }
        Swarm::Sim(watch) => {
            let ended = session::run(sim::run(watch, given, output))?;
            ended.unwrap_or(Ok(Outcome::Interrupted))
        }
        Swarm::Serve(serve) => session::run_to_end(serve::run(serve, given, output))?,
        #[cfg(feature = "mcp")]
        Swarm::Mcp => session::run_to_end(mcp::run(given))?,
    }
}

/// The desk at the store that the settings name.
async fn desk(given: &Given) -> Result<(Desk, SwarmSettings), Failure> {
    let Site { store, naming, config } = Site::of(Section::Swarm, given, None).await?;
    let own = config.swarm();
    let mut settings = Settings::default();
    (settings.agent_lease, settings.task_lease) = (own.agent_lease, own.task_lease);
    let swarms = Swarms::new(&store, naming, settings)
        .map_err(|error| Failure::new(format!("cannot open the swarms: {error}")))?;
    Ok((Desk::new(swarms), own))
}
