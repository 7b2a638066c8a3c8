//! Recorded blocks and transactions, one JSON object per line.
//!
//! A block: `{"hash", "prev", "slot", "number", "txs": [id, …]}`. A transaction: `{"hash", "era": "Conway", "cbor": hex}`. Other
//! members are left alone.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::model::{Block, Point, Tx, TxError, TxHash};

/// A recording that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// The file.
    #[error("cannot read {}: {error}", .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line of it.
    #[error("line {line} of {}: {why}", .path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

#[derive(Deserialize)]
struct BlockRow {
    hash: String,
    prev: String,
    slot: u64,
    number: u64,
    txs: Vec<String>,
}

#[derive(Deserialize)]
struct TxRow {
    hash: String,
    era: String,
    cbor: String,
}

/// Blocks in the order of the file.
pub fn read_blocks(path: &Path) -> Result<Vec<Block>, RecordedError> {
    rows(path, |row: BlockRow| {
        let hash = |text: &str| text.parse::<TxHash>().map_err(|error| error.to_string());
        Ok(Block {
            point: Point { slot: row.slot, hash: row.hash.parse().map_err(told)? },
            height: row.number,
            prev: row.prev.parse().map_err(told)?,
            txs: row.txs.iter().map(|text| hash(text)).collect::<Result<_, _>>()?,
        })
    })
}

/// Transactions by their ids, which are held against their bytes.
pub fn read_txs(path: &Path) -> Result<HashMap<TxHash, Tx>, RecordedError> {
    let txs = rows(path, |row: TxRow| {
        let era = Tx::era(&row.era).ok_or_else(|| format!("there is no era `{}`", row.era))?;
        let bytes = hex::decode(&row.cbor).map_err(told)?;
        let tx = Tx::decode_as(era, bytes).map_err(|error: TxError| error.to_string())?;
        match tx.hash.to_string() == row.hash {
            true => Ok((tx.hash, tx)),
            false => Err(format!("its id is {} and not {}", tx.hash, row.hash)),
        }
    })?;
    Ok(txs.into_iter().collect())
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn rows<R: DeserializeOwned, T>(
    path: &Path,
    read: impl Fn(R) -> Result<T, String>,
) -> Result<Vec<T>, RecordedError> {
    let in_file = |error| RecordedError::File { path: path.to_owned(), error };
    let lines = BufReader::new(File::open(path).map_err(in_file)?).lines();
    let mut read_rows = Vec::new();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(in_file)?;
        if line.trim().is_empty() {
            continue;
        }
        let row = serde_json::from_str(&line).map_err(told).and_then(&read);
        let in_line = |why| RecordedError::Line { path: path.to_owned(), line: number + 1, why };
        read_rows.push(row.map_err(in_line)?);
    }
    Ok(read_rows)
}

/// The longest run of blocks that each stand on the one before. A recording may hold blocks of several chains.
#[must_use]
pub fn longest_chain(blocks: Vec<Block>) -> Vec<Block> {
    let mut longest = Vec::new();
    let mut run: Vec<Block> = Vec::new();
    for block in blocks {
        if run.last().is_some_and(|below| below.point.hash != block.prev) {
            keep_longer(&mut longest, std::mem::take(&mut run));
        }
        run.push(block);
    }
    keep_longer(&mut longest, run);
    longest
}

fn keep_longer(longest: &mut Vec<Block>, run: Vec<Block>) {
    if run.len() > longest.len() {
        *longest = run;
    }
}
