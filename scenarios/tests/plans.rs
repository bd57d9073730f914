//! What every plan of the library is like: repeatable, valid, survivable, and busy enough to prove something.

use std::collections::BTreeMap;

use models::contract::{Side, Statement, Value};
use scenarios::contract::SENTINEL;
use scenarios::library;
use scenarios::plan::{Action, CallFault, Fault, Phase, Plan, PlannedTable, Step};

/// How many seeds of each scenario the tests look at.
const SEEDS: u64 = 100;

fn plans() -> impl Iterator<Item = Plan> {
    library().iter().flat_map(|scenario| (0..SEEDS).map(|seed| scenario.plan(seed)))
}

/// The plans of the scenarios in which sessions work beside each other while faults strike.
fn plans_of_workloads() -> impl Iterator<Item = Plan> {
    let busy = library().iter().filter(|scenario| scenario.workload.is_some() && !scenario.nemeses.calm);
    busy.flat_map(|scenario| (0..SEEDS).map(|seed| scenario.plan(seed)))
}

/// `scenario@seed`, for messages.
fn name(plan: &Plan) -> String {
    format!("{}@{}", plan.scenario, plan.seed)
}

/// How many of the workloads' plans are so, in thousandths.
fn permille(holds: impl Fn(&Plan) -> bool) -> usize {
    let (all, held) =
        plans_of_workloads().fold((0, 0), |(all, held), plan| (all + 1, held + usize::from(holds(&plan))));
    held * 1000 / all
}

#[test]
fn a_scenario_and_a_seed_give_one_plan() {
    for scenario in library() {
        assert_eq!(scenario.plan(7), scenario.plan(7));
        assert_ne!(scenario.plan(7), scenario.plan(8));
    }
    assert_ne!(library()[0].plan(1).system, library()[1].plan(1).system, "scenarios share no luck");
}

#[test]
fn every_plan_is_valid_and_survivable() {
    for plan in plans() {
        plan.validate().unwrap_or_else(|found| panic!("{}: {found}", name(&plan)));
        // Rule 7 once more, by hand: the windows end within the chaos phase, and the store is there for most of it.
        let mut store_away_ms = 0;
        for (id, fault) in plan.faults() {
            let (host, end_ms, for_ms) = match fault {
                Fault::Crash { host, at_ms, restart_after_ms: for_ms }
                | Fault::Pause { host, at_ms, for_ms }
                | Fault::Outage { part: host, at_ms, for_ms }
                | Fault::Partition { from: host, at_ms, for_ms, .. } => (host.as_str(), at_ms + for_ms, *for_ms),
                Fault::Full { at_ms, for_ms } => ("lake", at_ms + for_ms, *for_ms),
                Fault::SlowLink { at_ms, for_ms, .. }
                | Fault::StaleList { at_ms, for_ms, .. }
                | Fault::StaleExists { at_ms, for_ms, .. }
                | Fault::RetentionPressure { at_ms, for_ms, .. }
                | Fault::HeartbeatLoss { at_ms, for_ms, .. } => ("", at_ms + for_ms, *for_ms),
                Fault::ClockJump { at_ms, .. } | Fault::Maintain { at_ms, .. } => ("", *at_ms, 0),
                Fault::Call { .. } => ("", 0, 0),
            };
            assert!(end_ms <= plan.chaos_ms, "{} {id}", name(&plan));
            store_away_ms += if host == "store" { for_ms } else { 0 };
        }
        assert!(store_away_ms * 3 <= plan.chaos_ms, "{}", name(&plan));
    }
}

#[test]
fn a_plan_without_any_one_of_its_steps_is_valid() {
    for scenario in library() {
        let plan = scenario.plan(1);
        for index in 0..plan.steps.len() {
            let mut fewer = plan.clone();
            let removed = fewer.steps.remove(index);
            fewer.validate().unwrap_or_else(|found| panic!("{} without {}: {found}", name(&plan), removed.id));
        }
        let mut none = plan;
        none.steps.clear();
        none.validate().unwrap();
    }
}

