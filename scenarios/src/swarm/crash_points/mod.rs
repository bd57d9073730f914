//! Plans that try every crash point of one protocol: a tiering round, a promotion, a commit. Each has a few statements
//! and timings without luck, so that the calls of the protocol are the same in every run, and the point is hit.
//!
//! Seed n is point n, counted around; how often it went around decides the kind of table. Rows vary with every seed.

mod points;

use models::config::{ClientConfig, CoordinatorConfig, StoreConfig, SystemConfig, WorkerConfig};
use models::contract::{Side, Statement};

use super::closing::{self, CLOSING_DEADLINE_MS};
use super::session::{Session, Turn};
use super::tables::{self, Table};
use crate::draw::Draws;
use crate::plan::{
    Action, CallAddress, CallFault, Fault, NEXT_POSITION, PLAN_VERSION, Phase, Plan, PlannedTable, Step,
};
use crate::scenario::{CrashPoints, CrashedProtocol, Scenario};

/// The length of the chaos phase: two rounds, what cuts the second one short, and what goes on after it.
const CHAOS_MS: u64 = 2_400;
/// The deadline of statements of the chaos phase.
const DEADLINE_MS: u64 = 2_000;

/// One point, or two: which calls go wrong and how.
pub type CrashPoint = Vec<(CallAddress, CallFault)>;

/// Every point of a scenario of this kind, in the order of the seeds that have them.
pub fn crash_points(kind: CrashPoints) -> Vec<CrashPoint> {
    let places = points::places(kind.of);
    let cut_at = |place: &CallAddress| {
        points::cuts(kind.of, place).into_iter().map(|cut| (place.clone(), cut)).collect::<Vec<_>>()
    };
    if !kind.pairs {
        return places.iter().flat_map(cut_at).map(|point| vec![point]).collect();
    }
    let mut pairs = Vec::new();
    for (index, first) in places.iter().enumerate() {
        for second in &places {
            // What goes on begins anew: calls of this name that were made up to the first come before the second.
            let made = places[..=index].iter().filter(|place| place.call == second.call).count() as u64;
            let second = CallAddress { nth: second.nth + made, ..second.clone() };
            for cut in points::PAIRED {
                pairs.extend(points::PAIRED.map(|again| vec![(first.clone(), cut), (second.clone(), again)]));
            }
        }
    }
    pairs
}

/// The calls that are cut short, in the order in which the protocol makes them.
pub fn crash_places(of: CrashedProtocol) -> Vec<CallAddress> {
    points::places(of)
}

/// The plan of one seed.
pub(super) fn plan(scenario: &Scenario, kind: CrashPoints, seed: u64, draws: Draws) -> Plan {
    let points = crash_points(kind);
    let count = points.len() as u64;
    let mut plan = undisturbed(scenario, kind.of, seed, seed / count, draws);
    let faults = points[(seed % count) as usize].iter().enumerate().map(|(number, (at, what))| Step {
        id: format!("cut-{}", number + 1),
        action: Action::Fault(Fault::Call { at: at.clone(), what: *what }),
    });
    plan.steps.splice(0..0, faults);
    plan
}

/// The plan without its point; `lap` is how often all points had their turn before.
fn undisturbed(scenario: &Scenario, of: CrashedProtocol, seed: u64, lap: u64, draws: Draws) -> Plan {
    // Rounds tier either kind of table; only a key table has a state to load.
    let (name, side, keyed) = match of {
        CrashedProtocol::TieringRound => ("t", Side::Store, lap % 2 == 1),
        CrashedProtocol::Commit => ("plain", Side::Lake, false),
        CrashedProtocol::Promotion => ("promo", Side::Lake, true),
    };
    let table = tables::in_one_bucket(name, keyed, side == Side::Store, draws);
    let mut tale = Tale { draws, table: &table, steps: Vec::new() };
    match of {
        CrashedProtocol::TieringRound => tale.tiering_round(),
        CrashedProtocol::Commit => tale.commit(),
        CrashedProtocol::Promotion => tale.promotion(),
    }
    Plan {
        version: PLAN_VERSION,
        scenario: scenario.name.clone(),
        seed,
        min_call_ms: 1,
        catalog: Default::default(),
        lake: Default::default(),
        skew_ms: Default::default(),
        tables: vec![PlannedTable { table: table.path.clone(), schema: table.schema.clone(), side }],
        chaos_ms: CHAOS_MS,
        steps: tale.steps,
        system: system(),
    }
}

