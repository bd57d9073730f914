//! Planner, readers and committer of one worker die one by one, and what they say to each other comes late.

use std::rc::Rc;

use futures::future::{join, join_all};
use models::contract::{Failure, FailureCode, Host, RoundEnd, Row, StoreTable, TableSchema};
use models::defects::{Defect, Defects};
use models::tiering::{
    Collection, Committer, Crew, Planner, Reader, Reports, SplitAssignment, Splits, TaskParts, TieringReader,
};

use crate::faults::FaultyStore;
use crate::fixture::{World, append_schema, key_schema, only, rows, run_for, worker_config};
use crate::hand_out::HandOut;

/// A reader that cannot be reached, or does not answer.
struct Unreachable {
    inner: Rc<Splits>,
    takes: bool,
}

#[async_trait::async_trait(?Send)]
impl TieringReader for Unreachable {
    async fn assign_split(&self, assignment: SplitAssignment) -> Result<u64, Failure> {
        if self.takes {
            self.inner.assign_split(assignment).await?;
            return Err(Failure::indefinite(FailureCode::Timeout, "no answer"));
        }
        Err(Failure::definite(FailureCode::Unavailable, "down"))
    }
}

/// The tasks of one worker with two readers, over a table of two buckets with four rows.
struct Tasks {
    world: World,
    table: StoreTable,
    coordinator: Rc<HandOut>,
    planner: Planner,
    readers: Vec<Reader>,
    committer: Committer,
}

/// How long each fetch of a slow reader takes.
const SLOW_MS: u64 = 400;

impl Tasks {
    /// Rounds under these epochs. Each fetch of the reader with that number takes so long.
    async fn new(epochs: &[u64], fetch_ms: [u64; 2], defects: Defects) -> Self {
        Self::with_first_reader(epochs, fetch_ms, defects, |splits| splits).await
    }

    /// The same, with a first reader as the planner reaches it.
    async fn with_first_reader(
        epochs: &[u64],
        fetch_ms: [u64; 2],
        defects: Defects,
        reached: impl FnOnce(Rc<Splits>) -> Rc<dyn TieringReader>,
    ) -> Self {
        Self::of(&append_schema(), epochs, fetch_ms, defects, reached).await
    }

    /// The same, over such a table, into which the rows are put twice if it is one with keys.
    async fn of(
        schema: &TableSchema,
        epochs: &[u64],
        fetch_ms: [u64; 2],
        defects: Defects,
        reached: impl FnOnce(Rc<Splits>) -> Rc<dyn TieringReader>,
    ) -> Self {
        let world = World::new();
        let table = world.create(schema).await;
        for _ in 0..if schema.has_primary_key() { 2 } else { 1 } {
            world.put(&table, &rows(0..4)).await;
        }
        let environment = &world.environment;
        let parts = |fetch_ms| TaskParts {
            store: Rc::new(FaultyStore { fetch_ms, ..FaultyStore::of(world.store.clone(), environment) }),
            lake: world.lake.clone(),
            environment: environment.clone(),
            config: worker_config(),
            defects: defects.clone(),
        };
        let reports = Rc::new(Reports::default());
        let collection = Rc::new(Collection::new(environment.clone(), defects.clone()));
        let desks = [Rc::new(Splits::new(environment.clone())), Rc::new(Splits::new(environment.clone()))];
        let crew = Crew { readers: vec![reached(desks[0].clone()), desks[1].clone()], committer: collection.clone() };
        let coordinator = HandOut::of(&table, epochs);
        let reader = |(number, desk): (u32, &Rc<Splits>)| {
            let parts = parts(fetch_ms[number as usize]);
            Reader::new(number, desk.clone(), reports.clone(), collection.clone(), parts)
        };
        let readers = (0..).zip(&desks).map(reader).collect();
        let planner = Planner::new("tiering-1", coordinator.clone(), reports.clone(), crew, parts(0));
        let committer = Committer::new(collection, reports, parts(0));
        Self { world, table, coordinator, planner, readers, committer }
    }

    /// All tasks at work for a long time. The one that is named dies at that time, and begins anew at once.
    async fn run(&self, dies: &str, at_ms: u64) {
        let readers = self.readers.iter().enumerate().map(|(number, reader)| async move {
            live(reader, (dies == format!("reader {number}")).then_some(at_ms)).await;
        });
        let planner = live(&self.planner, (dies == "planner").then_some(at_ms));
        let committer = live(&self.committer, (dies == "committer").then_some(at_ms));
        run_for(10_000, join(join(planner, committer), join_all(readers))).await;
    }

    fn ends(&self) -> Vec<(u64, RoundEnd)> {
        self.coordinator.ends.borrow().clone()
    }

