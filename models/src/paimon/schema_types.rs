//! Column types as schema files spell them: a text for simple types, an object for nested ones.
//!
//! What a type means is the contract's business.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value as Json;

use crate::contract::{DEEPEST_TYPE, DataType, FieldType, NestedField};

/// Writes a type as a schema file has it.
pub(super) fn serialize<S: Serializer>(field_type: &FieldType, serializer: S) -> Result<S::Ok, S::Error> {
    SpelledType(field_type).serialize(serializer)
}

/// Reads a type of a schema file; types that this version cannot hold are refused by name.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldType, D::Error> {
    type_of_json(&Json::deserialize(deserializer)?, 1).map_err(D::Error::custom)
}

/// A type that is written as a schema file has it.
struct SpelledType<'a>(&'a FieldType);

impl Serialize for SpelledType<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FieldType { data_type, nullable } = self.0;
        let suffix = if *nullable { "" } else { " NOT NULL" };
        match data_type {
            DataType::Array(element) => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("type", &format!("ARRAY{suffix}"))?;
                object.serialize_entry("element", &SpelledType(element))?;
                object.end()
            }
            DataType::Map(entry) => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("type", &format!("MAP{suffix}"))?;
                object.serialize_entry("key", &SpelledType(&entry.0))?;
                object.serialize_entry("value", &SpelledType(&entry.1))?;
                object.end()
            }
            DataType::Row(fields) => {
                let mut object = serializer.serialize_map(None)?;
                object.serialize_entry("type", &format!("ROW{suffix}"))?;
                object.serialize_entry("fields", &fields.iter().map(SpelledField).collect::<Vec<_>>())?;
                object.end()
            }
            _ => serializer.collect_str(self.0),
        }
    }
}

/// A field of a row that is written as a schema file has it.
struct SpelledField<'a>(&'a NestedField);

impl Serialize for SpelledField<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("id", &self.0.id)?;
        object.serialize_entry("name", &self.0.name)?;
        object.serialize_entry("type", &SpelledType(&self.0.field_type))?;
        object.end()
    }
}

/// The error is a sentence.
fn type_of_json(json: &Json, depth: usize) -> Result<FieldType, String> {
    if depth > DEEPEST_TYPE {
        return Err(format!("expected types at most {DEEPEST_TYPE} deep inside each other, found deeper ones"));
    }
    let object = match json {
        Json::String(text) => return text.parse(),
        Json::Object(object) => object,
        _ => return Err(format!("expected a column type, a text or an object, found {json}")),
    };
    let member = |name: &str| object.get(name).ok_or_else(|| format!("expected a type with `{name}`, found {json}"));
    let spelled = member("type")?.as_str().ok_or_else(|| format!("expected the name of a type, found {json}"))?;
    let mut words = spelled.split_whitespace();
    let name = words.next().unwrap_or_default();
    let nullable = match (words.next(), words.next(), words.next()) {
        (None, ..) | (Some("NULL"), None, None) => true,
        (Some("NOT"), Some("NULL"), None) => false,
        _ => return Err(format!("expected a type, perhaps NOT NULL, found {spelled:?}")),
    };
    let part = |name: &str| type_of_json(member(name)?, depth + 1);
    let data_type = match name {
        "ARRAY" => DataType::Array(Arc::new(part("element")?)),
        "MAP" => DataType::Map(Arc::new((part("key")?, part("value")?))),
        "ROW" => {
            let listed = member("fields")?.as_array().filter(|fields| !fields.is_empty());
            let listed = listed.ok_or_else(|| format!("expected a row with fields, found {json}"))?;
            let mut fields: Vec<NestedField> = Vec::with_capacity(listed.len());
            for field in listed {
                let field = field_of_json(field, depth + 1)?;
                if fields.iter().any(|other| other.name == field.name) {
                    return Err(format!("expected field names of a row once each, found `{}` twice", field.name));
                }
                fields.push(field);
            }
            DataType::Row(Arc::from(fields))
        }
        _ => return Err(format!("expected a column type that this version can hold, found {spelled:?}")),
    };
    Ok(FieldType { data_type, nullable })
}

fn field_of_json(json: &Json, depth: usize) -> Result<NestedField, String> {
    let id = json.get("id").and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
    match (id, json.get("name").and_then(Json::as_str), json.get("type")) {
        (Some(id), Some(name), Some(field_type)) => {
            Ok(NestedField { id, name: name.to_owned(), field_type: type_of_json(field_type, depth)? })
        }
        _ => Err(format!("expected a field with an id, a name and a type, found {json}")),
    }
}
