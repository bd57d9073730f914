//! Which side a statement goes to: the contract's routing rules as one pure table.
//!
//! The side is chosen statement by statement (rule 38, C15): not per table and not per session. This module never
//! talks to a store or a lake; it must not know whether either is alive. Rule numbers are those of the contract's
//! prose, C… are property ids.

use crate::contract::{Failure, FailureCode, LAKESTREAM_ENABLED, RT_SUFFIX, Side, Statement, TablePath};

use super::place::{Part, Place};
use crate::points::Point;

/// Where a statement is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// DDL and DESCRIBE of the Paimon catalog, which guards tables in the mode by itself (C1, C2, C9).
    LakeCatalog,
    /// DDL and DESCRIBE of the store's own side.
    StoreCatalog,
    /// The lake's snapshots, and no call to the store (C16).
    LakeRead,
    /// What Paimon tells about a table: never the store's business, whatever the table's options say (rule 35, C24).
    SystemRead,
    /// A name that no table can have: a view may (C18).
    ViewOnly,
    /// A Paimon commit by this client.
    LakeWrite,
    /// The store's log.
    StoreWrite,
    /// Lake and log together: the freshest data.
    UnionRead,
    /// Nowhere: nothing is called and nothing changes (C22).
    Refused(Refusal),
}

/// Why a statement goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A write or DDL through `$rt` (C10).
    ReadOnly,
    /// Time travel on `$rt` (C11).
    TimeTravel,
    /// `$rt` of a table that is not in the mode (rule 34; C14 allows it).
    NotInTheMode,
    /// The changelog of a base table.
    ChangesOfBase,
    /// A regular write to a branch of a table in the mode (rule 42, C12).
    BranchInTheMode,
    /// Two branches for one write, by the table's name and beside it.
    TwoBranches,
    /// A write to what Paimon tells about a table.
    SystemTable,
    /// A point lookup in what has no primary key.
    NoKey,
    /// Time travel on what has no history: a view, a system table.
    NoTimeTravel,
    /// A name that means nothing, and no view has it (C18).
    NoSuchName,
}

impl Refusal {
    /// The point that a refusal of this kind is; refusals of nonsense are none.
    pub(super) fn point(self) -> Option<Point> {
        match self {
            Self::ReadOnly => Some(Point::GuardReadOnly),
            Self::TimeTravel => Some(Point::GuardTimeTravel),
            Self::NotInTheMode => Some(Point::GuardNotInTheMode),
            Self::BranchInTheMode => Some(Point::GuardBranch),
            Self::SystemTable => Some(Point::GuardSystemTable),
            Self::ChangesOfBase | Self::TwoBranches | Self::NoKey | Self::NoTimeTravel | Self::NoSuchName => None,
        }
    }

    /// The refusal as the statement's answer.
    pub fn failure(self, table: &TablePath) -> Failure {
        match self {
            Self::ReadOnly => Failure::rejected(format!(
                "`{table}{RT_SUFFIX}` is a read-only view: write to `{table}`, and alter `{table}`"
            )),
            Self::TimeTravel => Failure::rejected(format!(
                "`{table}{RT_SUFFIX}` shows the freshest data only: travel in time on `{table}`"
            )),
            Self::NotInTheMode => Failure::not_found(format!(
                "there is no `{table}{RT_SUFFIX}`: `{table}` is not a lake-stream table (`{LAKESTREAM_ENABLED}` is not \
                 true)"
            )),
            Self::ChangesOfBase => Failure::definite(
                FailureCode::Unsupported,
                format!("the changelog is the lakestream store's: read the changes of `{table}{RT_SUFFIX}`"),
            ),
            Self::BranchInTheMode => Failure::rejected(format!(
                "`{table}` is a lake-stream table, and the lakestream store knows no branches: write to the table \
                 itself, or turn `{LAKESTREAM_ENABLED}` off first"
            )),
            Self::TwoBranches => Failure::invalid(format!(
                "expected one branch of `{table}`, found one in its name and another beside it"
            )),
            Self::SystemTable => Failure::invalid(format!(
                "expected a table to write to, found a system table of `{table}`: it is read-only"
            )),
            Self::NoKey => Failure::invalid(format!(
                "expected a table with a primary key to look a key up in, found a system table of `{table}`"
            )),
            Self::NoTimeTravel => Failure::invalid(format!(
                "expected a table to travel in time on, found `{table}`, which has no history"
            )),
            Self::NoSuchName => Failure::not_found(format!(
                "there is no table or view `{table}`: `{RT_SUFFIX}` is an alias only as the one suffix of a table"
            )),
        }
    }
}

