//! `keyplane ping`: is the server there, and how far away?

use serde_json::{Value, json};

use crate::args::{Given, Whose};
use crate::members::{self, Member};
use crate::outcome::{Failure, Kind, Outcome};
use crate::output::Output;
use crate::progress::Progress;
use crate::round_trips::RoundTrips;
use crate::session;
use crate::settings::{self, Target};

/// A server and its answers so far.
struct Pinged {
    member: Member,
    trips: RoundTrips,
}

pub(crate) fn run(count: u32, whose: &Whose, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let target = settings::target(whose, given)?;
    let mut servers = Vec::new();
    let ended = session::run(measure(&target, count, &mut servers, output))?;
    let interrupted = ended.is_none();
    ended.transpose()?;
    if interrupted && servers.is_empty() {
        let what = format!("interrupted before {} answered", target.url);
        return Err(Failure::new(what).of(Kind::Interrupted));
    }
    if output.json {
        output.document(&json(&target, count, &servers, interrupted))?;
    } else {
        let rows: Vec<Vec<String>> = servers.iter().map(row).collect();
        output.table(&["ADDRESS", "SERVER", "ROLE", "PINGS", "LEAST", "MEDIAN", "WORST"], &rows)?;
    }
    if interrupted {
        return Ok(Outcome::Interrupted);
    }
    silent(&target, &servers).map_or(Ok(Outcome::Fine), Err)
}

/// One ping to each server in turn: whoever stops it early has something about all of them.
async fn measure(
    target: &Target,
    count: u32,
    servers: &mut Vec<Pinged>,
    output: &Output,
) -> Result<(), Failure> {
    let progress = Progress::start(output);
    progress.say(|| format!("connecting to {}", target.url));
    let members = members::connect(target).await?;
    servers.extend(members.into_iter().map(|member| Pinged { member, trips: RoundTrips::default() }));
    for turn in 1..=count {
        progress.say(|| format!("ping {turn} of {count}"));
        for Pinged { member, trips } in servers.iter_mut() {
            if let Ok(server) = &member.state {
                trips.ping(server).await;
            }
        }
    }
    Ok(())
}

fn row(Pinged { member, trips }: &Pinged) -> Vec<String> {
    let (server, role) = match &member.state {
        Ok(server) => (format!("{} {}", server.facts.product, server.facts.version), server.role()),
        Err(why) => (why.clone(), ""),
    };
    vec![
        member.address.clone(),
        server,
        role.to_owned(),
        trips.answered().to_string(),
        trips.shown(0.0),
        trips.shown(0.5),
        trips.shown(1.0),
    ]
}

/// The failure to end with when some server has not answered.
fn silent(target: &Target, servers: &[Pinged]) -> Option<Failure> {
    let silent: Vec<&Pinged> = servers.iter().filter(|server| server.trips.answered() == 0).collect();
    let first = silent.first()?;
    let why = match &first.member.state {
        Err(why) => why,
        Ok(_) => first.trips.unanswered().map_or("no answer", |(why, _)| why),
    };
    let what = format!("{} of {} servers did not answer: {why}", silent.len(), servers.len());
    Some(members::failure(target, &what))
}

fn json(target: &Target, count: u32, servers: &[Pinged], interrupted: bool) -> Value {
    let server = |Pinged { member, trips }: &Pinged| {
        let facts = member.state.as_ref().ok().map(|server| &server.facts);
        let error = match &member.state {
            Err(why) => Some(why.as_str()),
            Ok(_) => trips.unanswered().map(|(why, _)| why),
        };
        json!({
            "address": member.address,
            "product": facts.map(|facts| &facts.product),
            "version": facts.map(|facts| &facts.version),
            "role": member.state.as_ref().ok().map(|server| server.role()),
            "answered": trips.answered(),
            "round_trip_us": {
                "least": trips.micros(0.0),
                "median": trips.micros(0.5),
                "worst": trips.micros(1.0),
            },
            "error": error,
        })
    };
    json!({
        "url": target.url.to_string(),
        "count": count,
        "interrupted": interrupted,
        "servers": servers.iter().map(server).collect::<Vec<_>>(),
    })
}
