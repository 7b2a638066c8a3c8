//! Wallets that are none: they make transactions of the right shape, signed by nobody.

use fastrand::Rng;
use minicbor::Encoder;

use crate::model::{Input, Tx, TxError, TxHash};

/// Makes transactions; the same seed makes the same ones.
#[derive(Debug)]
pub struct SimWallet {
    rng: Rng,
    last: Option<TxHash>,
}

impl SimWallet {
    /// A wallet.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), last: None }
    }

    /// Another transaction. Some spend what the one before them has made.
    pub fn pay(&mut self) -> Result<Tx, TxError> {
        let chained = self.last.filter(|_| self.rng.u8(..4) == 0);
        let spent = chained.unwrap_or_else(|| TxHash::new(std::array::from_fn(|_| self.rng.u8(..))));
        let input = Input { tx: spent, index: 0 };
        let fee = self.rng.u64(160_000..300_000);
        let padding: Vec<u8> = (0..self.rng.usize(40..600)).map(|_| self.rng.u8(..)).collect();
        let tx = Tx::decode(transaction(input, fee, &padding))?;
        self.last = Some(tx.hash);
        Ok(tx)
    }
}

/// A transaction of the Conway era that spends one output, with a witness that is only bytes.
#[must_use]
pub fn transaction(input: Input, fee: u64, witness: &[u8]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::with_capacity(128 + witness.len()));
    let written: Result<(), minicbor::encode::Error<std::convert::Infallible>> = (|| {
        e.array(4)?;
        // inputs, outputs, fee
        e.map(3)?;
        e.u8(0)?.array(1)?.array(2)?.bytes(input.tx.bytes())?.u16(input.index)?;
        e.u8(1)?.array(0)?;
        e.u8(2)?.u64(fee)?;
        // Plutus data is the one witness that may be any bytes.
        e.map(1)?.u8(4)?.array(1)?.bytes(witness)?;
        e.bool(true)?.null()?;
        Ok(())
    })();
    // A vector takes everything.
    drop(written);
    e.into_writer()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_read_as_what_they_are() {
        let input = Input { tx: TxHash::new([3; 32]), index: 2 };
        let tx = Tx::decode(transaction(input, 170_000, b"anything")).unwrap();
        assert_eq!((tx.payload.era, tx.inputs), (7, vec![input]));
        let mut wallet = SimWallet::new(1);
        let made: Vec<Tx> = (0..50).map(|_| wallet.pay().unwrap()).collect();
        assert!(made.windows(2).any(|pair| pair[1].inputs[0].tx == pair[0].hash), "some are chained");
    }
}
