//! `keyplane mempool status` and `leader`.

use keyplane_mempool::{Status, TxHash, told};
use serde_json::{Value, json};

use super::{Site, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::{FAINT, NAME, Output};

pub(super) async fn status(hashes: &[String], given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let read = |text: &String| {
        text.parse::<TxHash>().map_err(|error| {
            Failure::new(error.to_string()).help("the id of a transaction, as `mempool submit` prints it")
        })
    };
    let hashes: Vec<TxHash> = hashes.iter().map(read).collect::<Result<_, _>>()?;
    let pool = Site::open(given).await?.pool()?;
    let statuses = pool.check_all(&hashes).await.map_err(unread)?;
    if output.json {
        let all = hashes.iter().zip(&statuses).map(|(hash, status)| shown(hash, status.as_ref()));
        output.document(&Value::Array(all.collect()))?;
    } else {
        let rows: Vec<Vec<String>> =
            hashes.iter().zip(&statuses).map(|(hash, status)| row(hash, status.as_ref())).collect();
        output.table(&["TRANSACTION", "STAGE", "DEPTH", "MISSED", "BLOCK", "SLOT"], &rows)?;
    }
    Ok(if statuses.iter().all(Option::is_some) { Outcome::Fine } else { Outcome::Finding })
}

/// A transaction as JSON tells it.
pub(super) fn shown(hash: &TxHash, status: Option<&Status>) -> Value {
    match status {
        Some(status) => told::status(hash, status),
        None => json!({ "hash": hash.to_string(), "stage": "unknown" }),
    }
}

/// The same as a row.
pub(super) fn row(hash: &TxHash, status: Option<&Status>) -> Vec<String> {
    let Some(status) = status else {
        let mut row = vec![hash.to_string(), "unknown".to_owned()];
        row.resize(6, String::new());
        return row;
    };
    let number = |number: u64| if number == 0 { String::new() } else { number.to_string() };
    vec![
        hash.to_string(),
        status.stage.to_string(),
        number(status.confirmations),
        number(status.non_confirmations),
        status.confirmed_at.map(|at| at.hash.to_string()).unwrap_or_default(),
        status.confirmed_at.map(|at| at.slot.to_string()).unwrap_or_default(),
    ]
}

pub(super) async fn leader(given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let pool = Site::open(given).await?.pool()?;
    let pulse = pool.pulse().await.map_err(unread)?;
    if output.json {
        output.document(&json!({
            "watcher": pulse.watcher,
            "lock_left_ms": pulse.lock_left.map(|left| left.as_millis() as u64),
            "term": pulse.term,
            "terms": pulse.terms,
        }))?;
    } else if let Some(node) = &pulse.watcher {
        let left = pulse.lock_left.unwrap_or_default().as_secs_f64();
        let term = pulse.term.unwrap_or_default();
        output
            .line(format!("{NAME}{node}{NAME:#}  {FAINT}term {term}, its lock lasts {left:.1} s{FAINT:#}"))?;
    } else {
        output.line("no node is the watcher: the chain is not applied")?;
    }
    Ok(if pulse.watcher.is_some() { Outcome::Fine } else { Outcome::Finding })
}
