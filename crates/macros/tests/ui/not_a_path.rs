keyplane_macros::keyspace!(keys);

fn main() {}
