//! The commit protocol under races and lost answers.

use std::collections::BTreeMap;

use futures::future::join;
use models::contract::{FailureCode, RowKind, Value};
use models::defects::{Defect, Defects};
use models::paimon::{
    CommitKind, CommitMode, CommitRequest, OverwriteScope, PaimonTable, Precondition, Snapshot, verify,
};

use crate::surroundings::*;

fn whole_table() -> CommitMode {
    CommitMode::Overwrite { partitions: OverwriteScope::WholeTable }
}

async fn chain(table: &PaimonTable) -> Vec<Snapshot> {
    let mut snapshots = Vec::new();
    while let Ok(snapshot) = table.snapshot(snapshots.len() as u64 + 1).await {
        snapshots.push(snapshot);
    }
    snapshots
}

async fn users(table: &PaimonTable) -> Vec<String> {
    chain(table).await.into_iter().map(|snapshot| snapshot.commit_user).collect()
}

async fn assert_sound(warehouse: &Warehouse) {
    let verification = verify(&*warehouse.lake.objects, &path()).await;
    assert_eq!(verification.findings, []);
}

/// A commit of another writer, to happen in the middle of somebody's attempt.
fn meanwhile(table: &PaimonTable, request: CommitRequest) -> CreateFault {
    let table = table.clone();
    CreateFault::After(Box::pin(async move {
        table.commit(request).await.unwrap();
    }))
}

#[tokio::test]
async fn the_loser_of_a_race_commits_after_the_winner() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let winner = request(&table, "winner", CommitMode::Append, &inserts(&[row(1, "w", "d")])).await;
    let loser = request(&table, "loser", CommitMode::Append, &inserts(&[row(2, "l", "d")])).await;
    warehouse.storage.line_up([meanwhile(&table, winner)]);
    assert_eq!(table.commit(loser).await.unwrap().snapshot_id, 2);
    assert_eq!(users(&table).await, ["winner", "loser"]);
    assert_eq!(rows(&table).await, [row(1, "w", "d"), row(2, "l", "d")]);
    assert_eq!(latest(&table).await.total_record_count, 2);
    let verification = verify(&*warehouse.lake.objects, &path()).await;
    assert_eq!((verification.findings, verification.orphans), (vec![], vec![]), "the lost attempt left no files");
}

#[tokio::test]
async fn the_loser_does_not_take_a_winner_of_its_own_user_and_identifier_for_itself() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let mut winner = request(&table, "winner", CommitMode::Append, &inserts(&[row(1, "w", "d")])).await;
    let loser = request(&table, "loser", CommitMode::Append, &inserts(&[row(2, "l", "d")])).await;
    winner.user.clone_from(&loser.user);
    warehouse.storage.line_up([CreateFault::RequestLost, meanwhile(&table, winner)]);
    assert_eq!(table.commit(loser).await.unwrap().snapshot_id, 2);
    assert_eq!(rows(&table).await, [row(1, "w", "d"), row(2, "l", "d")]);
}

#[tokio::test]
async fn a_lost_answer_is_read_back() {
    for fault in [CreateFault::AnswerLost, CreateFault::RequestLost, CreateFault::Refused, CreateFault::Delayed] {
        let warehouse = warehouse();
        let table = warehouse.create(&append_schema()).await;
        let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
        warehouse.storage.line_up([fault]);
        assert_eq!(table.commit(commit).await.unwrap().snapshot_id, 1);
        assert_eq!(users(&table).await, ["a"]);
        assert_sound(&warehouse).await;
    }
}

#[tokio::test]
async fn an_outcome_that_stays_unknown_is_indefinite_and_nothing_is_deleted() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    warehouse.storage.line_up((0..4).map(|_| CreateFault::RequestLost).chain([CreateFault::Delayed]));
    assert!(!table.commit(commit).await.unwrap_err().definite);
    assert_eq!(table.latest_snapshot().await.unwrap(), None);
    // The last request arrives after all, before somebody else's.
    append(&table, "b", &inserts(&[row(2, "y", "d")])).await;
    assert_eq!(users(&table).await, ["a", "b"]);
    assert_eq!(rows(&table).await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_sound(&warehouse).await;
}

