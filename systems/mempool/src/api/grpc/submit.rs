//! `SubmitTx`: one transaction in, its id out.

use tonic::Status;
use utxorpc_spec::utxorpc::v1alpha::submit::any_chain_tx::Type;
use utxorpc_spec::utxorpc::v1alpha::submit::{SubmitTxRequest, SubmitTxResponse};

use super::errors::refused;
use crate::model::Tx;
use crate::state::Pool;

pub(super) async fn submit(pool: &Pool, request: SubmitTxRequest) -> Result<SubmitTxResponse, Status> {
    let Some(Type::Raw(bytes)) = request.tx.and_then(|tx| tx.r#type) else {
        return Err(Status::invalid_argument("there is no transaction in `tx.raw`"));
    };
    let tx = Tx::decode(bytes.into())
        .map_err(|error| Status::invalid_argument(format!("no transaction: {error}")))?;
    pool.receive(&tx).await.map_err(|error| refused(&error))?;
    Ok(SubmitTxResponse { r#ref: tx.hash.bytes().to_vec().into() })
}
