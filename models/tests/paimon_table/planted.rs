//! Planted bugs of the Paimon table misbehave as described, where the reference is right.

use models::contract::{Filter, RowKind, Value};
use models::defects::{Defect, Defects};
use models::paimon::CompactionKind::{Automatic, Full};
use models::paimon::{CommitKind, CommitMode, OverwriteScope, PaimonTable, verify};

use crate::life::history::keep;
use crate::surroundings::*;

/// What the correct reference and the one with the bug come to.
async fn of_both<Seen>(defect: Defect, story: impl AsyncFn(Warehouse) -> Seen) -> (Seen, Seen) {
    (story(warehouse()).await, story(warehouse_with([defect].into_iter().collect::<Defects>())).await)
}

/// How many rows of the newest snapshot a filter finds.
async fn found(table: &PaimonTable, column: &str, value: Value) -> usize {
    let filter = Filter::from([(column.to_owned(), value)]);
    table.scan(&latest(table).await, &filter).await.unwrap().into_values().flatten().count()
}

/// The rules of the integrity check that the table's files break.
async fn broken(warehouse: &Warehouse) -> Vec<&'static str> {
    let findings = verify(&*warehouse.lake.objects, &path()).await.findings;
    findings.iter().map(|finding| finding.rule.property()).collect()
}

#[tokio::test]
async fn bucket_hash_differs_looks_for_a_key_in_another_bucket() {
    let keys_found = async |warehouse: Warehouse| {
        let table = warehouse.create(&key_schema()).await;
        append(&table, "a", &inserts(&(0..20).map(|id| row(id, "x", "d")).collect::<Vec<_>>())).await;
        let mut count = 0;
        for id in 0..20 {
            count += found(&table, "id", Value::Int(id)).await;
        }
        count
    };
    let (right, wrong) = of_both(Defect::BucketHashDiffers, keys_found).await;
    assert_eq!(right, 20);
    assert!(wrong < 20, "{wrong}");
}

#[tokio::test]
async fn stats_prune_wrong_finds_the_least_value_of_a_file_only() {
    let values_found = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        append(&table, "a", &inserts(&[row(1, "a", "d"), row(2, "b", "d")])).await;
        (found(&table, "v", Value::string("a")).await, found(&table, "v", Value::string("b")).await)
    };
    assert_eq!(of_both(Defect::StatsPruneWrong, values_found).await, ((1, 1), (1, 0)));
}

#[tokio::test]
async fn overwrite_drops_concurrent_removes_what_came_after_its_base() {
    let left = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        append(&table, "a", &inserts(&[row(1, "old", "d")])).await;
        let whole = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
        let overwrite = request(&table, "overwrite", whole, &inserts(&[row(2, "new", "d")])).await;
        append(&table, "b", &inserts(&[row(3, "between", "d")])).await;
        table.commit(overwrite).await.unwrap();
        rows(&table).await.len()
    };
    assert_eq!(of_both(Defect::OverwriteDropsConcurrent, left).await, (2, 1));
}

#[tokio::test]
async fn loser_succeeds_is_told_of_the_winners_snapshot() {
    let told = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        let winner = request(&table, "winner", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
        let loser = request(&table, "loser", CommitMode::Append, &inserts(&[row(2, "y", "d")])).await;
        let other = table.clone();
        let race = CreateFault::After(Box::pin(async move { other.commit(winner).await.map(|_| ()).unwrap() }));
        warehouse.storage.line_up([race]);
        (table.commit(loser).await.unwrap().snapshot_id, rows(&table).await.len())
    };
    assert_eq!(of_both(Defect::LoserSucceeds, told).await, ((2, 2), (1, 1)));
}

#[tokio::test]
async fn rename_race_has_two_winners_and_the_rows_of_one() {
    let won = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        let first = request(&table, "first", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
        let second = request(&table, "second", CommitMode::Append, &inserts(&[row(2, "y", "d")])).await;
        // Both look for the newest snapshot before either writes its own.
        let outcomes = futures::future::join(table.commit(first), table.commit(second)).await;
        let ids = [outcomes.0.unwrap().snapshot_id, outcomes.1.unwrap().snapshot_id];
        (ids[0] != ids[1], rows(&table).await.len())
    };
    assert_eq!(of_both(Defect::RenameRace, won).await, ((true, 2), (false, 1)));
}

