//! What a table's options say about merging: parsed once for a table, refused in one sentence where they contradict
//! each other.

mod engines;

use std::collections::BTreeSet;

use crate::contract::{DataType, Failure, TableSchema};

use self::engines::{aggregation, partial_update};
use super::changelog_producer::ChangelogProducer;
use super::deduplicate::Deduplicate;
use super::first_row::FirstRow;
use super::option_values::{FIELDS_PREFIX, OptionValues};
use super::row_kinds::RowKindRules;
use super::sequence_order::SequenceOrder;
use super::{MergeEngine, MergeFunction};

/// The option for how the changes of a key become its row.
pub(in super::super) const MERGE_ENGINE: &str = "merge-engine";
/// The option for the columns that say which change of a key is the newest.
pub(in super::super) const SEQUENCE_FIELD: &str = "sequence.field";
/// What an option ends in that says which columns follow the newest of its own.
pub(in super::super) const SEQUENCE_GROUP_SUFFIX: &str = ".sequence-group";
const SEQUENCE_FIELD_SORT_ORDER: &str = "sequence.field.sort-order";
/// The names of one option, the valid one first.
const IGNORE_DELETE: [&str; 4] =
    ["ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"];
/// The option for compactions that look older rows up although no changelog needs them.
pub(in super::super) const FORCE_LOOKUP: &str = "force-lookup";
const IGNORE_UPDATE_BEFORE: &str = "ignore-update-before";
const ROW_KIND_FIELD: &str = "rowkind.field";
/// `fields.<this>` is no column's option.
const DEFAULT_AGGREGATE_FUNCTION: &str = "default-aggregate-function";
/// The part after the column of `fields.<f>.aggregate-function`.
const AGGREGATE_FUNCTION: &str = "aggregate-function";

/// Everything that writing, reading and compacting a table need to know of its options about merging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// How changes of one key become one.
    pub function: MergeFunction,
    /// What a change is written as.
    pub row_kinds: RowKindRules,
    /// Who writes changelog files, and when.
    pub changelog_producer: ChangelogProducer,
    /// Whether compactions merge what they take from level 0 with the row that the key has above it, and leave that row
    /// where it is. Of the rows of a key above level 0 only the one at the lowest level counts then.
    pub looks_up: bool,
}

/// The values of `merge-engine`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EngineName {
    Deduplicate,
    FirstRow,
    PartialUpdate,
    Aggregation,
}

impl MergeOptions {
    /// The options of a table. `invalid` if they contradict each other or the table's columns, `unsupported` if they
    /// ask for an aggregate function that this version does not have.
    pub fn of(schema: &TableSchema) -> Result<Self, Failure> {
        let values = OptionValues { schema };
        check_field_options(values)?;
        let engine_name = values.choice(
            MERGE_ENGINE,
            &[
                ("deduplicate", EngineName::Deduplicate),
                ("partial-update", EngineName::PartialUpdate),
                ("aggregation", EngineName::Aggregation),
                ("first-row", EngineName::FirstRow),
            ],
        )?;
        let ignores_deletes = values.is_any_set(&IGNORE_DELETE)?;
        let sequence_order = sequence_order(values, engine_name)?;
        let engine = match engine_name {
            // An append table has nothing to merge, whatever its options say.
            _ if !schema.has_primary_key() => MergeEngine::Deduplicate(Deduplicate { ignores_deletes }),
            EngineName::Deduplicate => MergeEngine::Deduplicate(Deduplicate { ignores_deletes }),
            EngineName::FirstRow => MergeEngine::FirstRow(FirstRow { ignores_deletes }),
            EngineName::PartialUpdate => MergeEngine::PartialUpdate(partial_update(values, ignores_deletes)?),
            EngineName::Aggregation => MergeEngine::Aggregation(aggregation(values, &sequence_order)?),
        };
        let changelog_producer = changelog_producer(values, engine_name)?;
        let asks_to_look_up = changelog_producer == ChangelogProducer::Lookup || values.is_set(FORCE_LOOKUP)?;
        let row_kinds = RowKindRules {
            kind_position: row_kind_position(values)?,
            ignores_deletes,
            ignores_update_before: values.is_set(IGNORE_UPDATE_BEFORE)?,
        };
        Ok(Self {
            function: MergeFunction { engine, sequence_order, key_positions: key_positions(schema) },
            row_kinds,
            changelog_producer,
            // What comes later never changes a first row.
            looks_up: asks_to_look_up && engine_name != EngineName::FirstRow,
        })
    }
}

/// Where the primary key without the partition columns stands, in its order.
fn key_positions(schema: &TableSchema) -> Vec<usize> {
    let trimmed = schema.primary_key.iter().filter(|name| !schema.partition_keys.contains(name));
    trimmed.filter_map(|name| schema.position(name)).collect()
}

