//! Plans that run the contract's table: every form, on a table in the mode and on one out of it, on one combination of
//! catalog, state of the store and kind of table. A plan's statements come one after the other, so that each can be
//! judged by what was there before and after.
//!
//! Nothing goes wrong but what the combination says: where the store is to be away, it is so for a third of the chaos
//! phase, and a whole column of the table is tried in that time.

mod combination;
mod filling;
mod order;

use std::collections::BTreeMap;

use models::contract::{RowSet, Side, Statement};

use super::closing::CLOSING_DEADLINE_MS;
use super::session::Session;
use super::tables::{self, Table};
use super::{timings, within};
use crate::contract::{Form, StoreState, form};
use crate::draw::Draws;
use crate::plan::{Action, Fault, PLAN_VERSION, Phase, Plan, PlannedTable, Step};
use crate::scenario::{ContractTable, Scenario};
use combination::{COMBINATIONS, Combination, Found};
use filling::Filling;

/// The table in the mode, and the one out of it, on which everything is tried that does not change them for good.
const MAIN: [(&str, bool); 2] = [("t", true), ("plain", false)];

/// The names of the combinations, in the order of the seeds that have them. Their number is how many seeds it takes.
pub fn contract_combinations() -> Vec<String> {
    (0..COMBINATIONS).map(|seed| Combination::of(seed).to_string()).collect()
}

/// The state in which the tables in the mode find the store in the plan of this seed, while their forms are tried.
pub fn contract_store_state(seed: u64) -> StoreState {
    Combination::of(seed).store()
}

/// The plan of one seed.
pub(super) fn plan(scenario: &Scenario, contract: &ContractTable, seed: u64, draws: Draws) -> Plan {
    let combination = Combination::of(seed);
    let place = draws.at("plan", "run");
    let (system, min_call_ms) = timings::system(&scenario.timings, false, draws);
    let chaos_ms = within(place, "chaos", 0, contract.chaos_ms);
    let names = MAIN.iter().copied().chain(order::STORIES.iter().map(|(name, _)| (*name, !name.starts_with("plain"))));
    let tables: Vec<(Table, bool)> =
        names.map(|(name, in_the_mode)| (table(name, combination, in_the_mode, draws), in_the_mode)).collect();
    let mut run = Run {
        combination,
        contract,
        draws,
        chaos_ms,
        deadline_ms: within(place, "deadline", 0, scenario.timings.deadline_ms),
        tables,
        known: BTreeMap::new(),
    };
    let mut steps = run.prepare();
    if combination.found == Found::Outage {
        steps.extend(run.outage());
    }
    steps.extend(run.drained());
    let planned = |(table, in_the_mode): &(Table, bool)| PlannedTable {
        table: table.path.clone(),
        schema: table.schema.clone(),
        side: if *in_the_mode { combination.side() } else { Side::Lake },
    };
    Plan {
        version: PLAN_VERSION,
        scenario: scenario.name.clone(),
        seed,
        lake: Default::default(),
        skew_ms: Default::default(),
        min_call_ms,
        catalog: combination.catalog(),
        tables: run.tables.iter().map(planned).collect(),
        chaos_ms,
        steps,
        system,
    }
}

fn table(name: &str, combination: Combination, in_the_mode: bool, draws: Draws) -> Table {
    tables::with_secret(name, combination.keyed, combination.partitioned, in_the_mode, draws)
}

/// What is settled before the first step.
struct Run<'a> {
    combination: Combination,
    contract: &'a ContractTable,
    draws: Draws,
    chaos_ms: u64,
    deadline_ms: u64,
    /// With whether they are in the mode at first.
    tables: Vec<(Table, bool)>,
    /// Rows that are written before anything is tried, by table.
    known: BTreeMap<String, RowSet>,
}

