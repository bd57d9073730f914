//! From mutations to log records: the changelog of a key table, the plain log of an append table.
//!
//! A key table's log is a full changelog (L14): `+I` only where the key is absent, `-U` directly before its `+U`, `-D`
//! only where the key is present. A mutation that changes nothing leaves no record. This module must never know when
//! records become durable.

use super::state::KeyState;
use crate::contract::{LogRecord, Mutation, Row, RowKind};
use crate::defects::{Defect, Defects};

/// The records of one batch while it is being made.
struct Records {
    base_offset_inclusive: u64,
    records: Vec<LogRecord>,
}

impl Records {
    fn new(base_offset_inclusive: u64, capacity: usize) -> Self {
        Self { base_offset_inclusive, records: Vec::with_capacity(capacity) }
    }

    /// The offset of the newest record; of the first, if there is none yet.
    fn newest_offset(&self) -> u64 {
        self.base_offset_inclusive + self.records.len().saturating_sub(1) as u64
    }

    fn push(&mut self, kind: RowKind, row: Row) {
        let offset = self.base_offset_inclusive + self.records.len() as u64;
        self.records.push(LogRecord { offset, kind, row });
    }
}

/// The records of a batch of an append table: every row is an insert.
pub(super) fn append_records(mutations: Vec<Mutation>, base_offset_inclusive: u64) -> Vec<LogRecord> {
    let mut log = Records::new(base_offset_inclusive, mutations.len());
    for mutation in mutations {
        // Deletes were refused when the request was checked.
        if let Mutation::Put(row) = mutation {
            log.push(RowKind::Insert, row);
        }
    }
    log.records
}

/// The records of a batch of a key table; its changes are staged in the bucket's state as the records are made, so
/// that each mutation meets what the one before it left.
pub(super) fn key_records(
    mutations: Vec<Mutation>,
    key_positions: &[usize],
    base_offset_inclusive: u64,
    state: &mut KeyState,
    defects: &Defects,
) -> Vec<LogRecord> {
    let mut log = Records::new(base_offset_inclusive, mutations.len());
    for mutation in mutations {
        match mutation {
            Mutation::Put(row) => {
                let key = row.project(key_positions);
                match state.newest(&key) {
                    Some(before) if *before == row => continue,
                    // Planted bug insert-on-existing: a key that is there is inserted once more.
                    Some(_) if defects.has(Defect::InsertOnExisting) => log.push(RowKind::Insert, row.clone()),
                    Some(before) => {
                        // Planted bug changelog-no-before: what was there before is not logged.
                        if !defects.has(Defect::ChangelogNoBefore) {
                            log.push(RowKind::UpdateBefore, before.clone());
                        }
                        log.push(RowKind::UpdateAfter, row.clone());
                    }
                    None => log.push(RowKind::Insert, row.clone()),
                }
                state.stage(log.newest_offset(), key, Some(row));
            }
            Mutation::Delete(key) => {
                let Some(before) = state.newest(&key) else { continue };
                // Planted bug delete-ignored: deletes change the key-value state and never reach the log.
                if !defects.has(Defect::DeleteIgnored) {
                    log.push(RowKind::Delete, before.clone());
                }
                state.stage(log.newest_offset(), key, None);
            }
        }
    }
    log.records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Value;

    fn row(key: i64, value: i64) -> Row {
        Row::new(vec![Value::Int(key), Value::Int(value)])
    }

    fn put(key: i64, value: i64) -> Mutation {
        Mutation::Put(row(key, value))
    }

    fn delete(key: i64) -> Mutation {
        Mutation::Delete(Row::new(vec![Value::Int(key)]))
    }

    /// The records of one batch over a state with key 1 = 10.
    fn over_one_row(mutations: Vec<Mutation>) -> Vec<(u64, RowKind, Row)> {
        let mut state = KeyState::default();
        key_records(vec![put(1, 10)], &[0], 0, &mut state, &Defects::none());
        let records = key_records(mutations, &[0], 1, &mut state, &Defects::none());
        records.into_iter().map(|record| (record.offset, record.kind, record.row)).collect()
    }

    #[test]
    fn a_put_on_an_absent_key_inserts() {
        assert_eq!(over_one_row(vec![put(2, 20)]), [(1, RowKind::Insert, row(2, 20))]);
    }

    #[test]
    fn a_put_on_a_present_key_is_a_pair_of_two_offsets() {
        assert_eq!(
            over_one_row(vec![put(1, 11)]),
            [(1, RowKind::UpdateBefore, row(1, 10)), (2, RowKind::UpdateAfter, row(1, 11))]
        );
    }

    #[test]
    fn a_delete_carries_the_row_before() {
        assert_eq!(over_one_row(vec![delete(1)]), [(1, RowKind::Delete, row(1, 10))]);
    }

    #[test]
    fn what_changes_nothing_leaves_no_record() {
        assert_eq!(over_one_row(vec![put(1, 10), delete(2)]), []);
    }

    #[test]
    fn each_mutation_meets_what_the_one_before_it_left() {
        let kinds: Vec<RowKind> = over_one_row(vec![put(1, 11), delete(1), delete(1), put(1, 12), put(1, 12)])
            .into_iter()
            .map(|(_, kind, _)| kind)
            .collect();
        use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};
        assert_eq!(kinds, [UpdateBefore, UpdateAfter, Delete, Insert]);
    }
}