/// What is known about a statement's route from its text alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The route, whatever the table is.
    Certain(Route),
    /// The lake table's present schema decides (C8: a table that is not in the mode behaves as if there were none).
    ByMode {
        /// The route while `lakestream.enabled` is true.
        in_the_mode: Route,
        /// The route otherwise.
        otherwise: Route,
    },
}

impl Decision {
    /// The route, given whether the table is in the mode.
    pub fn route(self, lakestream_enabled: bool) -> Route {
        match self {
            Self::Certain(route) => route,
            Self::ByMode { in_the_mode, .. } if lakestream_enabled => in_the_mode,
            Self::ByMode { otherwise, .. } => otherwise,
        }
    }
}

/// The table of routes.
pub(super) fn decide(statement: &Statement, place: &Place) -> Decision {
    use Decision::{ByMode, Certain};
    use Route::{LakeCatalog, LakeRead, LakeWrite, Refused, StoreCatalog, StoreWrite, SystemRead, UnionRead, ViewOnly};

    let real_time_only = |route| ByMode { in_the_mode: route, otherwise: Refused(Refusal::NotInTheMode) };
    match (statement, &place.part) {
        // Rule 31, C18: a view may have any name, so also one that ends in `$rt`.
        (Statement::CreateView { .. }, _) => Certain(LakeCatalog),

        // Rule 28, C10: `$rt` is read-only, for DDL too.
        (_, Part::RealTime) if !statement.is_read() => Certain(Refused(Refusal::ReadOnly)),
        (Statement::RenameTable { to, .. }, _) if Part::of_name(to.table()) == Part::RealTime => {
            Certain(Refused(Refusal::ReadOnly))
        }

        // The store's own DDL.
        (
            Statement::CreateTable { side: Side::Store, .. }
            | Statement::AlterColumns { side: Side::Store, .. }
            | Statement::AlterOptions { side: Side::Store, .. }
            | Statement::DropTable { side: Side::Store, .. }
            | Statement::Describe { side: Side::Store, .. }
            | Statement::CreateOnLake { .. }
            | Statement::Enable { .. }
            | Statement::Promote { .. },
            _,
        ) => Certain(StoreCatalog),

        // Lake-side DDL needs no store, so that the mode can be left while the store is away (rules 3, 4, 12; C6, C7).
        (
            Statement::CreateTable { side: Side::Lake, .. }
            | Statement::AlterOptions { side: Side::Lake, .. }
            | Statement::AlterColumns { side: Side::Lake, .. }
            | Statement::DropTable { side: Side::Lake, .. }
            | Statement::Describe { side: Side::Lake, .. }
            | Statement::ReplaceTable { .. }
            | Statement::RenameTable { .. }
            | Statement::TruncateTable { .. }
            | Statement::CreateBranch { .. },
            _,
        ) => Certain(LakeCatalog),

        (_, Part::Nothing) => Certain(ViewOnly),

        // Rule 35, C24: only a plain table is routed, not what Paimon tells about it.
        (Statement::Select { .. }, Part::SystemTable(_)) => Certain(SystemRead),
        (Statement::Lookup { .. }, Part::SystemTable(_)) => Certain(Refused(Refusal::NoKey)),
        (_, Part::SystemTable(_)) if statement.writes_rows() => Certain(Refused(Refusal::SystemTable)),

        // A native writer knows no store at all.
        (Statement::NativeInsert { .. }, _) => Certain(LakeWrite),
        // Rule 42, C12: the store has no branches, and a branch that only Paimon writes would not be the table's.
        (
            Statement::Insert { .. }
            | Statement::Update { .. }
            | Statement::Delete { .. }
            | Statement::InsertOverwrite { .. },
            Part::Branch(_),
        ) => ByMode { in_the_mode: Refused(Refusal::BranchInTheMode), otherwise: LakeWrite },
        // Rules 36, 37, 40: regular writes go to the store, or, without the mode, to Paimon as ever.
        (Statement::Insert { .. } | Statement::Update { .. } | Statement::Delete { .. }, _) => {
            ByMode { in_the_mode: StoreWrite, otherwise: LakeWrite }
        }
        // Rule 39: an overwrite replaces data in Paimon and not in the store.
        (Statement::InsertOverwrite { .. }, _) => Certain(LakeWrite),

        // Rule 29, C11. Refused before the table is looked at: no table has time travel on `$rt`.
        (Statement::Select { at_snapshot, at_timestamp_ms, .. }, Part::RealTime)
            if at_snapshot.is_some() || at_timestamp_ms.is_some() =>
        {
            Certain(Refused(Refusal::TimeTravel))
        }
        // Rules 25–27, C16.
        (Statement::Select { .. } | Statement::Lookup { .. } | Statement::Changes { .. }, Part::RealTime) => {
            real_time_only(UnionRead)
        }
        (Statement::Select { .. } | Statement::Lookup { .. }, _) => Certain(LakeRead),
        (Statement::Changes { .. }, _) => Certain(Refused(Refusal::ChangesOfBase)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Refusal::{
        BranchInTheMode, ChangesOfBase, NoKey, NoSuchName, NoTimeTravel, NotInTheMode, ReadOnly, SystemTable,
        TimeTravel, TwoBranches,
    };
    use super::Route::{
        LakeCatalog, LakeRead, LakeWrite, Refused, StoreCatalog, StoreWrite, SystemRead, UnionRead, ViewOnly,
    };
    use super::*;

    /// Every cell: a statement, its route in the mode, its route outside.
    #[test]
    fn the_side_is_chosen_statement_by_statement() {
        let columns = json!([{"name": "id", "type": "BIGINT"}]);
        let rows = json!([{"id": 1}]);
        let cells = [
            (json!({"create_table": {"table": "db.t", "columns": columns}}), LakeCatalog, LakeCatalog),
            (
                json!({"create_table": {"table": "db.t", "columns": columns, "side": "store"}}),
                StoreCatalog,
                StoreCatalog,
            ),
            (json!({"replace_table": {"table": "db.t", "columns": columns}}), LakeCatalog, LakeCatalog),
            (json!({"alter_options": {"table": "db.t", "set": {"a": "b"}}}), LakeCatalog, LakeCatalog),
            (
                json!({"alter_options": {"table": "db.t", "set": {"a": "b"}, "side": "store"}}),
                StoreCatalog,
                StoreCatalog,
            ),
            (json!({"alter_columns": {"table": "db.t", "changes": []}}), LakeCatalog, LakeCatalog),
            (json!({"alter_columns": {"table": "db.t", "changes": [], "side": "store"}}), StoreCatalog, StoreCatalog),
            (json!({"rename_table": {"table": "db.t", "to": "db.u"}}), LakeCatalog, LakeCatalog),
            (json!({"drop_table": {"table": "db.t"}}), LakeCatalog, LakeCatalog),
            (json!({"drop_table": {"table": "db.t", "side": "store"}}), StoreCatalog, StoreCatalog),
            (json!({"truncate_table": {"table": "db.t"}}), LakeCatalog, LakeCatalog),
            (json!({"describe": {"table": "db.t"}}), LakeCatalog, LakeCatalog),
            (json!({"describe": {"table": "db.t", "side": "store"}}), StoreCatalog, StoreCatalog),
            (json!({"insert": {"table": "db.t", "rows": rows}}), StoreWrite, LakeWrite),
            (json!({"delete": {"table": "db.t", "keys": rows}}), StoreWrite, LakeWrite),
            (json!({"insert_overwrite": {"table": "db.t", "rows": rows}}), LakeWrite, LakeWrite),
            (json!({"native_insert": {"table": "db.t", "rows": rows}}), LakeWrite, LakeWrite),
            (json!({"select": {"table": "db.t"}}), LakeRead, LakeRead),
            (json!({"select": {"table": "db.t", "at_snapshot": 3}}), LakeRead, LakeRead),
            (json!({"lookup": {"table": "db.t", "key": {"id": 1}}}), LakeRead, LakeRead),
            (
                json!({"changes": {"table": "db.t", "from": "earliest", "max": 9}}),
                Refused(ChangesOfBase),
                Refused(ChangesOfBase),
            ),
            (json!({"select": {"table": "db.t$rt"}}), UnionRead, Refused(NotInTheMode)),
            (json!({"lookup": {"table": "db.t$rt", "key": {"id": 1}}}), UnionRead, Refused(NotInTheMode)),
            (json!({"changes": {"table": "db.t$rt", "from": "earliest", "max": 9}}), UnionRead, Refused(NotInTheMode)),
            (json!({"select": {"table": "db.t$rt", "at_snapshot": 3}}), Refused(TimeTravel), Refused(TimeTravel)),
            (json!({"insert": {"table": "db.t$rt", "rows": rows}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"delete": {"table": "db.t$rt", "keys": rows}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"insert_overwrite": {"table": "db.t$rt", "rows": rows}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"native_insert": {"table": "db.t$rt", "rows": rows}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"drop_table": {"table": "db.t$rt", "if_exists": true}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"truncate_table": {"table": "db.t$rt"}}), Refused(ReadOnly), Refused(ReadOnly)),
            (json!({"rename_table": {"table": "db.t", "to": "db.u$rt"}}), Refused(ReadOnly), Refused(ReadOnly)),
            (
                json!({"alter_options": {"table": "db.t$rt", "set": {"a": "b"}, "side": "store"}}),
                Refused(ReadOnly),
                Refused(ReadOnly),
            ),
            (json!({"insert": {"table": "db.t", "partition": {"d": 1}, "rows": rows}}), StoreWrite, LakeWrite),
            (json!({"update": {"table": "db.t", "set": {"v": 1}, "filter": {"id": 1}}}), StoreWrite, LakeWrite),
            (json!({"delete": {"table": "db.t", "filter": {"id": 1}}}), StoreWrite, LakeWrite),
            (json!({"insert": {"table": "db.t", "branch": "b", "rows": rows}}), Refused(BranchInTheMode), LakeWrite),
            (json!({"insert": {"table": "db.t$branch_b", "rows": rows}}), Refused(BranchInTheMode), LakeWrite),
            (json!({"delete": {"table": "db.t$branch_b", "keys": rows}}), Refused(BranchInTheMode), LakeWrite),
            (
                json!({"insert_overwrite": {"table": "db.t$branch_b", "rows": rows}}),
                Refused(BranchInTheMode),
                LakeWrite,
            ),
            (
                json!({"insert": {"table": "db.t$branch_b", "branch": "c", "rows": rows}}),
                Refused(TwoBranches),
                Refused(TwoBranches),
            ),
            (
                json!({"insert": {"table": "db.t$rt", "branch": "b", "rows": rows}}),
                Refused(ReadOnly),
                Refused(ReadOnly),
            ),
            (json!({"native_insert": {"table": "db.t$branch_b", "rows": rows}}), LakeWrite, LakeWrite),
            (json!({"select": {"table": "db.t$branch_b"}}), LakeRead, LakeRead),
            (json!({"select": {"table": "db.t", "at_timestamp_ms": 3}}), LakeRead, LakeRead),
            (json!({"select": {"table": "db.t$rt", "at_timestamp_ms": 3}}), Refused(TimeTravel), Refused(TimeTravel)),
            (json!({"select": {"table": "db.t$snapshots"}}), SystemRead, SystemRead),
            (json!({"lookup": {"table": "db.t$snapshots", "key": {"id": 1}}}), Refused(NoKey), Refused(NoKey)),
            (json!({"insert": {"table": "db.t$snapshots", "rows": rows}}), Refused(SystemTable), Refused(SystemTable)),
            (
                json!({"native_insert": {"table": "db.t$options", "rows": rows}}),
                Refused(SystemTable),
                Refused(SystemTable),
            ),
            (json!({"select": {"table": "db.t$branch_b$rt"}}), SystemRead, SystemRead),
            (json!({"select": {"table": "db.t$rt$rt"}}), ViewOnly, ViewOnly),
            (json!({"insert": {"table": "db.$rt", "rows": rows}}), ViewOnly, ViewOnly),
            (json!({"create_branch": {"table": "db.t", "branch": "b"}}), LakeCatalog, LakeCatalog),
            (json!({"create_view": {"view": "db.x$rt", "query_table": "db.t"}}), LakeCatalog, LakeCatalog),
        ];
        for (text, in_the_mode, otherwise) in cells {
            let statement: Statement = serde_json::from_value(text.clone()).unwrap();
            let decision = Place::of(&statement)
                .map_or_else(|refusal| Decision::Certain(Refused(refusal)), |place| decide(&statement, &place));
            assert_eq!((decision.route(true), decision.route(false)), (in_the_mode, otherwise), "{text}");
        }
    }

    #[test]
    fn every_refusal_is_definite_and_names_the_table() {
        for refusal in [
            ReadOnly,
            TimeTravel,
            NotInTheMode,
            ChangesOfBase,
            BranchInTheMode,
            TwoBranches,
            SystemTable,
            NoKey,
            NoTimeTravel,
            NoSuchName,
        ] {
            let failure = refusal.failure(&TablePath::new("db", "t"));
            assert!(failure.definite && failure.message.contains("`db.t"), "{failure:?}");
        }
    }
}
