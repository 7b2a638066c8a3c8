//! Values that are larger than their field may be: kept encoded, where that makes them fit.
//!
//! # What it promises
//! - What fits is kept as it is, and redis-cli shows it. What does not says how it is encoded ([`blob`]).
//! - What is read is what was put in, encoded or not, and what somebody else has packed with gzip is read too.
//! - A value that is too large even so is refused, and nothing is written; a result goes into [pieces](super::pieces). Nothing unfolds beyond [`MOST_VALUE`].

use std::borrow::Cow;

use keyplane_kit::blob::{self, Codec};

use super::error::OpError;

/// The most that one value may amount to, in bytes, however small it gets.
pub const MOST_VALUE: usize = 1024 * 1024;

/// The fields that are kept packed where they would not fit: of memories, and of tasks.
const PACKED: [&[u8]; 2] = [b"content", b"result"];

/// A value as a field keeps it that takes at most so many bytes.
pub(super) fn fit(what: &str, value: &str, most: usize) -> Result<Vec<u8>, OpError> {
    let kept = fold(what, value, most)?;
    match kept.len() {
        bytes if bytes > most => Err(OpError::TooLarge { what: format!("{what} (packed)"), bytes, most }),
        _ => Ok(kept),
    }
}

/// The same, whether it fits then or not.
pub(super) fn fold(what: &str, value: &str, most: usize) -> Result<Vec<u8>, OpError> {
    if value.len() > MOST_VALUE {
        return Err(OpError::TooLarge { what: what.to_owned(), bytes: value.len(), most: MOST_VALUE });
    }
    let codec = if value.len() > most { Codec::Zstd } else { Codec::Plain };
    Ok(blob::encode(codec, value.as_bytes()))
}

/// What was put into a field. What cannot be unfolded is shown as it is kept: whoever looks may find out what it is.
pub(super) fn unfolded(kept: &[u8]) -> Cow<'_, [u8]> {
    blob::decode(kept, MOST_VALUE).unwrap_or(Cow::Borrowed(kept))
}

/// The same of a field of any record: those that may be packed are opened, and no others, for what looks packed in them was put in so.
pub(super) fn opened<'v>(field: &[u8], kept: &'v [u8]) -> Cow<'v, [u8]> {
    if PACKED.contains(&field) { unfolded(kept) } else { Cow::Borrowed(kept) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_fits_is_read_as_it_was_put_in(value in "\\PC{0,300}|\u{0}\\PC{0,30}", times in 1_usize..50) {
            let value = value.repeat(times);
            match fit("it", &value, 1000) {
                Ok(kept) => {
                    prop_assert!(kept.len() <= 1000);
                    let read = unfolded(&kept);
                    prop_assert_eq!(read.as_ref(), value.as_bytes());
                    let is_as_it_was = kept == value.as_bytes();
                    prop_assert_eq!(is_as_it_was, value.len() <= 1000 && !value.starts_with('\u{0}'));
                }
                Err(error) => prop_assert!(value.len() > 900, "{error}"),
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused_with_what_was_measured() {
        let told = |value: &str| fit("mem_1", value, 1000).unwrap_err().to_string();
        assert_eq!(told(&"x".repeat(MOST_VALUE + 1)), "`mem_1` has 1048577 bytes, and 1048576 are allowed");
        let mut rng = fastrand::Rng::with_seed(1);
        let noise: String = (0..5000).map(|_| rng.alphanumeric()).collect();
        let said = told(&noise);
        assert!(
            said.starts_with("`mem_1 (packed)` has ") && said.ends_with(" and 1000 are allowed"),
            "{said}"
        );
    }

    #[test]
    fn what_others_have_packed_is_read_and_what_nobody_can_read_is_shown() {
        let gzip = &blob::encode(Codec::Gzip, "{}".repeat(1000).as_bytes())[3..];
        assert_eq!(unfolded(gzip).as_ref(), "{}".repeat(1000).as_bytes());
        assert_eq!(unfolded(&[0, 9, 9, 1]).as_ref(), [0, 9, 9, 1]);
    }
}
