//! Time travel: by number, time, tag and watermark, with the columns of the time.

use models::contract::{Column, ColumnChange, DataType, FailureCode, Row, Value};
use models::paimon::{PaimonTable, TimeTravel};

use super::crashing::rows_at;
use super::history::*;
use crate::surroundings::*;

async fn id_at(table: &PaimonTable, place: TimeTravel) -> Result<u64, FailureCode> {
    table.snapshot_at(&place).await.map(|snapshot| snapshot.id).map_err(|failure| failure.code)
}

/// Snapshots 1, 2 and 3 at 0, 100 and 200 ms.
async fn steady_table() -> (Warehouse, PaimonTable) {
    let warehouse = warehouse();
    let table = warehouse.create(&append_schema()).await;
    for (id, subject) in (1..).zip(["a", "b", "c"]) {
        insert(&table, subject, id).await;
        warehouse.lake.environment.sleep_ms(100).await;
    }
    (warehouse, table)
}

#[tokio::test]
async fn a_time_means_what_was_the_newest_then() {
    let (_, table) = steady_table().await;
    for (time_ms, id) in [(0, 1), (99, 1), (100, 2), (199, 2), (10_000, 3)] {
        assert_eq!(id_at(&table, TimeTravel::Timestamp(time_ms)).await, Ok(id), "{time_ms} ms");
    }
    table.expire_snapshots(&keep(1)).await.unwrap();
    assert_eq!(id_at(&table, TimeTravel::Timestamp(100)).await, Err(FailureCode::NotFound), "it has expired");
}

#[tokio::test]
async fn a_version_is_a_tag_or_a_snapshot() {
    let (_, table) = steady_table().await;
    table.create_tag("2", Some(3), None, false).await.unwrap();
    table.create_tag("good", Some(1), None, false).await.unwrap();
    for (version, id) in [("good", Ok(1)), ("1", Ok(1)), ("2", Ok(3)), ("bad", Err(FailureCode::NotFound))] {
        assert_eq!(id_at(&table, TimeTravel::Version(version.to_owned())).await, id, "{version}");
    }
    assert_eq!(id_at(&table, TimeTravel::SnapshotId(2)).await, Ok(2));
    assert_eq!(id_at(&table, TimeTravel::SnapshotId(4)).await, Err(FailureCode::NotFound));
    assert_eq!(id_at(&table, TimeTravel::Tag("2".to_owned())).await, Ok(3));
    assert_eq!(id_at(&table, TimeTravel::Watermark(0)).await, Err(FailureCode::NotFound), "nobody set one");
    assert_eq!(id_at(&table, TimeTravel::Version("watermark-x".to_owned())).await, Err(FailureCode::NotFound));
}

#[tokio::test]
async fn a_watermark_means_the_first_snapshot_that_reaches_it() {
    let (warehouse, table) = steady_table().await;
    for (id, watermark) in [(2, 50), (3, 70)] {
        let mut snapshot = table.snapshot(id).await.unwrap();
        snapshot.watermark = Some(watermark);
        let path = format!("db.db/t/snapshot/snapshot-{id}");
        warehouse.lake.objects.put(&path, snapshot.encode().unwrap()).await.unwrap();
    }
    for (watermark, id) in [(0, Ok(2)), (50, Ok(2)), (51, Ok(3)), (71, Err(FailureCode::NotFound))] {
        assert_eq!(id_at(&table, TimeTravel::Watermark(watermark)).await, id, "{watermark}");
        assert_eq!(id_at(&table, TimeTravel::Version(format!("watermark-{watermark}"))).await, id);
    }
}

#[tokio::test]
async fn the_past_has_the_columns_of_the_past() {
    let (warehouse, _) = steady_table().await;
    let later = Column { name: "later".to_owned(), data_type: DataType::BigInt, nullable: true };
    let changes = [
        ColumnChange::Add { column: later, position: None },
        ColumnChange::Rename { from: "v".to_owned(), to: "w".to_owned() },
    ];
    warehouse.catalog.alter_columns(&path(), &changes).await.unwrap();
    let table = warehouse.open().await;
    let new_row = Row::new(vec![Value::Int(4), Value::string("d"), Value::string("d"), Value::Int(44)]);
    append(&table, "d", &inserts(std::slice::from_ref(&new_row))).await;
    let (then, snapshot) = table.travel_to(&TimeTravel::SnapshotId(2)).await.unwrap();
    let names = |table: &PaimonTable| -> Vec<String> {
        table.schema().columns.iter().map(|column| column.name.clone()).collect()
    };
    assert_eq!(names(&then), ["id", "v", "dt"]);
    assert_eq!(rows_at(&then, &snapshot).await, [row(1, "a", "d"), row(2, "b", "d")]);
    assert_eq!(then.table_uuid(), table.table_uuid());
    let (now, snapshot) = table.travel_to(&TimeTravel::SnapshotId(4)).await.unwrap();
    assert_eq!(names(&now), ["id", "w", "dt", "later"]);
    assert_eq!(rows_at(&now, &snapshot).await.last(), Some(&new_row));
}
