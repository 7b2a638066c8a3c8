//! Any bytes in place of a transaction: never a panic. What is read is kept byte by byte, spends something, and is the same
//! when it is read as the era that was found.
#![no_main]

use keyplane_mempool::Tx;
use keyplane_mempool::model::Payload;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(tx) = Tx::decode(data.to_vec()) {
        assert_eq!(tx.payload.bytes, data);
        assert!(!tx.inputs.is_empty() && tx.inputs.is_sorted());
        let again = Tx::decode_as(tx.payload.era, data.to_vec()).expect("it is of that era");
        assert_eq!(again, tx);
        assert_eq!(Payload::from_cbor(&tx.payload.to_cbor()).expect("it was just written"), tx.payload);
    }
    for era in 0..9 {
        if let Ok(tx) = Tx::decode_as(era, data.to_vec()) {
            assert_eq!((tx.payload.era, &tx.payload.bytes[..]), (era, data));
        }
    }
});
