keyplane_macros::keyspace!("nowhere/keys.toml");

fn main() {}