impl Run<'_> {
    /// Rows for every table but the one that must be empty, before anything is tried.
    fn prepare(&mut self) -> Vec<Step> {
        let mut writer = Session::new("w1", 1, self.draws);
        let mut steps = Vec::new();
        let pause_ms = self.chaos_ms / 4 / (2 * self.tables.len() as u64);
        for round in 0..2 {
            for (table, in_the_mode) in self.tables.iter().filter(|(table, _)| table.path.table() != "plainempty") {
                let turn = writer.turn(Phase::Chaos);
                let rows = table.rows(&turn, within(turn.place, "rows", 0, self.contract.rows_per_write), false, None);
                let statement = if *in_the_mode && !self.combination.takes_writes() {
                    Statement::NativeInsert { table: table.path.clone(), rows: rows.clone() }
                } else {
                    Statement::insert(table.base(), rows.clone())
                };
                if round == 0 {
                    self.known.insert(table.path.table().to_owned(), rows);
                }
                steps.push(turn.step(steps.len() as u64 * pause_ms, self.deadline_ms, statement));
            }
        }
        steps
    }

    /// A column of the table while the store is away: one session for the table in the mode, one for those that change,
    /// one for those out of the mode.
    fn outage(&self) -> Vec<Step> {
        let (at_ms, for_ms) = (self.chaos_ms / 3, self.chaos_ms / 3);
        let outage = Fault::Outage { part: "store".to_owned(), at_ms, for_ms };
        let mut steps = vec![Step { id: "outage".to_owned(), action: Action::Fault(outage) }];
        let lanes = [("c1", 2, 0..1), ("c2", 3, 2..self.tables.len()), ("c3", 4, 1..2)];
        for (name, number, tables) in lanes {
            let tried: Vec<(&Table, &'static Form)> =
                self.tables[tables].iter().flat_map(|table| self.tried(table)).collect();
            let pause_ms = (for_ms * 9 / 10) / tried.len() as u64;
            let mut session = Session::new(name, number, self.draws);
            for (index, (table, form)) in tried.into_iter().enumerate() {
                let at_ms = at_ms + 20 + index as u64 * pause_ms;
                steps.push(self.step(&mut session, Phase::Chaos, at_ms, table, form));
            }
        }
        steps
    }

    /// All forms on all tables, one after the other. The session closes its catalog twice on the way, the second time
    /// with a Paimon side that fails to close, and once at the end.
    fn drained(&self) -> Vec<Step> {
        let mut session = Session::new("final", 60, self.draws);
        let place = self.draws.at("plan", "drained");
        let mut steps = Vec::new();
        let mut order: Vec<&(Table, bool)> = self.tables.iter().collect();
        if self.combination.found == Found::Outage {
            // Their stories were told while the store was away.
            order.truncate(MAIN.len());
        }
        let first = place.below_exclusive("first-table", 0, order.len() as u64) as usize;
        order.rotate_left(first);
        let closes_after = [order.len() / 3, order.len() - 1];
        for (number, table) in order.into_iter().enumerate() {
            for (table, form) in self.tried(table) {
                steps.push(self.step(&mut session, Phase::Drained, 0, table, form));
            }
            if let Some(time) = closes_after.iter().position(|after| *after == number) {
                steps.push(session.turn(Phase::Drained).close(0, time == 1));
            }
        }
        // A closed catalog is opened anew.
        for name in ["select", "select-rt", "insert"] {
            steps.push(self.step(&mut session, Phase::Drained, 0, &self.tables[0].0, named(name)));
        }
        steps.push(session.turn(Phase::Drained).close(0, false));
        steps
    }

    /// What is tried on a table, in order.
    fn tried<'b>(&self, (table, in_the_mode): &'b (Table, bool)) -> Vec<(&'b Table, &'static Form)> {
        let story = order::STORIES.iter().find(|(name, _)| *name == table.path.table());
        let forms = match story {
            Some((_, names)) => names.iter().map(|name| named(name)).collect(),
            None => order::on_one_table(table, *in_the_mode, self.draws.at("order", table.path.table())),
        };
        forms.into_iter().map(|form| (table, form)).collect()
    }

    fn step(&self, session: &mut Session, phase: Phase, at_ms: u64, table: &Table, form: &'static Form) -> Step {
        let turn = session.turn(phase);
        let rows = within(turn.place, "rows", 0, self.contract.rows_per_write);
        // A new definition keeps the mode or drops it: neither may get through while the mode is on.
        let keeps_mode = match table.path.table() {
            "t" => turn.place.chance("keeps-mode", 0, 500),
            name => name == "dropped",
        };
        let known = self.known.get(table.path.table());
        let filling = Filling { table, known, turn: &turn, rows, keeps_mode };
        let statement = form.statement(&|name| filling.fill(name)).unwrap_or_else(|found| panic!("{found}"));
        let deadline_ms = if phase == Phase::Chaos { self.deadline_ms } else { CLOSING_DEADLINE_MS };
        turn.step(at_ms, deadline_ms, statement)
    }
}

/// The form of this name. A misspelt one must not go untried.
fn named(name: &str) -> &'static Form {
    form(name).unwrap_or_else(|| panic!("expected a form of the contract's table, found {name:?}"))
}
