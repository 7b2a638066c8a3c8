//! The field mask of `WatchMempool`.

use tonic::Status;

/// Which fields of a transaction are sent. They are named as fields of the transaction or of the answer: `ref` or `tx.ref`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask {
    pub(super) reference: bool,
    pub(super) native_bytes: bool,
    pub(super) stage: bool,
}

impl Mask {
    const ALL: Self = Self { reference: true, native_bytes: true, stage: true };
    const NONE: Self = Self { reference: false, native_bytes: false, stage: false };

    /// No path at all asks for everything.
    pub(super) fn read(paths: &[String]) -> Result<Self, Status> {
        if paths.is_empty() {
            return Ok(Self::ALL);
        }
        let mut mask = Self::NONE;
        for path in paths {
            match path.strip_prefix("tx.").unwrap_or(path) {
                "ref" => mask.reference = true,
                "native_bytes" => mask.native_bytes = true,
                "stage" => mask.stage = true,
                "tx" if path == "tx" => mask = Self::ALL,
                _ => return Err(unknown(path)),
            }
        }
        Ok(mask)
    }
}

fn unknown(path: &str) -> Status {
    let shown: String = path.chars().take(80).collect();
    Status::invalid_argument(format!(
        "the field mask names `{shown}`; there are ref, native_bytes and stage, and no parsed transactions"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(paths: &[&str]) -> Result<Mask, Status> {
        Mask::read(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn paths_name_what_is_sent() {
        assert_eq!(read(&[]).unwrap(), Mask::ALL);
        assert_eq!(read(&["tx"]).unwrap(), Mask::ALL);
        assert_eq!(read(&["ref", "tx.stage"]).unwrap(), Mask { native_bytes: false, ..Mask::ALL });
        for unknown in ["", "tx.", "tx.tx", "refs", "cardano", "tx.cardano.fee", "nativeBytes"] {
            let refused = read(&["ref", unknown]).unwrap_err();
            assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{unknown}");
        }
    }
}
