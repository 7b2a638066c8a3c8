//! `keyplane demo`: a store, a contract and a few parcels, from nothing to something alive in seconds.

mod board;
mod depot;

use std::time::Duration;

use keyplane_engine::live::{Live, Options as LiveOptions};
use keyplane_store::{Options, Store};
use serde_json::json;
use tokio::net::TcpListener;

use crate::args::Demo;
use crate::contracts::{self, BUILT_IN};
use crate::outcome::{Failure, Outcome};
use crate::output::{BAD, FAINT, KEY, NAME, Output, STRONG};
use crate::session;
use depot::{Depot, Refused};

pub(crate) fn run(command: &Demo, output: &Output) -> Result<Outcome, Failure> {
    let ended = session::run(walk(command.lasts, output))?;
    let interrupted = ended.is_none();
    ended.transpose()?;
    if !output.json {
        outro(output)?;
    }
    // Whoever has seen enough has seen the demo.
    let _ = interrupted;
    Ok(Outcome::Fine)
}

async fn walk(lasts: Duration, output: &Output) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("the demo cannot start: {error}"));
    let (live, _) = Live::start(LiveOptions::default()).map_err(|error| failed(&error))?;
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| failed(&error))?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let served = live.clone();
    tokio::spawn(async move { served.serve(listener).await });
    let store = Store::on_engine(live, Options::default()).await.map_err(|error| failed(&error))?;
    let depot = Depot::open(&store).map_err(|error| failed(&error))?;
    if output.json {
        return in_json(&depot, port, output).await;
    }
    intro(port, output)?;
    typed_keys(&depot, output).await?;
    one_step(&depot, output).await?;
    refusals(&depot, output).await?;
    board::show(&depot, lasts, port, output).await?;
    mempool(&store, lasts, port, output).await?;
    swarm(&store, lasts, port, output).await
}

/// The same contract language, a whole system.
#[cfg(feature = "mempool")]
async fn mempool(store: &Store, lasts: Duration, port: u16, output: &Output) -> Result<(), Failure> {
    if lasts.is_zero() {
        return Ok(());
    }
    heading("5  A whole system", "a Cardano mempool that three nodes share", output)?;
    output.line(format!(
        "   {FAINT}{}{FAINT:#}\n   {KEY}redis-cli -p {port} LLEN dolos:mempool:pending{KEY:#}  {FAINT}tells the truth{FAINT:#}",
        crate::mempool::sim::STORY
    ))?;
    crate::mempool::sim::in_demo(store, lasts, output).await
}

#[cfg(not(feature = "mempool"))]
async fn mempool(_: &Store, _: Duration, _: u16, _: &Output) -> Result<(), Failure> {
    Ok(())
}

/// And another.
#[cfg(feature = "swarm")]
async fn swarm(store: &Store, lasts: Duration, port: u16, output: &Output) -> Result<(), Failure> {
    if lasts.is_zero() {
        return Ok(());
    }
    heading("6  Another system", "two hundred agents that lose no update", output)?;
    output.line(format!(
        "   {FAINT}{}{FAINT:#}\n   {KEY}redis-cli -p {port} --scan --pattern 'swarm:*:checkpoints'{KEY:#}  {FAINT}finds it, and redis-cli HGETALL shows its header{FAINT:#}",
        crate::swarm::sim::STORY
    ))?;
    crate::swarm::sim::in_demo(store, lasts, output).await
}

#[cfg(not(feature = "swarm"))]
async fn swarm(_: &Store, _: Duration, _: u16, _: &Output) -> Result<(), Failure> {
    Ok(())
}

fn heading(title: &str, subtitle: &str, output: &Output) -> Result<(), Failure> {
    output.line(format!("\n{STRONG}{title}{STRONG:#}  {FAINT}{subtitle}{FAINT:#}"))
}

fn intro(port: u16, output: &Output) -> Result<(), Failure> {
    output.line(format!(
        "{STRONG}Keyplane{STRONG:#} makes the keys that services share an executable contract: {KEY}keys.toml{KEY:#}."
    ))?;
    output.line(format!(
        "A store is up in this process, in memory. Any Redis client can look in:  {KEY}redis-cli -p {port}{KEY:#}"
    ))
}

