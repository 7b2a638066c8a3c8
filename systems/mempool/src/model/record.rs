//! Records in CBOR, in the layout of the original: a record is an array, a stage is `[index, []]`, an absent value is null.
//!
//! Scripts put a record together from a payload that is in the store and the bytes before and behind it, so that payloads do
//! not travel: [`frame_inflight`], [`frame_finalized`].

use minicbor::data::Type;
use minicbor::{Decoder, Encoder};

use super::chain::Point;
use super::hash::TxHash;
use super::stage::Stage;

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No CBOR, or not of this shape.
    #[error("the record is damaged: {0}")]
    Cbor(#[from] minicbor::decode::Error),
    /// A stage that there is not.
    #[error("the record names stage {0}, which does not exist")]
    Stage(u8),
    /// Bytes behind the end.
    #[error("the record ends after {read} of {all} bytes")]
    Longer {
        /// So many were read.
        read: usize,
        /// So many there are.
        all: usize,
    },
}

/// A transaction as it was received: era and bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Number of the era; the node-to-node protocol uses one less.
    pub era: u16,
    /// The transaction.
    pub bytes: Vec<u8>,
}

/// A transaction on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InflightRecord {
    /// Propagated, acknowledged or confirmed.
    pub stage: Stage,
    /// As of the last change of stage.
    pub confirmations: u32,
    /// Its bytes; none if they were gone when it moved.
    pub payload: Payload,
    /// The block that holds it.
    pub confirmed_at: Option<Point>,
    /// As of the last change of stage.
    pub non_confirmations: u32,
}

/// A finished transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinalizedEntry {
    /// Its id.
    pub hash: TxHash,
    /// Finalized or dropped.
    pub stage: Stage,
    /// When it was finalized.
    pub confirmations: u32,
    /// When it was dropped.
    pub non_confirmations: u32,
    /// The block that holds it.
    pub confirmed_at: Option<Point>,
    /// Its bytes; none if they were gone when it moved.
    pub payload: Payload,
}

const INFLIGHT: [Stage; 3] = [Stage::Propagated, Stage::Acknowledged, Stage::Confirmed];
const FINISHED: [Stage; 2] = [Stage::Finalized, Stage::Dropped];

impl Payload {
    /// What a record holds of a transaction whose bytes are gone from the store: no era, no bytes. As CBOR it is `82 00 40`.
    #[must_use]
    pub fn gone() -> Self {
        Self { era: 0, bytes: Vec::new() }
    }

    /// Whether the bytes are gone: every transaction has some.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.bytes.is_empty()
    }

    /// As it is stored.
    #[must_use]
    pub fn to_cbor(&self) -> Vec<u8> {
        written(self.bytes.len() + 8, |e| {
            e.array(2)?.u16(self.era)?.bytes(&self.bytes)?;
            Ok(())
        })
    }

    /// Reads it.
    pub fn from_cbor(bytes: &[u8]) -> Result<Self, RecordError> {
        whole(bytes, Self::read)
    }

    fn read(d: &mut Decoder<'_>) -> Result<Self, RecordError> {
        length(d, 2)?;
        Ok(Self { era: d.u16()?, bytes: d.bytes()?.to_vec() })
    }
}

impl InflightRecord {
    /// As it is stored.
    #[must_use]
    pub fn to_cbor(&self) -> Vec<u8> {
        let (before, behind) =
            frame_inflight(self.stage, self.confirmations, self.confirmed_at, self.non_confirmations);
        [before, self.payload.to_cbor(), behind].concat()
    }

    /// Reads it.
    pub fn from_cbor(bytes: &[u8]) -> Result<Self, RecordError> {
        whole(bytes, |d| {
            length(d, 5)?;
            Ok(Self {
                stage: stage(d, &INFLIGHT)?,
                confirmations: d.u32()?,
                payload: Payload::read(d)?,
                confirmed_at: point(d)?,
                non_confirmations: d.u32()?,
            })
        })
    }
}

impl FinalizedEntry {
    /// As it is stored.
    #[must_use]
    pub fn to_cbor(&self) -> Vec<u8> {
        let (confirmations, misses) = (self.confirmations, self.non_confirmations);
        let before = frame_finalized(&self.hash, self.stage, confirmations, misses, self.confirmed_at);
        [before, self.payload.to_cbor()].concat()
    }

    /// Reads it.
    pub fn from_cbor(bytes: &[u8]) -> Result<Self, RecordError> {
        whole(bytes, |d| {
            length(d, 6)?;
            let hash = TxHash::from_slice(d.bytes()?).map_err(minicbor::decode::Error::message)?;
            Ok(Self {
                hash,
                stage: stage(d, &FINISHED)?,
                confirmations: d.u32()?,
                non_confirmations: d.u32()?,
                confirmed_at: point(d)?,
                payload: Payload::read(d)?,
            })
        })
    }
}

