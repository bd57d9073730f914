//! Any sequence of writes, copies of earlier writes, waits and crashes, against a simple model.
//!
//! Every row is written once and has a value of its own, so the model is three sets: what was tried, what was acked and
//! what was refused for certain.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use models::contract::{AppendRequest, Host, Mutation, Row, RowKind, Store, TableId};
use models::store::InMemoryStore;
use proptest::prelude::*;
use tokio::task::JoinHandle;

use crate::fixture::{SYNC_MS, append_table, bucket, delete, key, key_table, log, put, store};

/// One step of a sequence.
#[derive(Clone, Debug)]
enum Step {
    /// A new batch of this writer: for each key a new row, or a delete where the table has keys.
    Write { writer_id: u64, mutations: Vec<(i64, bool)> },
    /// A copy of one of the writes before; 0 is the newest.
    Copy { age: usize },
    /// A write that this writer numbers and never sends, but a copy may.
    HoldBack { writer_id: u64, key: i64 },
    /// Time passes.
    Wait { duration_ms: u64 },
    /// The store crashes, with every call that is in flight.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1..4_u64, prop::collection::vec((0..5_i64, prop::bool::weighted(0.3)), 0..4))
            .prop_map(|(writer_id, mutations)| Step::Write { writer_id, mutations }),
        4 => (0..24_usize).prop_map(|age| Step::Copy { age }),
        1 => (1..4_u64, 0..5_i64).prop_map(|(writer_id, key)| Step::HoldBack { writer_id, key }),
        4 => (0..2 * SYNC_MS).prop_map(|duration_ms| Step::Wait { duration_ms }),
        1 => Just(Step::Crash),
    ]
}

/// The values of the rows of a request.
fn values(request: &AppendRequest) -> Vec<i64> {
    let value = |mutation: &Mutation| match mutation {
        Mutation::Put(row) => row[1].as_int(),
        Mutation::Delete(_) => None,
    };
    request.mutations.iter().filter_map(value).collect()
}

/// What the model knows of the answers.
#[derive(Default)]
struct Answers {
    acked: BTreeSet<i64>,
    refused: BTreeSet<i64>,
}

/// A store, its callers and the model.
struct Run {
    store: Rc<InMemoryStore>,
    table_id: TableId,
    has_keys: bool,
    requests: Vec<AppendRequest>,
    next_sequences: BTreeMap<u64, u64>,
    next_value: i64,
    calls: Vec<JoinHandle<()>>,
    answers: Rc<RefCell<Answers>>,
    shown: Vec<(u64, RowKind, Row)>,
}

impl Run {
    async fn new(has_keys: bool) -> Self {
        let store = store();
        let table_id = if has_keys { key_table(&store).await } else { append_table(&store).await };
        Self {
            store,
            table_id,
            has_keys,
            requests: Vec::new(),
            next_sequences: BTreeMap::new(),
            next_value: 0,
            calls: Vec::new(),
            answers: Rc::default(),
            shown: Vec::new(),
        }
    }

    fn number(&mut self, writer_id: u64, mutations: &[(i64, bool)]) -> AppendRequest {
        let next_sequence = self.next_sequences.entry(writer_id).or_default();
        let batch_sequence = *next_sequence;
        *next_sequence += 1;
        let mut mutation = |(key, deletes): &(i64, bool)| {
            self.next_value += 1;
            if *deletes && self.has_keys { delete(*key) } else { put(*key, self.next_value) }
        };
        let mutations = mutations.iter().map(&mut mutation).collect();
        let request = AppendRequest { table_id: self.table_id, bucket: bucket(), mutations, writer_id, batch_sequence };
        self.requests.push(request.clone());
        request
    }

    fn send(&mut self, request: AppendRequest) {
        let (store, answers) = (Rc::clone(&self.store), Rc::clone(&self.answers));
        self.calls.push(tokio::task::spawn_local(async move {
            let values = values(&request);
            match store.append(request).await {
                Ok(_) => answers.borrow_mut().acked.extend(values),
                Err(failure) if failure.definite => answers.borrow_mut().refused.extend(values),
                Err(_) => {}
            }
        }));
    }