async fn typed_keys(depot: &Depot, output: &Output) -> Result<(), Failure> {
    heading(
        "1  Typed keys",
        "a key is built from checked parts, and lives as long as its contract says",
        output,
    )?;
    let parcel = depot.bring("p17", "Basel").await.map_err(told)?;
    output.line(format!(
        "   {FAINT}desk.run(keys.parcel(&town, &p17).hset([(\"state\", \"waiting\"), …])){FAINT:#}"
    ))?;
    let left = depot.time_left(&parcel).await.map_err(told)?;
    output.line(format!(
        "   {KEY}{parcel}{KEY:#}  hash  {NAME}lives {:.1} s{NAME:#}  {FAINT}nobody had to remember EXPIRE{FAINT:#}",
        left.as_secs_f64()
    ))
}

async fn one_step(depot: &Depot, output: &Output) -> Result<(), Failure> {
    heading(
        "2  One step, one script",
        "take.lua pops a parcel and counts it; half of that cannot happen",
        output,
    )?;
    let taken = depot.take("ann").await.map_err(told)?;
    output.line(format!("   {FAINT}courier.call(scripts::Take {{ waiting, carried }}){FAINT:#}"))?;
    output.line(match taken {
        Some((parcel, carried)) => format!(
            "   ann has {NAME}{parcel}{NAME:#}, her {NAME}{carried}st{NAME:#} in these ten seconds  {FAINT}checked against the contract when it was compiled{FAINT:#}"
        ),
        None => "   nothing waits".to_owned(),
    })
}

async fn refusals(depot: &Depot, output: &Output) -> Result<(), Failure> {
    heading("3  Wrong writes", "refused, and nothing is written", output)?;
    for Refused { what, why } in depot.wrong_writes().await {
        output.line(format!("   {KEY}{what:<36}{KEY:#} {BAD}refused{BAD:#}  {why}"))?;
    }
    Ok(())
}

fn outro(output: &Output) -> Result<(), Failure> {
    let systems: Vec<String> = BUILT_IN
        .iter()
        .filter_map(|(name, _)| contracts::load(name).ok())
        .map(|contract| {
            let keys = contract.keys.iter().filter(|key| key.helper_of.is_none()).count();
            format!("{NAME}{}{NAME:#} {FAINT}{keys} keys{FAINT:#}", contract.name)
        })
        .collect();
    output.line(format!("\nFive contracts are built in: {}", systems.join(", ")))?;
    for (line, what) in [
        ("keyplane keys match swarm:index:active", "whose key is this?"),
        ("keyplane keys doc swarm", "a contract as a page"),
        ("keyplane keys acl --schema sequencer", "ACL users from owners"),
        ("keyplane mempool run", "a node of a shared mempool, with its API"),
        ("keyplane swarm sim", "a thousand agents in one swarm"),
        ("keyplane store", "this store, kept in a folder, on a port"),
    ] {
        output.line(format!("  {KEY}{line:<42}{KEY:#} {FAINT}{what}{FAINT:#}"))?;
    }
    Ok(())
}

fn told(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the demo: {error}"))
}

async fn in_json(depot: &Depot, port: u16, output: &Output) -> Result<(), Failure> {
    let parcel = depot.bring("p17", "Basel").await.map_err(told)?;
    let left = depot.time_left(&parcel).await.map_err(told)?;
    let taken = depot.take("ann").await.map_err(told)?;
    let refused = depot.wrong_writes().await;
    output.document(&json!({
        "port": port,
        "contracts": BUILT_IN.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "written": { "key": parcel, "lives_ms": left.as_millis() as u64 },
        "taken": taken.map(|(parcel, carried)| json!({ "parcel": parcel, "carried": carried })),
        "refused": refused.iter().map(|one| json!({ "what": one.what, "why": one.why })).collect::<Vec<_>>(),
    }))
}
