//! Patterns of Cardano transactions, as far as the bytes of a transaction decide them.
//!
//! What a transaction spends is named in it and not shown: addresses and assets of spent outputs are in the ledger. A pattern
//! that asks for them is refused. Which assets move is known nevertheless: what goes in comes out again or is burnt.

use pallas_addresses::Address;
use pallas_traverse::{MultiEraOutput, MultiEraPolicyAssets, MultiEraTx};
use tonic::Status;
use utxorpc_spec::utxorpc::v1alpha::cardano::{AddressPattern, AssetPattern, TxOutputPattern, TxPattern};

/// BLAKE2b-224, for credentials and policies.
const CREDENTIAL: usize = 28;

/// The protocol's limit.
const ASSET_NAME: usize = 32;

/// The longest that the ledger takes are those of Byron, with attributes; no real one is near this.
const ADDRESS: usize = 1024;

/// Why a pattern will not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Unfit {
    #[error(
        "`{0}` asks for outputs that are spent, and those are in the ledger, which this mempool does not have; \
         `produces`, `moves_asset` and `mints_asset` can be decided"
    )]
    Spent(&'static str),
    #[error("`{field}` has {got} bytes, and {wanted}: it would match nothing")]
    Length { field: &'static str, got: usize, wanted: &'static str },
    #[error("patterns of certificates are not read here")]
    Certificates,
    #[error("a pattern names no chain that is known here; there is `cardano`")]
    Chain,
    #[error("the predicate has more than {0} parts")]
    TooMany(usize),
}

impl From<Unfit> for Status {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Certificates => Self::unimplemented(unfit.to_string()),
            _ => Self::invalid_argument(format!("the predicate cannot be decided: {unfit}")),
        }
    }
}

/// A pattern that can be decided. What is absent is not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    produces: Option<Output>,
    moves: Option<Asset>,
    mints: Option<Asset>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Output {
    address: Option<Place>,
    asset: Option<Asset>,
}

/// Of an address; what is empty is not asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    exact: Vec<u8>,
    payment: Vec<u8>,
    delegation: Vec<u8>,
}

/// The same of an asset.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asset {
    policy: Vec<u8>,
    name: Vec<u8>,
}

impl Pattern {
    pub(super) fn read(asked: &TxPattern) -> Result<Self, Unfit> {
        // Every transaction spends something, at some address: asked for no more than that, the answer is known.
        if asked.consumes.as_ref().is_some_and(|spent| *spent != TxOutputPattern::default()) {
            return Err(Unfit::Spent("consumes"));
        }
        if asked.has_address.as_ref().is_some_and(|address| *address != AddressPattern::default()) {
            return Err(Unfit::Spent("has_address"));
        }
        if asked.has_certificate.is_some() {
            return Err(Unfit::Certificates);
        }
        Ok(Self {
            produces: asked.produces.as_ref().map(Output::read).transpose()?,
            moves: asked.moves_asset.as_ref().map(Asset::read).transpose()?,
            mints: asked.mints_asset.as_ref().map(Asset::read).transpose()?,
        })
    }

    pub(super) fn matches(&self, tx: &MultiEraTx<'_>) -> bool {
        let outputs = tx.produces();
        let produces = |wanted: &Output| outputs.iter().any(|(_, output)| wanted.matches(output));
        // One that is known to fail mints nothing.
        let mints = |wanted: &Asset| tx.is_valid() && wanted.is_among(&tx.mints());
        let moves = |wanted: &Asset| {
            mints(wanted) || outputs.iter().any(|(_, output)| wanted.is_among(&output.value().assets()))
        };
        self.produces.as_ref().is_none_or(produces)
            && self.mints.as_ref().is_none_or(mints)
            && self.moves.as_ref().is_none_or(moves)
    }
}

impl Output {
    fn read(asked: &TxOutputPattern) -> Result<Self, Unfit> {
        Ok(Self {
            address: asked.address.as_ref().map(Place::read).transpose()?,
            asset: asked.asset.as_ref().map(Asset::read).transpose()?,
        })
    }

    /// Address and asset of the same output.
    fn matches(&self, output: &MultiEraOutput<'_>) -> bool {
        let address = |place: &Place| output.address().is_ok_and(|address| place.matches(&address));
        self.address.as_ref().is_none_or(address)
            && self.asset.as_ref().is_none_or(|asset| asset.is_among(&output.value().assets()))
    }
}

impl Place {
    fn read(asked: &AddressPattern) -> Result<Self, Unfit> {
        within("exact_address", &asked.exact_address, ADDRESS, "an address has at most 1024")?;
        credential("payment_part", &asked.payment_part)?;
        // A pointer is shorter than a credential.
        within("delegation_part", &asked.delegation_part, CREDENTIAL, "a delegation has at most 28")?;
        Ok(Self {
            exact: asked.exact_address.to_vec(),
            payment: asked.payment_part.to_vec(),
            delegation: asked.delegation_part.to_vec(),
        })
    }

    fn matches(&self, address: &Address) -> bool {
        let (payment, delegation) = match address {
            Address::Shelley(address) => (address.payment().to_vec(), address.delegation().to_vec()),
            _ => (Vec::new(), Vec::new()),
        };
        let is = |wanted: &[u8], found: &[u8]| wanted.is_empty() || wanted == found;
        is(&self.exact, &address.to_vec()) && is(&self.payment, &payment) && is(&self.delegation, &delegation)
    }
}

impl Asset {
    fn read(asked: &AssetPattern) -> Result<Self, Unfit> {
        credential("policy_id", &asked.policy_id)?;
        within("asset_name", &asked.asset_name, ASSET_NAME, "a name has at most 32")?;
        Ok(Self { policy: asked.policy_id.to_vec(), name: asked.asset_name.to_vec() })
    }

    fn is_among(&self, policies: &[MultiEraPolicyAssets<'_>]) -> bool {
        policies.iter().any(|policy| {
            (self.policy.is_empty() || self.policy == policy.policy().as_ref())
                && policy.assets().iter().any(|asset| self.name.is_empty() || self.name == asset.name())
        })
    }
}

fn credential(field: &'static str, bytes: &[u8]) -> Result<(), Unfit> {
    match bytes.len() {
        0 | CREDENTIAL => Ok(()),
        got => Err(Unfit::Length { field, got, wanted: "a hash of this kind has 28" }),
    }
}

fn within(field: &'static str, bytes: &[u8], most: usize, wanted: &'static str) -> Result<(), Unfit> {
    match bytes.len() {
        got if got > most => Err(Unfit::Length { field, got, wanted }),
        _ => Ok(()),
    }
}