/// What stands before and behind the payload in an inflight record.
#[must_use]
pub(crate) fn frame_inflight(
    stage: Stage,
    confirmations: u32,
    at: Option<Point>,
    misses: u32,
) -> (Vec<u8>, Vec<u8>) {
    let before = written(12, |e| {
        e.array(5)?;
        write_stage(e, stage, &INFLIGHT)?;
        e.u32(confirmations)?;
        Ok(())
    });
    let behind = written(48, |e| {
        write_point(e, at)?;
        e.u32(misses)?;
        Ok(())
    });
    (before, behind)
}

/// What stands before the payload in a finished entry; nothing stands behind it.
#[must_use]
pub(crate) fn frame_finalized(
    hash: &TxHash,
    stage: Stage,
    confirmations: u32,
    misses: u32,
    at: Option<Point>,
) -> Vec<u8> {
    written(96, |e| {
        e.array(6)?.bytes(hash.bytes())?;
        write_stage(e, stage, &FINISHED)?;
        e.u32(confirmations)?.u32(misses)?;
        write_point(e, at)
    })
}

type Writer = Encoder<Vec<u8>>;
type Written = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

fn written(about: usize, write: impl FnOnce(&mut Writer) -> Written) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::with_capacity(about));
    // A vector takes everything.
    let _: Written = write(&mut encoder);
    encoder.into_writer()
}

fn write_stage(e: &mut Writer, stage: Stage, all: &[Stage]) -> Written {
    let index = all.iter().position(|one| *one == stage).unwrap_or_default();
    e.array(2)?.u32(index as u32)?.array(0)?;
    Ok(())
}

fn write_point(e: &mut Writer, at: Option<Point>) -> Written {
    match at {
        Some(point) => e.bytes(&point.to_bytes())?,
        None => e.null()?,
    };
    Ok(())
}

fn whole<'b, T>(
    bytes: &'b [u8],
    read: impl FnOnce(&mut Decoder<'b>) -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    let mut decoder = Decoder::new(bytes);
    let value = read(&mut decoder)?;
    match decoder.position() {
        read if read < bytes.len() => Err(RecordError::Longer { read, all: bytes.len() }),
        _ => Ok(value),
    }
}

fn length(d: &mut Decoder<'_>, wanted: u64) -> Result<(), RecordError> {
    match d.array()? {
        Some(found) if found == wanted => Ok(()),
        found => {
            let found = found.map_or_else(|| "open".to_owned(), |found| found.to_string());
            Err(minicbor::decode::Error::message(format!("an array of {found} where {wanted} belong")).into())
        }
    }
}

fn stage(d: &mut Decoder<'_>, all: &[Stage]) -> Result<Stage, RecordError> {
    length(d, 2)?;
    let index = d.u8()?;
    length(d, 0)?;
    all.get(usize::from(index)).copied().ok_or(RecordError::Stage(index))
}

fn point(d: &mut Decoder<'_>) -> Result<Option<Point>, RecordError> {
    if d.datatype()? == Type::Null {
        d.null()?;
        return Ok(None);
    }
    let bytes: &[u8; 40] =
        d.bytes()?.try_into().map_err(|_| minicbor::decode::Error::message("a point has 40 bytes"))?;
    Ok(Some(Point::from_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload() -> Payload {
        Payload { era: 7, bytes: hex::decode("84a0a0f5f6").unwrap() }
    }

    /// Dumped from a live store of the original.
    #[test]
    fn records_are_those_of_the_original() {
        assert_eq!(hex::encode(payload().to_cbor()), "82074584a0a0f5f6");
        // A script knows it by these bytes.
        assert_eq!(hex::encode(Payload::gone().to_cbor()), "820040");
        let (before, behind) = frame_inflight(Stage::Propagated, 0, None, 1);
        let record = [before, payload().to_cbor(), behind].concat();
        assert_eq!(hex::encode(&record), "858200800082074584a0a0f5f6f601");
        let read = InflightRecord::from_cbor(&record).unwrap();
        assert_eq!((read.stage, read.non_confirmations, read.payload), (Stage::Propagated, 1, payload()));
    }

    #[test]
    fn entries_keep_everything() {
        let (hash, at) =
            (TxHash::new([7; 32]), Point { slot: 12, hash: super::super::BlockHash::new([9; 32]) });
        let before = frame_finalized(&hash, Stage::Dropped, 0, 30, Some(at));
        assert_eq!(hex::encode(&before[..3]), "865820");
        let read = FinalizedEntry::from_cbor(&[before, payload().to_cbor()].concat()).unwrap();
        let wanted = FinalizedEntry {
            hash,
            stage: Stage::Dropped,
            confirmations: 0,
            non_confirmations: 30,
            confirmed_at: Some(at),
            payload: payload(),
        };
        assert_eq!(read, wanted);
    }

    #[test]
    fn damage_is_told() {
        let whole = payload().to_cbor();
        for end in 0..whole.len() {
            assert!(Payload::from_cbor(&whole[..end]).is_err(), "{end}");
        }
        assert!(matches!(Payload::from_cbor(&[&whole[..], &[0]].concat()), Err(RecordError::Longer { .. })));
        assert!(InflightRecord::from_cbor(&whole).is_err());
    }
}
