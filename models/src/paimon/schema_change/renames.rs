//! Table options that name columns, and how they follow a rename.

use std::collections::BTreeMap;

use crate::contract::BUCKET_KEY;

use super::super::merge::{FIELDS_PREFIX, SEQUENCE_FIELD, SEQUENCE_GROUP_SUFFIX};

/// Options whose value is a list of columns.
const LISTS_OF_COLUMNS: [&str; 2] = [BUCKET_KEY, SEQUENCE_FIELD];
/// Renames a column wherever an option names it.
pub(super) fn rename_in_options(options: &mut BTreeMap<String, String>, from: &str, to: &str) {
    let renamed_list = |text: &str| {
        let names: Vec<&str> = text.split(',').map(str::trim).collect();
        if names.contains(&from) {
            names.iter().map(|name| if *name == from { to } else { name }).collect::<Vec<_>>().join(",")
        } else {
            text.to_owned()
        }
    };
    for option in LISTS_OF_COLUMNS {
        if let Some(value) = options.get_mut(option) {
            *value = renamed_list(value);
        }
    }
    let of_fields: Vec<String> = options.keys().filter(|key| key.starts_with(FIELDS_PREFIX)).cloned().collect();
    for key in of_fields {
        let Some(value) = options.remove(&key) else { continue };
        let names_columns = key.ends_with(SEQUENCE_GROUP_SUFFIX);
        // A column's own name may have dots, the words behind it have none.
        let (columns, word) = key[FIELDS_PREFIX.len()..].rsplit_once('.').unwrap_or((&key[FIELDS_PREFIX.len()..], ""));
        let renamed_key = if word.is_empty() || !columns.split(',').any(|name| name.trim() == from) {
            key.clone()
        } else {
            format!("{FIELDS_PREFIX}{}.{word}", renamed_list(columns))
        };
        options.insert(renamed_key, if names_columns { renamed_list(&value) } else { value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_follow_the_column_that_they_name() {
        for (before, after) in [
            (("bucket-key", "a, b"), ("bucket-key", "x,b")),
            (("sequence.field", "b"), ("sequence.field", "b")),
            (("fields.a.aggregate-function", "sum"), ("fields.x.aggregate-function", "sum")),
            (("fields.ab.ignore-retract", "true"), ("fields.ab.ignore-retract", "true")),
            (("fields.g,a.sequence-group", "a,b"), ("fields.g,x.sequence-group", "x,b")),
            (("fields.n.nested-key", "a"), ("fields.n.nested-key", "a")),
            (("fields.default-aggregate-function", "a"), ("fields.default-aggregate-function", "a")),
            (("comment", "a"), ("comment", "a")),
        ] {
            let owned = |(key, value): (&str, &str)| BTreeMap::from([(key.to_owned(), value.to_owned())]);
            let mut options = owned(before);
            rename_in_options(&mut options, "a", "x");
            assert_eq!(options, owned(after));
        }
    }
}
