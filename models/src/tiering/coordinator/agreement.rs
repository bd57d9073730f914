//! Whether lake and store agree, so that a disabled table may enter the mode (P2).
//!
//! They agree if the lake's newest snapshot is the one that the store has registered, or if neither has any. A commit
//! behind the store's back while the table was disabled makes them differ, and the table stays disabled: the store's
//! state would not be the lake's. This module must never change either side's definition.

use super::TieringCoordinator;
use super::ddl::nothing_changed;
use super::lake_table::is_fence;
use crate::contract::{Failure, LakeRegistration, StoreTable};
use crate::defects::Defect;
use crate::paimon::PaimonTable;
use crate::points::Point;
use crate::tiering::offsets::own_lake_snapshot;
use crate::tiering::readable::readable_as_it_is;

/// `rejected` unless both sides have the same snapshot, or none.
pub(super) async fn expect_same_snapshot(
    coordinator: &TieringCoordinator,
    table: &StoreTable,
    lake_table: &PaimonTable,
) -> Result<(), Failure> {
    let defects = &coordinator.defects;
    // Planted bug enable-without-id-check.
    if defects.has(Defect::EnableWithoutIdCheck) {
        return Ok(());
    }
    let registered = coordinator.store.registered_snapshots(table.table_id).await.map_err(nothing_changed)?.tiered;
    let registered = registered.map(|snapshot| snapshot.snapshot_id);
    // The fence of a create that took the table over says nothing but "empty".
    let newest = lake_table.latest_snapshot().await.map_err(nothing_changed)?.filter(|newest| !is_fence(newest));
    let newest_id = newest.as_ref().map(|newest| newest.id);
    if registered == newest_id {
        return Ok(());
    }
    // Planted bug enable-one-sided: there is nothing to compare with, so there is no difference.
    if defects.has(Defect::EnableOneSided) && (registered.is_none() || newest_id.is_none()) {
        return Ok(());
    }
    let own = own_lake_snapshot(newest.as_ref(), table.table_id, lake_table.schema(), defects);
    if let Some(unregistered) = own.map_err(nothing_changed)?
        && registered < newest_id
    {
        // A round committed and could not say so any more. The store has lost nothing, so it is told.
        let readable = readable_as_it_is(lake_table);
        let registration = LakeRegistration { tiered: unregistered, readable, instead_of: None };
        let register = coordinator.store.register_lake_snapshot(table.table_id, registration);
        register.await.map_err(nothing_changed)?;
        coordinator.environment.reached(Point::EnableRegisteredCommit);
        return Ok(());
    }
    coordinator.environment.reached(Point::EnableRefused);
    let text = |id: Option<u64>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
    Err(Failure::rejected(format!(
        "expected the newest lake snapshot of {} to be the one that the store has registered ({}), found {}; the table \
         stays disabled: promote it, or create it anew",
        table.path,
        text(registered),
        text(newest_id)
    )))
}
