//! `keyplane swarm serve`: the operations over HTTP.

use std::sync::Arc;

use keyplane_config::SwarmSettings;
use keyplane_http::{Options, router};
use keyplane_swarm::api::Api;
use keyplane_swarm::run::{Keeper, Pace};

use super::desk;
use crate::args::Given;
use crate::door;
use crate::outcome::{Failure, Outcome};
use crate::output::{KEY, Output, STRONG};
use crate::session;

pub(super) const HELP: &str = "Every command but this one is also a route; /openapi.json describes them. Built with MCP, the same are tools at /mcp. All state is in the \
     store: any number of these may serve it.\n\nExit codes: 0 it was ended; 2 bad settings, or an address that needs a token; 3 the store cannot be reached.\n\n\
     Examples:\n  keyplane swarm serve\n  KEYPLANE_SWARM_TOKEN=… keyplane swarm serve --listen 0.0.0.0:8095";

/// Where the API is served.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// Where to serve the API; instead of the setting.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Serve only: another process keeps the indexes, takes back tasks, saves and removes.
    #[arg(long)]
    without_keeper: bool,
    /// What to say on stderr.
    #[arg(long, default_value = "info", value_parser = ["error", "warn", "info", "debug"])]
    log: String,
}

/// A lease that ran out is noticed soon after, measured by how long it was.
fn pace(own: &SwarmSettings) -> Pace {
    let mut pace = Pace::default();
    (pace.save, pace.keep_finished) = (own.checkpoint_interval, own.keep_finished);
    pace.look = pace.look.min(own.task_lease / 4);
    pace
}

pub(super) async fn run(serve: &Serve, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    door::log(&serve.log);
    let (desk, own) = desk(given).await?;
    let keeper = (!serve.without_keeper).then(|| Keeper::start(desk.swarms().clone(), pace(&own)));
    let server = door::bind(serve.listen.as_deref().unwrap_or(&own.listen), own.token.as_ref()).await?;
    let address = server.local_addr();
    tracing::info!(%address, "swarms are served");
    if !output.quiet {
        output.line(format!("{STRONG}swarms{STRONG:#} at {KEY}http://{address}{KEY:#}"))?;
    }
    let api = match &keeper {
        Some(keeper) => Api::beside(desk, keeper),
        None => Api::new(desk),
    };
    let api =
        router(vec![Arc::new(api)], Options::default()).map_err(|error| Failure::new(error.to_string()))?;
    server.run(api, session::asked_to_stop()).await;
    if let Some(keeper) = keeper {
        keeper.stop().await;
    }
    tracing::info!("stopped");
    Ok(Outcome::Fine)
}
