//! Statements and their outputs, one to one with `adapter-protocol.md`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::names::TablePath;
use super::rows::RowSet;
use super::schema::{Column, TableSchema};
use super::value::{RowKind, Value};

/// The suffix that asks for the freshest union instead of the lake's snapshots.
pub const RT_SUFFIX: &str = "$rt";

/// The table that a name is the alias of: `$rt` asks for the union only where it is the one `$` of the name and
/// something stands before it. `t$rt$rt`, `t$branch_b$rt` and a bare `$rt` are names like any other (rule 33, C18).
pub fn real_time_base(name: &str) -> Option<&str> {
    name.strip_suffix(RT_SUFFIX).filter(|base| !base.is_empty() && !base.contains('$'))
}

/// A table as a query names it: `db.t` or `db.t$rt`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableView {
    /// The table.
    pub path: TablePath,
    /// `true`: the freshest union, served with the store; `false`: the lake's snapshots only.
    pub real_time: bool,
}

impl TableView {
    /// The lake's snapshots of a table.
    pub fn base(path: &TablePath) -> Self {
        Self { path: path.clone(), real_time: false }
    }

    /// The whole name as a statement spells it, `$rt` included.
    pub fn spelled(&self) -> TablePath {
        if !self.real_time {
            return self.path.clone();
        }
        TablePath::new(self.path.database(), &format!("{}{RT_SUFFIX}", self.path.table()))
    }

    /// The freshest union of a table.
    pub fn real_time(path: &TablePath) -> Self {
        Self { path: path.clone(), real_time: true }
    }
}

impl fmt::Display for TableView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.path, if self.real_time { RT_SUFFIX } else { "" })
    }
}

impl TryFrom<String> for TableView {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let path: TablePath = text.parse()?;
        Ok(match real_time_base(path.table()) {
            Some(base) => Self { path: TablePath::new(path.database(), base), real_time: true },
            None => Self { path, real_time: false },
        })
    }
}

impl From<TableView> for String {
    fn from(view: TableView) -> Self {
        view.to_string()
    }
}

/// Which side's DDL a table statement speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The Paimon catalog.
    #[default]
    Lake,
    /// The Lakestream Store's own DDL.
    Store,
}

/// How a replace reaches the catalog (C2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplaceVia {
    /// `replaceTable` of the catalog API.
    #[default]
    Catalog,
    /// CREATE OR REPLACE TABLE, which an engine may turn into drop and create.
    CreateOrReplace,
    /// REPLACE TABLE AS SELECT.
    Rtas,
}

/// One change of ALTER TABLE … columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnChange {
    /// Adds a column, last unless `position` says otherwise.
    Add {
        /// The new column.
        #[serde(flatten)]
        column: Column,
        /// `first`, `last` or an index.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        position: Option<String>,
    },
    /// Drops a column.
    Drop(String),
    /// Renames a column.
    Rename {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
}

/// `column = value`; all must match, NULL equals NULL.
pub type Filter = BTreeMap<String, Value>;