/// Five requests get no answer; just before the committer looks for its snapshot a last time, somebody else commits.
async fn looked_for_once_more(last_request: CreateFault) -> (PaimonTable, Warehouse) {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    let other = request(&table, "b", CommitMode::Append, &inserts(&[row(2, "y", "d")])).await;
    warehouse.storage.line_up((0..4).map(|_| CreateFault::RequestLost).chain([last_request]));
    let somebody_else = async {
        for _pause_of_the_first in 0..4 {
            tokio::task::yield_now().await;
        }
        table.commit(other).await
    };
    let (outcome, other) = join(table.commit(commit), somebody_else).await;
    assert!(outcome.is_ok() && other.is_ok(), "{outcome:?}, {other:?}");
    assert_sound(&warehouse).await;
    (table, warehouse)
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_that_is_done_after_all_is_found() {
    let (table, _warehouse) = looked_for_once_more(CreateFault::Delayed).await;
    assert_eq!(users(&table).await, ["a", "b"]);
}

#[tokio::test]
async fn a_commit_of_unknown_outcome_whose_name_somebody_else_took_starts_over() {
    let (table, warehouse) = looked_for_once_more(CreateFault::RequestLost).await;
    assert_eq!(users(&table).await, ["b", "a"]);
    assert_eq!(verify(&*warehouse.lake.objects, &path()).await.orphans, Vec::<String>::new());
}

#[tokio::test]
async fn a_commit_gives_up_after_as_many_races_or_as_long_as_the_table_says() {
    for (option, value, races) in [("commit.max-retries", "2", 3), ("commit.timeout", "25 ms", 3)] {
        let warehouse = warehouse();
        let table = warehouse.create(&with_option(append_schema(), option, value)).await;
        let loser = request(&table, "loser", CommitMode::Append, &inserts(&[row(1, "l", "d")])).await;
        for number in 0..races {
            let winner = request(&table, &format!("winner-{number}"), CommitMode::Append, &[]).await;
            // The winner's own create follows the loser's, and meets nothing.
            warehouse.storage.line_up([meanwhile(&table, winner), CreateFault::After(Box::pin(async {}))]);
        }
        let failure = table.commit(loser.clone()).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Unavailable, true), "{option}: {failure}");
        assert!(failure.message.contains(&format!("lost {races} races")), "{option}: {failure}");
        let again = CommitRequest { subject: "again".to_owned(), ..loser };
        table.commit(again).await.unwrap();
        assert_sound(&warehouse).await;
    }
}

#[tokio::test]
async fn defect_cleanup_on_unknown_deletes_the_manifests_of_a_live_snapshot() {
    let warehouse = warehouse_with([Defect::CleanupOnUnknown].into_iter().collect::<Defects>());
    let table = warehouse.create(&append_schema()).await;
    let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    warehouse.storage.line_up([CreateFault::AnswerLost]);
    assert!(!table.commit(commit).await.unwrap_err().definite);
    let verification = verify(&*warehouse.lake.objects, &path()).await;
    assert!(verification.findings.iter().all(|finding| finding.rule.property() == "L10"));
    assert!(!verification.findings.is_empty());
}

