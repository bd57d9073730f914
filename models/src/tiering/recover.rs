//! Where a round starts: what the lake already contains, and what the store does not know of it yet.
//!
//! The lake's newest tiering snapshot is the truth. Whatever happened to the round that made it (a crash after the
//! commit, a lost answer, a registration that failed), its rows are there, and its offsets say which. A promoted table
//! begins with its source snapshot, which contains nothing of its log. Where an operator has rolled the lake back behind
//! what is registered, the lake is the truth as well: the registration is taken back, and the log fills the lake again.
//! Numbers of snapshots are used again after that, so a snapshot is known by its number and its offsets together. This
//! module must never know how rows are read or written.

use super::offsets::own_lake_snapshot;
use super::readable::readable_as_it_is;
use super::registration::Registrar;
use crate::contract::{
    Environment, Failure, FailureCode, LakeRegistration, LakeSnapshot, StoreTable, TIERING_COMMIT_USER, TableId,
    TieredOffsets,
};
use crate::defects::{Defect, Defects};
use crate::paimon::{PaimonTable, Precondition, Snapshot};
use crate::points::Point;

/// What a plan is made from.
pub(super) struct StartingPoint {
    /// The newest snapshot, whoever made it: sequence numbers go on behind it.
    pub(super) base: Option<Snapshot>,
    /// What the lake contains of each bucket's log.
    pub(super) offsets: TieredOffsets,
    /// What must still hold when the round commits.
    pub(super) precondition: Precondition,
    /// The newest tiering snapshot, which the store knows by now; `None` if nothing of this table's log is tiered.
    pub(super) newest: Option<LakeSnapshot>,
    /// What the store knows as readable.
    pub(super) readable: Option<LakeSnapshot>,
}

/// What a planner asks of the lake and the store for one table.
pub(super) struct Inquiry<'a> {
    pub(super) of: &'a StoreTable,
    pub(super) registrar: &'a Registrar<'a>,
    pub(super) environment: &'a dyn Environment,
    pub(super) defects: &'a Defects,
}

impl Inquiry<'_> {
    /// The table's identity.
    pub(super) fn table_id(&self) -> TableId {
        self.of.table_id
    }
}

/// Reads the lake, and registers its newest tiering snapshot first if the store does not have it.
pub(super) async fn starting_point(inquiry: &Inquiry<'_>, table: &PaimonTable) -> Result<StartingPoint, Failure> {
    let Inquiry { of, registrar, environment, defects } = inquiry;
    // The store is asked first, so that the lake cannot be behind its answer.
    let registered = registrar.store.registered_snapshots(of.table_id).await?;
    let (registered, readable) = (registered.tiered, registered.readable);
    let base = table.latest_snapshot().await?;

    // Planted bug ack-lost-retier: the store's memory passes for the truth, and nothing is recovered or checked.
    if defects.has(Defect::AckLostRetier) {
        let offsets = registered.as_ref().map(|snapshot| snapshot.offsets.clone()).unwrap_or_default();
        return Ok(StartingPoint { base, offsets, precondition: Precondition::None, newest: registered, readable });
    }

    let newest = match &base {
        Some(base) => table.newest_snapshot_of_user(base, TIERING_COMMIT_USER).await?,
        None => None,
    };
    let precondition = Precondition::NewestOfUser {
        user: TIERING_COMMIT_USER.to_owned(),
        newest_known: newest.as_ref().map(|snapshot| snapshot.id),
    };
    let in_lake = own_lake_snapshot(newest.as_ref(), of.table_id, table.schema(), defects)?;
    let in_lake_id = in_lake.as_ref().map(|snapshot| snapshot.snapshot_id);
    let source_id = of.source_snapshot_id;
    let lake_id = in_lake_id.or(source_id.filter(|source| base.as_ref().is_some_and(|base| *source <= base.id)));
    let mut registered_id = registered.as_ref().map(|snapshot| snapshot.snapshot_id);
    if in_lake_id.is_none() && lake_id.is_some() {
        environment.reached(Point::RoundAtSource);
    }
    let is_behind = registered_id > lake_id;
    let is_another = in_lake.is_some() && registered_id == lake_id && registered != in_lake;
    // Planted bug rollback-id-reuse: snapshots are told apart by number alone, so nothing up to a known number is missing.
    if (is_behind || is_another) && !defects.has(Defect::RollbackIdReuse) {
        environment.reached(Point::RoundBehindRegistered);
        let (Some(undone), Some(left)) = (registered, &in_lake) else {
            return Err(replaced(registered_id, lake_id));
        };
        expect_undone(inquiry, table, &undone).await?;
        let (tiered, readable) = (left.clone(), readable_as_it_is(table));
        registrar.register(of.table_id, LakeRegistration { tiered, readable, instead_of: Some(undone) }).await?;
        environment.reached(Point::RegistrationTakenBack);
        registered_id = lake_id;
    }
    if let Some(snapshot) = in_lake.as_ref().filter(|_| registered_id < lake_id) {
        // What can be read is worked out later: it follows from more than this snapshot.
        let readable = readable_as_it_is(table);
        let registration = LakeRegistration { tiered: snapshot.clone(), readable, instead_of: None };
        registrar.register(of.table_id, registration).await?;
        environment.reached(Point::RoundRecoveredCommit);
    }
    let offsets = in_lake.as_ref().map(|snapshot| snapshot.offsets.clone()).unwrap_or_default();
    Ok(StartingPoint { base, offsets, precondition, newest: in_lake, readable })
}

/// Fails unless the lake certainly has no more what is registered: it is asked for that very snapshot, since a number that
/// is used again says nothing.
async fn expect_undone(inquiry: &Inquiry<'_>, table: &PaimonTable, registered: &LakeSnapshot) -> Result<(), Failure> {
    let found = match table.snapshot(registered.snapshot_id).await {
        Err(failure) if failure.code == FailureCode::NotFound => None,
        answer => own_lake_snapshot(Some(&answer?), inquiry.table_id(), table.schema(), inquiry.defects)?,
    };
    if found.as_ref() == Some(registered) {
        return Err(replaced(Some(registered.snapshot_id), None));
    }
    Ok(())
}

/// The lake table is not the one that the store knows, or its newest snapshots cannot be found.
fn replaced(registered_id: Option<u64>, lake_id: Option<u64>) -> Failure {
    Failure::invalid(format!(
        "expected the lake to have tiering snapshot {} as its newest, which the store has registered, found {}; the lake \
         table was replaced behind the store's back",
        registered_id.unwrap_or_default(),
        lake_id.map_or_else(|| "none".to_owned(), |snapshot_id| snapshot_id.to_string()),
    ))
}
