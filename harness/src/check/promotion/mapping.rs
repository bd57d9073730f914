//! P7: definitions that cannot be mapped are refused, with a reason that names the option or type.
//!
//! The list is data ([`UNMAPPABLE`]), each with what a message has to name.

use models::contract::{BUCKET, DataType, Statement, TableSchema};

use super::definition::sets_managed;
use crate::check::index::{End, Index, Operation};
use crate::check::sides;
use crate::check::{Docket, prose};

/// What cannot be mapped (rule 70).
struct Unmappable {
    /// In words, after "the table has".
    what: &'static str,
    /// Whether a definition has it.
    applies: fn(&TableSchema) -> bool,
    /// One of these must be in the message, in lower case.
    names: &'static [&'static str],
}

const UNMAPPABLE: &[Unmappable] = &[
    Unmappable {
        what: "row tracking",
        applies: |schema| is_true(schema, "row-tracking.enabled"),
        names: &["row-tracking", "row tracking"],
    },
    Unmappable {
        what: "data evolution",
        applies: |schema| is_true(schema, "data-evolution.enabled"),
        names: &["data-evolution", "data evolution"],
    },
    Unmappable {
        what: "deletion vectors",
        applies: |schema| is_true(schema, "deletion-vectors.enabled"),
        names: &["deletion-vectors", "deletion vectors"],
    },
    Unmappable {
        what: "an upsert key",
        applies: |schema| is_filled(schema, "upsert-key"),
        names: &["upsert-key", "upsert key"],
    },
    Unmappable {
        what: "a field of row kinds",
        applies: |schema| is_filled(schema, "rowkind.field"),
        names: &["rowkind.field"],
    },
    Unmappable {
        what: "the bucket function mod",
        applies: |schema| option(schema, "bucket-function.type").is_some_and(|kind| kind.eq_ignore_ascii_case("mod")),
        names: &["bucket-function", "bucket function"],
    },
    Unmappable {
        what: "a primary key and no fixed number of buckets",
        applies: |schema| schema.has_primary_key() && schema.bucket_count().is_none(),
        names: &[BUCKET],
    },
    Unmappable {
        what: "a partition column of type DECIMAL, ARRAY, MAP or ROW",
        applies: |schema| of_type(schema, &schema.partition_keys, &["DECIMAL", "ARRAY", "MAP", "ROW"]),
        names: &["decimal", "array", "map", "row"],
    },
    Unmappable {
        what: "a nested key column",
        applies: |schema| of_type(schema, &schema.primary_key, &["ARRAY", "MAP", "ROW"]),
        names: &["array", "map", "row"],
    },
    Unmappable {
        what: "sequence groups",
        applies: |schema| schema.options.keys().any(|key| key.ends_with(".sequence-group")),
        names: &["sequence-group", "sequence group"],
    },
    Unmappable {
        what: "more than one sequence field",
        applies: |schema| option(schema, "sequence.field").is_some_and(|fields| fields.contains(',')),
        names: &["sequence.field", "sequence field"],
    },
    Unmappable {
        what: "a descending sequence field",
        applies: |schema| {
            option(schema, "sequence.field.sort-order").is_some_and(|order| order.eq_ignore_ascii_case("descending"))
        },
        names: &["sequence.field", "sequence field"],
    },
];

fn option<'s>(schema: &'s TableSchema, key: &str) -> Option<&'s str> {
    schema.options.get(key).map(|value| value.trim())
}

fn is_true(schema: &TableSchema, key: &str) -> bool {
    option(schema, key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn is_filled(schema: &TableSchema, key: &str) -> bool {
    option(schema, key).is_some_and(|value| !value.is_empty())
}

/// Whether one of these columns has one of these types.
fn of_type(schema: &TableSchema, columns: &[String], types: &[&str]) -> bool {
    let starts = |data_type: &DataType| {
        let text = data_type.to_string().to_uppercase();
        types.iter().any(|name| text.starts_with(name))
    };
    schema.positions(columns).into_iter().any(|position| starts(&schema.columns[position].data_type))
}

/// Whether a message has this name, and not only as a part of another word: a mapping is no MAP.
fn names(message: &str, name: &str) -> bool {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    message
        .match_indices(name)
        .any(|(at, _)| !message[..at].ends_with(is_of_word) && !message[at + name.len()..].starts_with(is_of_word))
}

/// Judges P7.
pub fn judge(index: &Index, operation: &Operation, docket: &mut Docket) {
    // With properties or partitions of its own there may be another reason to refuse, which is told first.
    let plain = match operation.statement {
        Statement::CreateOnLake { properties, .. } => !sets_managed(properties),
        Statement::Promote { properties, partitions, .. } => !sets_managed(properties) && partitions.is_none(),
        _ => false,
    };
    if !plain {
        return;
    }
    let Some((before, after)) = sides::undisturbed(index, operation) else { return };
    // Of a table that the store has already, only the enabling is left.
    let (Some(lake), None) = (before.lake, before.store) else { return };
    let found: Vec<&Unmappable> = UNMAPPABLE.iter().filter(|unmappable| (unmappable.applies)(&lake.schema)).collect();
    let Some(first) = found.first() else {
        // One that can be mapped is P1's and P4's.
        return;
    };
    let events = || [operation.events(), vec![before.n, after.n]].concat();
    match operation.end {
        End::Ok(..) => {
            docket.judged("P7", 1);
            docket.violated("P7", events(), || {
                format!(
                    "The table has {} (event {}), and the {} succeeded. P7 demands that such a definition is refused.",
                    first.what,
                    before.n,
                    prose::statement(operation)
                )
            });
        }
        End::Failed { code, message, .. } if code.is_always_definite() => {
            docket.judged("P7", 1);
            let lower = message.to_lowercase();
            if !found.iter().any(|unmappable| unmappable.names.iter().any(|name| names(&lower, name))) {
                docket.violated("P7", events(), || {
                    format!(
                        "The table has {} (event {}). The {} was refused with the message {message:?}, which does not name \
                         it. P7 demands a reason that names the option or type.",
                        first.what,
                        before.n,
                        prose::statement(operation)
                    )
                });
            }
        }
        End::Failed { .. } | End::Open => {}
    }
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_name_is_a_word_of_its_own() {
        for (message, name, expected) in [
            ("`p` of type map<int, int>", "map", true),
            ("it cannot be mapped: no such mapping", "map", false),
            ("row<`a` int>", "row", true),
            ("`row-tracking.enabled` = true", "row", false),
            ("`bucket-function.type`", "bucket", false),
            ("`bucket` = -1", "bucket", true),
            ("`fields.v.sequence-group`", "sequence-group", true),
        ] {
            assert_eq!(names(message, name), expected, "{message} {name}");
        }
    }
}
