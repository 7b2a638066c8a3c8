mod shop {
    keyplane_macros::keyspace!("../shop.toml");
}

use shop::{Keyspace, NoteId};

fn main() {
    let keys = Keyspace::default();
    keys.order(&NoteId::new("x").unwrap());
}