/// Options that begin with `fields.` must name columns.
fn check_field_options(values: OptionValues<'_>) -> Result<(), Failure> {
    let from_prefix = values.all().range(FIELDS_PREFIX.to_owned()..);
    for option in from_prefix.map(|(option, _)| option).take_while(|option| option.starts_with(FIELDS_PREFIX)) {
        let names = option[FIELDS_PREFIX.len()..].split('.').next().unwrap_or_default();
        if names == DEFAULT_AGGREGATE_FUNCTION {
            continue;
        }
        if !option[FIELDS_PREFIX.len()..].contains('.') {
            return Err(Failure::invalid(format!("expected an option `fields.<column>.<name>`, found `{option}`")));
        }
        values.columns(option, names)?;
    }
    Ok(())
}

fn sequence_order(values: OptionValues<'_>, engine_name: EngineName) -> Result<SequenceOrder, Failure> {
    let descending = values.choice(SEQUENCE_FIELD_SORT_ORDER, &[("ascending", false), ("descending", true)])?;
    let Some(list) = values.text(SEQUENCE_FIELD) else {
        return Ok(SequenceOrder::default());
    };
    let positions = values.columns(SEQUENCE_FIELD, list)?;
    if positions.iter().collect::<BTreeSet<_>>().len() != positions.len() {
        return Err(Failure::invalid(format!("expected `{SEQUENCE_FIELD}` to name each column once, found {list:?}")));
    }
    let schema = values.schema;
    for position in &positions {
        let option = OptionValues::of_column(&schema.columns[*position].name, AGGREGATE_FUNCTION);
        if values.text(&option).is_some() {
            return Err(Failure::invalid(format!(
                "expected no aggregate function, as `{option}`, for a column of `{SEQUENCE_FIELD}`"
            )));
        }
    }
    if engine_name == EngineName::FirstRow {
        return Err(Failure::invalid(format!(
            "expected no `{SEQUENCE_FIELD}` with merge engine first-row: the first row is the one written first"
        )));
    }
    if schema.has_primary_key() && schema.partition_keys.iter().any(|key| !schema.primary_key.contains(key)) {
        return Err(Failure::invalid(format!(
            "expected no `{SEQUENCE_FIELD}` where a key can move to another partition, found {list:?}"
        )));
    }
    Ok(SequenceOrder { positions, descending })
}

fn row_kind_position(values: OptionValues<'_>) -> Result<Option<usize>, Failure> {
    let Some(name) = values.text(ROW_KIND_FIELD) else {
        return Ok(None);
    };
    let position = values.column(ROW_KIND_FIELD, name)?;
    let data_type = &values.schema.columns[position].data_type;
    if matches!(data_type, DataType::Char(_) | DataType::VarChar(_)) {
        return Ok(Some(position));
    }
    Err(Failure::invalid(format!("expected `{ROW_KIND_FIELD}` to name a column of text, `{name}` is a {data_type}")))
}

