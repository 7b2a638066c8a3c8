//! Any bytes in place of what the store holds: never a panic, and what is read is the same after it was written and read again.
//!
//! The first byte says what the rest is.
#![no_main]

use keyplane_mempool::model::{Entry, FinalizedEntry, InflightRecord, Mark, Payload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [kind, rest @ ..] = data else { return };
    match kind % 4 {
        0 => {
            if let Ok(payload) = Payload::from_cbor(rest) {
                assert_eq!(Payload::from_cbor(&payload.to_cbor()).expect("it was just written"), payload);
            }
        }
        1 => {
            if let Ok(record) = InflightRecord::from_cbor(rest) {
                assert_eq!(InflightRecord::from_cbor(&record.to_cbor()).expect("it was just written"), record);
            }
        }
        2 => {
            if let Ok(entry) = FinalizedEntry::from_cbor(rest) {
                assert_eq!(FinalizedEntry::from_cbor(&entry.to_cbor()).expect("it was just written"), entry);
            }
        }
        _ => {
            let Ok(text) = std::str::from_utf8(rest) else { return };
            if let Ok(mark) = text.parse::<Mark>() {
                assert_eq!(mark.to_string().parse::<Mark>().expect("it was just written"), mark);
            }
            if let Ok(entry) = text.parse::<Entry>() {
                assert_eq!(entry.to_string().parse::<Entry>().expect("it was just written"), entry);
            }
        }
    }
});
