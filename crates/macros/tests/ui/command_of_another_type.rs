mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}

use shop::{Item, Keyspace, OrderId};

fn main() {
    let keys = Keyspace::default();
    let lines = keys.lines(&OrderId::new("order_ab12").unwrap(), Item::new(1).unwrap());
    let _ = lines.hset([("a", "b")]);
}
