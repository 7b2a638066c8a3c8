//! `keyplane doctor`: is this server fit?
//!
//! First every server is asked (`evidence`), then what it said is judged by pure functions, one per check (`server`,
//! `access`, `distance`, `cluster`), then shown.

mod access;
mod check;
mod cluster;
mod distance;
mod evidence;
mod limits;
mod server;
mod show;

use crate::args::{Given, Whose};
use crate::members;
use crate::outcome::{Failure, Kind, Outcome};
use crate::output::Output;
use crate::progress::Progress;
use crate::session;
use crate::settings::{self, Target};
use check::{Check, State};
use evidence::{Asked, Evidence};

/// What is to be said about a store.
struct Report {
    url: String,
    servers: Vec<(Evidence, Vec<Check>)>,
    interrupted: bool,
}

impl Report {
    fn count(&self, state: State) -> usize {
        self.servers.iter().flat_map(|(_, checks)| checks).filter(|check| check.state == state).count()
    }

    /// Warnings alone leave a server fit: they are choices that somebody may have made.
    fn is_fit(&self) -> bool {
        self.count(State::Bad) == 0
    }

    fn outcome(&self) -> Outcome {
        match (self.interrupted, self.is_fit()) {
            (true, _) => Outcome::Interrupted,
            (false, true) => Outcome::Fine,
            (false, false) => Outcome::Finding,
        }
    }
}

pub(crate) fn run(whose: &Whose, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let target = settings::target(whose, given)?;
    let mut servers = Vec::new();
    let ended = session::run(examine(&target, &mut servers, output))?;
    let interrupted = ended.is_none();
    ended.transpose()?;
    let url = target.url.to_string();
    if interrupted && servers.is_empty() {
        return Err(Failure::new(format!("interrupted before {url} answered")).of(Kind::Interrupted));
    }
    let judged = |evidence: Evidence| {
        let checks = judge(&evidence);
        (evidence, checks)
    };
    let report = Report { url, servers: servers.into_iter().map(judged).collect(), interrupted };
    if output.json {
        output.document(&show::json(&report))?;
    } else {
        show::text(&report, output)?;
    }
    Ok(report.outcome())
}

/// One server after the other: they would disturb each other's round trips.
async fn examine(target: &Target, servers: &mut Vec<Evidence>, output: &Output) -> Result<(), Failure> {
    let progress = Progress::start(output);
    progress.say(|| format!("connecting to {}", target.url));
    let members = members::connect(target).await?;
    let asked = Asked::of(target);
    for (index, member) in members.iter().enumerate() {
        progress.say(|| format!("looking at {}, {} of {}", member.address, index + 1, members.len()));
        servers.push(Evidence::new(member, &asked));
        if let (Ok(server), Some(evidence)) = (&member.state, servers.last_mut()) {
            evidence.gather(server).await;
        }
    }
    Ok(())
}

/// Every check there is something to say about, the gravest matters first.
fn judge(evidence: &Evidence) -> Vec<Check> {
    let Evidence { address, way, asked, facts, .. } = evidence;
    let facts = match facts {
        Ok(facts) => facts,
        Err(why) => return vec![cluster::missing(why)],
    };
    let mut checks = vec![
        server::version(facts, asked),
        server::serving(address, facts, asked),
        server::eviction(facts, asked),
        server::memory(facts),
        server::persistence(facts, &evidence.saving, asked),
        server::replica(facts, asked),
        server::clients(facts),
        access::tls(*way, asked),
    ];
    if let (Some(whoami), Some(default)) = (&evidence.whoami, &evidence.default_user) {
        checks.push(access::user(*way, asked, whoami, default));
    }
    checks.extend(evidence.script.as_ref().map(access::scripts));
    checks.extend(evidence.clock.as_ref().map(distance::clock));
    checks.extend(evidence.trips.as_ref().map(|trips| distance::latency(trips, asked.patience)));
    checks.extend(evidence.cluster.as_ref().map(|info| cluster::cluster(address, info)));
    checks
}
