//! Column types as schema files spell them: a text for simple types, an object for nested ones.
//!
//! What a type means is the contract's business.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

use crate::contract::FieldType;

/// Writes a type as a schema file has it.
pub(super) fn serialize<S: Serializer>(field_type: &FieldType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(field_type)
}

/// Reads a type of a schema file; types that this version cannot hold are refused by name.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldType, D::Error> {
    let text = String::deserialize(deserializer)?;
    let (data_type, nullable) = match text.trim().strip_suffix("NOT NULL") {
        Some(data_type) => (data_type, false),
        None => (text.as_str(), true),
    };
    Ok(FieldType { data_type: data_type.parse().map_err(D::Error::custom)?, nullable })
}
