//! Column types as `kinds.json` spells them: plain types, and `ARRAY<T>`, `MAP<K, V>` and ``ROW<`name` T, …>`` of them.

use paimon::spec::{DataType, Schema};
use serde_json::{Value as Json, json};

use crate::{Failure, text};

const NOT_NULL: &str = " NOT NULL";

/// The type; a field of a row has the next free id.
pub fn parse(spelled: &str) -> Result<DataType, Failure> {
    Ok(serde_json::from_value(schema_form(spelled, &mut 0)?)?)
}

/// The form of a type in Paimon's schema files.
fn schema_form(spelled: &str, next_id: &mut i32) -> Result<Json, Failure> {
    let spelled = spelled.trim();
    let (bare, suffix) = match spelled.strip_suffix(NOT_NULL) {
        Some(bare) => (bare, NOT_NULL),
        None => (spelled, ""),
    };
    let Some((name, inside)) = bare.strip_suffix('>').and_then(|open| open.split_once('<')) else {
        return Ok(json!(spelled));
    };
    let parts = split(inside);
    let kind = format!("{name}{suffix}");
    match (name, &parts[..]) {
        ("ARRAY", [element]) => Ok(json!({ "type": kind, "element": schema_form(element, next_id)? })),
        ("MAP", [key, value]) => {
            Ok(json!({ "type": kind, "key": schema_form(key, next_id)?, "value": schema_form(value, next_id)? }))
        }
        ("ROW", _) => {
            let mut fields = Vec::new();
            for part in parts {
                let (field, field_type) = part.split_once(' ').ok_or("expected a name and a type in ROW")?;
                let field_type = schema_form(field_type, next_id)?;
                fields.push(json!({ "id": *next_id, "name": field.trim_matches('`'), "type": field_type }));
                *next_id += 1;
            }
            Ok(json!({ "type": kind, "fields": fields }))
        }
        _ => Err(format!("expected ARRAY, MAP or ROW before `<`, found {spelled}").into()),
    }
}

/// The parts between commas that stand in no brackets.
fn split(inside: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (position, character) in inside.char_indices() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside[start..position].trim());
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[start..].trim());
    parts
}

/// The schema of a kind.
pub fn schema(schema: &Json) -> Result<Schema, Failure> {
    let mut builder = Schema::builder();
    for column in schema["columns"].as_array().into_iter().flatten() {
        let nullable = column["nullable"].as_bool().unwrap_or(true);
        let data_type = parse(&format!("{}{}", text(column, "type"), if nullable { "" } else { NOT_NULL }))?;
        builder = builder.column(text(column, "name"), data_type);
    }
    let names = |field: &str| -> Vec<String> {
        schema[field].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    for (name, value) in schema["options"].as_object().into_iter().flatten() {
        builder = builder.option(name, value.as_str().unwrap_or_default());
    }
    Ok(builder.primary_key(names("primary_key")).partition_keys(names("partition_keys")).build()?)
}