#[tokio::test]
async fn retry_other_kind_commits_twice_where_an_answer_was_lost() {
    let committed = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        let commit = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
        warehouse.storage.line_up([CreateFault::AnswerLost]);
        table.commit(commit).await.unwrap();
        let kinds = table.snapshots_of_commit("a", 1, 0).await.unwrap();
        (kinds.iter().map(|snapshot| snapshot.commit_kind).collect::<Vec<_>>(), rows(&table).await.len())
    };
    let (right, wrong) = of_both(Defect::RetryOtherKind, committed).await;
    assert_eq!(right, (vec![CommitKind::Append], 1));
    assert_eq!(wrong, (vec![CommitKind::Append, CommitKind::Overwrite], 2));
}

#[tokio::test]
async fn stale_latest_hint_shows_the_snapshot_that_the_hint_names() {
    let newest = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
        append(&table, "b", &inserts(&[row(2, "y", "d")])).await;
        warehouse.lake.objects.put("db.db/t/snapshot/LATEST", "1".into()).await.unwrap();
        latest(&table).await.id
    };
    assert_eq!(of_both(Defect::StaleLatestHint, newest).await, (2, 1));
}

#[tokio::test]
async fn expiry_deletes_live_loses_a_file_that_moved_to_another_level() {
    let damage = async |warehouse: Warehouse| {
        let table = warehouse.create(&with_option(key_schema(), "bucket", "1")).await;
        append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
        assert!(compact(&table, "to the top", Full).await);
        assert_eq!(table.expire_snapshots(&keep(1)).await, Ok(1));
        broken(&warehouse).await
    };
    assert_eq!(of_both(Defect::ExpiryDeletesLive, damage).await, (vec![], vec!["L10"]));
}

#[tokio::test]
async fn expiry_ignores_tag_loses_the_files_of_a_tagged_snapshot() {
    let still_there = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        append(&table, "a", &inserts(&[row(1, "x", "d")])).await;
        table.create_tag("one", Some(1), None, false).await.unwrap();
        let whole = CommitMode::Overwrite { partitions: OverwriteScope::WholeTable };
        table.commit(request(&table, "b", whole, &inserts(&[row(2, "y", "d")])).await).await.unwrap();
        table.expire_snapshots(&keep(1)).await.unwrap();
        let tagged = table.tags().await.unwrap().remove("one").unwrap().snapshot;
        table.scan(&tagged, &Filter::new()).await.is_ok()
    };
    assert_eq!(of_both(Defect::ExpiryIgnoresTag, still_there).await, (true, false));
}

#[tokio::test]
async fn orphan_clean_races_deletes_what_is_about_to_be_committed() {
    let damage = async |warehouse: Warehouse| {
        let table = warehouse.create(&append_schema()).await;
        let seen = table.find_orphans().await.unwrap();
        let in_flight = request(&table, "a", CommitMode::Append, &inserts(&[row(1, "x", "d")])).await;
        table.remove_orphans(&seen, 1_000).await.unwrap();
        table.commit(in_flight).await.unwrap();
        broken(&warehouse).await
    };
    assert_eq!(of_both(Defect::OrphanCleanRaces, damage).await, (vec![], vec!["L10"]));
}

#[tokio::test]
async fn delete_dropped_early_brings_a_deleted_row_back() {
    let back = async |warehouse: Warehouse| {
        let eager = with_option(with_option(key_schema(), "bucket", "1"), "num-sorted-run.compaction-trigger", "2");
        let table = warehouse.create(&eager).await;
        append(&table, "old", &inserts(&(0..400).map(|id| row(id, "x", "d")).collect::<Vec<_>>())).await;
        assert!(compact(&table, "to the top", Full).await);
        append(&table, "a", &inserts(&[row(1, "y", "d")])).await;
        append(&table, "b", &[(RowKind::Delete, row(2, "x", "d"))]).await;
        assert!(compact(&table, "of the newer ones", Automatic).await);
        found(&table, "id", Value::Int(2)).await
    };
    assert_eq!(of_both(Defect::DeleteDroppedEarly, back).await, (0, 1));
}
