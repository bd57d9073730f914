//! The options of the engines that put rows together: aggregate functions and sequence groups.

use std::collections::BTreeSet;

use crate::contract::{Column, Failure, FailureCode};

use super::super::aggregation::Aggregation;
use super::super::field_function::{FieldFunction, FunctionKind};
use super::super::option_values::{FIELDS_PREFIX, OptionValues};
use super::super::partial_update::{PartialColumn, PartialUpdate, SequenceGroup};
use super::super::sequence_order::SequenceOrder;
use super::{AGGREGATE_FUNCTION, DEFAULT_AGGREGATE_FUNCTION, IGNORE_DELETE, SEQUENCE_GROUP_SUFFIX};

const AGGREGATION_REMOVES_ROW: &str = "aggregation.remove-record-on-delete";
const PARTIAL_UPDATE_REMOVES_ROW: &str = "partial-update.remove-record-on-delete";
const PARTIAL_UPDATE_REMOVES_ROW_BY_GROUP: &str = "partial-update.remove-record-on-sequence-group";
const LAST_NON_NULL_VALUE: &str = "last_non_null_value";
/// Functions of Paimon's that this version does not have.
const FUNCTIONS_ELSEWHERE: [&str; 7] = [
    "hll_sketch",
    "merge_map_with_keytime",
    "nested_partial_update",
    "nested_update",
    "rbm32",
    "rbm64",
    "theta_sketch",
];

/// The merge engine `aggregation` of a table.
pub(super) fn aggregation(values: OptionValues<'_>, sequence_order: &SequenceOrder) -> Result<Aggregation, Failure> {
    let function_of = |(position, column): (usize, &Column)| {
        if sequence_order.positions.contains(&position) {
            // The order is theirs already, so the last one is the newest.
            return field_function(values, column, FunctionKind::LastValue);
        }
        if values.schema.primary_key.contains(&column.name) {
            return field_function(values, column, FunctionKind::PrimaryKey);
        }
        let name = function_name(values, column).unwrap_or(LAST_NON_NULL_VALUE);
        field_function(values, column, function_kind(values, column, name)?)
    };
    Ok(Aggregation {
        functions: values.schema.columns.iter().enumerate().map(function_of).collect::<Result<_, _>>()?,
        required_columns: required_columns(values),
        removes_row_on_delete: values.is_set(AGGREGATION_REMOVES_ROW)?,
    })
}

/// The merge engine `partial-update` of a table.
pub(super) fn partial_update(values: OptionValues<'_>, ignores_deletes: bool) -> Result<PartialUpdate, Failure> {
    let plain = PartialColumn { group: None, in_sequence: false, function: None };
    let mut columns = vec![plain; values.schema.columns.len()];
    let groups = sequence_groups(values, &mut columns)?;
    for (state, column) in columns.iter_mut().zip(&values.schema.columns).filter(|(state, _)| !state.in_sequence) {
        state.function = partial_update_function(values, column, state.group.is_some())?;
    }
    let removes_row_on_delete = values.is_set(PARTIAL_UPDATE_REMOVES_ROW)?;
    let contradiction = |a: &str, b: &str| Failure::invalid(format!("expected `{a}` or `{b}`, found both"));
    if removes_row_on_delete && ignores_deletes {
        return Err(contradiction(IGNORE_DELETE[0], PARTIAL_UPDATE_REMOVES_ROW));
    }
    if ignores_deletes && groups.iter().any(|group| group.removes_row) {
        return Err(contradiction(IGNORE_DELETE[0], PARTIAL_UPDATE_REMOVES_ROW_BY_GROUP));
    }
    if removes_row_on_delete && !groups.is_empty() {
        return Err(contradiction("sequence-group", PARTIAL_UPDATE_REMOVES_ROW));
    }
    Ok(PartialUpdate {
        columns,
        groups,
        required_columns: required_columns(values),
        ignores_deletes,
        removes_row_on_delete,
    })
}