#[test]
fn a_plan_survives_its_own_json() {
    for scenario in library() {
        let plan = scenario.plan(3);
        assert_eq!(Plan::from_json(&plan.to_json()).unwrap(), plan);
    }
}

#[test]
fn plans_are_busy_and_read_what_they_write() {
    for plan in plans() {
        let statements = plan.statements().count();
        let reads = plan.statements().filter(|(_, planned)| planned.statement.is_read()).count();
        assert!(reads * 5 >= statements, "{}: {reads} reads of {statements}", name(&plan));
    }
    assert!(permille(|plan| (200..=320).contains(&plan.statements().count())) >= 950);
}

#[test]
fn faults_strike_in_nearly_every_plan() {
    // A window always strikes; so does an early commit of a table.
    let certain = |fault: &Fault| match fault {
        Fault::Call { at, .. } => at.call == "lake.put-snapshot" && at.nth <= 2,
        _ => true,
    };
    let struck = permille(|plan| plan.faults().any(|(_, fault)| certain(fault)));
    assert!(struck >= 900, "{struck}");
    let within = permille(|plan| (6..=40).contains(&plan.faults().count()));
    assert!(within >= 950, "{within}");
}

#[test]
fn workers_die_between_commit_and_registration() {
    let dies_between = |fault: &Fault| match fault {
        Fault::Call { at, what: CallFault::CallerCrashesAfter { .. } } => at.call == "lake.put-snapshot" && at.nth <= 3,
        Fault::Call { at, what: CallFault::CallerCrashesBefore { .. } } => {
            at.call == "store.register-lake-snapshot" && at.nth <= 3
        }
        _ => false,
    };
    let between = permille(|plan| plan.faults().any(|(_, fault)| dies_between(fault)));
    assert!(between >= 100, "{between}");
}

#[test]
fn a_worker_is_silent_for_longer_than_its_timeout() {
    let is_silent = |plan: &Plan| {
        let timeout_ms = plan.system.coordinator.heartbeat_timeout_ms;
        plan.faults().any(|(_, fault)| match fault {
            Fault::Partition { from, to, for_ms, .. } => {
                from.starts_with("tiering-") && to == "coordinator" && *for_ms > timeout_ms
            }
            _ => false,
        })
    };
    let network = scenarios::find("network").unwrap();
    let silent = (0..SEEDS).filter(|seed| is_silent(&network.plan(*seed))).count();
    assert!(silent as u64 >= SEEDS * 7 / 10, "{silent}");
}

#[test]
fn write_ids_are_unique_within_a_plan() {
    for plan in plans_of_workloads() {
        let mut ids = Vec::new();
        for (_, planned) in plan.statements() {
            if let Statement::Insert { rows, .. } | Statement::InsertOverwrite { rows, .. } = &planned.statement {
                let position = rows.position("w").expect("every row has a write id");
                ids.extend(rows.rows.iter().filter_map(|row| row[position].as_int()));
            }
        }
        let written = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), written, "{}", name(&plan));
        assert!(written > 50, "{} writes {written} rows", name(&plan));
    }
}

#[test]
fn sessions_go_forward_in_time() {
    for plan in plans() {
        let mut last = BTreeMap::new();
        for (id, planned) in plan.statements() {
            let before_ms = last.insert((planned.session.clone(), planned.phase), planned.at_ms).unwrap_or(0);
            assert!(before_ms <= planned.at_ms, "{} {id}", name(&plan));
        }
    }
}