    /// Every row is in the lake once and registered, and no file is left over.
    async fn expect_all_there(&self) {
        assert_eq!(self.world.lake_rows().await, rows(0..4));
        let registered = self.world.registered(&self.table).await.map(|(_, offsets)| offsets);
        assert_eq!(registered, Some(self.world.log_ends(&self.table).await));
        assert_eq!(self.world.data_files(), 2, "one a bucket");
    }
}

async fn live(task: &dyn Host, dies_at_ms: Option<u64>) {
    if let Some(dies_at_ms) = dies_at_ms {
        run_for(dies_at_ms, task.run()).await;
        task.crash();
    }
    task.run().await;
}

#[tokio::test(start_paused = true)]
async fn the_splits_of_a_reader_that_dies_are_handed_out_again() {
    for dies in ["reader 0", "reader 1"] {
        let tasks = Tasks::new(&[1], [SLOW_MS; 2], Defects::none()).await;
        tasks.run(dies, SLOW_MS / 2).await;
        assert_eq!(tasks.ends(), [(1, RoundEnd::Finished)], "{dies}");
        tasks.expect_all_there().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_came_before_its_reader_died_is_enough_and_the_second_one_leaves_no_file() {
    let tasks = Tasks::new(&[1], [0, SLOW_MS], Defects::none()).await;
    tasks.run("reader 0", SLOW_MS / 2).await;
    assert_eq!(tasks.ends(), [(1, RoundEnd::Finished)]);
    tasks.expect_all_there().await;
}

#[tokio::test(start_paused = true)]
async fn state_that_one_reader_has_read_is_there_for_the_next_one() {
    let mut schema = key_schema();
    schema.options.insert("bucket".to_owned(), "2".to_owned());
    let tasks = Tasks::of(&schema, &[1], [0, SLOW_MS], Defects::none(), |splits| splits).await;
    tasks.run("reader 0", SLOW_MS / 2).await;
    assert_eq!(tasks.ends(), [(1, RoundEnd::Finished)]);
    tasks.expect_all_there().await;
}

#[tokio::test(start_paused = true)]
async fn a_round_whose_committer_dies_fails_and_the_next_one_does_all_of_it() {
    let tasks = Tasks::new(&[1, 2], [0, SLOW_MS], Defects::none()).await;
    tasks.run("committer", SLOW_MS / 2).await;
    assert_eq!(tasks.ends(), [(1, RoundEnd::Failed), (2, RoundEnd::Finished)]);
    assert_eq!(tasks.world.lake_rows().await, rows(0..4));
    assert_eq!(tasks.world.data_files(), 3, "what the lost collection had is an orphan");
}

#[tokio::test(start_paused = true)]
async fn the_round_of_a_planner_that_dies_gives_way_to_the_next_one() {
    let tasks = Tasks::new(&[1, 3], [0, SLOW_MS], Defects::none()).await;
    tasks.run("planner", SLOW_MS / 2).await;
    assert_eq!(tasks.ends(), [(3, RoundEnd::Finished)]);
    tasks.expect_all_there().await;
}

#[tokio::test(start_paused = true)]
async fn a_split_that_one_reader_does_not_take_goes_to_the_next() {
    for takes in [false, true] {
        let reached = |inner| -> Rc<dyn TieringReader> { Rc::new(Unreachable { inner, takes }) };
        let tasks = Tasks::with_first_reader(&[1], [SLOW_MS, 0], Defects::none(), reached).await;
        tasks.run("nobody", 0).await;
        assert_eq!(tasks.ends(), [(1, RoundEnd::Finished)], "takes it without an answer: {takes}");
        tasks.expect_all_there().await;
    }
}

/// The rows of the lake after a round that another one of its worker overtook, with a result of the first one there.
async fn rows_after_overlapping_rounds(defects: Defects) -> Vec<Row> {
    let tasks = Tasks::new(&[1, 3], [0, SLOW_MS], defects).await;
    tasks.run("planner", SLOW_MS / 2).await;
    tasks.world.lake_rows().await
}

#[tokio::test(start_paused = true)]
async fn rounds_mixed_commits_what_two_rounds_read() {
    let mixed = rows_after_overlapping_rounds(only(Defect::RoundsMixed)).await;
    assert!(mixed.windows(2).any(|pair| pair[0] == pair[1]), "expected a row twice, found {mixed:?}");
    assert_eq!(rows_after_overlapping_rounds(Defects::none()).await, rows(0..4));
}

#[tokio::test(start_paused = true)]
async fn reader_restart_loses_split_never_ends_the_round() {
    let tasks = Tasks::new(&[1], [SLOW_MS; 2], only(Defect::ReaderRestartLosesSplit)).await;
    tasks.run("reader 0", SLOW_MS / 2).await;
    assert_eq!(tasks.ends(), []);
    assert_eq!(tasks.world.snapshots().await, 0);
}
