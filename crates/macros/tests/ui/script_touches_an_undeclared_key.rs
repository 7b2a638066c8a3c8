//! A script that reaches for a key which its operation does not declare: it would work until the cluster is resharded.

keyplane_macros::scripts!("till.toml", "touches_a_stranger");

fn main() {}