/// One statement of one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Statement {
    /// CREATE TABLE. On the store side it makes a working lake-stream table; on the lake side the option is only the
    /// declaration.
    CreateTable {
        /// The new table.
        table: TablePath,
        /// Its definition.
        #[serde(flatten)]
        schema: TableSchema,
        /// Whether an existing table is not an error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        if_not_exists: bool,
        /// Whose DDL.
        #[serde(default, skip_serializing_if = "is_lake")]
        side: Side,
    },
    /// Replaces definition and content (C2).
    ReplaceTable {
        /// The table; one that does not exist is created.
        table: TablePath,
        /// The new definition.
        #[serde(flatten)]
        schema: TableSchema,
        /// The route to the catalog.
        #[serde(default)]
        via: ReplaceVia,
    },
    /// ALTER TABLE … SET / RESET.
    AlterOptions {
        /// The table.
        table: TablePath,
        /// Options to set.
        #[serde(default)]
        set: BTreeMap<String, String>,
        /// Options to remove.
        #[serde(default)]
        reset: Vec<String>,
        /// Whose DDL.
        #[serde(default, skip_serializing_if = "is_lake")]
        side: Side,
    },
    /// ALTER TABLE … columns, all or nothing (C7).
    AlterColumns {
        /// The table.
        table: TablePath,
        /// The changes, in order.
        changes: Vec<ColumnChange>,
        /// Whose DDL.
        #[serde(default, skip_serializing_if = "is_lake")]
        side: Side,
    },
    /// ALTER TABLE … RENAME TO (C1).
    RenameTable {
        /// The table.
        table: TablePath,
        /// Its new name.
        to: TablePath,
        /// Whether a missing table is not an error (C21).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        if_exists: bool,
    },
    /// DROP TABLE.
    DropTable {
        /// The table.
        table: TablePath,
        /// Whether a missing table is not an error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        if_exists: bool,
        /// Whose DDL.
        #[serde(default, skip_serializing_if = "is_lake")]
        side: Side,
    },
    /// TRUNCATE TABLE (C9).
    TruncateTable {
        /// The table.
        table: TablePath,
    },
    /// Makes a branch of the lake table.
    CreateBranch {
        /// The table.
        table: TablePath,
        /// The new branch.
        branch: String,
    },
    /// CREATE VIEW … AS SELECT * FROM a table.
    CreateView {
        /// The view; its name may end in `$rt` (C18).
        view: TablePath,
        /// The table that it shows.
        query_table: TablePath,
    },
    /// DESCRIBE.
    Describe {
        /// The table.
        table: TablePath,
        /// Whose catalog.
        #[serde(default, skip_serializing_if = "is_lake")]
        side: Side,
    },
    /// INSERT INTO: a regular write, an upsert for key tables (C15).
    Insert {
        /// The table; `$rt` is refused (C10).
        table: TableView,
        /// The branch; a lake-stream table refuses it (C12).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        /// PARTITION (…): values of partition columns that the rows leave out (C23).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<BTreeMap<String, Value>>,
        /// The rows.
        rows: RowSet,
        /// The layout that the write was planned against, as an earlier DESCRIBE showed it (C13).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layout: Option<String>,
    },
    /// UPDATE … SET … WHERE (C23).
    Update {
        /// The table; `$rt` is refused (C10).
        table: TableView,
        /// The new values, by column; no columns of the primary key.
        set: BTreeMap<String, Value>,
        /// Which rows: all must match.
        filter: Filter,
    },
    /// DELETE of whole keys, or of all rows that match.
    Delete {
        /// The table.
        table: TableView,
        /// The keys: objects of the primary-key columns. Not used with a filter.
        #[serde(default, skip_serializing_if = "RowSet::is_without_columns")]
        keys: RowSet,
        /// Which rows, instead of keys: all must match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filter: Option<Filter>,
    },
    /// INSERT OVERWRITE: replaces data in the lake, not in the store (C15).
    InsertOverwrite {
        /// The table.
        table: TablePath,
        /// Static partition values; `None` is dynamic, or the whole table where it has no partitions.
        #[serde(default)]
        partition: Option<BTreeMap<String, Value>>,
        /// The new rows.
        rows: RowSet,
    },
    /// A lake writer that bypasses the store.
    NativeInsert {
        /// The table.
        table: TablePath,
        /// The rows.
        rows: RowSet,
    },
    /// SELECT.
    Select {
        /// Which view of which table.
        table: TableView,
        /// Only rows that match.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        filter: Filter,
        /// Time travel to the newest snapshot that was committed by then, in milliseconds since the epoch; base view
        /// only (C11).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_timestamp_ms: Option<u64>,
        /// Time travel to a snapshot; base view only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_snapshot: Option<u64>,
    },
    /// A point lookup by primary key.
    Lookup {
        /// Which view of which table.
        table: TableView,
        /// One key: an object of the primary-key columns.
        key: BTreeMap<String, Value>,
    },
    /// Reads the changelog.
    Changes {
        /// `t$rt`: lake rows first, then the log.
        table: TableView,
        /// `earliest`, or a position that an earlier answer returned.
        from: String,
        /// At most so many changes.
        max: u64,
    },
    /// Makes disabled metadata of a store table from an existing lake table (P1).
    CreateOnLake {
        /// The lake table.
        table: TablePath,
        /// Options of the store's table.
        #[serde(default)]
        properties: BTreeMap<String, String>,
    },
    /// Turns a disabled store table on, if it and its lake table agree (P2).
    Enable {
        /// The table.
        table: TablePath,
    },
    /// Makes a lake-stream table of an existing lake table, history included (P3–P8).
    Promote {
        /// The lake table.
        table: TablePath,
        /// Options of the store's table; `table.dml-sync` = `true` waits for the end of the load.
        #[serde(default)]
        properties: BTreeMap<String, String>,
        /// Only these partitions (P6); `None` is the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partitions: Option<Vec<BTreeMap<String, Value>>>,
    },
}

