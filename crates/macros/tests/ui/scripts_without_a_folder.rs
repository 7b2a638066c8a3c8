//! scripts! takes two paths.

keyplane_macros::scripts!("till.toml");

fn main() {}
