//! The volatile part of the coordinator: which table is scheduled, queued or held.
//!
//! A pure state machine: time comes in as an argument, nothing goes out but assignments. It must never know how a table
//! is tiered or what survives a crash.
//!
//! ```text
//!            due                 assigned (new epoch)
//! Scheduled ─────> Pending ───────────────────────────> Tiering
//!     ^               ^                                    │
//!     │ finished      └──────── failed, silent ────────────┤
//!     └────────────────────────────────────────────────────┘
//! ```
//! There is no other transition. What a holder says counts only while the table is in `Tiering` under the holder's own
//! epoch, so a late or repeated report changes nothing. A table is in the queue exactly while it is `Pending`, so an
//! entry cannot outlive the state that it stands for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::contract::{Failure, RoundEnd, StoreTable, TableId, TablePath, TieringAssignment};
use crate::defects::{Defect, Defects};

/// All tables that are to be tiered.
#[derive(Debug, Default)]
pub(super) struct TieringStates {
    tables: BTreeMap<TableId, Tracked>,
    /// The pending tables, the next one first.
    queue: VecDeque<TableId>,
    /// Planted bug epoch-zero; `false` in the reference.
    keeps_stale_entries: bool,
    /// Planted bug freshness-beyond-bound; `false` in the reference.
    counts_from_the_end: bool,
}

#[derive(Debug)]
struct Tracked {
    table: StoreTable,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing to do before `due_ms`.
    Scheduled { due_ms: u64 },
    /// Due, and in the queue.
    Pending,
    /// Held by a worker.
    Tiering(Holder),
}

#[derive(Debug)]
struct Holder {
    worker: String,
    epoch: u64,
    began_ms: u64,
    heard_ms: u64,
}

impl TieringStates {
    /// No tables yet.
    pub(super) fn new(defects: &Defects) -> Self {
        Self {
            keeps_stale_entries: defects.has(Defect::EpochZero),
            counts_from_the_end: defects.has(Defect::FreshnessBeyondBound),
            ..Self::default()
        }
    }

    /// Tiers this table from `due_ms` on. Of a table that is known already only the definition is taken over; its state
    /// and its holder stay.
    pub(super) fn track(&mut self, table: StoreTable, due_ms: u64) {
        match self.tables.get_mut(&table.table_id) {
            Some(tracked) => tracked.table = table,
            None => {
                self.tables.insert(table.table_id, Tracked { table, state: State::Scheduled { due_ms } });
            }
        }
    }

    /// Tiers no table of this name any more, whoever holds one.
    pub(super) fn forget(&mut self, path: &TablePath) {
        self.keep(|tracked| tracked.table.path != *path);
    }

    /// Tiers no table that is missing here any more.
    pub(super) fn keep_only(&mut self, table_ids: &BTreeSet<TableId>) {
        self.keep(|tracked| table_ids.contains(&tracked.table.table_id));
    }

    fn keep(&mut self, keep: impl Fn(&Tracked) -> bool) {
        self.tables.retain(|_, tracked| keep(tracked));
        // Planted bug epoch-zero: an entry outlives the table that it was for.
        if self.keeps_stale_entries {
            return;
        }
        let tables = &self.tables;
        self.queue.retain(|table_id| tables.contains_key(table_id));
    }

    /// Queues what is due, in the order in which it became due, and takes their tables from holders that were silent
    /// for `heartbeat_timeout_ms`. Returns whether any holder lost its table.
    pub(super) fn advance(&mut self, now_ms: u64, heartbeat_timeout_ms: u64) -> bool {
        let mut taken = false;
        let mut due: Vec<(u64, TableId)> = Vec::new();
        for (table_id, tracked) in &self.tables {
            let since_ms = match &tracked.state {
                State::Scheduled { due_ms } => *due_ms,
                State::Tiering(holder) => holder.heard_ms.saturating_add(heartbeat_timeout_ms),
                State::Pending => continue,
            };
            if since_ms <= now_ms {
                taken |= matches!(tracked.state, State::Tiering(_));
                due.push((since_ms, *table_id));
            }
        }
        due.sort_unstable();
        for (_, table_id) in due {
            self.queue_up(table_id);
        }
        taken
    }

    /// The only way into the queue.
    fn queue_up(&mut self, table_id: TableId) {
        if let Some(tracked) = self.tables.get_mut(&table_id)
            && !matches!(tracked.state, State::Pending)
        {
            tracked.state = State::Pending;
            self.queue.push_back(table_id);
        }
    }

