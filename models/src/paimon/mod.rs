//! The reference Paimon table: how a table lies in an object store, down to the bytes.
//!
//! The files follow Apache Paimon's published layout, so any Paimon implementation can read what is written here, and
//! this code reads what other implementations wrote. Nothing in it knows about stores, tiering, clients or judging.

pub mod avro_container;
mod avro_datum;
mod avro_file;
mod avro_record;
mod avro_schema;
mod binary_nested;
pub mod binary_row;
pub mod column_stats;
mod content_cache;
pub mod data_file;
pub mod deletion_vectors;
mod file_format;
mod format_error;
pub mod index_manifest;
pub mod manifest;
mod manifest_meta;
pub mod object_stores;
mod parquet_assembly;
mod parquet_column;
mod parquet_delta;
mod parquet_file;
mod parquet_levels;
mod parquet_limits;
mod parquet_parts;
mod parquet_schema;
pub mod schema_file;
mod schema_types;
pub mod snapshot_file;
mod stored_cell;

pub use format_error::{FormatError, FormatResult};
pub use index_manifest::{DeletionVectorMeta, IndexChange, IndexManifestEntry};
pub use manifest::{DataFileMeta, FileKind, ManifestEntry, ManifestFileMeta};
pub use schema_file::{DataField, SchemaFile};
pub use snapshot_file::{CommitKind, Snapshot};

// The table on top of the formats.
mod bucket_function;
mod casts;
pub mod catalog;
pub mod changelog;
pub mod commit;
pub mod compaction;
mod directory;
mod exclusive_create;
pub mod integrity;
mod lake_access;
mod level_zero;
pub mod life;
mod live_files;
pub mod merge;
mod option_text;
pub mod overwrite;
mod partition_paths;
mod row_filter;
mod scan;
pub mod schema_change;
mod schema_evolution;
pub mod schema_rules;
mod seal;
mod system_tables;
pub mod table;
mod value_text;
pub mod write;

#[cfg(feature = "jdbc")]
pub use catalog::SqlMetastore;
pub use catalog::{Catalog, CatalogHooks, FilesystemCatalog, JdbcCatalog, ObjectName, View};
pub use commit::{CommitMode, CommitOutcome, CommitRequest, ConflictKind, Precondition, TwoStepOutcome};
pub use compaction::CompactionKind;
pub use directory::TableDirectory;
pub use integrity::{Finding, Verification, inspect, verify};
pub use lake_access::LakeAccess;
pub use life::{
    ConsumersSeen, OrphansSeen, Reachable, Retained, Retention, RollbackTarget, Tag, TimeTravel, reachable_files,
};
pub use merge::{ChangelogProducer, MergeFunction, MergeOptions};
pub use overwrite::{OVERWRITE_BASE_PROPERTY, OverwriteScope};
pub use schema_change::{ColumnPosition, SchemaChange};
pub use schema_rules::validate_schema;
pub use table::PaimonTable;
pub use write::Committable;

#[cfg(test)]
mod arbitrary_rows;
