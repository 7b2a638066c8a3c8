//! `keyplane mempool submit`: a transaction from a file.

use std::io::Read as _;
use std::path::Path;

use keyplane_mempool::Tx;
use keyplane_mempool::state::{ReceiveError, Received};
use serde_json::json;

use super::{Site, unread};
use crate::args::Given;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

/// No transaction is near as long; whatever is longer was meant for somebody else.
const MOST: u64 = 8 * 1024 * 1024;

const WHAT_TO_GIVE: &str = "give a signed transaction: CBOR, its hex, or what cardano-cli wrote";

pub(super) async fn run(file: &Path, given: &Given, output: &Output) -> Result<Outcome, Failure> {
    let tx = read(file)?;
    let pool = Site::open(given).await?.pool()?;
    let hash = tx.hash.to_string();
    let (outcome, refused) = match pool.receive(&tx).await {
        Ok(received) => {
            let restored = matches!(received, Received::Restored { .. });
            let object = json!({ "hash": hash, "accepted": true, "restored": restored });
            if output.json {
                output.document(&object)?;
            } else {
                output.line(&hash)?;
            }
            return Ok(Outcome::Fine);
        }
        Err(ReceiveError::Store(error)) => return Err(unread(error)),
        Err(error) => (Outcome::Finding, error),
    };
    if output.json {
        output.document(&json!({ "hash": hash, "accepted": false, "why": refused.to_string() }))?;
    } else {
        output.failure(&Failure::new(refused.to_string()));
    }
    Ok(outcome)
}

fn read(file: &Path) -> Result<Tx, Failure> {
    let name = if file == Path::new("-") { "standard input".to_owned() } else { file.display().to_string() };
    let mut bytes = Vec::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().take(MOST + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::new(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::new(format!("{name} has more than {MOST} bytes: no transaction is that long")));
    }
    if bytes.trim_ascii().is_empty() {
        return Err(Failure::new(format!("{name} is empty")).help(WHAT_TO_GIVE));
    }
    let bytes = envelope(&bytes).unwrap_or(bytes);
    let bytes = from_hex(&bytes).map_err(|error| Failure::new(format!("{name}: {error}")))?.unwrap_or(bytes);
    Tx::decode(bytes)
        .map_err(|error| Failure::new(format!("{name} is no transaction: {error}")).help(WHAT_TO_GIVE))
}

/// What cardano-cli writes: `{"type": "Witnessed Tx ConwayEra", "description": "…", "cborHex": "84a4…"}`.
fn envelope(bytes: &[u8]) -> Option<Vec<u8>> {
    let object: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    Some(object.get("cborHex")?.as_str()?.as_bytes().to_vec())
}

/// The bytes that hex digits spell; `None` where these are no hex digits.
fn from_hex(bytes: &[u8]) -> Result<Option<Vec<u8>>, hex::FromHexError> {
    let digits: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digits = digits.strip_prefix(b"0x").unwrap_or(&digits);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Ok(None);
    }
    hex::decode(digits).map(Some)
}
