//! Whether a plan makes sense, before anything runs. A plan may come from a person's editor, so each error is one
//! sentence: where, what was expected, what was found.
//!
//! Every rule looks at one step and at what stands outside the steps, or bounds all steps together. So a valid plan
//! stays valid when steps are removed. This module never knows a scenario.

use std::collections::{BTreeMap, BTreeSet};

use models::config::{CatalogKind, SystemConfig};
use models::contract::{LAKESTREAM_ENABLED, Side, Statement, TablePath, TableSchema, Value};
use models::paimon::validate_schema;

use super::calls::{
    CALLS_ABOUT_NO_TABLE, COMPACTOR, COORDINATOR, LAKE, MAINTENANCE, METASTORE, STORE, TIERING, check_call,
    is_system_name, tiering_committer, tiering_planner, tiering_reader, tiering_worker,
};
use super::{
    Action, CallAddress, CallFault, Fault, PLAN_VERSION, Phase, Plan, PlannedStatement, WRITE_ID, slowest_link_ms,
};

/// The longest phase, deadline or delay: ten simulated minutes. Longer ones say nothing more and outlast patience.
const LONGEST_PHASE_MS: u64 = 600_000;
/// The longest timing of a part.
const LONGEST_TIMING_MS: u64 = 60_000;
/// The most tiering workers, and the most readers of each.
const MOST_WORKERS: u32 = 16;

impl Plan {
    /// Whether the plan makes sense and stays within what a correct system survives (rule 7).
    pub fn validate(&self) -> Result<(), String> {
        if self.version != PLAN_VERSION {
            return Err(format!("expected a plan of version {PLAN_VERSION}, found version {}", self.version));
        }
        check_system(&self.system, self.min_call_ms)?;
        between("chaos_ms", self.chaos_ms, 1, LONGEST_PHASE_MS)?;
        let tables = self.check_tables()?;
        let sessions: BTreeSet<&str> = self.sessions().collect();
        self.check_skew(&sessions)?;
        let mut ids = BTreeSet::new();
        for step in &self.steps {
            if step.id.is_empty() {
                return Err("expected every step to have an id, found an empty one".to_owned());
            }
            if !ids.insert(step.id.as_str()) {
                return Err(format!("expected the id of each step to be unique, found `{}` twice", step.id));
            }
            let checked = match &step.action {
                Action::Run(planned) => self.check_statement(planned, &tables),
                Action::Close(close) => {
                    check_session(&close.session).and_then(|()| self.check_time(close.phase, close.at_ms))
                }
                Action::Fault(fault) => self.check_fault(fault, &tables, &sessions),
            };
            checked.map_err(|found| format!("step `{}`: {found}", step.id))?;
        }
        self.check_write_ids()?;
        self.check_survivable()?;
        self.check_upkeep()
    }

