//! The schema after a replace.

use crate::contract::{Failure, TableSchema};

use super::super::SchemaFile;

/// The schema after a replace. A column that keeps its name and type keeps its identity; every other one gets ids that
/// no field of this table ever had. The caller numbers and dates it.
pub(in super::super) fn replace_schema(old: &SchemaFile, definition: &TableSchema) -> Result<SchemaFile, Failure> {
    if old.partition_keys != definition.partition_keys {
        return Err(Failure::invalid(format!(
            "expected a replace to keep the partition keys [{}], found [{}]",
            old.partition_keys.join(", "),
            definition.partition_keys.join(", ")
        )));
    }
    let mut replaced = SchemaFile::first(definition, old.time_millis);
    replaced.highest_field_id = old.highest_field_id;
    for field in &mut replaced.fields {
        let kept = old
            .fields
            .iter()
            .find(|known| known.name == field.name && known.field_type.data_type.is_like(&field.field_type.data_type));
        match kept {
            Some(known) => {
                field.id = known.id;
                field.field_type.data_type = known.field_type.data_type.clone();
            }
            None => {
                replaced.highest_field_id = replaced.highest_field_id.saturating_add(1);
                field.id = replaced.highest_field_id;
                field.field_type.data_type =
                    field.field_type.data_type.with_new_field_ids(&mut replaced.highest_field_id);
            }
        }
    }
    Ok(replaced)
}
