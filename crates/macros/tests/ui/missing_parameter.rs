mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}
use shop::{Item, Keyspace, NoteId, OrderId};

fn main() {
    let keys = Keyspace::default();
    let order = OrderId::new("order_ab12").unwrap();
    let item = Item::new(1).unwrap();
    let note = NoteId::new("x").unwrap();
    let _ = (&order, &item, &note);
    keys.lines(&order);
}
