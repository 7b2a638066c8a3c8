keyplane_macros::keyspace!("broken.toml");

fn main() {}
