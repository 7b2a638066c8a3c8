mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}

use shop::Keyspace;

fn main() {
    let keys = Keyspace::default();
    keys.order("order_ab12");
}
