//! The loops: election, and the chain.
