//! Moving a slot from one master to another, step by step, so that a test can stand in the middle.

use super::{Cluster, Node, ask};
use crate::slot::Slot;
use crate::wait::until;

/// Keys that one MIGRATE takes along.
const BATCH: usize = 100;

impl Cluster {
    /// Opens a slot on both sides: from here on `from` answers ASK for keys that it no longer has.
    pub fn migrate_slot_begin(&self, slot: Slot, from: Node, to: Node) {
        let (source, target) = (self.id(from), self.id(to));
        self.set_slot(to, slot, &["IMPORTING", &source]);
        self.set_slot(from, slot, &["MIGRATING", &target]);
        self.migrating.lock().expect("no panic while held").insert(slot, (from, to));
    }

    /// Moves one key of an open slot; `false` when it is not there.
    pub fn migrate_key(&self, slot: Slot, key: &str) -> bool {
        let (from, to) = self.open_slot(slot);
        let port = self.server(to).port().to_string();
        let moved: String = ask(
            &mut self.server(from).admin(),
            &["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS", key],
        );
        moved != "NOKEY"
    }

    /// Moves all keys of an open slot and tells how many there were.
    pub fn migrate_keys(&self, slot: Slot) -> usize {
        let (from, to) = self.open_slot(slot);
        let port = self.server(to).port().to_string();
        let mut admin = self.server(from).admin();
        let mut moved = 0;
        loop {
            let (number, batch) = (slot.number().to_string(), BATCH.to_string());
            let keys: Vec<String> = ask(&mut admin, &["CLUSTER", "GETKEYSINSLOT", &number, &batch]);
            if keys.is_empty() {
                return moved;
            }
            let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            words.extend(keys.iter().map(String::as_str));
            ask::<()>(&mut admin, &words);
            moved += keys.len();
        }
    }

    /// Gives the slot to its new owner and waits until all nodes know. Keys left behind are lost, so move them first.
    pub fn migrate_slot_end(&self, slot: Slot) {
        let (from, to) = self.open_slot(slot);
        let target = self.id(to);
        // The new owner first: were it last, the slot could be nobody's for a moment.
        self.set_slot(to, slot, &["NODE", &target]);
        self.set_slot(from, slot, &["NODE", &target]);
        self.migrating.lock().expect("no panic while held").remove(&slot);
        until("the new owner of a slot", || {
            let owner = self.node_of_slot(slot);
            if owner == to { Ok(()) } else { Err(format!("{owner} has it")) }
        });
        self.wait_until_ok();
    }

    fn open_slot(&self, slot: Slot) -> (Node, Node) {
        let open = self.migrating.lock().expect("no panic while held");
        *open.get(&slot).unwrap_or_else(|| panic!("{slot} is not open: migrate_slot_begin opens it"))
    }

    fn set_slot(&self, node: Node, slot: Slot, words: &[&str]) {
        let number = slot.number().to_string();
        let words = [&["CLUSTER", "SETSLOT", number.as_str()], words].concat();
        ask::<()>(&mut self.server(node).admin(), &words);
    }
}