/// Timings that leave nothing to luck: every call takes as long as every other.
fn system() -> SystemConfig {
    SystemConfig {
        store: StoreConfig { sync_ms: 2, log_ttl_ms: None, retention_interval_ms: 100 },
        coordinator: CoordinatorConfig { freshness_ms: 400, heartbeat_timeout_ms: 200, check_interval_ms: 20 },
        worker: WorkerConfig {
            poll_interval_ms: 50,
            heartbeat_interval_ms: 15,
            max_round_ms: 300,
            fetch_max_records: 50,
        },
        compactor: None,
        client: ClientConfig { retries: 5, retry_wait_ms: 20 },
        tiering_workers: 1,
        tiering_readers: 2,
        call_timeout_ms: 100,
        max_call_ms: 2,
        max_skew_ms: 0,
    }
}

/// The statements of one plan, as they come.
struct Tale<'a> {
    draws: Draws,
    table: &'a Table,
    steps: Vec<Step>,
}

impl Tale<'_> {
    fn at(&mut self, session: &mut Session, phase: Phase, at_ms: u64, make: impl Fn(&Table, &Turn) -> Statement) {
        let turn = session.turn(phase);
        let statement = make(self.table, &turn);
        let deadline_ms = if phase == Phase::Chaos { DEADLINE_MS } else { CLOSING_DEADLINE_MS };
        self.steps.push(turn.step(at_ms, deadline_ms, statement));
    }

    /// Two writes for the first round, two for the second, one for what goes on after it.
    fn tiering_round(&mut self) {
        let (mut writer, mut reader) = (Session::new("w1", 1, self.draws), Session::new("r1", 2, self.draws));
        for at_ms in [0, 50, 550, 600, 1_100] {
            self.at(&mut writer, Phase::Chaos, at_ms, insert);
        }
        self.at(&mut reader, Phase::Chaos, 1_300, |table, _| closing::select_base(table));
        self.at(&mut reader, Phase::Chaos, 1_350, |table, _| Statement::select(table.real_time(), Default::default()));
        self.at(&mut writer, Phase::Healed, 0, insert);
        self.look(true);
    }

    fn commit(&mut self) {
        let mut native = Session::new("n1", 1, self.draws);
        for at_ms in [0, 100, 900] {
            self.at(&mut native, Phase::Chaos, at_ms, insert_natively);
        }
        self.at(&mut native, Phase::Chaos, 1_500, |table, _| closing::select_base(table));
        self.at(&mut native, Phase::Healed, 0, insert_natively);
        self.look(false);
    }

    /// A history of two commits, the promotion, called again as often as its caller needs, and writes after it.
    fn promotion(&mut self) {
        let mut session = Session::new("s1", 1, self.draws);
        for at_ms in [0, 50] {
            self.at(&mut session, Phase::Chaos, at_ms, insert_natively);
        }
        for at_ms in [200, 800, 1_400] {
            self.at(&mut session, Phase::Chaos, at_ms, promote);
        }
        self.at(&mut session, Phase::Healed, 0, promote);
        self.at(&mut session, Phase::Healed, 50, insert);
        self.look(true);
    }

    /// What is left, when all is drained.
    fn look(&mut self, in_the_mode: bool) {
        let mut last = Session::new("final", 60, self.draws);
        self.at(&mut last, Phase::Drained, 0, |table, _| closing::select_base(table));
        if in_the_mode {
            self.at(&mut last, Phase::Drained, 0, |table, _| Statement::select(table.real_time(), Default::default()));
            for _ in 0..2 {
                let from = NEXT_POSITION.to_owned();
                self.at(&mut last, Phase::Drained, 0, |table, _| Statement::Changes {
                    table: table.real_time(),
                    from: from.clone(),
                    max: 1000,
                });
            }
        }
    }
}

fn insert(table: &Table, turn: &Turn) -> Statement {
    Statement::insert(table.base(), table.rows(turn, 2, false, None))
}

fn insert_natively(table: &Table, turn: &Turn) -> Statement {
    Statement::NativeInsert { table: table.path.clone(), rows: table.rows(turn, 2, false, None) }
}

fn promote(table: &Table, _: &Turn) -> Statement {
    let properties = [("table.dml-sync".to_owned(), "true".to_owned())].into();
    Statement::Promote { table: table.path.clone(), properties, partitions: None }
}
