//! Decoding the same bytes once.
//!
//! Readers fetch a file's bytes from the object store every time, so faults and corruption are met every time; only
//! the decoding of bytes that were decoded before is skipped. A result depends on nothing but its key, so whether it
//! was kept cannot be observed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::rc::Rc;
use std::thread::LocalKey;

use xxhash_rust::xxh3::Xxh3;

use super::FormatResult;

/// Results are forgotten, all at once, when they were decoded from more than so many bytes.
const MAX_SOURCE_BYTES: usize = 16 << 20;

/// What files decode to, by their content.
pub struct ContentCache<Decoded> {
    results: BTreeMap<u128, Rc<Decoded>>,
    source_bytes: usize,
}

impl<Decoded> ContentCache<Decoded> {
    /// Nothing.
    pub const fn new() -> Self {
        Self { results: BTreeMap::new(), source_bytes: 0 }
    }

    fn keep(&mut self, key: u128, source_bytes: usize, result: Rc<Decoded>) {
        if self.source_bytes + source_bytes > MAX_SOURCE_BYTES {
            self.results.clear();
            self.source_bytes = 0;
        }
        self.source_bytes += source_bytes;
        self.results.insert(key, result);
    }
}

/// What `bytes` decode to. `interpretation` is all else that the result depends on. Errors are not kept.
pub fn decode_once<Decoded>(
    cache: &'static LocalKey<RefCell<ContentCache<Decoded>>>,
    interpretation: &impl Hash,
    bytes: &[u8],
    decode: impl FnOnce() -> FormatResult<Decoded>,
) -> FormatResult<Rc<Decoded>> {
    let mut hasher = Xxh3::new();
    interpretation.hash(&mut hasher);
    hasher.update(bytes);
    let key = hasher.digest128();
    if let Some(result) = cache.with_borrow(|cache| cache.results.get(&key).cloned()) {
        return Ok(result);
    }
    let result = Rc::new(decode()?);
    cache.with_borrow_mut(|cache| cache.keep(key, bytes.len(), Rc::clone(&result)));
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::super::FormatError;
    use super::*;

    thread_local! {
        static LENGTHS: RefCell<ContentCache<usize>> = const { RefCell::new(ContentCache::new()) };
    }

    #[test]
    fn equal_bytes_are_decoded_once() {
        let length = |interpretation: u8, bytes: &'static [u8]| {
            let mut decoded = false;
            let result = decode_once(&LENGTHS, &interpretation, bytes, || {
                decoded = true;
                Ok(bytes.len())
            });
            (*result.unwrap(), decoded)
        };
        assert_eq!(length(1, b"ab"), (2, true));
        assert_eq!(length(1, b"ab"), (2, false));
        assert_eq!(length(2, b"ab"), (2, true), "another interpretation");
        assert_eq!(length(1, b"ac"), (2, true), "other bytes");
    }

    #[test]
    fn errors_are_not_kept() {
        let refuse = || decode_once(&LENGTHS, &3, b"x", || Err(FormatError::new("no")));
        assert!(refuse().is_err());
        assert_eq!(*decode_once(&LENGTHS, &3, b"x", || Ok(7)).unwrap(), 7);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut cache = ContentCache::new();
        for key in 0..10 {
            cache.keep(key, MAX_SOURCE_BYTES / 3, Rc::new(()));
            assert!(cache.results.len() <= 3);
        }
    }
}
