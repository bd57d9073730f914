//! What maintenance may be asked to do (rule 10 of `survivable.rs`): it takes nothing from anybody who is within its
//! declared time. Paimon keeps nobody's files for ever; what it asks of an operator is a limit that is long enough.
//!
//! * A snapshot that was the newest until lately stays as long as a round or a read takes where nothing is wrong. Who was
//!   held up longer fails, and tries again.
//! * Where the log is cut, by configuration or under pressure, a follower of `changes` may be on its way through a lake
//!   snapshot, and nothing tells how long; so is one of a promoted table, whose history is not in the log. Then nothing
//!   expires.
//! * Clean-up spares what is younger than the longest commit, held up by all that goes wrong on its way.
//! * A rollback of the lake takes nothing that the log does not have: the log is not cut, and nothing but tiering and
//!   compaction commits to the lake before all is drained. No deletion vectors, since the compactor cannot be stopped; no
//!   tag or expiry beside it, which would be about snapshots that go.
//! * A tag's name is used once.

use std::collections::BTreeSet;

use models::config::SystemConfig;
use models::contract::{Statement, TablePath};
use models::maintenance::Job;

use super::calls::{COORDINATOR, LAKE, MAINTENANCE, METASTORE, STORE, TIERING};
use super::{Bystander, CallAddress, CallFault, Fault, Phase, Plan, leaves_the_lake_alone};

/// The least age of what clean-up of a table may delete beside these faults: the longest that a file waits for its
/// commit.
pub(crate) fn least_orphan_age_ms<'a>(
    system: &SystemConfig,
    table: &TablePath,
    faults: impl Iterator<Item = &'a Fault>,
) -> u64 {
    // What holds up a host or a link lasts to its end, and then a call that was lost in it times out.
    let held_up_ms: u64 = faults.map(|fault| holds_up_ms(system, table, fault)).sum();
    // The clock that it is measured by may jump forward meanwhile.
    held_up_ms + system.longest_round_ms() + 2 * system.call_timeout_ms + system.max_skew_ms
}

/// The least time for which an expiry keeps a snapshot, counted from the time that its file states: the longest round,
/// where the clock of who looks may be ahead.
pub(crate) fn least_kept_ms(system: &SystemConfig) -> u64 {
    system.longest_round_ms() + system.max_skew_ms
}

/// Whether snapshots may expire at all beside these faults: where the log is cut, followers of `changes` may be in a
/// lake snapshot.
pub(crate) fn may_expire_snapshots<'a>(system: &SystemConfig, mut faults: impl Iterator<Item = &'a Fault>) -> bool {
    system.store.log_ttl_ms.is_none() && !faults.any(|fault| matches!(fault, Fault::RetentionPressure { .. }))
}

/// For how long a fault may hold up somebody who has written files to the table and is about to commit them.
fn holds_up_ms(system: &SystemConfig, table: &TablePath, fault: &Fault) -> u64 {
    let is_on_the_way = |host: &str| host == LAKE || host == STORE || host.starts_with(TIERING);
    match fault {
        // What the other readers of the round have written waits until another one has read what this one had.
        Fault::Call { at, what } if kills_a_reader(at, *what) => what.lasts_ms() + system.longest_round_ms(),
        Fault::Crash { host, restart_after_ms, .. } if is_reader(host) => *restart_after_ms + system.longest_round_ms(),
        Fault::Call { at, what } if is_about(at, table) && at.caller != MAINTENANCE => {
            let is_on_the_way =
                at.call.starts_with("lake.") || at.call.starts_with("tiering.") || at.call == "store.table";
            match what {
                // Who dies commits nothing any more.
                CallFault::CallerCrashesBefore { .. } | CallFault::CallerCrashesAfter { .. } => 0,
                what if is_on_the_way => what.lasts_ms() + system.call_timeout_ms,
                _ => 0,
            }
        }
        Fault::Pause { host, for_ms, .. } if ![COORDINATOR, METASTORE, MAINTENANCE].contains(&host.as_str()) => *for_ms,
        Fault::Outage { part: host, for_ms, .. } if is_on_the_way(host) => *for_ms,
        Fault::Partition { from, to, for_ms, .. } | Fault::SlowLink { from, to, for_ms, .. }
            if is_on_the_way(to) && from != MAINTENANCE =>
        {
            *for_ms
        }
        Fault::Full { for_ms, .. } => *for_ms,
        _ => 0,
    }
}

/// Whether the call may be about this table.
fn is_about(at: &CallAddress, table: &TablePath) -> bool {
    at.table.as_ref().is_none_or(|about| about == table)
}

/// Whether this host is a reader of a tiering worker.
fn is_reader(host: &str) -> bool {
    host.starts_with(TIERING) && host.contains("-reader-")
}