fn is_lake(side: &Side) -> bool {
    *side == Side::Lake
}

impl Statement {
    /// A plain INSERT INTO.
    pub fn insert(table: TableView, rows: RowSet) -> Self {
        Self::Insert { table, branch: None, partition: None, rows, layout: None }
    }

    /// A DELETE of whole keys.
    pub fn delete(table: TableView, keys: RowSet) -> Self {
        Self::Delete { table, keys, filter: None }
    }

    /// A SELECT of the present.
    pub fn select(table: TableView, filter: Filter) -> Self {
        Self::Select { table, filter, at_timestamp_ms: None, at_snapshot: None }
    }

    /// The statement's name in the adapter protocol.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CreateTable { .. } => "create_table",
            Self::ReplaceTable { .. } => "replace_table",
            Self::AlterOptions { .. } => "alter_options",
            Self::AlterColumns { .. } => "alter_columns",
            Self::RenameTable { .. } => "rename_table",
            Self::DropTable { .. } => "drop_table",
            Self::TruncateTable { .. } => "truncate_table",
            Self::CreateBranch { .. } => "create_branch",
            Self::CreateView { .. } => "create_view",
            Self::Describe { .. } => "describe",
            Self::Insert { .. } => "insert",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::InsertOverwrite { .. } => "insert_overwrite",
            Self::NativeInsert { .. } => "native_insert",
            Self::Select { .. } => "select",
            Self::Lookup { .. } => "lookup",
            Self::Changes { .. } => "changes",
            Self::CreateOnLake { .. } => "create_on_lake",
            Self::Enable { .. } => "enable",
            Self::Promote { .. } => "promote",
        }
    }

    /// The table, or view, that the statement is about.
    pub fn table(&self) -> &TablePath {
        match self {
            Self::CreateTable { table, .. }
            | Self::ReplaceTable { table, .. }
            | Self::AlterOptions { table, .. }
            | Self::AlterColumns { table, .. }
            | Self::RenameTable { table, .. }
            | Self::DropTable { table, .. }
            | Self::TruncateTable { table }
            | Self::CreateBranch { table, .. }
            | Self::CreateView { view: table, .. }
            | Self::Describe { table, .. }
            | Self::InsertOverwrite { table, .. }
            | Self::NativeInsert { table, .. }
            | Self::CreateOnLake { table, .. }
            | Self::Enable { table }
            | Self::Promote { table, .. } => table,
            Self::Insert { table, .. }
            | Self::Update { table, .. }
            | Self::Delete { table, .. }
            | Self::Select { table, .. }
            | Self::Lookup { table, .. }
            | Self::Changes { table, .. } => &table.path,
        }
    }

    /// The view of a table that the statement names; `None` where it names a table by its path.
    pub fn view(&self) -> Option<&TableView> {
        match self {
            Self::Insert { table, .. }
            | Self::Update { table, .. }
            | Self::Delete { table, .. }
            | Self::Select { table, .. }
            | Self::Lookup { table, .. }
            | Self::Changes { table, .. } => Some(table),
            _ => None,
        }
    }

    /// Whether the statement writes or deletes rows, on either side.
    pub fn writes_rows(&self) -> bool {
        matches!(
            self,
            Self::Insert { .. }
                | Self::Update { .. }
                | Self::Delete { .. }
                | Self::InsertOverwrite { .. }
                | Self::NativeInsert { .. }
        )
    }

    /// Whether it only reads.
    pub fn is_read(&self) -> bool {
        matches!(self, Self::Select { .. } | Self::Lookup { .. } | Self::Changes { .. } | Self::Describe { .. })
    }
}