    /// Gives the table that waits longest to this worker, under an epoch from `next_epoch`.
    pub(super) fn assign(
        &mut self,
        worker: &str,
        now_ms: u64,
        next_epoch: impl FnOnce(&TablePath) -> u64,
    ) -> Option<TieringAssignment> {
        // Planted bug epoch-zero: an entry whose table is gone waits for it to come back.
        if self.keeps_stale_entries {
            let tables = &self.tables;
            let known = self.queue.iter().position(|table_id| tables.contains_key(table_id))?;
            self.queue.rotate_left(known);
        }
        let table_id = self.queue.pop_front()?;
        let tracked = self.tables.get_mut(&table_id)?;
        // It is then handed out as if nobody had the table.
        if self.keeps_stale_entries && !matches!(tracked.state, State::Pending) {
            return Some(TieringAssignment { table: tracked.table.clone(), epoch: 0 });
        }
        let epoch = next_epoch(&tracked.table.path);
        tracked.state = State::Tiering(Holder { worker: worker.to_owned(), epoch, began_ms: now_ms, heard_ms: now_ms });
        Some(TieringAssignment { table: tracked.table.clone(), epoch })
    }

    /// The holder is alive. `rejected` unless the table is being tiered under this epoch.
    pub(super) fn heartbeat(&mut self, table_id: TableId, epoch: u64, now_ms: u64) -> Result<(), Failure> {
        self.holder(table_id, epoch)?.heard_ms = now_ms;
        Ok(())
    }

    /// The holder's round ended: a finished table is due `freshness_ms` after the round began, a failed one at once.
    /// `rejected`, and without effect, unless the table is being tiered under this epoch.
    pub(super) fn end_round(
        &mut self,
        table_id: TableId,
        epoch: u64,
        end: RoundEnd,
        now_ms: u64,
        freshness_ms: u64,
    ) -> Result<(), Failure> {
        let began_ms = self.holder(table_id, epoch)?.began_ms;
        // Planted bug freshness-beyond-bound: the timer starts again when the round has ended.
        let from_ms = if self.counts_from_the_end { now_ms } else { began_ms };
        let due_ms = from_ms.saturating_add(freshness_ms);
        match end {
            RoundEnd::Finished => {
                if let Some(tracked) = self.tables.get_mut(&table_id) {
                    tracked.state = State::Scheduled { due_ms };
                }
            }
            RoundEnd::Failed => self.queue_up(table_id),
        }
        Ok(())
    }

