mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}

use shop::{Keyspace, OrderId};

fn main() {
    let keys = Keyspace::default();
    keys.ordre(&OrderId::new("order_ab12").unwrap());
}