#[tokio::test]
async fn refusals_before_any_effect_are_definite_and_the_commit_can_be_repeated() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    warehouse.storage.line_up((0..5).map(|_| CreateFault::Refused));
    let failure = table.commit(commit.clone()).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Unavailable, true));
    let again = CommitRequest { subject: "a/again".to_owned(), ..commit };
    assert_eq!(table.commit(again).await.unwrap().snapshot_id, 1);
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn an_empty_append_carries_its_properties() {
    let table = warehouse().create(&append_schema()).await;
    let mut commit = request(&table, "tiering", CommitMode::Append, &[]).await;
    commit.properties = BTreeMap::from([("offsets".to_owned(), "{}".to_owned())]);
    commit.identifier = u64::from(u32::MAX) + 1;
    table.commit(commit.clone()).await.unwrap();
    let snapshot = latest(&table).await;
    assert_eq!(snapshot.properties, Some(commit.properties));
    assert_eq!((snapshot.commit_kind, snapshot.commit_identifier), (CommitKind::Append, 4_294_967_296));
    assert_eq!((snapshot.total_record_count, snapshot.delta_record_count), (0, 0));
}

#[tokio::test]
async fn the_fence_refuses_whoever_missed_a_snapshot_of_the_user() {
    let table = warehouse().create(&append_schema()).await;
    let fence = |newest_known| Precondition::NewestOfUser { user: "tiering".to_owned(), newest_known };
    append(&table, "tiering", &[]).await;
    append(&table, "native", &[]).await;
    let late = CommitRequest { precondition: fence(None), ..request(&table, "late", CommitMode::Append, &[]).await };
    let failure = table.commit(late.clone()).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true));
    table.commit(CommitRequest { precondition: fence(Some(1)), ..late }).await.unwrap();
}

#[tokio::test]
async fn the_fence_is_checked_again_after_a_lost_race() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let first = request(&table, "tiering", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    let fence = Precondition::NewestOfUser { user: "tiering".to_owned(), newest_known: None };
    let second = CommitRequest { subject: "second".to_owned(), precondition: fence, ..first.clone() };
    warehouse.storage.line_up([meanwhile(&table, first)]);
    assert_eq!(table.commit(second).await.unwrap_err().code, FailureCode::Rejected);
    assert_eq!(users(&table).await, ["tiering"]);
}

#[tokio::test]
async fn the_newest_snapshot_of_a_user_is_found_behind_those_of_others() {
    let table = warehouse().create(&append_schema()).await;
    for (subject, user) in [("1", "tiering"), ("2", "tiering"), ("3", "native"), ("4", "native")] {
        let commit = request(&table, subject, CommitMode::Append, &[]).await;
        table.commit(CommitRequest { user: user.to_owned(), ..commit }).await.unwrap();
    }
    let from = latest(&table).await;
    let newest = |user| table.newest_snapshot_of_user(&from, user);
    assert_eq!(newest("tiering").await.unwrap().map(|snapshot| snapshot.id), Some(2));
    assert_eq!(newest("nobody").await.unwrap(), None);
}

#[tokio::test]
async fn an_overwrite_replaces_what_its_scope_covers() {
    let table = warehouse().create(&partitioned_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "mon"), row(2, "old", "tue")])).await;
    let monday = OverwriteScope::Static([("dt".to_owned(), Value::string("mon"))].into());
    let overwrite = |partitions| CommitMode::Overwrite { partitions };
    let commit = request(&table, "b", overwrite(monday.clone()), &inserts(&[row(3, "new", "mon")])).await;
    table.commit(commit).await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "old", "tue"), row(3, "new", "mon")]);

    let outside = request(&table, "c", overwrite(monday), &inserts(&[row(4, "new", "tue")])).await;
    assert_eq!(table.commit(outside).await.unwrap_err().code, FailureCode::Invalid);

    let dynamic = request(&table, "d", overwrite(OverwriteScope::Dynamic), &inserts(&[row(5, "new", "tue")])).await;
    table.commit(dynamic).await.unwrap();
    assert_eq!(rows(&table).await, [row(3, "new", "mon"), row(5, "new", "tue")]);

    table.commit(request(&table, "e", whole_table(), &[]).await).await.unwrap();
    let snapshot = latest(&table).await;
    assert_eq!((snapshot.commit_kind, snapshot.total_record_count), (CommitKind::Overwrite, 0));
    assert_eq!(rows(&table).await, []);
}