    /// Whether every row that is written to a table has a write id of its own: reads are judged by it. An update gives
    /// its rows a new one.
    fn check_write_ids(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for (step, planned) in self.statements() {
            let ids: Vec<&Value> = match &planned.statement {
                Statement::Insert { rows, .. }
                | Statement::NativeInsert { rows, .. }
                | Statement::InsertOverwrite { rows, .. } => match rows.position(WRITE_ID) {
                    Some(position) => rows.rows.iter().map(|row| &row[position]).collect(),
                    None => continue,
                },
                Statement::Update { set, .. } => set.get(WRITE_ID).into_iter().collect(),
                _ => continue,
            };
            for id in ids {
                if !seen.insert((planned.statement.table(), id)) {
                    return Err(format!(
                        "step `{step}`: expected a `{WRITE_ID}` that no other row of {} has, found {id:?} again",
                        planned.statement.table(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The statements with their steps' ids, in plan order.
    pub fn statements(&self) -> impl Iterator<Item = (&str, &PlannedStatement)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Run(planned) => Some((step.id.as_str(), planned)),
            Action::Close(_) | Action::Fault(_) => None,
        })
    }

    /// The session of every statement and close, in plan order, repeated as they come.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Run(planned) => Some(planned.session.as_str()),
            Action::Close(close) => Some(close.session.as_str()),
            Action::Fault(_) => None,
        })
    }

    /// The faults with their steps' ids, in plan order.
    pub fn faults(&self) -> impl Iterator<Item = (&str, &Fault)> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Run(_) | Action::Close(_) => None,
            Action::Fault(fault) => Some((step.id.as_str(), fault)),
        })
    }

    fn check_tables(&self) -> Result<BTreeMap<&TablePath, &TableSchema>, String> {
        let mut tables = BTreeMap::new();
        for planned in &self.tables {
            check_schema(&planned.schema, planned.side).map_err(|found| format!("table {}: {found}", planned.table))?;
            if tables.insert(&planned.table, &planned.schema).is_some() {
                return Err(format!("expected each table to be planned once, found {} twice", planned.table));
            }
        }
        if let (Some(table), None) = (self.compacted_tables().next(), &self.system.compactor) {
            return Err(format!(
                "expected a system.compactor for table {table}, whose readers skip level 0, found none"
            ));
        }
        if tables.is_empty() {
            return Err("expected at least one table, found none".to_owned());
        }
        Ok(tables)
    }

    fn check_statement(
        &self,
        planned: &PlannedStatement,
        tables: &BTreeMap<&TablePath, &TableSchema>,
    ) -> Result<(), String> {
        check_session(&planned.session)?;
        // After the chaos a statement must succeed within its deadline, so the deadline must allow for it (F8).
        let least_ms = if planned.phase == Phase::Chaos { 1 } else { 5 * self.system.call_timeout_ms };
        between("deadline_ms", planned.deadline_ms, least_ms, LONGEST_PHASE_MS)?;
        self.check_time(planned.phase, planned.at_ms)?;
        super::statements::check_statement(&planned.statement, tables)
    }

    fn check_time(&self, phase: Phase, at_ms: u64) -> Result<(), String> {
        between("at_ms", at_ms, 0, LONGEST_PHASE_MS)?;
        if phase == Phase::Chaos && at_ms > self.chaos_ms {
            return Err(format!(
                "expected a step of the chaos phase to begin within its {} ms, found at_ms {at_ms}",
                self.chaos_ms
            ));
        }
        Ok(())
    }

    fn check_fault(
        &self,
        fault: &Fault,
        tables: &BTreeMap<&TablePath, &TableSchema>,
        sessions: &BTreeSet<&str>,
    ) -> Result<(), String> {
        match fault {
            Fault::Call { at, what } => {
                self.check_address(at, tables, sessions)?;
                if what.kills_callee() && at.call.starts_with("lake.") {
                    return Err(format!("expected a called host that can die, found the lake in {at}"));
                }
                if let CallFault::OtherCrashesBefore { host, .. } | CallFault::OtherCrashesAfter { host, .. } = what
                    && [Some(at.caller.as_str()), at.called()].contains(&Some(host.host()))
                {
                    return Err(format!(
                        "expected a host that neither calls nor is called to die, found `{}` in {at}",
                        host.host()
                    ));
                }
                match what {
                    CallFault::TornWrite { permille } => between("permille", u64::from(*permille), 0, 999),
                    CallFault::Refuse
                    | CallFault::RequestLost
                    | CallFault::ReplyLost
                    | CallFault::ErrorAfter
                    | CallFault::Duplicate { .. } => Ok(()),
                    _ => positive("how long the call's fault lasts", what.lasts_ms()),
                }
            }
            Fault::Crash { host, restart_after_ms, .. } => {
                self.check_machine(host, sessions)?;
                positive("restart_after_ms", *restart_after_ms)
            }
            Fault::Pause { host, for_ms, .. } => {
                self.check_machine(host, sessions)?;
                positive("for_ms", *for_ms)
            }
            Fault::Partition { from, to, for_ms, .. } => {
                self.check_link("a partition", from, to, sessions)?;
                positive("for_ms", *for_ms)
            }
            Fault::SlowLink { from, to, by_ms, for_ms, .. } => {
                self.check_link("a slow link", from, to, sessions)?;
                between("by_ms", *by_ms, 1, slowest_link_ms(&self.system))?;
                positive("for_ms", *for_ms)
            }
            Fault::Full { for_ms, .. } => positive("for_ms", *for_ms),
            Fault::Maintain { table, job, .. } => self.check_job(table, job),
            Fault::ClockJump { host, by_ms, .. } => {
                self.check_has_clock(host, sessions)?;
                positive("how far the clock jumps", by_ms.unsigned_abs())
            }
            Fault::StaleList { host, for_ms, .. } | Fault::StaleExists { host, for_ms, .. } => {
                self.check_reader(host, sessions)?;
                positive("for_ms", *for_ms)
            }
            Fault::RetentionPressure { ttl_ms, for_ms, .. } => {
                between("ttl_ms", *ttl_ms, 1, LONGEST_TIMING_MS)?;
                positive("for_ms", *for_ms)
            }
            Fault::HeartbeatLoss { host, for_ms, .. } => {
                if !self.is_tiering_machine(host) {
                    return Err(format!("expected a tiering worker whose heartbeats are lost, found `{host}`"));
                }
                positive("for_ms", *for_ms)
            }
            Fault::Outage { part, for_ms, .. } => {
                if ![STORE, COORDINATOR, LAKE].contains(&part.as_str()) && !self.is_metastore(part) {
                    return Err(format!(
                        "expected an outage of store, coordinator, lake or, with a JDBC catalog, metastore, found \
                         `{part}`"
                    ));
                }
                positive("for_ms", *for_ms)
            }
        }
    }

    /// Whether this is a host, or the machine of a tiering worker with all its tasks.
    fn check_machine(&self, host: &str, sessions: &BTreeSet<&str>) -> Result<(), String> {
        if self.is_tiering_machine(host) { Ok(()) } else { self.check_host(host, sessions) }
    }

    /// Whether this is a machine with a clock of its own: the tasks of a tiering worker share one.
    fn check_has_clock(&self, host: &str, sessions: &BTreeSet<&str>) -> Result<(), String> {
        if self.is_tiering_task(host) {
            return Err(format!("expected the tiering worker whose clock it is, found its task `{host}`"));
        }
        self.check_machine(host, sessions)
    }

    /// Whether this is the machine of one of the plan's tiering workers.
    fn is_tiering_machine(&self, host: &str) -> bool {
        (1..=self.system.tiering_workers.min(MOST_WORKERS)).any(|worker| tiering_worker(worker) == host)
    }

    fn check_host(&self, host: &str, sessions: &BTreeSet<&str>) -> Result<(), String> {
        let is_part =
            [STORE, COORDINATOR, MAINTENANCE].contains(&host) || self.is_metastore(host) || self.is_compactor(host);
        if is_part || self.is_tiering_task(host) || is_known_session(host, sessions) {
            return Ok(());
        }
        Err(format!(
            "expected a host: store, coordinator, maintenance, a task of tiering-1 to tiering-{} (tiering-1-planner, \
             tiering-1-reader-1 to tiering-1-reader-{}, tiering-1-committer) or a session, with a JDBC catalog metastore, \
             and where the system has one compactor, found `{host}`",
            self.system.tiering_workers, self.system.tiering_readers
        ))
    }

    /// Whether this is a task of one of the plan's tiering workers.
    fn is_tiering_task(&self, host: &str) -> bool {
        let readers = 1..=self.system.tiering_readers.min(MOST_WORKERS);
        let is_of = |worker| {
            let is_reader = readers.clone().any(|reader| tiering_reader(worker, reader) == host);
            is_reader || tiering_planner(worker) == host || tiering_committer(worker) == host
        };
        (1..=self.system.tiering_workers.min(MOST_WORKERS)).any(is_of)
    }

    /// Whether this is a session that only reads: what it is told of the lake may be old (rule 9 of what is survivable).
    fn check_reader(&self, host: &str, sessions: &BTreeSet<&str>) -> Result<(), String> {
        let of_host = |planned: &&PlannedStatement| planned.session == host && !planned.statement.is_read();
        let writes = self.statements().map(|(_, planned)| planned).find(of_host);
        match writes {
            None if is_known_session(host, sessions) => Ok(()),
            None => Err(format!("expected a session that only reads, found `{host}`")),
            Some(planned) => {
                Err(format!("expected a session that only reads, found {} of `{host}`", planned.statement.name()))
            }
        }
    }

    /// Whether clocks that are ahead are those of hosts, and by no more than is declared.
    fn check_skew(&self, sessions: &BTreeSet<&str>) -> Result<(), String> {
        let max_skew_ms = self.system.max_skew_ms;
        between("system.max_skew_ms", max_skew_ms, 0, LONGEST_TIMING_MS)?;
        self.skew_ms.iter().try_for_each(|(host, ahead_ms)| {
            self.check_has_clock(host, sessions)?;
            between(&format!("skew_ms of `{host}`"), *ahead_ms, 1, max_skew_ms)
        })
    }

    /// Whether there is a link from one to the other; the lake is called and never calls.
    fn check_link(&self, what: &str, from: &str, to: &str, sessions: &BTreeSet<&str>) -> Result<(), String> {
        self.check_host(from, sessions)?;
        if to != LAKE {
            self.check_host(to, sessions)?;
        }
        if from == to {
            return Err(format!("expected {what} between two hosts, found `{from}` on both sides"));
        }
        Ok(())
    }

    fn check_address(
        &self,
        at: &CallAddress,
        tables: &BTreeMap<&TablePath, &TableSchema>,
        sessions: &BTreeSet<&str>,
    ) -> Result<(), String> {
        check_call(&at.call)?;
        let is_part =
            [TIERING, COORDINATOR, MAINTENANCE].contains(&at.caller.as_str()) || self.is_compactor(&at.caller);
        if !is_part && !is_known_session(&at.caller, sessions) {
            return Err(format!(
                "expected a session, tiering, coordinator, maintenance or, where the system has one, compactor as the caller \
                 of a call, found `{}`",
                at.caller
            ));
        }
        match &at.table {
            Some(_) if CALLS_ABOUT_NO_TABLE.contains(&at.call.as_str()) => {
                Err(format!("expected no table in the address of {}, found {at}", at.call))
            }
            None if !CALLS_ABOUT_NO_TABLE.contains(&at.call.as_str()) => Err(format!(
                "expected a table in the address of {}, as in tiering(db.t).{}#1, found {at}",
                at.call, at.call
            )),
            Some(table) => super::statements::schema_of(table, tables).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Whether this is the compactor, of a plan that has one.
    fn is_compactor(&self, host: &str) -> bool {
        host == COMPACTOR && self.system.compactor.is_some()
    }

    /// Whether this is the catalog's database, of a plan that has one.
    fn is_metastore(&self, host: &str) -> bool {
        host == METASTORE && self.catalog.kind == CatalogKind::Jdbc
    }
}

fn check_session(session: &str) -> Result<(), String> {
    if session.is_empty() || is_system_name(session) {
        return Err(format!("expected a session with a name that no host has, found `{session}`"));
    }
    Ok(())
}

/// Whether this is a session of the plan. One whose statements were all removed, as shrinking does, is still known by
/// the shape of its name: letters and a number.
fn is_known_session(name: &str, sessions: &BTreeSet<&str>) -> bool {
    let letters = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let numbered = letters.len() < name.len() && !letters.is_empty();
    let shaped = numbered && letters.bytes().all(|byte| byte.is_ascii_lowercase());
    sessions.contains(name) || (shaped && !is_system_name(name))
}

/// Whether the lake can hold such a table and, where it is the store's or declares the mode, the store serve it.
fn check_schema(schema: &TableSchema, side: Side) -> Result<(), String> {
    let mut served = schema.clone();
    if side == Side::Store {
        served.options.insert(LAKESTREAM_ENABLED.to_owned(), "true".to_owned());
    }
    validate_schema(&served).map_err(|failure| failure.message)?;
    match schema.columns.iter().find(|column| column.nullable && schema.primary_key.contains(&column.name)) {
        None => Ok(()),
        Some(column) => {
            Err(format!("expected a NOT NULL column in the primary key, found `{}`, which is nullable", column.name))
        }
    }
}

fn check_system(system: &SystemConfig, min_call_ms: u64) -> Result<(), String> {
    let SystemConfig {
        store,
        coordinator,
        worker,
        compactor,
        client,
        tiering_workers,
        tiering_readers,
        call_timeout_ms,
        max_call_ms,
        ..
    } = system;
    let compaction = compactor.iter().map(|compactor| ("system.compactor.interval_ms", compactor.interval_ms));
    let timings = [
        ("system.store.retention_interval_ms", store.retention_interval_ms),
        ("system.coordinator.freshness_ms", coordinator.freshness_ms),
        ("system.coordinator.heartbeat_timeout_ms", coordinator.heartbeat_timeout_ms),
        ("system.coordinator.check_interval_ms", coordinator.check_interval_ms),
        ("system.worker.poll_interval_ms", worker.poll_interval_ms),
        ("system.worker.heartbeat_interval_ms", worker.heartbeat_interval_ms),
        ("system.worker.max_round_ms", worker.max_round_ms),
        ("system.call_timeout_ms", *call_timeout_ms),
        ("system.max_call_ms", *max_call_ms),
    ];
    for (name, value) in timings.into_iter().chain(compaction) {
        between(name, value, 1, LONGEST_TIMING_MS)?;
    }
    positive("system.worker.fetch_max_records", worker.fetch_max_records)?;
    between("system.tiering_workers", u64::from(*tiering_workers), 1, MOST_WORKERS.into())?;
    between("system.tiering_readers", u64::from(*tiering_readers), 1, MOST_WORKERS.into())?;
    between("system.client.retries", u64::from(client.retries), 0, 100)?;
    between("system.client.retry_wait_ms", client.retry_wait_ms, 0, LONGEST_TIMING_MS)?;
    if worker.heartbeat_interval_ms.saturating_mul(3) >= coordinator.heartbeat_timeout_ms {
        return Err(format!(
            "expected system.worker.heartbeat_interval_ms to be less than a third of the coordinator's \
             heartbeat_timeout_ms of {}, found {}",
            coordinator.heartbeat_timeout_ms, worker.heartbeat_interval_ms
        ));
    }
    if min_call_ms > *max_call_ms {
        return Err(format!(
            "expected min_call_ms to be at most system.max_call_ms of {max_call_ms}, found {min_call_ms}"
        ));
    }
    if max_call_ms.saturating_mul(2) >= *call_timeout_ms {
        return Err(format!(
            "expected system.call_timeout_ms to be more than a request and its answer may take, 2 × {max_call_ms}, \
             found {call_timeout_ms}"
        ));
    }
    if store.sync_ms.saturating_add(max_call_ms.saturating_mul(2)) >= *call_timeout_ms {
        return Err(format!(
            "expected system.store.sync_ms to leave an append time to answer within system.call_timeout_ms of \
             {call_timeout_ms}, found {}",
            store.sync_ms
        ));
    }
    Ok(())
}

fn between(name: &str, value: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(format!("expected {name} to be from {least} to {most}, found {value}"))
    }
}

fn positive(name: &str, value: u64) -> Result<(), String> {
    if value == 0 { Err(format!("expected {name} to be at least 1, found 0")) } else { Ok(()) }
}
