//! From a scenario and a seed to a plan. Every parameter of the run is drawn by key (rule 1): tables, keys, skew, batch
//! sizes, the mix of operations, the number of workers, timings, retention, which groups of faults are on and how hot.
//!
//! A plan has three parts. In the chaos phase sessions work side by side while faults strike; then, healed, a few
//! more writes and a read of every kind; at last, drained, a lone session takes stock. This module never knows what a
//! run of the plan did.

mod attempts;
mod chaos;
mod closing;
mod columns;
mod contract_table;
mod crash_points;
mod faults;
mod guards;
mod session;
mod stories;
mod surroundings;
mod tables;
mod timings;
mod upkeep;

use std::collections::BTreeMap;

use models::config::{CatalogConfig, CatalogKind, SystemConfig};
use models::contract::Side;

pub use contract_table::{contract_combinations, contract_store_state};
pub use crash_points::{CrashPoint, crash_places, crash_points};

use crate::draw::{Draws, Place};
use crate::plan::{Action, LakeStorage, PLAN_VERSION, Plan, PlannedTable, Step};
use crate::scenario::{Nemeses, Range, Scenario, Workload};
use columns::AddedColumn;
use session::Cast;
use stories::Story;
use tables::Table;

/// What is settled about a run before its first step.
struct Run<'a> {
    workload: &'a Workload,
    nemeses: &'a Nemeses,
    draws: Draws,
    system: SystemConfig,
    chaos_ms: u64,
    /// The deadline of statements of the chaos phase.
    deadline_ms: u64,
    /// The lake-stream tables.
    tables: Vec<Table>,
    /// Tables that declare the mode on the lake side only.
    guards: Vec<Table>,
    /// Tables without the mode.
    plain: Vec<Table>,
    /// Whether append tables are overwritten in the lake.
    overwrites: bool,
    /// Whether the mode is switched off and on.
    switches: bool,
    /// The kind of the query side's catalog.
    catalog: CatalogKind,
    /// The storage under the lake.
    lake: LakeStorage,
    /// By how much clocks are ahead, by host.
    skew_ms: BTreeMap<String, u64>,
    /// What single sessions do with tables of their own.
    stories: Vec<Story>,
    /// The columns that are added in the middle of the work.
    columns: Vec<AddedColumn>,
}

impl Scenario {
    /// The plan of one seed. The same scenario and seed give the same plan, always.
    pub fn plan(&self, seed: u64) -> Plan {
        // Scenarios with the same seed share no luck.
        let draws = Draws { seed: Draws { seed }.draw("plan", &self.name, "seed", 0) };
        if let Some(kind) = self.crash_points {
            return crash_points::plan(self, kind, seed, draws);
        }
        match (&self.workload, &self.contract) {
            (Some(workload), _) => self.plan_of_workload(workload, seed, draws),
            (None, contract) => contract_table::plan(self, &contract.clone().unwrap_or_default(), seed, draws),
        }
    }

    fn plan_of_workload(&self, workload: &Workload, seed: u64, draws: Draws) -> Plan {
        let place = draws.at("plan", "run");
        let tables = tables::lake_stream(workload, draws);
        let needs_compactor = tables.iter().any(Table::needs_compactor);
        let (mut system, min_call_ms) = timings::system(&self.timings, needs_compactor, draws);
        let rounds = within(place, "rounds", 0, workload.rounds);
        let chaos = workload.chaos_ms;
        let catalog = match place.chance("jdbc", 0, workload.jdbc_permille.0) {
            true => CatalogKind::Jdbc,
            false => CatalogKind::Filesystem,
        };
        let stories = stories::stories(&workload.stories, draws);
        if stories::watch_neighbours(&stories) {
            // Nobody else does what a worker leaves undone.
            system.tiering_workers = 1;
        }
        let mut run = Run {
            catalog,
            lake: LakeStorage { rename: surroundings::rename(workload, place) },
            skew_ms: BTreeMap::new(),
            workload,
            nemeses: &self.nemeses,
            draws,
            chaos_ms: (system.coordinator.freshness_ms * rounds).clamp(chaos.least, chaos.most),
            deadline_ms: within(place, "deadline", 0, self.timings.deadline_ms),
            system,
            tables,
            guards: tables::guards(workload.catalog.as_ref(), draws),
            plain: tables::plain(workload.catalog.as_ref(), draws),
            overwrites: place.chance("overwrites", 0, workload.overwrites_permille.0),
            switches: workload.catalog.as_ref().is_some_and(|mix| place.chance("switches", 0, mix.switches_permille.0)),
            stories,
            columns: Vec::new(),
        };
        run.columns = columns::drawn(&run);
        let mut cast = Cast::new(&workload.sessions, draws);
        run.skew_ms = surroundings::skew(&run.system, &cast, draws);
        let mut closing = closing::healed(&run, &mut cast);
        closing.extend(stories::healed(&mut run));
        closing.extend(closing::drained(&run, &mut cast));
        let mut chaos = guards::chaos(&run, &mut cast);
        chaos.extend(stories::chaos(&mut run));
        chaos.extend(columns::chaos(&run, &mut cast));
        let statements = within(place, "statements", 0, workload.statements);
        let left = statements.saturating_sub((closing.len() + chaos.len()) as u64);
        chaos.extend(chaos::statements(&run, &mut cast, left));
        // By time, so that a plan reads as it happens; the sort is stable. The second statement of an attempt may come
        // after the first of the next.
        chaos.sort_by_key(|step| match &step.action {
            Action::Run(planned) => planned.at_ms,
            Action::Close(close) => close.at_ms,
            Action::Fault(_) => 0,
        });
        let mut steps: Vec<Step> = faults::faults(&run, &cast);
        steps.extend(upkeep::jobs(&run, &steps));
        steps.extend(chaos);
        steps.extend(closing);
        let planned =
            |side| move |table: &Table| PlannedTable { table: table.path.clone(), schema: table.schema.clone(), side };
        let lake_side = run.guards.iter().chain(&run.plain);
        let of_stories = run.stories.iter().map(|story| planned(story.side)(&story.table));
        Plan {
            version: PLAN_VERSION,
            scenario: self.name.clone(),
            seed,
            min_call_ms,
            catalog: CatalogConfig { kind: run.catalog, ..CatalogConfig::default() },
            lake: run.lake,
            skew_ms: run.skew_ms,
            tables: (run.tables.iter().map(planned(Side::Store)))
                .chain(lake_side.map(planned(Side::Lake)))
                .chain(of_stories)
                .collect(),
            chaos_ms: run.chaos_ms,
            steps,
            system: run.system,
        }
    }
}

/// A number within the range.
fn within(place: Place, site: &str, occurrence: u64, range: Range) -> u64 {
    place.between_inclusive(site, occurrence, range.least, range.most)
}
