keyplane_macros::keyspace!("collision.toml");

fn main() {}
