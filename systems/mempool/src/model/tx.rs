//! A transaction: its id and what it spends, read from its bytes without a ledger.

use std::fmt;

use pallas_primitives::byron::TxIn;
use pallas_traverse::{Era, MultiEraTx};

use super::hash::TxHash;
use super::record::Payload;

/// An output of another transaction that this one spends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Input {
    /// The transaction.
    pub tx: TxHash,
    /// Which of its outputs.
    pub index: u16,
}

/// As keys spell it: `4e15…#1`.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.tx, self.index)
    }
}

/// A transaction to be taken into the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tx {
    /// Its id.
    pub hash: TxHash,
    /// Its bytes.
    pub payload: Payload,
    /// What it spends; of one that is known to fail, its collateral.
    pub inputs: Vec<Input>,
}

/// Bytes that are no transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TxError {
    /// Nothing at all.
    #[error("there are no bytes: a transaction is expected, in CBOR")]
    Empty,
    /// Not CBOR, or cut off.
    #[error("not a whole CBOR value: {0}")]
    Cbor(String),
    /// Something stands behind it.
    #[error("the transaction ends after {end} bytes, and {all} were given")]
    Longer {
        /// Where it ends.
        end: usize,
        /// How many bytes there are.
        all: usize,
    },
    /// CBOR, but of no era.
    #[error("no transaction of {0}")]
    Era(String),
    /// An era that there is not.
    #[error("there is no era {0}; 0 and 1 are Byron, 2 Shelley, … 7 Conway")]
    UnknownEra(u16),
    /// Spends something in a way that Byron left room for and never had.
    #[error("the transaction has an input of a kind that there is not")]
    UnknownInput,
    /// Spends nothing, which no block can hold.
    #[error("the transaction spends nothing")]
    NoInputs,
}

impl Tx {
    /// Reads a transaction of any era, the newest first.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, TxError> {
        framed(&bytes)?;
        let found = MultiEraTx::decode(&bytes).map_err(|_| TxError::Era("any era".to_owned()))?;
        let (hash, inputs) = parts(&found)?;
        let era = number(found.era());
        Ok(Self { hash, inputs, payload: Payload { era, bytes } })
    }

    /// Reads a transaction of that era.
    pub fn decode_as(era: u16, bytes: Vec<u8>) -> Result<Self, TxError> {
        let named = named(era).ok_or(TxError::UnknownEra(era))?;
        framed(&bytes)?;
        let found = MultiEraTx::decode_for_era(named, &bytes)
            .map_err(|error| TxError::Era(format!("the era {named:?}: {error}")))?;
        let (hash, inputs) = parts(&found)?;
        Ok(Self { hash, inputs, payload: Payload { era, bytes } })
    }

    /// The number of an era by its name, such as `Conway`.
    #[must_use]
    pub fn era(name: &str) -> Option<u16> {
        (1..=7).find(|number| named(*number).is_some_and(|era| format!("{era:?}").eq_ignore_ascii_case(name)))
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.payload.bytes.len()
    }
}

/// One whole CBOR value and nothing else. A damaged one may nest deeply: this walks it without recursion.
fn framed(bytes: &[u8]) -> Result<(), TxError> {
    if bytes.is_empty() {
        return Err(TxError::Empty);
    }
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.skip().map_err(|error| TxError::Cbor(error.to_string()))?;
    match decoder.position() {
        end if end < bytes.len() => Err(TxError::Longer { end, all: bytes.len() }),
        _ => Ok(()),
    }
}

fn parts(tx: &MultiEraTx<'_>) -> Result<(TxHash, Vec<Input>), TxError> {
    let input = |input: &pallas_traverse::MultiEraInput<'_>| Input {
        tx: TxHash::new(**input.hash()),
        // The protocol has 16 bits for it.
        index: u16::try_from(input.index()).unwrap_or(u16::MAX),
    };
    let is_unknown =
        |input: &pallas_traverse::MultiEraInput<'_>| matches!(input.as_byron(), Some(TxIn::Other(..)));
    if tx.inputs().iter().any(is_unknown) {
        return Err(TxError::UnknownInput);
    }
    let mut inputs: Vec<Input> = tx.consumes().iter().map(input).collect();
    inputs.sort_unstable();
    inputs.dedup();
    if inputs.is_empty() {
        return Err(TxError::NoInputs);
    }
    Ok((TxHash::new(*tx.hash()), inputs))
}

/// Numbers as stored by the original: 1 is Byron, as 0 is its boundary blocks.
fn number(era: Era) -> u16 {
    match era {
        Era::Byron => 1,
        Era::Shelley => 2,
        Era::Allegra => 3,
        Era::Mary => 4,
        Era::Alonzo => 5,
        Era::Babbage => 6,
        _ => 7,
    }
}

fn named(number: u16) -> Option<Era> {
    Some(match number {
        0 | 1 => Era::Byron,
        2 => Era::Shelley,
        3 => Era::Allegra,
        4 => Era::Mary,
        5 => Era::Alonzo,
        6 => Era::Babbage,
        7 => Era::Conway,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: what reads transactions for us takes it for unreachable.
    #[test]
    fn an_input_of_a_kind_that_there_is_not_is_refused() {
        let bytes = hex::decode("82839f820150d8185807070707070707070707070700ff9fffa080").unwrap();
        assert_eq!(Tx::decode(bytes.clone()), Err(TxError::UnknownInput));
        assert_eq!(Tx::decode_as(1, bytes), Err(TxError::UnknownInput));
    }
}
