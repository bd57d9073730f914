//! How a partition is spelled in the paths of its files.
//!
//! Spelling only: nothing here knows where a table is, or what its files hold. Readers compute the same path from the
//! manifest's partition as writers do, so both go through here.

use std::fmt::Write as _;

use crate::contract::{DataType, PartitionValues, TableSchema, Value};

use super::value_text::{cast_text, plain_text};

/// The option for what stands where a value is NULL or blank.
const PARTITION_DEFAULT_NAME: &str = "partition.default-name";
/// The option for which of two spellings dates and times have.
const PARTITION_LEGACY_NAME: &str = "partition.legacy-name";
/// The option for a directory between the table's own and its partitions'.
pub(super) const DATA_FILE_PATH_DIRECTORY: &str = "data-file.path-directory";
const DEFAULT_PARTITION: &str = "__DEFAULT_PARTITION__";

/// The directories of one schema's partitions.
#[derive(Clone, Debug)]
pub(super) struct PartitionPaths {
    /// What each path begins with, and ends in `/` if it is not empty.
    prefix: String,
    /// `key=`, escaped, and the column's type.
    columns: Vec<(String, DataType)>,
    default_name: String,
    /// `true`: values as Java prints them (a date is a number of days). `false`: as a cast to STRING spells them.
    legacy: bool,
}

impl PartitionPaths {
    /// The directories of a table's partitions.
    pub(super) fn of(schema: &TableSchema) -> Self {
        let option = |name: &str| schema.options.get(name).map(|text| text.trim());
        let directory = option(DATA_FILE_PATH_DIRECTORY).map_or("", |text| text.trim_matches('/'));
        let column = |position: usize| {
            let column = &schema.columns[position];
            let mut key = String::new();
            push_escaped(&mut key, &column.name);
            key.push('=');
            (key, column.data_type.clone())
        };
        Self {
            prefix: if directory.is_empty() { String::new() } else { format!("{directory}/") },
            columns: schema.partition_positions().into_iter().map(column).collect(),
            default_name: option(PARTITION_DEFAULT_NAME).unwrap_or(DEFAULT_PARTITION).to_owned(),
            legacy: option(PARTITION_LEGACY_NAME).is_none_or(|text| !text.eq_ignore_ascii_case("false")),
        }
    }

    /// Appends a bucket's directory, from the table's on, without a trailing slash.
    pub(super) fn push_bucket(&self, path: &mut String, partition: &PartitionValues, bucket: u32) {
        path.push_str(&self.prefix);
        for ((key, data_type), value) in self.columns.iter().zip(partition.cells()) {
            path.push_str(key);
            push_escaped(path, &self.value_name(data_type, value));
            path.push('/');
        }
        let _ = write!(path, "bucket-{bucket}");
    }

    fn value_name(&self, data_type: &DataType, value: &Value) -> String {
        let spelled = if self.legacy { plain_text(data_type, value) } else { cast_text(data_type, value) };
        spelled.filter(|text| !text.chars().all(is_blank)).unwrap_or_else(|| self.default_name.clone())
    }
}

/// Blank as Java's `Character.isWhitespace` has it: without the spaces that must not break, with four separators.
fn is_blank(character: char) -> bool {
    match character {
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' => false,
        '\u{1c}'..='\u{1f}' => true,
        other => other.is_whitespace(),
    }
}

/// Characters that have a meaning in paths are written as `%` and two hexadecimal digits.
fn push_escaped(path: &mut String, text: &str) {
    for character in text.chars() {
        let special = character.is_ascii_control() || "\"#%'*/:=?\\{}[]^".contains(character);
        if special {
            let _ = write!(path, "%{:02X}", u32::from(character));
        } else {
            path.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Column, Row};

    fn bucket_directory(data_type: &str, value: Value, options: &[(&str, &str)]) -> String {
        let schema = TableSchema {
            columns: vec![Column { name: "p".to_owned(), data_type: data_type.parse().unwrap(), nullable: true }],
            primary_key: Vec::new(),
            partition_keys: vec!["p".to_owned()],
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        let mut path = String::new();
        PartitionPaths::of(&schema).push_bucket(&mut path, &Row::new(vec![value]), 0);
        path
    }

    #[test]
    fn each_type_is_spelled_as_java_does_it_or_as_a_cast_does() {
        let noon = Value::Timestamp { millis: 43_200_000, nanos_of_milli: 0 };
        let later = Value::Timestamp { millis: 43_201_500, nanos_of_milli: 1_000 };
        for (data_type, value, legacy, present) in [
            ("STRING", Value::string("a/b=c"), "a%2Fb%3Dc", "a%2Fb%3Dc"),
            ("STRING", Value::string("Ab ü"), "Ab ü", "Ab ü"),
            ("BOOLEAN", Value::Boolean(true), "true", "true"),
            ("BIGINT", Value::Int(-7), "-7", "-7"),
            ("DECIMAL(6, 2)", Value::Decimal(-1250), "-12.50", "-12.50"),
            ("DOUBLE", Value::Double(1e7), "1.0E7", "1.0E7"),
            ("FLOAT", Value::Float(0.5), "0.5", "0.5"),
            ("DATE", Value::Date(19_782), "19782", "2024-02-29"),
            ("TIME(3)", Value::Time(3_600_500), "3600500", "01%3A00%3A00.5"),
            ("TIMESTAMP(3)", noon, "1970-01-01T12%3A00", "1970-01-01 12%3A00%3A00.000"),
            ("TIMESTAMP(6)", later, "1970-01-01T12%3A00%3A01.500001", "1970-01-01 12%3A00%3A01.500001"),
        ] {
            assert_eq!(bucket_directory(data_type, value.clone(), &[]), format!("p={legacy}/bucket-0"));
            let named = bucket_directory(data_type, value, &[(PARTITION_LEGACY_NAME, "false")]);
            assert_eq!(named, format!("p={present}/bucket-0"));
        }
    }

    #[test]
    fn nothing_and_blanks_have_the_default_name() {
        for value in [Value::Null, Value::string(""), Value::string(" \t"), Value::string("\u{1f}")] {
            assert_eq!(bucket_directory("STRING", value.clone(), &[]), "p=__DEFAULT_PARTITION__/bucket-0");
            assert_eq!(bucket_directory("STRING", value, &[(PARTITION_DEFAULT_NAME, "none")]), "p=none/bucket-0");
        }
        assert_eq!(bucket_directory("STRING", Value::string("\u{a0}"), &[]), "p=\u{a0}/bucket-0");
    }

    #[test]
    fn data_files_can_have_a_directory_of_their_own() {
        let options = [(DATA_FILE_PATH_DIRECTORY, "data/files/")];
        assert_eq!(bucket_directory("INT", Value::Int(1), &options), "data/files/p=1/bucket-0");
    }
}
