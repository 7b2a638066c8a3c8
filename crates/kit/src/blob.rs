//! Values that say how they are encoded.
//!
//! An encoded value begins with a NUL byte, a byte for its codec and one for the version of this layout. JSON and plain text
//! never begin with NUL, so a reader can tell them apart, and values that were written before anybody encoded them stay
//! readable. Bare gzip is read too: that is what others compress with.
//!
//! # What it promises
//! - [`decode`] of [`encode`] is what was put in, for every codec.
//! - A value that is cut, changed in its frame or written by a later version is refused by name, never misread. (A change that
//!   a codec does not notice is for a hash over the content: see `checkpoint`.)
//! - Nothing unfolds beyond the limit that the reader gives.
//! - What would not get smaller is kept as it is.
//!
//! ```
//! use keyplane_kit::blob::{Codec, decode, encode};
//!
//! let text = r#"{"agent":"agent_dev00001","status":"idle"}"#.repeat(100);
//! let stored = encode(Codec::Zstd, text.as_bytes());
//! assert!(stored.len() < text.len() / 10);
//! assert_eq!(decode(&stored, 1 << 20)?, text.as_bytes());
//! assert_eq!(decode(b"as it was", 1 << 20)?, b"as it was".as_slice());
//! # Ok::<(), keyplane_kit::blob::DecodeError>(())
//! ```

use std::borrow::Cow;
use std::fmt;
use std::io::{Read, Write as _};
use std::str::FromStr;

/// Below this a codec's own frame costs more than it saves.
const LEAST: usize = 512;

/// Seven times as fast as gzip at the same size; higher levels save little and cost much.
const ZSTD_LEVEL: i32 = 1;

const VERSION: u8 = 1;

/// The first bytes of bare gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Codec {
    /// As it is.
    Plain,
    /// Small and fast.
    #[default]
    Zstd,
    /// What others read.
    Gzip,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Zstd, Self::Gzip];

    /// As contracts and settings spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// In the header. The upper half of the byte is free for what comes: a dictionary, a cipher.
    fn byte(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Zstd => 1,
            Self::Gzip => 2,
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no codec: zstd, gzip or plain")]
pub struct NoCodec(String);

impl FromStr for Codec {
    type Err = NoCodec;

    fn from_str(word: &str) -> Result<Self, NoCodec> {
        Self::ALL.into_iter().find(|codec| codec.word() == word).ok_or_else(|| NoCodec(word.to_owned()))
    }
}

/// Why a value cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It ends within its header.
    #[error("it ends within its header")]
    Cut,
    /// A later version has written it.
    #[error("it is written in version {0} of this layout: a later program has to read it")]
    Version(u8),
    /// A codec that this version does not know.
    #[error("its codec {0} is not known here: a later program has to read it")]
    Codec(u8),
    /// The codec found it damaged.
    #[error("{codec} cannot read it: {why}")]
    Damaged {
        /// Which codec.
        codec: Codec,
        /// What it says.
        why: String,
    },
    /// It is larger than the reader takes.
    #[error("it unfolds to more than {most} bytes")]
    TooLarge {
        /// The limit.
        most: usize,
    },
}

/// Encodes a value, unless that would make it larger.
#[must_use]
pub fn encode(codec: Codec, value: &[u8]) -> Vec<u8> {
    if value.len() >= LEAST
        && let Some(packed) = pack(codec, value).filter(|packed| packed.len() + 3 < value.len())
    {
        return put_together(codec, &packed);
    }
    // One that looks encoded without being so needs a header that says it is not.
    let looks_encoded = value.first() == Some(&0) || value.starts_with(&GZIP);
    if looks_encoded { framed(value) } else { value.to_vec() }
}

/// A value as it is, behind a header that says so: for one that a reader would otherwise take for something else.
#[must_use]
pub fn framed(value: &[u8]) -> Vec<u8> {
    put_together(Codec::Plain, value)
}

fn put_together(codec: Codec, payload: &[u8]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(payload.len() + 3);
    framed.extend([0, codec.byte(), VERSION]);
    framed.extend(payload);
    framed
}

/// Writing to memory does not fail; if it did, the value would be kept as it is.
fn pack(codec: Codec, value: &[u8]) -> Option<Vec<u8>> {
    match codec {
        Codec::Plain => None,
        Codec::Zstd => zstd::bulk::compress(value, ZSTD_LEVEL).ok(),
        Codec::Gzip => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            writer.write_all(value).ok()?;
            writer.finish().ok()
        }
    }
}

/// How a stored value is encoded; plain for what has no header.
pub fn codec_of(stored: &[u8]) -> Result<Codec, DecodeError> {
    header(stored).map(|(codec, _)| codec)
}

