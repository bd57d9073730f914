//! The next version of a table's schema, by compare-and-swap on its file.

use bytes::Bytes;

use crate::contract::{Failure, FailureCode, TablePath};

use super::CatalogHooks;
use crate::paimon::SchemaFile;
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::schema_rules::validate_schema;
use crate::paimon::seal::seal_json;

/// How often a schema change that lost its race starts over.
const MAX_LOST_RACES: u32 = 10;

/// Adds the next version of the schema by compare-and-swap; whoever loses starts over on the winner's. The change is
/// told whether the table has snapshots, and returns `None` if there is nothing to change.
pub(super) async fn change_schema<C: CatalogHooks + ?Sized>(
    catalog: &C,
    path: &TablePath,
    change: impl Fn(bool, &SchemaFile) -> Result<Option<SchemaFile>, Failure>,
) -> Result<(), Failure> {
    let lake = catalog.lake();
    for _ in 0..MAX_LOST_RACES {
        let table = catalog.table(path).await.map_err(before_any_effect)?;
        let has_snapshots = table.latest_snapshot().await.map_err(before_any_effect)?.is_some();
        let Some(mut changed) = change(has_snapshots, &table.version.file)? else {
            return Ok(());
        };
        validate_schema(&changed.table_schema())?;
        changed.id = table.schema_id() + 1;
        changed.time_millis = lake.environment.now_ms();
        let bytes = encode_schema(&changed)?;
        match create_exclusively(lake, &table.directory.schema(changed.id), &bytes).await {
            Created::Ours => return Ok(()),
            Created::Taken => {}
            Created::Refused(failure) | Created::Unknown(failure) => return Err(failure),
        }
    }
    Err(Failure::definite(
        FailureCode::Unavailable,
        format!("table {path}: the schema change lost {MAX_LOST_RACES} races against other changes; try again"),
    ))
}

/// A schema file's bytes. Two writers that make the same change in the same millisecond write the same bytes, and then
/// it does not matter whose they are.
pub(super) fn encode_schema(schema: &SchemaFile) -> Result<Bytes, Failure> {
    let encoded = schema.encode().map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(seal_json(&encoded))
}
