//! Any bytes are a snapshot or an error; what is a snapshot can be written and read again.
#![no_main]

use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::paimon::Snapshot;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(snapshot) = Snapshot::decode(bytes) {
        let again = snapshot.encode().and_then(|bytes| Snapshot::decode(&bytes));
        assert_eq!(again.as_ref(), Ok(&snapshot));
    }
});
