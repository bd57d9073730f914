//! The key-value state of one bucket of a key table: the newest row of each key, durable and beyond.
//!
//! A new batch must see the batches before it, durable or not, while a reader must see durable ones only. So the
//! durable rows stand apart from an overlay of what the volatile tail of the log changes. This module must never know
//! how the changes are logged.

use std::collections::{BTreeMap, VecDeque};

use crate::contract::Row;

/// What a record of the tail makes of a key.
#[derive(Clone, Debug)]
struct Volatile {
    /// The record: for an update its +U.
    offset: u64,
    /// The row from then on; `None` where the key is deleted.
    row: Option<Row>,
}

/// The rows of one bucket by primary key.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyState {
    /// The rows as the durable log leaves them.
    durable: BTreeMap<Row, Row>,
    /// The newest volatile row of each key that the tail touches.
    overlay: BTreeMap<Row, Volatile>,
    /// All changes of the tail, in log order.
    pending: VecDeque<(Row, Volatile)>,
}

impl KeyState {
    /// The row that a reader may see.
    pub fn durable(&self, key: &Row) -> Option<&Row> {
        self.durable.get(key)
    }

    /// The row that the next mutation meets.
    pub fn newest(&self, key: &Row) -> Option<&Row> {
        match self.overlay.get(key) {
            Some(volatile) => volatile.row.as_ref(),
            None => self.durable.get(key),
        }
    }

    /// Records the change that the record at this offset makes; `None` deletes the key.
    pub fn stage(&mut self, offset: u64, key: Row, row: Option<Row>) {
        let volatile = Volatile { offset, row };
        self.overlay.insert(key.clone(), volatile.clone());
        self.pending.push_back((key, volatile));
    }

    /// Makes the changes of all records before this offset durable, together with the records themselves: between −U
    /// and +U the row before is still the one that readers see.
    pub fn make_durable(&mut self, up_to_offset_exclusive: u64) {
        while let Some((key, Volatile { offset, row })) =
            self.pending.pop_front_if(|(_, volatile)| volatile.offset < up_to_offset_exclusive)
        {
            if self.overlay.get(&key).is_some_and(|newest| newest.offset <= offset) {
                self.overlay.remove(&key);
            }
            match row {
                Some(row) => self.durable.insert(key, row),
                None => self.durable.remove(&key),
            };
        }
    }

    /// A state of these rows, by key, all of them durable.
    pub fn loaded(rows: BTreeMap<Row, Row>) -> Self {
        Self { durable: rows, ..Self::default() }
    }

    /// The durable rows, by key.
    pub fn durable_rows(&self) -> &BTreeMap<Row, Row> {
        &self.durable
    }

    /// How many keys have a durable row.
    pub fn key_count(&self) -> usize {
        self.durable.len()
    }

    /// All rows, durable or not, to change them; their keys stay.
    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        let staged = self.pending.iter_mut().map(|(_, volatile)| volatile).chain(self.overlay.values_mut());
        self.durable.values_mut().chain(staged.filter_map(|volatile| volatile.row.as_mut()))
    }

    /// What a crash does: only what is durable stays.
    pub fn lose_volatile(&mut self) {
        self.overlay.clear();
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Value;

    fn row(number: i64) -> Row {
        Row::new(vec![Value::Int(number)])
    }

    #[test]
    fn writers_see_the_tail_and_readers_do_not() {
        let mut state = KeyState::default();
        state.stage(0, row(1), Some(row(10)));
        assert_eq!(state.newest(&row(1)), Some(&row(10)));
        assert_eq!(state.durable(&row(1)), None);
        state.make_durable(1);
        assert_eq!(state.durable(&row(1)), Some(&row(10)));
    }

    #[test]
    fn a_durable_older_change_does_not_hide_a_volatile_newer_one() {
        let mut state = KeyState::default();
        state.stage(0, row(1), Some(row(10)));
        state.stage(1, row(1), Some(row(11)));
        state.make_durable(1);
        assert_eq!((state.durable(&row(1)), state.newest(&row(1))), (Some(&row(10)), Some(&row(11))));
        state.make_durable(2);
        assert_eq!((state.durable(&row(1)), state.newest(&row(1))), (Some(&row(11)), Some(&row(11))));
    }

    #[test]
    fn a_crash_brings_deleted_keys_back_if_the_delete_was_volatile() {
        let mut state = KeyState::default();
        state.stage(0, row(1), Some(row(10)));
        state.make_durable(1);
        state.stage(1, row(1), None);
        assert_eq!(state.newest(&row(1)), None);
        state.lose_volatile();
        assert_eq!(state.newest(&row(1)), Some(&row(10)));
    }
}