#[test]
fn every_table_is_read_in_every_way_once_all_is_drained() {
    for plan in plans_of_workloads() {
        assert!(plan.statements().all(|(_, planned)| planned.phase != Phase::Drained || planned.session == "final"));
        // The tables of stories end with their stories.
        let is_shared = |planned: &&PlannedTable| {
            planned.side == Side::Store && planned.schema.options.values().all(|value| !value.contains(SENTINEL))
        };
        for table in plan.tables.iter().filter(is_shared) {
            let drained = plan
                .statements()
                .filter(|(_, planned)| planned.phase == Phase::Drained && planned.statement.table() == &table.table);
            let names: Vec<&str> = drained.map(|(_, planned)| planned.statement.name()).collect();
            let count = |wanted: &str| names.iter().filter(|name| **name == wanted).count();
            assert_eq!(names[..2], ["select", "select"], "{}", name(&plan));
            assert_eq!((count("changes"), count("replace_table"), count("truncate_table")), (6, 3, 1));
            assert_eq!(count("lookup") > 0, table.schema.has_primary_key());
            let guards = names.iter().position(|name| *name == "rename_table").unwrap();
            assert!(names[..guards].iter().all(|name| ["select", "lookup", "changes"].contains(name)));
        }
    }
}

#[test]
fn some_logs_end_in_deletes_of_keys_that_never_were() {
    let is_absent = |statement: &Statement| match statement {
        Statement::Delete { keys, .. } => {
            keys.rows.iter().all(|key| matches!(&key[0], Value::Int(id) if *id >= 1_000_000))
        }
        _ => false,
    };
    let ends_so = permille(|plan| {
        plan.tables.iter().any(|table| {
            let writes = plan.statements().map(|(_, planned)| planned).filter(|planned| {
                planned.phase == Phase::Healed
                    && planned.statement.table() == &table.table
                    && !planned.statement.is_read()
            });
            writes.last().is_some_and(|planned| is_absent(&planned.statement))
        })
    });
    assert!(ends_so >= 150, "{ends_so}");
}

#[test]
fn guard_tables_are_refused_and_then_leave_the_mode() {
    let plan = scenarios::find("catalog").unwrap().plan(1);
    let story = plan.statements().filter(|(_, planned)| planned.session == "g1").map(|(_, planned)| &planned.statement);
    let names: Vec<&str> = story.map(Statement::name).collect();
    let leaves = names.iter().position(|name| *name == "alter_options").unwrap();
    for (part, wanted) in [(&names[..leaves], 3), (&names[leaves..], 1)] {
        assert!(part.contains(&"rename_table") && part.contains(&"truncate_table"), "{part:?}");
        assert_eq!(part.iter().filter(|name| **name == "replace_table").count(), wanted);
    }
}

#[test]
fn every_run_stays_within_the_bounds_of_its_scenario() {
    for plan in plans() {
        let tables = plan.tables.iter().filter(|planned| planned.side == Side::Store).count() as u64;
        let (declared, allowed) = (plan.system.bounds(tables, false), scenarios::find(&plan.scenario).unwrap().bounds);
        assert!(declared.rt_staleness_ms <= allowed.rt_staleness_ms, "{}", name(&plan));
        assert!(declared.lake_freshness_ms <= allowed.lake_freshness_ms, "{}: {declared:?}", name(&plan));
        assert!(declared.recovery_ms <= allowed.recovery_ms, "{}: {declared:?}", name(&plan));
    }
}

/// One plan in outline, so that a change of what seeds mean is seen and meant.
#[test]
fn the_outline_of_one_plan() {
    let plan = scenarios::find("catalog").unwrap().plan(1);
    let line = |step: &Step| match &step.action {
        Action::Run(planned) => format!(
            "{:7} {:>5} {:16} {} {}",
            format!("{:?}", planned.phase).to_lowercase(),
            planned.at_ms,
            step.id,
            planned.statement.name(),
            planned.statement.table()
        ),
        Action::Close(close) => format!("{:13} {:16} close", close.session, step.id),
        Action::Fault(fault) => format!("fault         {:16} {}", step.id, fault.kind()),
    };
    let outline: Vec<String> = plan.steps.iter().map(line).collect();
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("plan-catalog-1-outline", outline.join("\n"));
    });
}