    async fn crash(&mut self) {
        for call in self.calls.drain(..) {
            call.abort();
            // Whether it was cancelled or had ended, it is gone.
            let _ = call.await;
        }
        self.store.crash();
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Write { writer_id, mutations } => {
                let request = self.number(*writer_id, mutations);
                self.send(request);
            }
            Step::Copy { age } => {
                let request = self.requests.iter().rev().nth(*age).cloned();
                if let Some(request) = request {
                    self.send(request);
                }
            }
            Step::HoldBack { writer_id, key } => {
                self.number(*writer_id, &[(*key, false)]);
            }
            Step::Wait { duration_ms } => tokio::time::sleep(Duration::from_millis(*duration_ms)).await,
            Step::Crash => self.crash().await,
        }
    }

    /// What must hold after every step.
    async fn judge(&mut self) {
        let log = log(&self.store, self.table_id).await;
        assert!(log.starts_with(&self.shown), "L1: what was shown stays: {:?} then {log:?}", self.shown);
        self.shown = log;
        self.judge_answers();
        if self.has_keys {
            self.judge_changelog().await;
        }
    }

    fn judge_answers(&self) {
        let written: Vec<i64> =
            self.shown.iter().filter(|(_, kind, _)| kind.adds()).filter_map(|(_, _, row)| row[1].as_int()).collect();
        let distinct: BTreeSet<i64> = written.iter().copied().collect();
        assert_eq!(distinct.len(), written.len(), "L3: no row twice: {written:?}");
        let answers = self.answers.borrow();
        assert!(distinct.is_superset(&answers.acked), "L1: acked {:?}, in the log {distinct:?}", answers.acked);
        assert!(distinct.is_disjoint(&answers.refused), "L4: refused {:?}, in the log {distinct:?}", answers.refused);
        let tried: BTreeSet<i64> = self.requests.iter().flat_map(values).collect();
        assert!(distinct.is_subset(&tried), "L4: tried {tried:?}, in the log {distinct:?}");
        // The high watermark may lie inside the batch that is shown last.
        let newest = written.last().copied().unwrap_or_default();
        let torn = self.partly_shown().find(|request| !values(request).contains(&newest));
        assert_eq!(torn, None, "a batch before the last one is whole or absent");
    }

    /// The batches of which some rows are in the log and some are not.
    fn partly_shown(&self) -> impl Iterator<Item = &AppendRequest> {
        let is_shown =
            |value: &i64| self.shown.iter().any(|(_, kind, row)| kind.adds() && row[1].as_int() == Some(*value));
        self.requests.iter().filter(move |request| {
            let values = values(request);
            let there = values.iter().filter(|value| is_shown(value)).count();
            there > 0 && there < values.len()
        })
    }

    async fn judge_changelog(&self) {
        let mut folded: BTreeMap<Row, Row> = BTreeMap::new();
        let mut before: Option<&Row> = None;
        for (offset, kind, row) in &self.shown {
            let key = row.project(&[0]);
            assert_eq!(before.is_some(), *kind == RowKind::UpdateAfter, "L14: −U and +U are a pair, at {offset}");
            before = None;
            match kind {
                RowKind::Insert => assert_eq!(folded.insert(key, row.clone()), None, "L14: +I on an absent key"),
                RowKind::UpdateBefore => {
                    assert_eq!(folded.get(&key), Some(row), "L14: −U has the row before, at {offset}");
                    before = Some(row);
                }
                RowKind::UpdateAfter => {
                    folded.insert(key, row.clone());
                }
                RowKind::Delete => assert_eq!(folded.remove(&key), Some(row.clone()), "L14: −D on a present key"),
            }
        }
        for id in 0..5 {
            let found = self.store.lookup(self.table_id, &bucket(), &key(id)).await.unwrap();
            assert_eq!(found.as_ref(), folded.get(&key(id)), "L17: the state is the fold of the log");
        }
    }
}

fn holds(has_keys: bool, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut run = Run::new(has_keys).await;
        for step in steps {
            run.take(step).await;
            run.judge().await;
        }
        run.take(&Step::Wait { duration_ms: 2 * SYNC_MS }).await;
        run.judge().await;
        run.crash().await;
        run.judge().await;
        assert_eq!(run.partly_shown().next(), None, "in the end a batch is whole or absent");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn append_tables_keep_what_was_acked_once(steps in prop::collection::vec(step(), 1..60)) {
        holds(false, &steps);
    }

    #[test]
    fn key_tables_keep_what_was_acked_and_their_state_is_the_fold_of_the_log(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        holds(true, &steps);
    }
}
