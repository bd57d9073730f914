//! What an operator's jobs do to a table that is being tiered, and what they leave alone.

use std::rc::Rc;

use bytes::Bytes;
use models::contract::{ObjectStore, RoundEnd, StoreTable};
use models::maintenance::{Job, MAINTENANCE_COMMIT_USER, Maintenance, Progress};
use models::paimon::CommitKind;

use crate::faults::CutOffAfterCommit;
use crate::fixture::{World, bucket, delete, key_schema, lake_of, path, put, row};
use crate::hand_out::Setup;

const EXPIRE_ALL: Job = Job::ExpireSnapshots { at_least: 1, keep_ms: 0 };

fn maintenance(world: &World) -> Maintenance {
    Maintenance::new(world.lake.clone(), world.store.clone())
}

/// One round that tiers one row of this key.
async fn tier(world: &World, table: &StoreTable, epoch: u64) {
    world.append_to(table, bucket(), vec![put(epoch as i64, 10)]).await;
    assert_eq!(Setup::plain(world).round(world, table, epoch).await, RoundEnd::Finished);
}

/// Time passes, so that no snapshot was the newest just now.
async fn later(world: &World) {
    world.environment.sleep_ms(10).await;
}

async fn snapshot_ids(world: &World) -> Vec<u64> {
    world.lake_table().await.snapshot_ids().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_a_commit_of_its_own_that_changes_no_row() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    tier(&world, &table, 1).await;
    world.append_to(&table, bucket(), vec![put(2, 20), delete(1)]).await;
    Setup::plain(&world).round(&world, &table, 2).await;

    let maintenance = maintenance(&world);
    let compact = Job::Compact { fully: true };
    assert_eq!(maintenance.perform(&compact, &path(), 7).await, Ok(Progress::Done));
    let newest = world.newest().await;
    assert_eq!(newest.commit_kind, CommitKind::Compact);
    assert_eq!((newest.commit_user.as_str(), newest.commit_identifier), (MAINTENANCE_COMMIT_USER, 7));
    assert_eq!(world.lake_rows().await, [row(2, 20)]);

    assert_eq!(maintenance.perform(&compact, &path(), 8).await, Ok(Progress::Done));
    assert_eq!(world.snapshots().await, newest.id, "what is compacted already is left as it is");
    tier(&world, &table, 3).await;
    assert_eq!(world.lake_rows().await, [row(2, 20), row(3, 10)], "tiering goes on behind it");
}

#[tokio::test(start_paused = true)]
async fn expiry_keeps_the_newest_tiering_snapshot_and_what_came_after_it() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    for epoch in 1..=3 {
        tier(&world, &table, epoch).await;
    }
    let maintenance = maintenance(&world);
    maintenance.perform(&Job::Compact { fully: true }, &path(), 1).await.unwrap();
    later(&world).await;
    assert_eq!(maintenance.perform(&EXPIRE_ALL, &path(), 2).await, Ok(Progress::Done));
    assert_eq!(snapshot_ids(&world).await, [3, 4]);
    tier(&world, &table, 4).await;
    assert_eq!(world.lake_rows().await, [row(1, 10), row(2, 10), row(3, 10), row(4, 10)]);
}

#[tokio::test(start_paused = true)]
async fn expiry_keeps_what_the_store_has_registered() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    tier(&world, &table, 1).await;
    tier(&world, &table, 2).await;
    // The third commit takes effect, and the store does not learn of it.
    world.append_to(&table, bucket(), vec![put(9, 90)]).await;
    let cut = Rc::new(CutOffAfterCommit { inner: world.lake.objects.clone(), cut_off: false.into() });
    let lake = lake_of(cut, &world.environment);
    assert_eq!(Setup::plain(&world).with_lake(lake).round(&world, &table, 3).await, RoundEnd::Failed);
    assert_eq!((world.snapshots().await, world.registered(&table).await.unwrap().0), (3, 2));

    later(&world).await;
    maintenance(&world).perform(&EXPIRE_ALL, &path(), 1).await.unwrap();
    assert_eq!(snapshot_ids(&world).await, [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn expiry_keeps_as_many_and_as_long_as_it_is_told() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    for epoch in 1..=4 {
        tier(&world, &table, epoch).await;
    }
    later(&world).await;
    let expire = async |at_least, keep_ms| {
        maintenance(&world).perform(&Job::ExpireSnapshots { at_least, keep_ms }, &path(), 1).await.unwrap();
        snapshot_ids(&world).await
    };
    assert_eq!(expire(1, 3_600_000).await, [1, 2, 3, 4], "each was the newest within the hour");
    assert_eq!(expire(3, 0).await, [2, 3, 4]);
    assert_eq!(expire(1, 0).await, [4]);
}

#[tokio::test(start_paused = true)]
async fn clean_up_takes_what_was_an_orphan_for_long_enough_and_begins_again_after_a_crash() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    tier(&world, &table, 1).await;
    let orphan = "db.db/t/bucket-0/data-orphan.parquet";
    world.objects.put(orphan, Bytes::from_static(b"left")).await.unwrap();
    let is_there = async || world.objects.exists(orphan).await.unwrap();

    let maintenance = maintenance(&world);
    let clean = async |number| maintenance.perform(&Job::RemoveOrphans { older_than_ms: 500 }, &path(), number).await;
    assert_eq!(clean(1).await, Ok(Progress::Later(500)), "the first look");
    world.environment.sleep_ms(300).await;
    assert_eq!(clean(2).await, Ok(Progress::Later(200)));
    maintenance.crash();
    world.environment.sleep_ms(200).await;
    assert_eq!(clean(3).await, Ok(Progress::Later(500)), "the look is forgotten");
    assert!(is_there().await);
    world.environment.sleep_ms(500).await;
    assert_eq!(clean(4).await, Ok(Progress::Done));
    assert!(!is_there().await);
    assert_eq!(world.lake_rows().await, [row(1, 10)], "what a snapshot leads to stays");
}

#[tokio::test(start_paused = true)]
async fn a_tag_keeps_its_snapshot_until_it_is_deleted() {
    let world = World::new();
    let table = world.create(&key_schema()).await;
    let maintenance = maintenance(&world);
    let tag = Job::CreateTag { name: "a".to_owned() };
    assert_eq!(maintenance.perform(&tag, &path(), 1).await, Ok(Progress::Done));
    assert!(world.lake_table().await.tags().await.unwrap().is_empty(), "there is nothing to tag yet");

    tier(&world, &table, 1).await;
    maintenance.perform(&tag, &path(), 2).await.unwrap();
    tier(&world, &table, 2).await;
    assert_eq!(maintenance.perform(&tag, &path(), 3).await, Ok(Progress::Done), "done again it changes nothing");
    maintenance.perform(&Job::Compact { fully: true }, &path(), 4).await.unwrap();
    later(&world).await;
    maintenance.perform(&EXPIRE_ALL, &path(), 5).await.unwrap();
    let tagged = world.lake_table().await.tag("a").await.unwrap().snapshot;
    assert_eq!((snapshot_ids(&world).await, tagged.id), (vec![2, 3], 1));

    let before = world.objects.snapshot_all().len();
    let untag = Job::DeleteTag { name: "a".to_owned() };
    assert_eq!(maintenance.perform(&untag, &path(), 6).await, Ok(Progress::Done));
    assert!(world.objects.snapshot_all().len() < before - 1, "what only the tag kept went with it");
    assert_eq!(maintenance.perform(&untag, &path(), 7).await, Ok(Progress::Done), "a tag that is gone is no failure");
}
