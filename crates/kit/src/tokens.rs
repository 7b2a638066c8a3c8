//! Names that nobody else has.

use std::sync::Mutex;

/// Draws tokens: 128 bits each, in hex.
#[derive(Debug)]
pub struct Tokens(Mutex<fastrand::Rng>);

impl Default for Tokens {
    /// From the system's randomness.
    fn default() -> Self {
        Self(Mutex::new(fastrand::Rng::new()))
    }
}

impl Tokens {
    /// From a seed: for tests that are to be repeated, and for nothing else.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    /// The next one.
    pub fn draw(&self) -> String {
        let mut rng = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        format!("{:032x}", rng.u128(..))
    }
}
