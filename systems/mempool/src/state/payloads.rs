//! The bytes of transactions, by their ids.

use super::error::ReadError;
use super::{Inner, Pool};
use crate::model::{Payload, TxHash};

impl Pool {
    /// Their bytes, whatever stage they are in; `None` for one that the pool does not know or has finished long ago.
    pub async fn payloads(&self, txs: &[TxHash]) -> Result<Vec<Option<Payload>>, ReadError> {
        let Inner { node, names, .. } = &*self.0;
        let found = node.run_all(names.payloads(txs).iter().map(|key| key.get())).await?;
        let payload = |(hash, bytes): (&TxHash, Option<Vec<u8>>)| {
            let payload = bytes.map(|bytes| Payload::from_cbor(&bytes)).transpose();
            payload.map_err(ReadError::record("payload", hash.to_string()))
        };
        txs.iter().zip(found).map(payload).collect()
    }
}