/// Whether a reader of a tiering worker may die of what goes wrong with this call.
fn kills_a_reader(at: &CallAddress, what: CallFault) -> bool {
    const BY_READERS: [&str; 6] = [
        "store.fetch-log",
        "store.read-key-snapshot",
        "lake.put-data",
        "tiering.split-finished",
        "tiering.split-failed",
        "tiering.task-started",
    ];
    match what {
        CallFault::CallerCrashesBefore { .. } | CallFault::CallerCrashesAfter { .. } => {
            at.caller == TIERING && BY_READERS.contains(&at.call.as_str())
        }
        CallFault::CalleeCrashesBefore { .. } | CallFault::CalleeCrashesAfter { .. } => {
            at.call == "tiering.assign-split"
        }
        CallFault::OtherCrashesBefore { host, .. } | CallFault::OtherCrashesAfter { host, .. } => {
            host == Bystander::TieringReader
        }
        _ => false,
    }
}

impl Plan {
    /// Whether this makes sense as a job on one of the plan's tables, by itself.
    pub(super) fn check_job(&self, table: &TablePath, job: &Job) -> Result<(), String> {
        if !self.tables.iter().any(|planned| planned.table == *table) {
            return Err(format!("expected maintenance of a planned table, found {table}"));
        }
        match job {
            Job::Compact { .. } | Job::RemoveOrphans { .. } => Ok(()),
            Job::CreateTag { name } | Job::DeleteTag { name } => {
                let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                let has_letter = name.bytes().any(|byte| byte.is_ascii_lowercase());
                if has_letter && name.bytes().all(is_plain) {
                    return Ok(());
                }
                Err(format!("expected a tag's name of lower-case letters, digits and `-`, found `{name}`"))
            }
            Job::RollBack { commits } => {
                if *commits == 0 {
                    return Err("expected commits to be at least 1, found 0".to_owned());
                }
                if !self.may_roll_back(table) {
                    return Err(format!(
                        "expected no rollback of {table} where the log cannot fill the lake again (it is cut, or others \
                         than tiering write to the lake), or where somebody needs what goes, found one"
                    ));
                }
                Ok(())
            }
            Job::ExpireSnapshots { at_least, keep_ms } => {
                if *at_least == 0 {
                    return Err("expected at_least to be at least 1, found 0".to_owned());
                }
                let least_ms = least_kept_ms(&self.system);
                if *keep_ms < least_ms {
                    return Err(format!(
                        "expected keep_ms to be at least the longest round by a clock that may be ahead, {least_ms} ms, found \
                         {keep_ms}"
                    ));
                }
                if !may_expire_snapshots(&self.system, self.faults().map(|(_, fault)| fault)) || self.is_promoted(table)
                {
                    return Err(format!(
                        "expected no expiry of {table} where followers of its changes begin in the lake (its log is cut, \
                         or it is promoted), found one"
                    ));
                }
                Ok(())
            }
        }
    }

    /// Whether a rollback takes nothing for good, and nobody needs what goes.
    fn may_roll_back(&self, table: &TablePath) -> bool {
        let faults = || self.faults().map(|(_, fault)| fault);
        let of_table = |job_of: &TablePath, job: &Job| {
            job_of == table && matches!(job, Job::ExpireSnapshots { .. } | Job::CreateTag { .. })
        };
        let mut jobs = faults().filter_map(|fault| match fault {
            Fault::Maintain { table, job, .. } => Some((table, job)),
            _ => None,
        });
        let mut before_drained = self.statements().filter(|(_, planned)| planned.phase != Phase::Drained);
        let disturbs = |statement: &Statement| statement.table() == table && !leaves_the_lake_alone(statement);
        may_expire_snapshots(&self.system, faults())
            && !self.compacted_tables().any(|compacted| compacted == table)
            && !jobs.any(|(job_of, job)| of_table(job_of, job))
            && !before_drained.any(|(_, planned)| disturbs(&planned.statement))
    }

    fn is_promoted(&self, table: &TablePath) -> bool {
        let of_table = |statement: &Statement| {
            matches!(statement, Statement::CreateOnLake { .. } | Statement::Promote { .. })
                && statement.table() == table
        };
        self.statements().any(|(_, planned)| of_table(&planned.statement))
    }

    /// Whether maintenance stays within its limits, beside everything else that goes wrong.
    pub(super) fn check_upkeep(&self) -> Result<(), String> {
        let mut names = BTreeSet::new();
        for (step, fault) in self.faults() {
            let Fault::Maintain { table, job, .. } = fault else { continue };
            match job {
                Job::CreateTag { name } if !names.insert((table, name)) => {
                    return Err(format!(
                        "step `{step}`: expected the name of each tag of {table} to be used once, found `{name}` again"
                    ));
                }
                Job::RemoveOrphans { older_than_ms } => {
                    let faults = self.faults().map(|(_, fault)| fault);
                    let least_ms = least_orphan_age_ms(&self.system, table, faults);
                    if *older_than_ms < least_ms {
                        return Err(format!(
                            "step `{step}`: expected clean-up to spare what is younger than the longest commit beside \
                             this plan's faults, {least_ms} ms, found older_than_ms {older_than_ms}"
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