    /// The gate that every word of a holder passes: identity, state **and** epoch.
    fn holder(&mut self, table_id: TableId, epoch: u64) -> Result<&mut Holder, Failure> {
        let Some(tracked) = self.tables.get_mut(&table_id) else {
            return Err(Failure::rejected(format!(
                "expected a table that is tiered here, found table id {table_id}, which was dropped or is not known \
                 since the coordinator restarted; give the round up"
            )));
        };
        let path = &tracked.table.path;
        match &mut tracked.state {
            State::Tiering(holder) => {
                if holder.epoch == epoch {
                    return Ok(holder);
                }
                Err(Failure::rejected(format!(
                    "expected the current epoch {} of {path}, which {} holds, found epoch {epoch}; give the round up",
                    holder.epoch, holder.worker
                )))
            }
            State::Scheduled { .. } | State::Pending => Err(Failure::rejected(format!(
                "expected a running round of {path}, found epoch {epoch}, whose round is over or was taken away; give \
                 the round up"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::epochs::EpochLedger;
    use super::*;
    use crate::contract::{FailureCode, TableSchema};

    const TIMEOUT_MS: u64 = 100;
    const FRESHNESS_MS: u64 = 50;

    fn table(table_id: u64, name: &str) -> StoreTable {
        let schema = TableSchema {
            columns: Vec::new(),
            primary_key: Vec::new(),
            partition_keys: Vec::new(),
            options: BTreeMap::new(),
        };
        StoreTable {
            table_id: TableId(table_id),
            path: TablePath::new("db", name),
            schema: Arc::new(schema),
            source_snapshot_id: None,
        }
    }

    /// The state machine with its ledger and a clock.
    #[derive(Default)]
    struct Machine {
        states: TieringStates,
        epochs: EpochLedger,
        now_ms: u64,
    }

    impl Machine {
        fn with_table() -> Self {
            let mut machine = Self::default();
            machine.states.track(table(1, "t"), 0);
            machine.at(0);
            machine
        }

        fn at(&mut self, now_ms: u64) {
            self.now_ms = now_ms;
            self.states.advance(now_ms, TIMEOUT_MS);
        }

        fn request(&mut self, worker: &str) -> Option<u64> {
            let assignment = self.states.assign(worker, self.now_ms, |path| self.epochs.next(path))?;
            Some(assignment.epoch)
        }

        fn heartbeat(&mut self, epoch: u64) -> Result<(), FailureCode> {
            self.states.heartbeat(TableId(1), epoch, self.now_ms).map_err(|failure| failure.code)
        }

        fn end(&mut self, epoch: u64, end: RoundEnd) -> Result<(), FailureCode> {
            self.states.end_round(TableId(1), epoch, end, self.now_ms, FRESHNESS_MS).map_err(|failure| failure.code)
        }
    }

    const REJECTED: Result<(), FailureCode> = Err(FailureCode::Rejected);

    #[test]
    fn a_finished_table_is_due_one_freshness_after_its_round_began() {
        let mut machine = Machine::with_table();
        machine.at(10);
        let epoch = machine.request("a").unwrap();
        machine.at(30);
        assert_eq!(machine.end(epoch, RoundEnd::Finished), Ok(()));
        machine.at(59);
        assert_eq!(machine.request("a"), None);
        machine.at(60);
        assert_eq!(machine.request("a"), Some(epoch + 1));
    }

    #[test]
    fn freshness_beyond_bound_counts_from_the_end_of_a_round() {
        let defects: Defects = [Defect::FreshnessBeyondBound].into_iter().collect();
        let mut machine = Machine { states: TieringStates::new(&defects), ..Machine::default() };
        machine.states.track(table(1, "t"), 0);
        machine.at(0);
        let epoch = machine.request("a").unwrap();
        machine.at(30);
        assert_eq!(machine.end(epoch, RoundEnd::Finished), Ok(()));
        machine.at(79);
        assert_eq!(machine.request("a"), None);
        machine.at(80);
        assert_eq!(machine.request("a"), Some(epoch + 1));
    }

    #[test]
    fn a_failed_table_is_due_at_once_behind_the_others() {
        let mut machine = Machine::with_table();
        let epoch = machine.request("a").unwrap();
        machine.states.track(table(2, "other"), 0);
        machine.at(0);
        assert_eq!(machine.end(epoch, RoundEnd::Failed), Ok(()));
        let next = machine.states.assign("a", 0, |_| 9).unwrap();
        assert_eq!(next.table.path, TablePath::new("db", "other"));
        assert_eq!(machine.request("a"), Some(2));
    }

    #[test]
    fn a_silent_holder_loses_its_table_to_a_new_epoch() {
        let mut machine = Machine::with_table();
        let first = machine.request("silent").unwrap();
        machine.at(TIMEOUT_MS - 1);
        assert_eq!(machine.request("b"), None, "the holder still has a millisecond");
        machine.at(TIMEOUT_MS);
        let second = machine.request("b").unwrap();
        assert!(second > first);
        assert_eq!(machine.heartbeat(first), REJECTED);
        assert_eq!(machine.end(first, RoundEnd::Finished), REJECTED);
        assert_eq!(machine.heartbeat(second), Ok(()), "the late words of the first holder did not disturb the second");
    }

    #[test]
    fn a_heartbeat_keeps_the_table() {
        let mut machine = Machine::with_table();
        let epoch = machine.request("a").unwrap();
        machine.at(TIMEOUT_MS - 1);
        assert_eq!(machine.heartbeat(epoch), Ok(()));
        machine.at(2 * TIMEOUT_MS - 2);
        assert_eq!(machine.request("b"), None);
        assert_eq!(machine.heartbeat(epoch), Ok(()));
    }

    #[test]
    fn a_heartbeat_after_the_timeout_does_not_take_the_table_back() {
        let mut machine = Machine::with_table();
        let epoch = machine.request("a").unwrap();
        machine.at(TIMEOUT_MS);
        assert_eq!(machine.heartbeat(epoch), REJECTED, "right epoch, but the table is pending");
        assert_eq!(machine.request("b"), Some(epoch + 1));
    }

    #[test]
    fn a_repeated_or_late_end_of_a_round_has_no_effect() {
        let mut machine = Machine::with_table();
        let epoch = machine.request("a").unwrap();
        machine.at(10);
        assert_eq!(machine.end(epoch, RoundEnd::Finished), Ok(()));
        // Upstream, a late failure moves a scheduled table into the queue, and a late finish moves its timer.
        machine.at(20);
        assert_eq!(machine.end(epoch, RoundEnd::Failed), REJECTED);
        assert_eq!(machine.end(epoch, RoundEnd::Finished), REJECTED);
        assert_eq!(machine.request("b"), None);
        machine.at(FRESHNESS_MS);
        assert_eq!(machine.request("b"), Some(epoch + 1));
        assert_eq!(machine.end(epoch, RoundEnd::Failed), REJECTED);
        assert_eq!(machine.request("c"), None, "still held by b only");
    }

    #[test]
    fn a_queue_entry_dies_with_its_table() {
        let mut machine = Machine::with_table();
        machine.states.forget(&TablePath::new("db", "t"));
        assert_eq!(machine.request("a"), None, "dropped while queued");
        // Off and on again: known anew, not due yet. Upstream hands the old entry out here, with epoch 0.
        machine.states.track(table(1, "t"), 1_000);
        machine.at(10);
        assert_eq!(machine.request("a"), None);
        machine.at(1_000);
        assert_eq!(machine.request("a"), Some(1));
        assert_eq!(machine.request("b"), None, "handed out once");
    }

    #[test]
    fn tracking_a_known_table_leaves_its_holder_alone() {
        let mut machine = Machine::with_table();
        let epoch = machine.request("a").unwrap();
        machine.states.track(table(1, "t"), 0);
        machine.at(1);
        assert_eq!(machine.request("b"), None);
        assert_eq!(machine.heartbeat(epoch), Ok(()));
    }

    #[test]
    fn epochs_outlive_the_states_and_the_table() {
        let mut machine = Machine::with_table();
        let before = machine.request("a").unwrap();
        machine.states = TieringStates::default();
        machine.states.track(table(1, "t"), 0);
        machine.at(0);
        let after = machine.request("b").unwrap();
        assert!(after > before, "a restart does not give a live holder's epoch to somebody else");
        assert_eq!(machine.heartbeat(before), REJECTED);
        machine.states.forget(&TablePath::new("db", "t"));
        machine.states.track(table(2, "t"), 0);
        machine.at(0);
        assert!(machine.request("c").unwrap() > after, "nor does dropping and creating the table");
    }

    proptest! {
        /// Whatever is said in whatever order: an epoch is handed out once, at most one holder is heard per table, and
        /// a table is queued exactly while it is pending.
        #[test]
        fn no_sequence_of_words_confuses_the_machine(words in proptest::collection::vec((0_u8..7, 1_u64..4, 0_u64..6), 1..80)) {
            let mut machine = Machine::default();
            let mut current: BTreeMap<TableId, u64> = BTreeMap::new();
            let mut handed_out = BTreeSet::new();
            for (word, id, number) in words {
                let (table_id, path) = (TableId(id), TablePath::new("db", &format!("t{id}")));
                match word {
                    0 => machine.states.track(table(id, &format!("t{id}")), machine.now_ms + number * 10),
                    1 => {
                        machine.states.forget(&path);
                        current.remove(&table_id);
                    }
                    2 => {
                        let now_ms = machine.now_ms + number * 20;
                        machine.at(now_ms);
                    }
                    3 | 4 => {
                        let epochs = &mut machine.epochs;
                        if let Some(given) = machine.states.assign("w", machine.now_ms, |path| epochs.next(path)) {
                            prop_assert!(handed_out.insert((given.table.path.clone(), given.epoch)));
                            current.insert(given.table.table_id, given.epoch);
                        }
                    }
                    5 => {
                        let heard = machine.states.heartbeat(table_id, number, machine.now_ms);
                        prop_assert!(heard.is_err() || current.get(&table_id) == Some(&number));
                    }
                    _ => {
                        let end = if number % 2 == 0 { RoundEnd::Finished } else { RoundEnd::Failed };
                        if machine.states.end_round(table_id, number, end, machine.now_ms, FRESHNESS_MS).is_ok() {
                            prop_assert_eq!(current.remove(&table_id), Some(number));
                        }
                    }
                }
                let pending = |tracked: &Tracked| matches!(tracked.state, State::Pending);
                let mut queued: Vec<TableId> = machine.states.queue.iter().copied().collect();
                queued.sort_unstable();
                let states = machine.states.tables.iter();
                let expected: Vec<TableId> = states.filter(|(_, it)| pending(it)).map(|(id, _)| *id).collect();
                prop_assert_eq!(queued, expected);
            }
        }
    }
}
