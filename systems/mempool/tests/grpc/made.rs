//! Transactions with outputs and assets, signed by nobody.

use keyplane_mempool::model::Input;
use keyplane_mempool::{Tx, TxHash};
use minicbor::Encoder;

pub(crate) const POLICY: [u8; 28] = [0x50; 28];
pub(crate) const PAYMENT: [u8; 28] = [0x60; 28];
pub(crate) const STAKE: [u8; 28] = [0x70; 28];

/// A base address on the test network.
pub(crate) fn address() -> Vec<u8> {
    [&[0x00][..], &PAYMENT, &STAKE].concat()
}

pub(crate) fn input() -> Input {
    Input { tx: TxHash::new(std::array::from_fn(|_| fastrand::u8(..))), index: fastrand::u16(..100) }
}

/// One that makes no outputs.
pub(crate) fn plain() -> Tx {
    Tx::decode(keyplane_mempool::ports::transaction(input(), 170_000, b"nobody signed this")).unwrap()
}

/// One that spends this.
pub(crate) fn spending(input: Input, fee: u64) -> Tx {
    Tx::decode(keyplane_mempool::ports::transaction(input, fee, b"nobody signed this")).unwrap()
}

/// What a transaction does with the asset.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum With {
    Nothing,
    Sends,
    Mints,
    Burns,
}

/// Pays to an address, and does something with the asset `coin` of the policy.
pub(crate) fn paying(to: &[u8], with: With) -> Tx {
    let input = input();
    let mut e = Encoder::new(Vec::new());
    e.array(4).unwrap();
    e.map(if matches!(with, With::Mints | With::Burns) { 4 } else { 3 }).unwrap();
    e.u8(0).unwrap().array(1).unwrap().array(2).unwrap().bytes(input.tx.bytes()).unwrap();
    e.u16(input.index).unwrap();
    e.u8(1).unwrap().array(1).unwrap().map(2).unwrap().u8(0).unwrap().bytes(to).unwrap().u8(1).unwrap();
    if matches!(with, With::Sends | With::Mints) {
        e.array(2).unwrap().u64(2_000_000).unwrap();
        e.map(1).unwrap().bytes(&POLICY).unwrap().map(1).unwrap().bytes(b"coin").unwrap().u64(7).unwrap();
    } else {
        e.u64(2_000_000).unwrap();
    }
    e.u8(2).unwrap().u64(170_000).unwrap();
    if matches!(with, With::Mints | With::Burns) {
        let many = if with == With::Mints { 7 } else { -7 };
        e.u8(9).unwrap().map(1).unwrap().bytes(&POLICY).unwrap().map(1).unwrap().bytes(b"coin").unwrap();
        e.i64(many).unwrap();
    }
    e.map(0).unwrap().bool(true).unwrap().null().unwrap();
    Tx::decode(e.into_writer()).unwrap()
}
