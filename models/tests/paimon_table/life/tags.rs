//! Tags, and what they keep.

use models::contract::FailureCode;
use models::paimon::{PaimonTable, TimeTravel};

use super::crashing::*;
use super::history::*;
use crate::surroundings::*;

async fn rows_of_tag(table: &PaimonTable, name: &str) -> Vec<models::contract::Row> {
    let (then, snapshot) = table.travel_to(&TimeTravel::Tag(name.to_owned())).await.unwrap();
    rows_at(&then, &snapshot).await
}

#[tokio::test]
async fn a_tag_keeps_its_snapshot_beyond_expiry() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("one", Some(1), None, false).await.unwrap();
    table.create_tag("newest", None, None, false).await.unwrap();
    table.expire_snapshots(&keep(1)).await.unwrap();
    assert_eq!(rows_of_tag(&table, "one").await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_eq!(rows_of_tag(&table, "newest").await, rows(&table).await);
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
    assert_eq!(table.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["newest", "one"]);
}

#[tokio::test]
async fn what_only_a_tag_kept_goes_with_it() {
    let (warehouse, table) = eventful_table().await;
    for (name, id) in [("one", 1), ("also-one", 1), ("two", 2)] {
        table.create_tag(name, Some(id), None, false).await.unwrap();
    }
    table.expire_snapshots(&keep(1)).await.unwrap();
    let data_files = || {
        let files = warehouse.storage.memory.snapshot_all().into_keys();
        files.filter(|file| file.contains("/data-")).count()
    };
    assert_eq!(data_files(), 4, "one of each snapshot");
    assert_eq!(table.delete_tag("one").await, Ok(true));
    assert_eq!(data_files(), 4, "another tag keeps them");
    assert_eq!(table.delete_tag("two").await, Ok(true));
    assert_eq!(data_files(), 3);
    assert_eq!(rows_of_tag(&table, "also-one").await, [row(1, "x", "d"), row(2, "y", "d")]);
    assert_eq!(table.delete_tag("also-one").await, Ok(true));
    assert_eq!(data_files(), 2);
    assert_eq!(table.delete_tag("also-one").await, Ok(false));
    assert_whole(&warehouse.storage.memory).await;
    assert_eq!(orphans(&warehouse.storage.memory).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_deleted_tag_can_be_read_whole_or_not_at_all() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("one", Some(1), None, false).await.unwrap();
    table.create_tag("two", Some(2), None, false).await.unwrap();
    table.expire_snapshots(&keep(1)).await.unwrap();
    let before = warehouse.storage.memory.snapshot_all();
    let mut crashes = 0;
    loop {
        let (memory, crashing) = copy_of(&before, crashes).await;
        let outcome = open_on(&warehouse, crashing).await;
        let outcome = match outcome {
            Ok(table) => table.delete_tag("one").await,
            Err(failure) => Err(failure),
        };
        assert_whole(&memory).await;
        if outcome == Ok(true) {
            assert_eq!(orphans(&memory).await, Vec::<String>::new());
            break;
        }
        let table = open_on(&warehouse, std::rc::Rc::new(memory.clone())).await.unwrap();
        assert_eq!(table.tag("one").await.is_ok(), crashes == 0, "the tag goes first");
        assert_eq!(rows_of_tag(&table, "two").await, [row(1, "new", "d"), row(2, "y", "d")]);
        crashes += 1;
    }
    assert!(crashes > 1, "files went after the tag");
}

#[tokio::test]
async fn an_expired_snapshot_can_be_tagged_again_from_its_tag() {
    let (_, table) = eventful_table().await;
    table.create_tag("goes", Some(2), Some(1_000), false).await.unwrap();
    table.expire_snapshots(&keep(1)).await.unwrap();
    table.create_tag("stays", Some(2), None, false).await.unwrap();
    let tag = table.tag("stays").await.unwrap();
    assert_eq!((tag.snapshot.id, tag.create_time_ms, tag.time_retained_ms), (2, None, None));
    let failure = table.create_tag("x", Some(1), None, false).await.unwrap_err();
    assert_eq!((failure.code, failure.definite), (FailureCode::NotFound, true));
}

#[tokio::test]
async fn names_are_taken_once() {
    let (_, table) = eventful_table().await;
    table.create_tag("a", Some(1), None, false).await.unwrap();
    assert_eq!(table.create_tag("a", Some(2), None, false).await.unwrap_err().code, FailureCode::AlreadyExists);
    table.create_tag("a", Some(2), None, true).await.unwrap();
    assert_eq!(table.tag("a").await.unwrap().snapshot.id, 1, "the old one stays");
    table.replace_tag("a", Some(2), Some(5)).await.unwrap();
    let replaced = table.tag("a").await.unwrap();
    assert_eq!((replaced.snapshot.id, replaced.time_retained_ms), (2, Some(5)));
    assert_eq!(table.replace_tag("b", None, None).await.unwrap_err().code, FailureCode::NotFound);
    for name in ["", "a/b"] {
        assert_eq!(table.create_tag(name, None, None, false).await.unwrap_err().code, FailureCode::Invalid);
    }
}

#[tokio::test]
async fn a_rename_that_crashes_anywhere_is_completed_by_the_next() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("from", Some(1), None, false).await.unwrap();
    table.create_tag("other", Some(2), None, false).await.unwrap();
    assert_eq!(table.rename_tag("from", "other").await.unwrap_err().code, FailureCode::AlreadyExists);
    assert_eq!(table.rename_tag("none", "to").await.unwrap_err().code, FailureCode::NotFound);
    let before = warehouse.storage.memory.snapshot_all();
    for effects in 1..=2 {
        let (memory, crashing) = copy_of(&before, effects).await;
        let crashed = open_on(&warehouse, crashing).await.unwrap().rename_tag("from", "to").await;
        assert!(crashed.is_err());
        let table = open_on(&warehouse, std::rc::Rc::new(memory)).await.unwrap();
        let again = table.rename_tag("from", "to").await;
        assert!(again.is_ok() || again.unwrap_err().code == FailureCode::NotFound);
        assert_eq!(table.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["other", "to"]);
        assert_eq!(table.tag("to").await.unwrap().snapshot.id, 1);
    }
}

#[tokio::test]
async fn tags_go_when_their_time_has_come() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("brief", Some(1), Some(10), false).await.unwrap();
    table.create_tag("long", Some(1), Some(1_000), false).await.unwrap();
    table.create_tag("for-ever", Some(1), None, false).await.unwrap();
    warehouse.lake.environment.sleep_ms(10).await;
    assert_eq!(table.expire_tags(None).await.unwrap(), Vec::<String>::new(), "to the millisecond");
    warehouse.lake.environment.sleep_ms(1).await;
    assert_eq!(table.expire_tags(None).await.unwrap(), ["brief"]);
    assert_eq!(table.expire_tags(Some(1)).await.unwrap(), ["long"], "made before");
    assert_eq!(table.tags().await.unwrap().into_keys().collect::<Vec<_>>(), ["for-ever"]);
}

#[tokio::test]
async fn a_damaged_tag_stops_expiry() {
    let (warehouse, table) = eventful_table().await;
    table.create_tag("one", Some(1), None, false).await.unwrap();
    assert!(warehouse.storage.memory.corrupt("db.db/t/tag/tag-one", 30));
    let failure = table.expire_snapshots(&keep(1)).await.unwrap_err();
    assert!(failure.definite && failure.message.contains("tag-one"), "{failure}");
    assert_eq!(table.snapshot_ids().await.unwrap().len(), 4);
    assert!(warehouse.lake.objects.exists("db.db/t/tag/tag-one").await.unwrap());
}
