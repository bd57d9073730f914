//! When snapshots came into the lake, by the true time. A snapshot's own time is that of its writer's clock, which may be
//! wrong; judges are told this one.

use std::cell::RefCell;
use std::collections::BTreeMap;

/// The arrival of each snapshot file, by its path.
#[derive(Default)]
pub struct Arrivals(RefCell<BTreeMap<String, u64>>);

impl Arrivals {
    /// The file is there from now on, whether or not one of its name was there before.
    pub fn note(&self, path: &str, at_ms: u64) {
        self.0.borrow_mut().insert(path.to_owned(), at_ms);
    }

    /// What was beneath one directory is beneath another one from now on.
    pub fn follow(&self, from: &str, to: &str) {
        let mut arrivals = self.0.borrow_mut();
        let prefix = format!("{from}/");
        let moved: Vec<String> = arrivals.keys().filter(|path| path.starts_with(&prefix)).cloned().collect();
        for path in moved {
            if let Some(at_ms) = arrivals.remove(&path) {
                arrivals.insert(format!("{to}{}", &path[from.len()..]), at_ms);
            }
        }
    }

    /// When the file came, in milliseconds since the run began; `None` if it did not come through a port.
    pub fn of(&self, path: &str) -> Option<u64> {
        self.0.borrow().get(path).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_arrival_when_their_directory_moves() {
        let arrivals = Arrivals::default();
        arrivals.note("db.db/t/snapshot/snapshot-1", 5);
        arrivals.note("db.db/t2/snapshot/snapshot-1", 7);
        arrivals.follow("db.db/t", "db.db/u");
        let of = |path| arrivals.of(path);
        assert_eq!(of("db.db/u/snapshot/snapshot-1"), Some(5));
        assert_eq!(of("db.db/t/snapshot/snapshot-1"), None);
        assert_eq!(of("db.db/t2/snapshot/snapshot-1"), Some(7), "a name's beginning is not a directory");
        arrivals.note("db.db/u/snapshot/snapshot-1", 9);
        assert_eq!(of("db.db/u/snapshot/snapshot-1"), Some(9));
    }
}