/// A table as DESCRIBE shows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Description {
    /// Columns, keys, partition keys and options.
    #[serde(flatten)]
    pub schema: TableSchema,
    /// The identity of the table on the side that was asked, as text.
    pub table_id: String,
    /// What a write may be planned against, opaque (C13); `None` where the side has none to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

/// One changelog entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    /// What it does.
    pub kind: RowKind,
    /// The row, by column name.
    pub row: BTreeMap<String, Value>,
    /// Its partition as `k=v/k=v`, where the table has partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Its bucket, where the system says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<u32>,
    /// Its offset in the bucket's log; none for rows that come from the lake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// What a successful statement returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// DDL.
    Done,
    /// All rows of a write are durable.
    Acked {
        /// The number of rows or keys.
        acked: u64,
        /// The lake snapshot that the write made, where it went to the lake.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot_id: Option<u64>,
    },
    /// SELECT.
    Rows {
        /// The rows, in no particular order.
        rows: RowSet,
        /// The lake snapshot that was read; `None` where there was none yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot_id: Option<u64>,
    },
    /// Point lookup.
    Found {
        /// At most one row.
        row: RowSet,
    },
    /// Changelog.
    Changes {
        /// The entries: in offset order within a bucket; buckets may interleave.
        changes: Vec<Change>,
        /// Where to go on.
        position: String,
    },
    /// DESCRIBE.
    Described(Box<Description>),
    /// A promotion: what the procedure says.
    Promoted {
        /// `JobID=…` while the load goes on, else a sentence of success.
        message: String,
    },
}

impl Output {
    /// Whether this is what a statement of this kind returns.
    pub fn answers(&self, statement: &Statement) -> bool {
        match self {
            Self::Acked { .. } => statement.writes_rows(),
            Self::Rows { .. } => matches!(statement, Statement::Select { .. }),
            Self::Found { .. } => matches!(statement, Statement::Lookup { .. }),
            Self::Changes { .. } => matches!(statement, Statement::Changes { .. }),
            Self::Described(_) => matches!(statement, Statement::Describe { .. }),
            Self::Promoted { .. } => matches!(statement, Statement::Promote { .. }),
            Self::Done => {
                !statement.is_read() && !statement.writes_rows() && !matches!(statement, Statement::Promote { .. })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_read_as_the_protocol_writes_them() {
        let text = r#"{"insert":{"table":"db.t","rows":[{"id":1,"v":"a"}]}}"#;
        let statement: Statement = serde_json::from_str(text).unwrap();
        assert_eq!(statement.name(), "insert");
        assert_eq!(serde_json::to_string(&statement).unwrap(), text);
        let text = r#"{"create_table":{"table":"db.t","columns":[{"name":"id","type":"BIGINT","nullable":false}],"primary_key":["id"],"partition_keys":[],"options":{"bucket":"2"},"side":"store"}}"#;
        let statement: Statement = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&statement).unwrap(), text);
    }

    #[test]
    fn rt_is_a_suffix_of_the_table() {
        let view: TableView = serde_json::from_str(r#""db.t$rt""#).unwrap();
        assert!(view.real_time);
        assert_eq!(view.path, TablePath::new("db", "t"));
        assert_eq!(view.to_string(), "db.t$rt");
    }

    #[test]
    fn rt_is_no_suffix_of_a_suffix_or_of_nothing() {
        for name in ["db.t$rt$rt", "db.t$branch_b$rt", "db.$rt", "db.t$rt$snapshots", "db.rt"] {
            let view: TableView = serde_json::from_str(&format!("{name:?}")).unwrap();
            assert_eq!((view.real_time, view.to_string().as_str()), (false, name));
        }
    }
}
