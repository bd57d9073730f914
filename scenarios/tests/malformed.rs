//! What is wrong with a plan or a scenario is said in one sentence: where, what was expected, what was found.

use models::config::CompactorConfig;
use models::contract::{DataType, Side};
use models::maintenance::Job;
use scenarios::library;
use scenarios::plan::{Action, Fault, Plan, Step};
use scenarios::scenario::Scenario;

fn plan() -> Plan {
    scenarios::find("key-upsert-delete").unwrap().plan(1)
}

/// The refusal of a good plan that was changed.
fn refusal(spoil: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan();
    spoil(&mut plan);
    plan.validate().unwrap_err()
}

/// The refusal of a good plan with one more step.
fn refusal_of_step(json: &str) -> String {
    let step: Step = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    refusal(|plan| plan.steps.push(step))
}

fn refusal_of_fault(json: &str) -> String {
    refusal_of_step(&format!(r#"{{"id":"s","fault":{json}}}"#))
}

fn refusal_of_call(at: &str, what: &str) -> String {
    refusal_of_fault(&format!(r#"{{"call":{{"at":"{at}","what":{what}}}}}"#))
}

fn refusal_of_statement(session: &str, json: &str) -> String {
    refusal_of_step(&format!(
        r#"{{"id":"s","run":{{"session":"{session}","phase":"chaos","at_ms":1,"deadline_ms":1,"statement":{json}}}}}"#
    ))
}

/// Asserts that each text holds what is expected, in one line.
fn assert_each(cases: &[(String, &str)]) {
    for (found, expected) in cases {
        assert!(found.contains(expected), "expected {expected:?}\n   found {found:?}");
        assert!(!found.contains('\n'), "{found}");
    }
}

#[test]
fn a_plan_that_makes_no_sense_is_refused() {
    let again = |plan: &mut Plan| plan.steps.push(plan.steps[0].clone());
    let unkeyed = |plan: &mut Plan| plan.tables[0].schema.primary_key.push("nil".to_owned());
    let slow = |plan: &mut Plan| {
        plan.system.worker.heartbeat_interval_ms = plan.system.coordinator.heartbeat_timeout_ms / 3 + 1;
    };
    assert_each(&[
        (refusal(|plan| plan.version = 2), "expected a plan of version 1, found version 2"),
        (refusal(|plan| plan.chaos_ms = 0), "expected chaos_ms to be from 1 to 600000, found 0"),
        (refusal(|plan| plan.tables.clear()), "expected at least one table, found none"),
        (
            refusal(|plan| plan.tables.push(plan.tables[0].clone())),
            "expected each table to be planned once, found db.k1 twice",
        ),
        (refusal(again), "expected the id of each step to be unique, found `"),
        (refusal(unkeyed), "table db.k1: expected the primary key to name columns, `nil` is none"),
        (refusal(slow), "expected system.worker.heartbeat_interval_ms to be less than a third of"),
        (refusal(|plan| plan.min_call_ms = 99), "expected min_call_ms to be at most system.max_call_ms of"),
        (refusal(|plan| plan.system.call_timeout_ms = 2), "expected system.call_timeout_ms to be more than"),
        (
            refusal(|plan| plan.system.tiering_workers = 0),
            "expected system.tiering_workers to be from 1 to 16, found 0",
        ),
        (
            refusal(|plan| plan.system.coordinator.freshness_ms = u64::MAX),
            "expected system.coordinator.freshness_ms to be from 1 to 60000, found 18446744073709551615",
        ),
        (
            refusal(|plan| plan.system.store.sync_ms = plan.system.call_timeout_ms),
            "expected system.store.sync_ms to leave an append time to answer",
        ),
    ]);
}

/// The refusal of a good plan whose first table has one more option.
fn refusal_of_option(key: &str, value: &str) -> String {
    refusal(|plan| {
        plan.tables[0].schema.options.insert(key.to_owned(), value.to_owned());
    })
}

#[test]
fn a_table_that_the_lake_cannot_hold_or_the_store_not_serve_is_refused_by_name() {
    let reserved = |plan: &mut Plan| plan.tables[0].schema.columns[0].name = "_SEQUENCE_NUMBER".to_owned();
    let nullable = |plan: &mut Plan| plan.tables[0].schema.columns[0].nullable = true;
    assert_each(&[
        (
            refusal(|plan| plan.tables[0].schema.columns.clear()),
            "table db.k1: expected at least one column, found none",
        ),
        (
            refusal(reserved),
            "table db.k1: expected a column name that Paimon does not reserve, found `_SEQUENCE_NUMBER`",
        ),
        (refusal(nullable), "table db.k1: expected a NOT NULL column in the primary key, found `id`"),
        (refusal_of_option("file.format", "orc"), "option `file.format` to be one of [parquet, avro], found \"orc\""),
        (refusal_of_option("bucket", "4294967295"), "expected `bucket` to be 1 or more"),
        (refusal_of_option("bucket", "-1"), "a primary-key table with a fixed number of buckets"),
        (refusal_of_option("bucket-key", "nil"), "table db.k1: expected the bucket-key to name columns, `nil` is none"),
        (refusal_of_option("merge-engine", "partial-update"), "expected option `merge-engine` to be deduplicate"),
        (refusal_of_option("snapshot.num-retained.min", "0"), "`snapshot.num-retained.min` to be at least 1, found 0"),
    ]);
}

#[test]
fn rows_without_a_write_id_of_their_own_are_refused() {
    let twice = r#"{"insert":{"table":"db.k1","rows":[{"id":1,"w":5},{"id":2,"w":5}]}}"#;
    assert_each(&[
        (refusal_of_statement("w1", twice), "step `s`: expected a `w` that no other row of db.k1 has, found Int(5)"),
        (
            refusal_of_statement("w1", r#"{"insert":{"table":"db.k1","rows":[{"id":1}]}}"#),
            "step `s`: expected every row to have a write id in `w`, found one without",
        ),
    ]);
}

/// The refusal of a good plan, whose store keeps its log, with a job on db.k1.
fn refusal_of_job(job: &str) -> String {
    let step = format!(r#"{{"id":"s","fault":{{"maintain":{{"table":"db.k1","job":{job},"at_ms":1}}}}}}"#);
    let step: Step = serde_json::from_str(&step).unwrap_or_else(|error| panic!("{step}: {error}"));
    refusal(|plan| {
        plan.system.store.log_ttl_ms = None;
        plan.steps.push(step);
    })
}

#[test]
fn maintenance_that_takes_something_from_somebody_is_refused() {
    let elsewhere = r#"{"maintain":{"table":"db.k9","job":{"compact":{"fully":true}},"at_ms":1}}"#;
    let expiry: Step = serde_json::from_str(
        r#"{"id":"s","fault":{"maintain":{"table":"db.k1","job":{"expire-snapshots":{"at_least":1,"keep_ms":9000}},"at_ms":1}}}"#,
    )
    .unwrap();
    let tag: Step = serde_json::from_str(
        r#"{"id":"s","fault":{"maintain":{"table":"db.k1","job":{"create-tag":{"name":"a"}},"at_ms":1}}}"#,
    )
    .unwrap();
    let beside_a_cut_log = refusal(|plan| {
        plan.system.store.log_ttl_ms = Some(1_000);
        plan.steps.push(expiry.clone());
    });
    let beside_pressure = refusal(|plan| {
        plan.system.store.log_ttl_ms = None;
        let pressure = Fault::RetentionPressure { ttl_ms: 1, at_ms: 1, for_ms: 1 };
        plan.steps.push(Step { id: "p".to_owned(), action: Action::Fault(pressure) });
        plan.steps.push(expiry.clone());
    });
    let skewed = refusal(|plan| {
        plan.system.store.log_ttl_ms = None;
        plan.system.max_skew_ms = 5_000;
        plan.steps.push(expiry.clone());
    });
    let twice = refusal(|plan| {
        plan.steps.push(tag.clone());
        plan.steps.push(Step { id: "t".to_owned(), ..tag });
    });
    assert_each(&[
        (refusal_of_fault(elsewhere), "step `s`: expected maintenance of a planned table, found db.k9"),
        (
            refusal_of_job(r#"{"expire-snapshots":{"at_least":0,"keep_ms":9000}}"#),
            "step `s`: expected at_least to be at least 1, found 0",
        ),
        (
            refusal_of_job(r#"{"expire-snapshots":{"at_least":1,"keep_ms":5}}"#),
            "step `s`: expected keep_ms to be at least the longest round by a clock that may be ahead, ",
        ),
        (beside_a_cut_log, "expected no expiry of db.k1 where followers of its changes begin in the lake"),
        (beside_pressure, "expected no expiry of db.k1 where followers of its changes begin in the lake"),
        (skewed, "expected keep_ms to be at least the longest round by a clock that may be ahead, "),
        (
            refusal_of_job(r#"{"remove-orphans":{"older_than_ms":5}}"#),
            "step `s`: expected clean-up to spare what is younger than the longest commit beside this plan's faults, ",
        ),
        (refusal_of_job(r#"{"create-tag":{"name":"a/b"}}"#), "step `s`: expected a tag's name of lower-case letters"),
        (twice, "step `t`: expected the name of each tag of db.k1 to be used once, found `a` again"),
        (
            refusal_of_call("maintenance(db.k1).lake.put-tag#1", r#"{"duplicate":{"after_ms":5}}"#),
            "step `s`: expected a call that may come late or twice, found maintenance(db.k1).lake.put-tag#1: the tag may",
        ),
        (
            refusal_of_call("maintenance(db.k1).lake.rename-tag#1", r#"{"delay":{"by_ms":5}}"#),
            "step `s`: expected a call that may come late or twice, found maintenance(db.k1).lake.rename-tag#1: the tag",
        ),
        (
            refusal_of_call("operator(db.k1).lake.put-tag#1", r#""refuse""#),
            "step `s`: expected a session, tiering, coordinator, maintenance or, where the system has one, compactor as the caller",
        ),
    ]);
}

/// The least age of what clean-up of db.k1 may delete beside this fault.
fn least_orphan_age_ms(fault: &str) -> u64 {
    let job = r#"{"maintain":{"table":"db.k1","job":{"remove-orphans":{"older_than_ms":5}},"at_ms":1}}"#;
    let steps = [("a", fault), ("b", job)].map(|(id, fault)| format!(r#"{{"id":"{id}","fault":{fault}}}"#));
    let refusal = refusal(|plan| {
        plan.system.store.log_ttl_ms = None;
        plan.steps.extend(steps.iter().map(|step| serde_json::from_str::<Step>(step).unwrap()));
    });
    let age = refusal.split("beside this plan's faults, ").nth(1).and_then(|rest| rest.split(' ').next());
    age.and_then(|age| age.parse().ok()).unwrap_or_else(|| panic!("expected a least age, found: {refusal}"))
}

#[test]
fn clean_up_waits_for_a_round_whose_reader_dies_or_cannot_reach_its_committer() {
    let crash = |host: &str| format!(r#"{{"crash":{{"host":"{host}","at_ms":1,"restart_after_ms":60}}}}"#);
    let call = |call: &str, what: &str| format!(r#"{{"call":{{"at":"tiering(db.k1).{call}#90","what":{what}}}}}"#);
    let alone = least_orphan_age_ms(&crash("tiering-1-committer"));
    assert_eq!(least_orphan_age_ms(&crash("tiering-1-planner")), alone, "with the round its files are lost");
    let of_a_crash = least_orphan_age_ms(&crash("tiering-1-reader-1"));
    assert!(of_a_crash > alone + 60, "expected time to read once more, found {of_a_crash} and {alone}");
    for (at, what) in [
        ("store.fetch-log", r#"{"caller-crashes-after":{"restart_after_ms":60}}"#),
        ("tiering.assign-split", r#"{"callee-crashes-after":{"restart_after_ms":60}}"#),
        ("store.table", r#"{"other-crashes-after":{"host":"tiering-reader","restart_after_ms":60}}"#),
    ] {
        assert_eq!(least_orphan_age_ms(&call(at, what)), of_a_crash, "{at} {what}");
    }
    let partition = r#"{"partition":{"from":"tiering-1-reader-1","to":"tiering-1-committer","both_ways":true,"at_ms":1,"for_ms":70}}"#;
    assert_eq!(least_orphan_age_ms(partition), alone + 70);
}

#[test]
fn a_fault_that_cannot_strike_is_refused() {
    assert_each(&[
        (
            refusal_of_fault(r#"{"crash":{"host":"tiering-9","at_ms":1,"restart_after_ms":1}}"#),
            "step `s`: expected a host: store, coordinator, maintenance, a task of tiering-1 to tiering-",
        ),
        (
            refusal_of_fault(r#"{"crash":{"host":"stroe","at_ms":1,"restart_after_ms":1}}"#),
            "or a session, with a JDBC catalog metastore, and where the system has one compactor, found `stroe`",
        ),
        (
            refusal_of_fault(r#"{"pause":{"host":"store","at_ms":1,"for_ms":0}}"#),
            "step `s`: expected for_ms to be at least 1, found 0",
        ),
        (
            refusal_of_fault(r#"{"outage":{"part":"lake","at_ms":999999,"for_ms":1}}"#),
            "step `s`: expected the fault to be over when the chaos phase ends after",
        ),
        (
            refusal_of_fault(r#"{"outage":{"part":"w1","at_ms":1,"for_ms":1}}"#),
            "step `s`: expected an outage of store, coordinator, lake or, with a JDBC catalog, metastore, found `w1`",
        ),
        (refusal_of_call("tiering(db.k1).store.register#1", r#""refuse""#), "found `store.register`"),
        (refusal_of_call("w1(db.x).store.append#1", r#""refuse""#), "step `s`: expected a table of the plan (db.k1"),
        (
            refusal_of_call("w1.store.append#1", r#""refuse""#),
            "step `s`: expected a table in the address of store.append",
        ),
        (
            refusal_of_call("tiering(db.k1).coordinator.request-table#1", r#""refuse""#),
            "step `s`: expected no table in the address of coordinator.request-table",
        ),
        (
            refusal_of_call("store(db.k1).store.append#1", r#""refuse""#),
            "step `s`: expected a session, tiering, coordinator, maintenance or, where the system has one, compactor as the caller",
        ),
        (
            refusal_of_call(
                "w1(db.k1).store.append#1",
                r#"{"other-crashes-after":{"host":"store","restart_after_ms":1}}"#,
            ),
            "expected a host that neither calls nor is called to die, found `store` in w1(db.k1).store.append#1",
        ),
        (
            refusal_of_call(
                "coordinator(db.k1).store.create-table#1",
                r#"{"other-crashes-before":{"host":"coordinator","restart_after_ms":1}}"#,
            ),
            "expected a host that neither calls nor is called to die, found `coordinator` in",
        ),
        (
            refusal_of_call("w1(db.k1).lake.get-data#1", r#"{"callee-crashes-after":{"restart_after_ms":1}}"#),
            "step `s`: expected a called host that can die, found the lake",
        ),
    ]);
}

#[test]
fn clocks_and_stale_answers_have_their_hosts() {
    let skewed = |plan: &mut Plan| {
        plan.system.max_skew_ms = 5;
        plan.skew_ms.insert("store".to_owned(), 6);
    };
    let nobody = |plan: &mut Plan| {
        plan.system.max_skew_ms = 5;
        plan.skew_ms.insert("lake".to_owned(), 1);
    };
    assert_each(&[
        (refusal(skewed), "expected skew_ms of `store` to be from 1 to 5, found 6"),
        (refusal(nobody), "expected a host: store, coordinator, "),
        (
            refusal_of_fault(r#"{"clock-jump":{"host":"store","by_ms":0,"at_ms":1}}"#),
            "expected how far the clock jumps to be at least 1, found 0",
        ),
        (
            refusal_of_fault(r#"{"clock-jump":{"host":"store","by_ms":-1,"at_ms":1}}"#),
            "expected the clock of `store` to stay ahead of the true time by 0 to 0 ms",
        ),
        (
            refusal_of_fault(r#"{"stale-list":{"host":"w1","at_ms":1,"for_ms":1}}"#),
            "expected a session that only reads, found delete of `w1`",
        ),
        (
            refusal_of_fault(r#"{"stale-exists":{"host":"tiering-1","at_ms":1,"for_ms":1}}"#),
            "expected a session that only reads, found `tiering-1`",
        ),
        (
            refusal_of_fault(r#"{"heartbeat-loss":{"host":"store","at_ms":1,"for_ms":1}}"#),
            "expected a tiering worker whose heartbeats are lost, found `store`",
        ),
        (
            refusal(|plan| {
                let pressure = Fault::RetentionPressure { ttl_ms: 0, at_ms: 1, for_ms: 1 };
                plan.steps.retain(|step| !matches!(step.action, Action::Fault(Fault::Maintain { .. })));
                plan.steps.push(Step { id: "s".to_owned(), action: Action::Fault(pressure) });
            }),
            "expected ttl_ms to be from 1 to 60000, found 0",
        ),
    ]);
}

#[test]
fn a_rollback_that_takes_something_for_good_is_refused() {
    let plan = scenarios::find("rollback").unwrap().plan(0);
    let table = plan.tables[0].table.clone();
    let with = |commits: u64, change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        let job = Job::RollBack { commits };
        let fault = Fault::Maintain { table: table.clone(), job, at_ms: 1 };
        plan.steps.push(Step { id: "s".to_owned(), action: Action::Fault(fault) });
        change(&mut plan);
        plan.validate().err().unwrap_or_default()
    };
    let tagged = |plan: &mut Plan| {
        let job = Job::CreateTag { name: "t".to_owned() };
        let fault = Fault::Maintain { table: table.clone(), job, at_ms: 1 };
        plan.steps.push(Step { id: "tag".to_owned(), action: Action::Fault(fault) });
    };
    assert_eq!(with(1, &|_| ()), "");
    assert_each(&[
        (with(0, &|_| ()), "expected commits to be at least 1, found 0"),
        (with(1, &|plan| plan.system.store.log_ttl_ms = Some(1_000)), "where the log cannot fill the lake again"),
        (with(1, &tagged), "or where somebody needs what goes"),
    ]);
}

#[test]
fn a_statement_that_nobody_can_mean_is_refused() {
    assert_each(&[
        (
            refusal_of_statement("coordinator", r#"{"truncate_table":{"table":"db.k1"}}"#),
            "step `s`: expected a session with a name that no host has, found `coordinator`",
        ),
        (
            refusal_of_statement("w1", r#"{"insert":{"table":"db.k9","rows":[]}}"#),
            "step `s`: expected a table of the plan (db.k1",
        ),
        (
            refusal_of_statement("w1", r#"{"insert":{"table":"db.k1","rows":[{"id":1,"x":1}]}}"#),
            "step `s`: expected columns among [id, w, v",
        ),
        (
            // Of a column that comes into being on the way the type is known.
            refusal_of_statement("w1", r#"{"insert":{"table":"db.k1","rows":[{"id":1,"w":5,"added1":"one"}]}}"#),
            "added1",
        ),
        (
            refusal_of_statement("w1", r#"{"insert":{"table":"db.k1","rows":[{"w":1}]}}"#),
            "step `s`: column `id` is NOT NULL but has no value",
        ),
        (
            refusal_of_statement("w1", r#"{"delete":{"table":"db.k1","keys":[{"id":"one"}]}}"#),
            "step `s`: column `id`: expected a BIGINT, found",
        ),
        (
            refusal_of_statement("w1", r#"{"lookup":{"table":"db.k1$rt","key":{"w":1}}}"#),
            "step `s`: expected a key of the primary-key columns [id], found [w]",
        ),
        (
            refusal_of_statement("w1", r#"{"select":{"table":"db.k1","at_snapshot":1,"at_timestamp_ms":1}}"#),
            "step `s`: expected a time or a snapshot to travel to, found both",
        ),
        (
            refusal_of_statement("w1", r#"{"changes":{"table":"db.k1$rt","from":"next","max":0}}"#),
            "step `s`: expected `max` to be at least 1, found 0",
        ),
    ]);
}

/// A step of session `w1` in the chaos phase.
fn chaos_step(id: &str, statement: &str) -> Step {
    let run = r#""session":"w1","phase":"chaos","at_ms":1,"deadline_ms":1"#;
    serde_json::from_str(&format!(r#"{{"id":"{id}","run":{{{run},"statement":{statement}}}}}"#)).unwrap()
}

#[test]
fn a_write_that_contradicts_itself_is_refused() {
    let partition =
        |rows: &str| format!(r#"{{"insert":{{"table":"db.a1","partition":{{"dt":"2026-01-01"}},"rows":[{rows}]}}}}"#);
    let plan = |statement: &str| {
        let scenario = scenarios::find("partitioned").unwrap();
        let by_text = |plan: &Plan| plan.tables[0].schema.columns.last().unwrap().data_type == DataType::STRING;
        let mut plan = (0..60).map(|seed| scenario.plan(seed)).find(by_text).unwrap();
        plan.steps.push(chaos_step("s", statement));
        plan.validate()
    };
    assert_eq!(plan(&partition(r#"{"id":1,"w":5}"#)), Ok(()));
    let both = plan(&partition(r#"{"id":1,"w":5,"dt":"2026-01-02"}"#)).unwrap_err();
    let updates = r#"{"update":{"table":"db.k1","set":{"w":5},"filter":{"id":1}}}"#;
    let again = refusal(|plan| {
        plan.steps.extend(["u1", "u2"].map(|id| chaos_step(id, updates)));
    });
    let keys_and_filter = r#"{"delete":{"table":"db.k1","keys":[{"id":1}],"filter":{"id":1}}}"#;
    assert_each(&[
        (both, "step `s`: expected rows without the columns of their partition, found `dt`"),
        (again, "step `u2`: expected a `w` that no other row of db.k1 has, found Int(5) again"),
        (refusal_of_statement("w1", keys_and_filter), "step `s`: expected keys or a filter to delete by, found both"),
    ]);
}

#[test]
fn a_table_whose_readers_skip_what_is_new_needs_a_compactor() {
    let with = |compactor: Option<CompactorConfig>| {
        let mut plan = plan();
        plan.steps.clear();
        plan.tables[0].schema.options.insert("deletion-vectors.enabled".to_owned(), "true".to_owned());
        plan.system.compactor = compactor;
        plan.validate()
    };
    assert!(with(None).unwrap_err().starts_with("expected a system.compactor for table db.k1"));
    let never = with(Some(CompactorConfig { interval_ms: 0 })).unwrap_err();
    assert!(never.starts_with("expected system.compactor.interval_ms to be from 1"), "{never}");
    assert_eq!(with(Some(CompactorConfig { interval_ms: 100 })), Ok(()));
}

#[test]
fn a_table_of_the_lake_alone_need_not_be_what_the_store_can_serve() {
    let mut plan = plan();
    let options = &mut plan.tables[0].schema.options;
    options.remove("lakestream.enabled");
    options.insert("merge-engine".to_owned(), "partial-update".to_owned());
    assert!(plan.validate().unwrap_err().contains("expected option `merge-engine` to be deduplicate"));
    plan.tables[0].side = Side::Lake;
    assert_eq!(plan.validate(), Ok(()));
}

#[test]
fn tables_that_a_statement_gives_to_the_store_count_in_the_bounds() {
    let mut plan = plan();
    let before = plan.bounds().lake_freshness_ms;
    plan.system.tiering_workers = 1;
    let alone = plan.bounds().lake_freshness_ms;
    plan.steps.push(chaos_step("s", r#"{"promote":{"table":"db.k1_p"}}"#));
    assert_eq!(plan.validate(), Ok(()));
    assert!(before <= alone && alone < plan.bounds().lake_freshness_ms);
}

#[test]
fn a_plan_that_cannot_be_read_is_refused_with_its_place() {
    let good = plan().to_json();
    let spoilt = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        Plan::from_json(&good.replacen(from, to, 1)).unwrap_err()
    };
    assert_each(&[
        (Plan::from_json("{\n  \"version\": 1,,\n}").unwrap_err(), "line 2 column 16"),
        (Plan::from_json("{}").unwrap_err(), "expected a plan with \"version\": 1, found none"),
        (spoilt("\"version\": 1", "\"version\": 9"), "expected a plan with \"version\": 1, found version 9"),
        (spoilt("\"chaos_ms\"", "\"chaos\""), "unknown field `chaos`, expected one of `version`"),
        (
            spoilt("\"fault\": {", "\"fualt\": {"),
            "unknown field `fualt`, expected one of `id`, `run`, `close`, `fault` at line",
        ),
        (spoilt("\"deadline_ms\"", "\"deadline\""), "unknown field `deadline`"),
        (spoilt("\"refuse\"", "\"refuze\""), "unknown variant `refuze`"),
    ]);
    let foreign = serde_json::from_str::<Fault>(r#"{"pause":{"host":"store","at_ms":1,"for_ms":1,"why":"?"}}"#);
    assert!(foreign.unwrap_err().to_string().contains("unknown field `why`"));
}

#[test]
fn a_scenario_that_makes_no_sense_is_refused_with_file_and_key() {
    let good = include_str!("../library/tiering-crash.toml");
    let spoilt = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        let found = Scenario::parse("s.toml", &good.replacen(from, to, 1)).unwrap_err();
        assert!(found.starts_with("s.toml"), "{found}");
        found
    };
    assert_each(&[
        (spoilt("weight = 3", "wieght = 3"), "s.toml, line 3, `wieght = 3`: unknown field `wieght`"),
        (spoilt("weight = 3", "weight = \"3\""), "s.toml, line 3, `weight = \"3\"`: invalid type"),
        (spoilt("weight = 3", "weight = 0"), "s.toml: expected key `weight` to be at least 1, found 0"),
        (spoilt("[4_500, 9_000]", "[9, 4]"), "expected a range as [least, most], found [9, 4]"),
        (spoilt("[4_500, 9_000]", "[9, 40]"), "expected key `workload.chaos_ms` to lie within [1000, 60000], found"),
        (spoilt("on_permille = 900", "on_permille = 1900"), "expected at most 1000 of a thousand, found 1900"),
        (
            spoilt("[\"lake.put-snapshot\"]", "[\"lake.put-snap\"]"),
            "s.toml: group \"committed-not-registered\" of `nemeses.calls`: expected a call of store",
        ),
        (
            spoilt("{ kind = \"reply-lost\" }", "{ kind = \"reply-lost\", lasts = { ms = [1, 2] } }"),
            "s.toml: expected no `lasts` for kind ReplyLost",
        ),
        (
            spoilt("name = \"worker-crash\"", "name = \"coordinator-crash\""),
            "s.toml: expected each group of `nemeses` to have a name of its own, found \"coordinator-crash\" twice",
        ),
        (spoilt("recovery_ms = 18_500", ""), "missing field `recovery_ms`"),
        (spoilt("[workload]", "[contract]\n[workload]"), "s.toml: expected `workload` or `contract`, found both"),
        (
            spoilt("caller = \"tiering\"", "caller = \"story\""),
            "s.toml: expected at least one of `workload.stories` for `nemeses` to strike, found none",
        ),
    ]);
    assert_eq!(Scenario::parse("s.toml", good).as_ref(), Ok(&library()[3]));
}

#[test]
fn a_key_of_a_scenario_that_nothing_would_read_is_refused() {
    let spoilt = |good: &str, from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        Scenario::parse("s.toml", &good.replacen(from, to, 1)).unwrap_err()
    };
    let network = include_str!("../library/network.toml");
    let slow_link = "[[nemeses.slow_links]]\nname = \"slow-link\"\n";
    assert_each(&[
        (
            spoilt(include_str!("../library/crash-round.toml"), "[bounds]", "[timings]\nsync_ms = [1, 2]\n[bounds]"),
            "s.toml: expected nothing beside `crash_points`, found `workload`, `contract`, `timings` or `nemeses`",
        ),
        (
            spoilt(network, slow_link, &format!("{slow_link}both_ways_permille = 500\n")),
            "s.toml: expected no `both_ways_permille` in group \"slow-link\" of `nemeses`, of kind slow-link, found one",
        ),
        (
            spoilt(network, "both_ways_permille = 300\n", ""),
            "s.toml: expected a `both_ways_permille` in group \"silent-worker\" of `nemeses`, of kind partition, found none",
        ),
        (
            spoilt(
                include_str!("../library/layouts.toml"),
                "caller = \"story\"",
                "caller = \"story\"\nstories_permille = 1",
            ),
            "s.toml: expected no `stories_permille` in group \"definitions\" of `nemeses.calls`",
        ),
        (
            spoilt(network, "kind = \"key\"\n", "kind = \"key\"\nunaware_permille = 5\n"),
            "s.toml: expected no `unaware_permille` in `workload.tables` of kind \"key\"",
        ),
    ]);
}