/// The value that was encoded, at most so many bytes of it.
pub fn decode(stored: &[u8], most: usize) -> Result<Cow<'_, [u8]>, DecodeError> {
    let (codec, payload) = header(stored)?;
    match codec {
        Codec::Plain if payload.len() > most => Err(DecodeError::TooLarge { most }),
        Codec::Plain => Ok(Cow::Borrowed(payload)),
        Codec::Zstd => {
            // What says how large it is unfolds in one go.
            match zstd::bulk::Decompressor::upper_bound(payload) {
                Some(size) if size > most => return Err(DecodeError::TooLarge { most }),
                Some(size) => {
                    let value = zstd::bulk::decompress(payload, size);
                    return value.map(Cow::Owned).map_err(|error| damaged(codec, &error));
                }
                None => {}
            }
            let reader = zstd::stream::read::Decoder::with_buffer(payload);
            let reader = reader.map_err(|error| damaged(codec, &error))?;
            unfold(codec, reader, payload.len(), most).map(Cow::Owned)
        }
        Codec::Gzip => {
            let reader = flate2::bufread::MultiGzDecoder::new(payload);
            unfold(codec, reader, payload.len(), most).map(Cow::Owned)
        }
    }
}

fn header(stored: &[u8]) -> Result<(Codec, &[u8]), DecodeError> {
    match stored {
        [0, codec, version, payload @ ..] => {
            if *version != VERSION {
                return Err(DecodeError::Version(*version));
            }
            let known = Codec::ALL.into_iter().find(|known| known.byte() == *codec);
            let known = known.ok_or(DecodeError::Codec(*codec))?;
            // Nothing is a frame of no codec, though some read it as one.
            if payload.is_empty() && known != Codec::Plain {
                Err(DecodeError::Cut)
            } else {
                Ok((known, payload))
            }
        }
        [0, ..] => Err(DecodeError::Cut),
        _ if stored.starts_with(&GZIP) => Ok((Codec::Gzip, stored)),
        _ => Ok((Codec::Plain, stored)),
    }
}

fn unfold(codec: Codec, reader: impl Read, packed: usize, most: usize) -> Result<Vec<u8>, DecodeError> {
    let mut value = Vec::with_capacity(packed.saturating_mul(8).min(most));
    // One byte more than is allowed tells that there is more.
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut value).map_err(|error| damaged(codec, &error))?;
    if value.len() > most { Err(DecodeError::TooLarge { most }) } else { Ok(value) }
}

fn damaged(codec: Codec, error: &std::io::Error) -> DecodeError {
    DecodeError::Damaged { codec, why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 1 << 20;

    fn text() -> Vec<u8> {
        br#"{"agent":"agent_dev00001","status":"idle"}"#.repeat(100)
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_out(
            value in prop::collection::vec(any::<u8>(), 0..2000),
            first in prop::option::of(prop::sample::select(vec![&[0_u8][..], &[0, 1, 1], &GZIP])),
            times in 1_usize..20,
        ) {
            let value = [first.unwrap_or_default(), &value].concat().repeat(times);
            for codec in Codec::ALL {
                let stored = encode(codec, &value);
                prop_assert_eq!(decode(&stored, MOST).unwrap(), value.as_slice());
                prop_assert!(stored.len() <= value.len() + 3);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(stored in prop::collection::vec(any::<u8>(), 0..200), codec in 0_u8..4) {
            let _ = decode(&stored, 1000);
            let _ = decode(&[&[0, codec, VERSION], stored.as_slice()].concat(), 1000);
        }
    }

    #[test]
    fn both_codecs_make_text_small_and_gzip_of_others_is_read() {
        for codec in [Codec::Zstd, Codec::Gzip] {
            let stored = encode(codec, &text());
            assert!(stored.len() < text().len() / 20, "{codec}: {}", stored.len());
            assert_eq!(codec_of(&stored), Ok(codec));
        }
        let bare = encode(Codec::Gzip, &text());
        assert_eq!(decode(&bare[3..], MOST).unwrap(), text());
        assert_eq!(codec_of(&bare[3..]), Ok(Codec::Gzip));
    }

    #[test]
    fn what_is_cut_or_later_is_refused_by_name() {
        let stored = encode(Codec::Zstd, &text());
        for length in 4..stored.len() {
            let cut = decode(&stored[..length], MOST);
            assert!(matches!(cut, Err(DecodeError::Damaged { codec: Codec::Zstd, .. })), "{length}: {cut:?}");
        }
        for length in 1..=3 {
            assert_eq!(decode(&stored[..length], MOST), Err(DecodeError::Cut));
        }
        assert_eq!(decode(&[0, 1, 9, 1], MOST), Err(DecodeError::Version(9)));
        assert_eq!(decode(&[0, 7, 1, 1], MOST), Err(DecodeError::Codec(7)));
    }

    #[test]
    fn nothing_unfolds_beyond_the_limit() {
        let zeros = vec![0; 10 * MOST];
        for codec in Codec::ALL {
            let bomb = encode(codec, &zeros);
            assert_eq!(decode(&bomb, MOST), Err(DecodeError::TooLarge { most: MOST }), "{codec}");
        }
    }
}
