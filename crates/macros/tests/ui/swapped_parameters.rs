mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}

use shop::{Item, Keyspace, OrderId};

fn main() {
    let keys = Keyspace::default();
    keys.lines(Item::new(1).unwrap(), &OrderId::new("order_ab12").unwrap());
}
