//! Any bytes are a tag or an error; a tag is a snapshot with two fields more, so its bytes are one too.
#![no_main]

use fuzz as _;
use libfuzzer_sys::fuzz_target;
use models::paimon::{Snapshot, Tag};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tag) = Tag::decode(bytes) {
        assert_eq!(Snapshot::decode(bytes).as_ref(), Ok(&tag.snapshot));
        let again = tag.snapshot.encode().and_then(|bytes| Tag::decode(&bytes));
        assert_eq!(again.map(|again| again.snapshot).as_ref(), Ok(&tag.snapshot));
    }
});
