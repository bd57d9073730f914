//! Planted bugs of routing: what each makes of a statement, or of its route. Without one of them nothing here changes
//! anything; the table of routes itself never hears of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::contract::{Failure, RT_SUFFIX, Statement, TablePath, TableView};
use crate::defects::{Defect, Defects};
use crate::paimon::{LakeAccess, PaimonTable, Snapshot, TableDirectory};

use super::place::{Part, Place};
use super::route::Decision::{self, ByMode, Certain};
use super::route::Refusal;
use super::route::Route::{LakeWrite, Refused, StoreWrite, SystemRead, UnionRead};

/// What the planted bugs of one session remember.
#[derive(Default)]
pub(super) struct PlantedRoutes {
    /// Whether the session has overwritten something.
    has_overwritten: Cell<bool>,
    /// The snapshot that base reads of a table stay on.
    stays_on: RefCell<BTreeMap<TablePath, u64>>,
}

impl PlantedRoutes {
    /// The statement as a client with these bugs reads it.
    pub(super) fn statement(&self, defects: &Defects, mut statement: Statement) -> Statement {
        // Planted bug rt-alias-too-greedy: every `$rt` at the end of a name is taken for the alias.
        if defects.has(Defect::RtAliasTooGreedy)
            && let Statement::Select { table, .. } | Statement::Lookup { table, .. } | Statement::Changes { table, .. } =
                &mut statement
        {
            let base = table.path.table().trim_end_matches(RT_SUFFIX).to_owned();
            if !table.real_time && base != table.path.table() && !base.is_empty() && !base.contains('$') {
                *table = TableView::real_time(&crate::contract::TablePath::new(table.path.database(), &base));
            }
        }
        statement
    }

    /// Planted bug gone-for-good: the snapshot that base reads of this session take for the newest. If a list lacks its
    /// file, or it is said not to exist, that is the one before, for good.
    pub(super) async fn snapshot_of_session(
        &self,
        lake: &LakeAccess,
        table: &PaimonTable,
        newest: Snapshot,
    ) -> Result<Snapshot, Failure> {
        let stays_on = self.stays_on.borrow().get(table.path()).copied();
        if let Some(older) = stays_on {
            return table.snapshot(older).await;
        }
        let directory = TableDirectory::of(table.path());
        let file = directory.snapshot(newest.id);
        let is_listed = lake.objects.list(&directory.snapshot_directory()).await?.contains(&file);
        if newest.id == 1 || (is_listed && lake.objects.exists(&file).await?) {
            return Ok(newest);
        }
        self.stays_on.borrow_mut().insert(table.path().clone(), newest.id - 1);
        table.snapshot(newest.id - 1).await
    }

    /// The decision as a client with these bugs takes it.
    pub(super) fn decision(
        &self,
        defects: &Defects,
        statement: &Statement,
        place: &Place,
        decision: Decision,
    ) -> Decision {
        let has = |defect| defects.has(defect);
        let is_insert = matches!(statement, Statement::Insert { .. });
        let is_overwrite = matches!(statement, Statement::InsertOverwrite { .. });
        let sticks = has(Defect::OverwriteSticksToSession);
        if sticks && is_overwrite {
            self.has_overwritten.set(true);
        }
        match decision {
            // Planted bug rt-writable: a write through `$rt` is a write to the table.
            Certain(Refused(Refusal::ReadOnly)) if has(Defect::RtWritable) && is_insert => {
                ByMode { in_the_mode: StoreWrite, otherwise: LakeWrite }
            }
            // Planted bug rt-time-travel: the time is ignored.
            Certain(Refused(Refusal::TimeTravel)) if has(Defect::RtTimeTravel) => {
                ByMode { in_the_mode: UnionRead, otherwise: Refused(Refusal::NotInTheMode) }
            }
            // Planted bug system-table-routed: what Paimon tells about a table in the mode is asked of the store.
            Certain(SystemRead) if has(Defect::SystemTableRouted) => {
                ByMode { in_the_mode: UnionRead, otherwise: SystemRead }
            }
            // Planted bug overwrite-to-store: an overwrite is a regular write.
            Certain(LakeWrite) if has(Defect::OverwriteToStore) && is_overwrite => {
                ByMode { in_the_mode: StoreWrite, otherwise: LakeWrite }
            }
            // Planted bug branch-write-accepted: a branch is written whatever the mode.
            ByMode { otherwise: LakeWrite, .. }
                if has(Defect::BranchWriteAccepted) && matches!(place.part, Part::Branch(_)) =>
            {
                Certain(LakeWrite)
            }
            // Planted bug overwrite-sticks-to-session: once a session has overwritten, its regular writes go the same
            // way.
            ByMode { in_the_mode: StoreWrite, .. } if sticks && self.has_overwritten.get() => Certain(LakeWrite),
            // Planted bug write-to-lake: a regular write is committed to Paimon.
            ByMode { in_the_mode: StoreWrite, .. } if has(Defect::WriteToLake) && is_insert => Certain(LakeWrite),
            // Planted bug update-on-lake: an update is committed to Paimon.
            ByMode { in_the_mode: StoreWrite, .. }
                if has(Defect::UpdateOnLake) && matches!(statement, Statement::Update { .. }) =>
            {
                Certain(LakeWrite)
            }
            // Planted bug unmarked-affected: regular writes go to the store, marked or not.
            ByMode { in_the_mode: StoreWrite, .. } if has(Defect::UnmarkedAffected) && is_insert => Certain(StoreWrite),
            decision => decision,
        }
    }
}
