//! An operation names a script that is not there.

keyplane_macros::scripts!("till.toml", "lacks_a_script");

fn main() {}
