//! What the files of a table are and where they lie: honoured, or refused by name.

use crate::contract::{Failure, TableSchema};

use super::super::data_file::FileFormat;
use super::super::partition_paths::DATA_FILE_PATH_DIRECTORY;
use super::options::{boolean, option_of, require_word, unsupported};

/// Options that this version honours for these values only.
const SUPPORTED_WORDS: [(&str, &[&str]); 7] = [
    ("type", &["table"]),
    ("file.format", &["parquet", "avro"]),
    ("changelog-file.format", &["parquet", "avro"]),
    ("file.compression", &["zstd"]),
    ("changelog-file.compression", &["zstd"]),
    ("manifest.format", &["avro"]),
    ("manifest.compression", &["zstd"]),
];
/// Options that ask for more than this version holds, whatever their value.
const UNSUPPORTED: [&str; 6] = [
    "blob-field",
    "blob-descriptor-field",
    "blob-view-field",
    "data-file.external-paths",
    "file.format.per.level",
    "record-level.expire-time",
];
/// Options that ask for more than this version holds if they are on.
const UNSUPPORTED_IF_ON: [&str; 5] = [
    "chain-table.enabled",
    "data-evolution.enabled",
    "index-file-in-data-file-dir",
    "pk-clustering-override",
    "row-tracking.enabled",
];
/// The option for what the names of data files begin with.
const DATA_FILE_PREFIX: &str = "data-file.prefix";
/// The option for what the names of changelog files begin with.
const CHANGELOG_FILE_PREFIX: &str = "changelog-file.prefix";

/// The format of new data files.
pub(in super::super) fn file_format(schema: &TableSchema) -> Result<FileFormat, Failure> {
    let text = option_of(schema, "file.format").unwrap_or("parquet");
    if text.eq_ignore_ascii_case("parquet") {
        Ok(FileFormat::Parquet)
    } else if text.eq_ignore_ascii_case("avro") {
        Ok(FileFormat::Avro)
    } else {
        Err(unsupported(format!("expected option `file.format` to be one of [parquet, avro], found {text:?}")))
    }
}

/// What the names of new data files begin with.
pub(in super::super) fn data_file_prefix(schema: &TableSchema) -> &str {
    option_of(schema, DATA_FILE_PREFIX).unwrap_or("data-")
}

/// What the names of new changelog files begin with.
pub(in super::super) fn changelog_file_prefix(schema: &TableSchema) -> &str {
    option_of(schema, CHANGELOG_FILE_PREFIX).unwrap_or("changelog-")
}

pub(super) fn validate(schema: &TableSchema) -> Result<(), Failure> {
    for (key, words) in SUPPORTED_WORDS {
        require_word(schema, key, words)?;
    }
    if let Some(key) = UNSUPPORTED.into_iter().find(|key| schema.options.contains_key(*key)) {
        return Err(unsupported(format!("expected a table without option `{key}`, which this version does not hold")));
    }
    for key in UNSUPPORTED_IF_ON {
        if boolean(schema, key, false)? {
            return Err(unsupported(format!("expected option `{key}` to be off, found it on")));
        }
    }
    boolean(schema, "data-file.thin-mode", false)?;
    boolean(schema, "partition.legacy-name", true)?;
    for key in [DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX] {
        if let Some(found) = option_of(schema, key).filter(|prefix| prefix.is_empty() || prefix.contains('/')) {
            return Err(Failure::invalid(format!("expected option `{key}` to begin a file name, found {found:?}")));
        }
    }
    if let Some(found) = option_of(schema, "partition.default-name").filter(|name| name.is_empty()) {
        return Err(Failure::invalid(format!(
            "expected option `partition.default-name` to be a name, found {found:?}"
        )));
    }
    match option_of(schema, DATA_FILE_PATH_DIRECTORY) {
        Some(found) if !is_beneath(found) => Err(Failure::invalid(format!(
            "expected option `{DATA_FILE_PATH_DIRECTORY}` to be a directory beneath the table's, found {found:?}"
        ))),
        _ => Ok(()),
    }
}

fn is_beneath(directory: &str) -> bool {
    let directory = directory.strip_suffix('/').unwrap_or(directory);
    directory.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains('\\'))
}