/// The groups in the order of their options; what belongs to them is noted in `columns`.
fn sequence_groups(values: OptionValues<'_>, columns: &mut [PartialColumn]) -> Result<Vec<SequenceGroup>, Failure> {
    let mut groups = Vec::new();
    for (option, list) in values.all() {
        let name_list = option.strip_prefix(FIELDS_PREFIX).and_then(|rest| rest.strip_suffix(SEQUENCE_GROUP_SUFFIX));
        let Some(name_list) = name_list else {
            continue;
        };
        let positions = values.columns(option, name_list)?;
        let twice = |position: usize| {
            let name = &values.schema.columns[position].name;
            Failure::invalid(format!("expected column `{name}` in one sequence group, `{option}` is another one"))
        };
        for position in &positions {
            if columns[*position].in_sequence || columns[*position].group.is_some() {
                return Err(twice(*position));
            }
            columns[*position].in_sequence = true;
        }
        for position in values.columns(option, list)?.into_iter().filter(|position| !positions.contains(position)) {
            if columns[position].in_sequence || columns[position].group.is_some() {
                return Err(twice(position));
            }
            columns[position].group = Some(groups.len());
        }
        let order = SequenceOrder { positions, descending: false };
        groups.push(SequenceGroup { order, removes_row: false });
    }
    if let Some(list) = values.text(PARTIAL_UPDATE_REMOVES_ROW_BY_GROUP) {
        for position in values.columns(PARTIAL_UPDATE_REMOVES_ROW_BY_GROUP, list)? {
            let Some(group) = groups.iter_mut().find(|group| group.order.positions.contains(&position)) else {
                return Err(Failure::invalid(format!(
                    "expected `{PARTIAL_UPDATE_REMOVES_ROW_BY_GROUP}` to name the columns of a group's sequence, \
                     found {list:?}"
                )));
            };
            group.removes_row = true;
        }
    }
    Ok(groups)
}

fn partial_update_function(
    values: OptionValues<'_>,
    column: &Column,
    in_group: bool,
) -> Result<Option<FieldFunction>, Failure> {
    if values.schema.primary_key.contains(&column.name) {
        return field_function(values, column, FunctionKind::PrimaryKey).map(Some);
    }
    let Some(name) = function_name(values, column) else {
        return Ok(None);
    };
    if !in_group && name != LAST_NON_NULL_VALUE {
        return Err(Failure::invalid(format!(
            "expected column `{}` in a sequence group: partial-update aggregates only there, found function {name}",
            column.name
        )));
    }
    field_function(values, column, function_kind(values, column, name)?).map(Some)
}

/// The name of the column's own function, or of the table's default one.
fn function_name<'a>(values: OptionValues<'a>, column: &Column) -> Option<&'a str> {
    values
        .text(&OptionValues::of_column(&column.name, AGGREGATE_FUNCTION))
        .or_else(|| values.text(&format!("{FIELDS_PREFIX}{DEFAULT_AGGREGATE_FUNCTION}")))
}

fn function_kind(values: OptionValues<'_>, column: &Column, name: &str) -> Result<FunctionKind, Failure> {
    let distinct = || values.is_set(&OptionValues::of_column(&column.name, "distinct"));
    Ok(match name {
        "sum" => FunctionKind::Sum,
        "product" => FunctionKind::Product,
        "min" => FunctionKind::Min,
        "max" => FunctionKind::Max,
        "last_value" => FunctionKind::LastValue,
        LAST_NON_NULL_VALUE => FunctionKind::LastNonNullValue,
        "first_value" => FunctionKind::FirstValue,
        // The second is an old name.
        "first_non_null_value" | "first_not_null_value" => FunctionKind::FirstNonNullValue,
        "bool_and" => FunctionKind::BoolAnd,
        "bool_or" => FunctionKind::BoolOr,
        "listagg" => {
            let delimiter = values.text(&OptionValues::of_column(&column.name, "list-agg-delimiter"));
            FunctionKind::ListAggregate { delimiter: delimiter.unwrap_or(",").to_owned(), distinct: distinct()? }
        }
        "collect" => FunctionKind::Collect { distinct: distinct()? },
        "merge_map" => FunctionKind::MergeMap,
        "primary-key" => FunctionKind::PrimaryKey,
        known if FUNCTIONS_ELSEWHERE.contains(&known) => {
            return Err(Failure::definite(
                FailureCode::Unsupported,
                format!("expected an aggregate function that this version has, found {known} for `{}`", column.name),
            ));
        }
        unknown => {
            return Err(Failure::invalid(format!(
                "expected an aggregate function for column `{}`, found {unknown:?}",
                column.name
            )));
        }
    })
}

fn field_function(values: OptionValues<'_>, column: &Column, kind: FunctionKind) -> Result<FieldFunction, Failure> {
    let ignore_retract = OptionValues::of_column(&column.name, "ignore-retract");
    let ignores_retraction = values.is_set(&ignore_retract)?;
    if ignores_retraction && values.is_set(AGGREGATION_REMOVES_ROW)? {
        return Err(Failure::invalid(format!(
            "expected `{AGGREGATION_REMOVES_ROW}` or `{ignore_retract}`, found both"
        )));
    }
    FieldFunction::new(kind, &column.name, &column.data_type, ignores_retraction)
        .map_err(|error| Failure::invalid(error.to_string()))
}

/// The columns that cannot be NULL. Those of the primary key cannot, whatever their definition says.
fn required_columns(values: OptionValues<'_>) -> Vec<usize> {
    let keys: BTreeSet<&str> = values.schema.primary_key.iter().map(String::as_str).collect();
    let columns = values.schema.columns.iter().enumerate();
    columns.filter(|(_, column)| !column.nullable || keys.contains(column.name.as_str())).map(|(at, _)| at).collect()
}
