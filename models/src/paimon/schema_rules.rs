//! Which table definitions and which changes of them make sense: Paimon's schema validation, as far as this version
//! holds such tables.
//!
//! Definitions only. Whether a table is there, and whether the mode forbids a statement, is not known here. A
//! definition that contradicts itself is `invalid`; one that asks for what this version does not hold is `unsupported`,
//! by the name of what it asks for.

mod buckets;
mod columns;
mod files;
mod merging;
mod mode;
mod option_changes;
mod options;
mod reading;
mod replacement;
mod retention;

use crate::contract::{Failure, TableSchema};

pub(super) use self::buckets::bucket_key_names;
pub(super) use self::columns::check_column_name;
pub(super) use self::files::{changelog_file_prefix, data_file_prefix, file_format};
pub use self::option_changes::IMMUTABLE_OPTIONS;
pub(super) use self::option_changes::check_option_change;
pub(super) use self::options::{is_option_on, with_keys_of_options};
pub(super) use self::replacement::replace_schema;

/// Whether a table can have this definition: `invalid` if it contradicts itself, `unsupported` if it asks for a kind
/// of table that this version does not hold.
pub fn validate_schema(schema: &TableSchema) -> Result<(), Failure> {
    mode::validate(schema)?;
    let schema = &*with_keys_of_options(schema)?;
    columns::validate(schema)?;
    buckets::validate(schema)?;
    files::validate(schema)?;
    merging::validate(schema)?;
    reading::validate(schema)?;
    retention::validate(schema)
}

#[cfg(test)]
mod tests;
