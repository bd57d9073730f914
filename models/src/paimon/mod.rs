//! The reference Paimon table: how a table lies in an object store, down to the bytes.
//!
//! The files follow Apache Paimon's published layout, so any Paimon implementation can read what is written here, and
//! this code reads what other implementations wrote. Nothing in it knows about stores, tiering, clients or judging.

pub mod avro_container;
mod avro_datum;
mod avro_file;
mod avro_record;
mod avro_schema;
pub mod binary_row;
pub mod column_stats;
mod content_cache;
pub mod data_file;
mod format_error;
pub mod manifest;
mod manifest_meta;
pub mod object_stores;
mod parquet_file;
pub mod schema_file;
pub mod snapshot_file;
mod stored_cell;

pub use format_error::{FormatError, FormatResult};
pub use manifest::{DataFileMeta, FileKind, ManifestEntry, ManifestFileMeta};
pub use schema_file::{DataField, SchemaFile};
pub use snapshot_file::{CommitKind, Snapshot};

#[cfg(test)]
mod arbitrary_rows;
