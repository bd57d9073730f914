//! Rule `schema`: schema files are numbered from 0 without a gap, parse, and make sense in themselves.

use std::collections::BTreeSet;

use super::super::directory::numbers_after;
use super::super::table::{SchemaVersion, decode_schema};
use super::super::{FormatError, SchemaFile};
use super::check::{Check, Line, Referrer};
use super::rule::Rule;

impl Check<'_> {
    /// Reads the schemas of a line.
    pub(super) async fn schemas(&mut self, line: &mut Line) {
        let directory = line.directory.schema_directory();
        let files = self.beneath(&directory);
        // A branch begins with a copy of the schemas of its table, which may have lost old ones.
        let mut expected_id = if line.branch.is_some() { None } else { Some(0) };
        for schema_id in numbers_after(files, &directory, "schema-") {
            let path = line.directory.schema(schema_id);
            if let Some(expected) = expected_id.filter(|expected| *expected != schema_id) {
                let missing = line.directory.schema(expected);
                self.findings.add(Rule::Schema, &missing, None, format!("expected the file before {path}, found none"));
            }
            expected_id = schema_id.checked_add(1);
            let Some(bytes) = self.read(&path, Referrer::Directory).await else { continue };
            match decode_schema(&path, schema_id, &bytes) {
                Ok(file) => {
                    if let Some(senseless) = senseless(&file) {
                        self.findings.add(Rule::Schema, &path, None, senseless);
                    }
                    line.schemas.insert(schema_id, SchemaVersion::new(file));
                }
                Err(failure) => self.unreadable(&path, Referrer::Directory, &FormatError::new(failure.message)),
            }
        }
    }

    /// Tells that a schema is referred to which is not there. One that is there and cannot be read was told of.
    pub(super) fn missing_schema(&mut self, line: &Line, schema_id: u64, referrer: Referrer<'_>) {
        let path = line.directory.schema(schema_id);
        if !self.reachable.contains(&path) {
            let found = format!("expected the schema with which files of {referrer} were written, found none");
            self.findings.add(Rule::Schema, &path, referrer.snapshot(), found);
        }
    }
}

/// What makes no sense in a schema; nothing in most.
fn senseless(file: &SchemaFile) -> Option<String> {
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for field in &file.fields {
        if !names.insert(field.name.as_str()) {
            return Some(format!("expected column names to differ, found {:?} twice", field.name));
        }
        if !ids.insert(field.id) {
            return Some(format!("expected field ids to differ, found {} twice", field.id));
        }
        if field.id > file.highest_field_id {
            let highest = file.highest_field_id;
            return Some(format!("expected field ids up to highestFieldId {highest}, found {}", field.id));
        }
    }
    let mut keys = file.primary_keys.iter().chain(&file.partition_keys);
    let missing = keys.find(|key| !names.contains(key.as_str()));
    missing.map(|key| format!("expected keys to be columns, found {key:?}, which is none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::TableSchema;

    fn schema() -> SchemaFile {
        let table: TableSchema = serde_json::from_str(
            r#"{"columns": [{"name": "id", "type": "BIGINT"}, {"name": "v", "type": "INT"}], "primary_key": ["id"]}"#,
        )
        .unwrap();
        SchemaFile::first(&table, 0)
    }

    #[test]
    fn each_kind_of_nonsense_is_named() {
        assert_eq!(senseless(&schema()), None);
        let [mut same_name, mut same_id, mut id_too_high, mut no_such_key] = [(); 4].map(|()| schema());
        same_name.fields[1].name = "id".to_owned();
        same_id.fields[1].id = 0;
        id_too_high.highest_field_id = 0;
        no_such_key.partition_keys = vec!["dt".to_owned()];
        for (file, sentence) in [
            (same_name, "\"id\" twice"),
            (same_id, "0 twice"),
            (id_too_high, "up to highestFieldId 0"),
            (no_such_key, "\"dt\", which is none"),
        ] {
            assert!(senseless(&file).unwrap().contains(sentence), "{sentence}");
        }
    }
}
