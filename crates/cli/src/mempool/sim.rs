//! `keyplane mempool sim`: three nodes share a pool while the chain forks and the watcher is stopped.

use std::time::Duration;

#[cfg(feature = "embedded")]
use keyplane_key::Naming;
#[cfg(feature = "embedded")]
use keyplane_mempool::Settings;
use keyplane_mempool::run::{Picture, Sim};
#[cfg(feature = "embedded")]
use keyplane_store::Store;
use serde_json::{Value, json};

use super::{Site, unopened, unread};
use crate::args::Given;
use crate::live::{self, Shown, bar};
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, KEY, NAME, Output, STRONG};

/// What is to be seen.
pub(crate) const STORY: &str = "A block every second; the chain forks; the watcher is stopped every nine seconds, and another takes over.";

pub(super) async fn run(lasts: Duration, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let site = Site::open_or_in_memory(given).await?;
    let sim = Sim::start(&site.store, site.naming.clone(), site.settings, fastrand::u64(..))
        .map_err(|error| unopened(&error))?;
    if !output.quiet && !output.json {
        output.line(format!("{STRONG}Three nodes, one pool.{STRONG:#}\n{FAINT}{STORY}{FAINT:#}"))?;
    }
    show(&sim, lasts, output).await
}

/// As a part of the demo, on its store.
#[cfg(feature = "embedded")]
pub(crate) async fn in_demo(store: &Store, lasts: Duration, output: &Output) -> Result<(), Failure> {
    let naming = Naming::new("dolos:mempool", false).map_err(|error| Failure::new(error.to_string()))?;
    let sim = Sim::start(store, naming, Settings::default(), fastrand::u64(..))
        .map_err(|error| unopened(&error))?;
    show(&sim, lasts, output).await.map(|_| ())
}

async fn show(sim: &Sim, lasts: Duration, output: &Output) -> Result<Outcome, Failure> {
    live::show(lasts, output, async || sim.picture().await.map_err(unread)).await?;
    Ok(Outcome::Fine)
}

impl Shown for Picture {
    fn board(&self) -> String {
        board(self)
    }

    fn summary(&self) -> String {
        summary(self)
    }

    fn as_json(&self) -> Value {
        as_json(self)
    }
}

fn board(picture: &Picture) -> String {
    let mut text = String::from("\n");
    for member in &picture.members {
        let (id, role) = match (&member.id, member.is_watcher) {
            (None, _) => ("stopped".to_owned(), ""),
            (Some(id), true) => (id.clone(), "watcher"),
            (Some(id), false) => (id.clone(), ""),
        };
        text += &format!("  {KEY}{:<8}{KEY:#} {FAINT}{id:<38}{FAINT:#} {NAME}{role}{NAME:#}\n", member.name);
    }
    let applied = picture.applied.map_or("none".to_owned(), |height| height.to_string());
    text += &format!(
        "\n  chain at height {STRONG}{}{STRONG:#}, applied up to {STRONG}{applied}{STRONG:#}\n",
        picture.height
    );
    let counts = picture.counts;
    let stages = [("pending", counts.pending), ("inflight", counts.inflight), ("finished", counts.finalized)];
    let all = stages.iter().map(|(_, count)| count).sum();
    for (name, count) in stages {
        text += &format!("  {name:<10}{count:>7}  {NAME}{}{NAME:#}\n", bar(count, all));
    }
    let totals: Vec<String> = picture
        .totals
        .named()
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
        .collect();
    text += &format!("  {FAINT}{}{FAINT:#}\n\n", totals.join(", "));
    text + &live::news(picture.news.iter().map(|news| (news.at, news.what.as_str())))
}

fn summary(picture: &Picture) -> String {
    let watcher =
        picture.members.iter().find(|member| member.is_watcher).map_or("nobody", |member| member.name);
    let counts = picture.counts;
    format!(
        "height {}\tapplied {}\twatcher {watcher}\tpending {}\tinflight {}\tfinished {}",
        picture.height,
        picture.applied.unwrap_or_default(),
        counts.pending,
        counts.inflight,
        counts.finalized
    )
}

fn as_json(picture: &Picture) -> Value {
    let members = picture
        .members
        .iter()
        .map(|member| json!({ "name": member.name, "node_id": member.id, "watcher": member.is_watcher }));
    json!({
        "nodes": members.collect::<Vec<_>>(),
        "height": picture.height,
        "applied": picture.applied,
        "pending": picture.counts.pending,
        "inflight": picture.counts.inflight,
        "finalized": picture.counts.finalized,
        "totals": picture.totals.named().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
    })
}