fn changelog_producer(values: OptionValues<'_>, engine_name: EngineName) -> Result<ChangelogProducer, Failure> {
    let producer = values.choice(ChangelogProducer::OPTION, &ChangelogProducer::CHOICES)?;
    if !values.schema.has_primary_key() && producer != ChangelogProducer::None {
        return Err(Failure::invalid(format!(
            "expected `{}` none in a table without a primary key",
            ChangelogProducer::OPTION
        )));
    }
    let at_compaction = matches!(producer, ChangelogProducer::FullCompaction | ChangelogProducer::Lookup);
    if at_compaction && values.is_set("streaming-read-overwrite")? {
        return Err(Failure::invalid(format!(
            "expected no `streaming-read-overwrite` where `{}` is full-compaction or lookup: changes came twice",
            ChangelogProducer::OPTION
        )));
    }
    if engine_name == EngineName::FirstRow && !matches!(producer, ChangelogProducer::None | ChangelogProducer::Lookup) {
        return Err(Failure::invalid(format!(
            "expected `{}` to be none or lookup with merge engine first-row",
            ChangelogProducer::OPTION
        )));
    }
    Ok(producer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Column, FailureCode};

    /// Columns `id` (the key), `n` (INT), `t` (STRING), `d` (STRING); partitioned by `d` if that is in the key.
    fn parsed(primary_key: &[&str], options: &[(&str, &str)]) -> Result<MergeOptions, Failure> {
        let column = |(name, data_type): (&str, DataType)| Column { name: name.to_owned(), data_type, nullable: true };
        let columns =
            [("id", DataType::BigInt), ("n", DataType::Int), ("t", DataType::STRING), ("d", DataType::STRING)];
        MergeOptions::of(&TableSchema {
            columns: columns.map(column).to_vec(),
            primary_key: primary_key.iter().map(|name| (*name).to_owned()).collect(),
            partition_keys: if primary_key.contains(&"d") { vec!["d".to_owned()] } else { Vec::new() },
            options: options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        })
    }

    #[test]
    fn without_options_the_newest_change_stands_and_nothing_else_is_written() {
        for primary_key in [&[][..], &["id"], &["d", "id"]] {
            let options = parsed(primary_key, &[]).unwrap();
            assert!(options.function.keeps_newest() && options.row_kinds.is_plain());
            assert_eq!(options.changelog_producer, ChangelogProducer::None);
        }
        assert_eq!(parsed(&["d", "id"], &[]).unwrap().function.key_positions, [0]);
    }

    #[test]
    fn choices_and_truths_are_read_in_any_case() {
        let options = [("merge-engine", "First-Row"), ("ignore-delete", "TRUE"), ("changelog-producer", "Lookup")];
        let options = parsed(&["id"], &options).unwrap();
        assert!(options.function.hides_level_zero() && !options.row_kinds.is_plain());
        assert_eq!(options.changelog_producer, ChangelogProducer::Lookup);
    }

    #[test]
    fn contradictions_are_refused_in_a_sentence_that_names_the_option() {
        let (partial, aggregation) = (("merge-engine", "partial-update"), ("merge-engine", "aggregation"));
        let first_row = ("merge-engine", "first-row");
        for (options, named) in [
            (vec![("merge-engine", "newest")], "`merge-engine`"),
            (vec![("ignore-delete", "maybe")], "`ignore-delete`"),
            (vec![("fields.x.aggregate-function", "sum")], "`x`"),
            (vec![("fields.n,x.sequence-group", "t")], "`x`"),
            (vec![("sequence.field", "x")], "`sequence.field`"),
            (vec![("sequence.field", "n,t,n")], "once"),
            (vec![("sequence.field", "n"), ("sequence.field.sort-order", "up")], "`sequence.field.sort-order`"),
            (vec![aggregation, ("sequence.field", "n"), ("fields.n.aggregate-function", "sum")], "`sequence.field`"),
            (vec![first_row, ("sequence.field", "n")], "first-row"),
            (vec![first_row, ("changelog-producer", "input")], "`changelog-producer`"),
            (vec![("changelog-producer", "output")], "`changelog-producer`"),
            (
                vec![("changelog-producer", "lookup"), ("streaming-read-overwrite", "true")],
                "`streaming-read-overwrite`",
            ),
            (vec![("rowkind.field", "n")], "`rowkind.field`"),
            (vec![("rowkind.field", "x")], "`rowkind.field`"),
            (vec![aggregation, ("fields.n.aggregate-function", "total")], "\"total\""),
            (vec![aggregation, ("fields.t.aggregate-function", "sum")], "sum"),
            (
                vec![aggregation, ("aggregation.remove-record-on-delete", "true"), ("fields.n.ignore-retract", "true")],
                "`fields.n.ignore-retract`",
            ),
            (vec![partial, ("fields.n.aggregate-function", "sum")], "sequence group"),
            (vec![partial, ("fields.n.sequence-group", "t"), ("fields.d.sequence-group", "t")], "one sequence group"),
            (vec![partial, ("fields.n.sequence-group", "t"), ("fields.t.sequence-group", "d")], "one sequence group"),
            (
                vec![partial, ("ignore-delete", "true"), ("partial-update.remove-record-on-delete", "true")],
                "`ignore-delete`",
            ),
            (
                vec![partial, ("fields.n.sequence-group", "t"), ("partial-update.remove-record-on-delete", "true")],
                "`sequence-group`",
            ),
            (
                vec![
                    partial,
                    ("fields.n.sequence-group", "t"),
                    ("partial-update.remove-record-on-sequence-group", "t"),
                ],
                "`partial-update.remove-record-on-sequence-group`",
            ),
        ] {
            let failure = parsed(&["id"], &options).unwrap_err();
            assert_eq!((failure.code, failure.definite), (FailureCode::Invalid, true), "{options:?}");
            assert!(failure.message.contains(named), "{options:?}: {failure}");
        }
        let failure = parsed(&["id"], &[aggregation, ("fields.t.aggregate-function", "theta_sketch")]).unwrap_err();
        assert_eq!((failure.code, failure.definite), (FailureCode::Unsupported, true));
        assert_eq!(parsed(&[], &[("changelog-producer", "input")]).unwrap_err().code, FailureCode::Invalid);
    }

    #[test]
    fn append_tables_have_no_engine() {
        for options in [&[("merge-engine", "aggregation")][..], &[("sequence.field", "n")]] {
            assert!(parsed(&[], options).is_ok(), "{options:?}");
        }
    }
}
