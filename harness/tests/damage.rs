//! Lake reads decode real bytes (rule 10): whichever kind of file has one wrong byte, wherever, L10 is violated.

use std::collections::BTreeMap;

use harness::check::check;
use harness::engine::run::{Damage, RunOptions, RunResult};
use harness::engine::sim::run;
use harness::history::Event;
use scenarios::plan::{Action, Plan};

/// Bytes at the start and at the end, past magic numbers, and at places that no two files have in common.
const BYTES: &[i64] = &[0, 1, 5, 40, 97, 211, 389, 701, 1_009, 3_037_000_499, -1, -2, -5, -9, -60, -200];

fn is_snapshot(path: &str) -> bool {
    path.contains("/snapshot/snapshot-")
}

fn is_schema(path: &str) -> bool {
    path.contains("/schema/schema-")
}

fn is_manifest_list(path: &str) -> bool {
    path.contains("/manifest/manifest-list-")
}

fn is_manifest(path: &str) -> bool {
    path.contains("/manifest/manifest-") && !is_manifest_list(path)
}

fn is_data_file(path: &str) -> bool {
    path.contains("/bucket-")
}

fn is_latest_hint(path: &str) -> bool {
    path.ends_with("/snapshot/LATEST")
}

/// A plan without faults, so that every file of the lake is referred to: damage to an orphan harms nobody.
fn plan(scenario: &str) -> Plan {
    let mut plan = scenarios::find(scenario).unwrap().plan(2);
    plan.chaos_ms /= 4;
    let end_ms = plan.chaos_ms;
    plan.steps.retain(|step| matches!(&step.action, Action::Run(planned) if planned.at_ms < end_ms));
    plan
}

fn run_damaged(plan: &Plan, damage: Option<Damage>) -> RunResult {
    let result = run(plan, &RunOptions { damage, ..RunOptions::default() });
    assert_eq!(result.trouble, None);
    result
}

/// How many violations there are, by property.
fn violations(result: &RunResult) -> BTreeMap<&'static str, usize> {
    let judged = check(&result.history).judgements.into_iter();
    judged.map(|(id, judgement)| (id, judgement.violations.len())).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn an_undamaged_lake_is_held_and_has_no_orphans() {
    for scenario in ["append", "key-upsert-delete", "partitioned"] {
        let result = run_damaged(&plan(scenario), None);
        assert_eq!(violations(&result), BTreeMap::new(), "{scenario}");
        let mut tables = 0;
        for entry in &result.history.events {
            if let Event::Files { orphans, table, .. } = &entry.event {
                assert!(
                    orphans.is_empty(),
                    "{scenario}: {table} has orphans {orphans:?}: damage to them proves nothing"
                );
                tables += 1;
            }
        }
        assert!(tables > 0, "{scenario}: nobody looked at the files");
    }
}

/// Flips bytes of files of one kind, each in a run of its own, and expects L10 to be violated each time.
#[track_caller]
fn every_flip_is_found(kind: &str, selects: fn(&str) -> bool) {
    for scenario in ["append", "partitioned"] {
        let plan = plan(scenario);
        let held = run_damaged(&plan, None).trace_hash;
        for (object, byte) in BYTES.iter().copied().enumerate() {
            let result = run_damaged(&plan, Some(Damage { selects, object, byte }));
            assert_ne!(result.trace_hash, held, "{scenario}: no {kind} was damaged");
            assert!(
                violations(&result).contains_key("L10"),
                "{scenario}: expected a violation of L10 after byte {byte} of {kind} {object} was flipped, found {:?}",
                violations(&result)
            );
        }
    }
}

#[test]
fn a_flipped_byte_in_a_snapshot_file_is_found() {
    every_flip_is_found("snapshot", is_snapshot);
}

#[test]
fn a_flipped_byte_in_a_schema_file_is_found() {
    every_flip_is_found("schema", is_schema);
}

#[test]
fn a_flipped_byte_in_a_manifest_list_is_found() {
    every_flip_is_found("manifest list", is_manifest_list);
}

#[test]
fn a_flipped_byte_in_a_manifest_is_found() {
    every_flip_is_found("manifest", is_manifest);
}

#[test]
fn a_flipped_byte_in_a_data_file_is_found() {
    every_flip_is_found("data file", is_data_file);
}

/// Readers may list instead of following a hint, so no row is lost; a hint that names nothing is a finding all the same.
#[test]
fn a_flipped_byte_in_the_latest_hint_is_found_and_loses_nothing() {
    let plan = plan("append");
    for object in 0..3 {
        let result = run_damaged(&plan, Some(Damage { selects: is_latest_hint, object, byte: 0 }));
        let violated: Vec<_> = violations(&result).into_keys().collect();
        assert_eq!(violated, ["L10"]);
    }
}
