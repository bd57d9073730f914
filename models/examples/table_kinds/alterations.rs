//! Schema changes as the kinds spell them: the adapter protocol's, with types and positions in addition.

use models::contract::{DataType, Failure, FailureCode, FieldType};
use models::paimon::{ColumnPosition, SchemaChange};
use serde_json::Value as Json;

/// The change that a JSON object asks for.
pub fn schema_change(change: &Json) -> Result<SchemaChange, Failure> {
    let first = change.as_object().and_then(|fields| fields.iter().next());
    let (what, argument) = first.ok_or_else(|| Failure::invalid("expected a schema change, found none"))?;
    let text = |field: &str| argument[field].as_str().unwrap_or_default().to_owned();
    let position = || match (argument["after"].as_str(), argument["position"].as_str()) {
        (Some(column), _) => Some(ColumnPosition::After(column.to_owned())),
        (None, Some("first")) => Some(ColumnPosition::First),
        _ => None,
    };
    Ok(match what.as_str() {
        "add" => SchemaChange::AddColumn {
            path: vec![text("name")],
            field_type: nullable(&text("type"))?,
            comment: None,
            position: position(),
        },
        "drop" => SchemaChange::DropColumn { path: vec![argument.as_str().unwrap_or_default().to_owned()] },
        "rename" => SchemaChange::RenameColumn { path: vec![text("from")], to: text("to") },
        "set_type" => SchemaChange::UpdateColumnType {
            path: vec![text("column")],
            field_type: nullable(&text("type"))?,
            keep_nullability: true,
        },
        "move" => SchemaChange::UpdateColumnPosition {
            column: text("column"),
            position: position().unwrap_or(ColumnPosition::Last),
        },
        other => return Err(Failure::definite(FailureCode::Unsupported, format!("the schema change `{other}`"))),
    })
}

fn nullable(text: &str) -> Result<FieldType, Failure> {
    let data_type: DataType = text.parse().map_err(Failure::invalid)?;
    Ok(FieldType { data_type, nullable: true })
}