#[tokio::test]
async fn an_overwritten_key_table_holds_only_the_new_rows() {
    let table = warehouse().create(&key_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d"), row(2, "old", "d")])).await;
    table.commit(request(&table, "b", whole_table(), &inserts(&[row(1, "new", "d")])).await).await.unwrap();
    assert_eq!(rows(&table).await, [row(1, "new", "d")]);
    append(&table, "c", &[(RowKind::Delete, row(1, "new", "d"))]).await;
    assert_eq!(rows(&table).await, []);
}

#[tokio::test]
async fn rows_that_were_added_after_an_overwrite_began_survive_it() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
    let overwrite = request(&table, "overwrite", whole_table(), &inserts(&[row(2, "new", "d")])).await;
    // One append between base and commit, one in the middle of the commit.
    append(&table, "b", &inserts(&[row(3, "between", "d")])).await;
    let racing = request(&table, "c", CommitMode::Append, &inserts(&[row(4, "racing", "d")])).await;
    warehouse.storage.line_up([meanwhile(&table, racing)]);
    table.commit(overwrite).await.unwrap();
    assert_eq!(rows(&table).await, [row(2, "new", "d"), row(3, "between", "d"), row(4, "racing", "d")]);
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn of_two_racing_overwrites_the_later_one_stands() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
    let first = request(&table, "first", whole_table(), &inserts(&[row(2, "first", "d")])).await;
    let second = request(&table, "second", whole_table(), &inserts(&[row(3, "second", "d")])).await;
    warehouse.storage.line_up([meanwhile(&table, first)]);
    table.commit(second).await.unwrap();
    assert_eq!(rows(&table).await, [row(3, "second", "d")]);
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn the_number_of_buckets_changes_by_overwrite_only() {
    let warehouse = warehouse();
    let before = warehouse.create(&key_schema()).await;
    append(&before, "a", &inserts(&[row(1, "x", "d")])).await;
    warehouse.catalog.alter_options(&path(), &[("bucket".to_owned(), "3".to_owned())].into(), &[]).await.unwrap();
    let after = warehouse.open().await;
    for (table, subject) in [(&before, "b"), (&after, "c")] {
        let commit = request(table, subject, CommitMode::Append, &inserts(&[row(2, "y", "d")])).await;
        let failure = table.commit(commit).await.unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Rejected, true), "{failure}");
    }
    after.commit(request(&after, "d", whole_table(), &inserts(&[row(1, "x", "d")])).await).await.unwrap();
    append(&after, "e", &inserts(&[row(2, "y", "d")])).await;
    assert_eq!(rows(&after).await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_sound(&warehouse).await;
}

#[tokio::test]
async fn a_commit_that_was_planned_for_a_dropped_table_does_not_reach_its_successor() {
    let warehouse = warehouse();
    let old = warehouse.create(&append_schema()).await;
    let late = request(&old, "late", CommitMode::Append, &inserts(&[row(1, "old", "d")])).await;
    warehouse.catalog.drop_table(&path(), false).await.unwrap();
    assert_eq!(old.commit(late.clone()).await.unwrap_err().code, FailureCode::NotFound);
    warehouse.lake.environment.sleep_ms(1).await;
    let new = warehouse.create(&append_schema()).await;
    let failure = old.commit(CommitRequest { subject: "later".to_owned(), ..late }).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true));
    assert_eq!(new.latest_snapshot().await.unwrap(), None);
}

#[tokio::test]
async fn an_aborted_committable_leaves_no_files() {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    let before = warehouse.storage.memory.snapshot_all();
    let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
    assert_ne!(warehouse.storage.memory.snapshot_all(), before);
    table.abort(&commit.committable).await.unwrap();
    assert_eq!(warehouse.storage.memory.snapshot_all(), before);
}
