//! Aggregate functions: how the values of one column become one (Paimon's option `fields.<f>.aggregate-function`).
//!
//! A function sees one column of one key. Which changes it sees, and in which order, is its engine's business.

mod collections;

use crate::contract::{DataType, Value};

use self::collections::{append_distinct_tokens, append_elements, merge_entries, remove_elements, remove_entries};
use super::numbers::{difference, is_numeric, negative, product, quotient, sum};
use super::{FormatError, FormatResult};

/// The function of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldFunction {
    kind: FunctionKind,
    column: String,
    data_type: DataType,
    /// Whether values that are taken back are passed over (option `fields.<f>.ignore-retract`).
    ignores_retraction: bool,
}

/// Which function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FunctionKind {
    /// A column of the primary key: all values are the same.
    PrimaryKey,
    /// The newest value, be it NULL.
    LastValue,
    /// The newest value that is not NULL.
    LastNonNullValue,
    /// The oldest value, be it NULL.
    FirstValue,
    /// The oldest value that is not NULL.
    FirstNonNullValue,
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// Whether all are true.
    BoolAnd,
    /// Whether any is true.
    BoolOr,
    /// The texts one after another.
    ListAggregate {
        /// What stands between two texts.
        delimiter: String,
        /// Whether a text that is there is not added again.
        distinct: bool,
    },
    /// The elements of all arrays.
    Collect {
        /// Whether an element that is there is not added again.
        distinct: bool,
    },
    /// The entries of all maps; of a key that is in several, the newest.
    MergeMap,
}

/// What a function remembers beside the value that it has so far, while one key is merged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Whether the first value was met.
    met_first: bool,
}

impl FieldFunction {
    /// A function of a column; an error if the function is not defined for the column's type.
    pub(super) fn new(
        kind: FunctionKind,
        column: &str,
        data_type: &DataType,
        ignores_retraction: bool,
    ) -> FormatResult<Self> {
        let expected = match &kind {
            FunctionKind::Sum | FunctionKind::Product if !is_numeric(data_type) => "a number",
            FunctionKind::Min | FunctionKind::Max if !is_ordered(data_type) => "a number, text, time or bytes",
            FunctionKind::BoolAnd | FunctionKind::BoolOr if *data_type != DataType::Boolean => "BOOLEAN",
            FunctionKind::ListAggregate { .. } if *data_type != DataType::STRING => "STRING",
            FunctionKind::Collect { .. } if !matches!(data_type, DataType::Array(_)) => "an ARRAY",
            FunctionKind::MergeMap if !matches!(data_type, DataType::Map(_)) => "a MAP",
            _ => {
                let (column, data_type) = (column.to_owned(), data_type.clone());
                return Ok(Self { kind, column, data_type, ignores_retraction });
            }
        };
        Err(FormatError::new(format!(
            "expected the type of column `{column}` to be {expected} for aggregate function {}, found {data_type}",
            kind.name()
        )))
    }

    /// The value after one more.
    pub(super) fn add(&self, progress: &mut Progress, accumulated: &Value, input: &Value) -> FormatResult<Value> {
        match &self.kind {
            FunctionKind::PrimaryKey | FunctionKind::LastValue => return Ok(input.clone()),
            FunctionKind::FirstValue if !progress.met_first => {
                progress.met_first = true;
                return Ok(input.clone());
            }
            FunctionKind::FirstNonNullValue if !progress.met_first && !input.is_null() => {
                progress.met_first = true;
                return Ok(input.clone());
            }
            FunctionKind::FirstValue | FunctionKind::FirstNonNullValue => return Ok(accumulated.clone()),
            FunctionKind::Collect { distinct } => return Ok(append_elements(accumulated, input, *distinct)),
            _ => {}
        }
        // The others pass NULL over.
        match (accumulated, input) {
            (_, Value::Null) => Ok(accumulated.clone()),
            (Value::Null, _) => Ok(input.clone()),
            _ => self.add_value(accumulated, input),
        }
    }

    /// The value after one more; neither is NULL.
    fn add_value(&self, accumulated: &Value, input: &Value) -> FormatResult<Value> {
        let value = match &self.kind {
            FunctionKind::Sum => return sum(&self.data_type, accumulated, input),
            FunctionKind::Product => return product(&self.data_type, accumulated, input),
            FunctionKind::Min => accumulated.min(input).clone(),
            FunctionKind::Max => accumulated.max(input).clone(),
            FunctionKind::BoolAnd => Value::Boolean(is_true(accumulated) && is_true(input)),
            FunctionKind::BoolOr => Value::Boolean(is_true(accumulated) || is_true(input)),
            FunctionKind::ListAggregate { delimiter, distinct } => {
                match (accumulated.as_str().unwrap_or_default(), input.as_str().unwrap_or_default()) {
                    (_, "") => accumulated.clone(),
                    ("", _) => input.clone(),
                    (list, more) if *distinct => append_distinct_tokens(list, more, delimiter),
                    (list, more) => Value::string(&[list, more].join(delimiter)),
                }
            }
            FunctionKind::MergeMap => merge_entries(accumulated, input),
            _ => input.clone(),
        };
        Ok(value)
    }

    /// The value after one that is older by its sequence group than what was accumulated.
    pub(super) fn add_older(&self, progress: &mut Progress, accumulated: &Value, input: &Value) -> FormatResult<Value> {
        match self.kind {
            // Arrays have no order to restore.
            FunctionKind::Collect { .. } => self.add(progress, accumulated, input),
            _ => self.add(progress, input, accumulated),
        }
    }

    /// The value after one is taken back by a `-U` or `-D`.
    pub(super) fn retract(&self, accumulated: &Value, input: &Value) -> FormatResult<Value> {
        if self.ignores_retraction {
            return Ok(accumulated.clone());
        }
        match (&self.kind, accumulated, input) {
            (FunctionKind::PrimaryKey, ..) => Ok(input.clone()),
            (FunctionKind::LastValue, ..) => Ok(Value::Null),
            (FunctionKind::LastNonNullValue, _, Value::Null) => Ok(accumulated.clone()),
            (FunctionKind::LastNonNullValue, ..) => Ok(Value::Null),
            (FunctionKind::Sum, Value::Null, _) => negative(&self.data_type, input),
            (FunctionKind::Sum | FunctionKind::Product, _, Value::Null) => Ok(accumulated.clone()),
            (FunctionKind::Sum, ..) => difference(&self.data_type, accumulated, input),
            (FunctionKind::Product, Value::Null, _) => Ok(Value::Null),
            (FunctionKind::Product, ..) => quotient(&self.data_type, accumulated, input),
            (FunctionKind::Collect { .. }, ..) => Ok(remove_elements(accumulated, input)),
            (FunctionKind::MergeMap, ..) => Ok(remove_entries(accumulated, input)),
            _ => Err(self.cannot_retract()),
        }
    }

    /// Whether the function can take values back.
    pub(super) fn check_retraction(&self) -> FormatResult<()> {
        match &self.kind {
            _ if self.ignores_retraction => Ok(()),
            FunctionKind::PrimaryKey
            | FunctionKind::LastValue
            | FunctionKind::LastNonNullValue
            | FunctionKind::Sum
            | FunctionKind::Product
            | FunctionKind::Collect { .. }
            | FunctionKind::MergeMap => Ok(()),
            _ => Err(self.cannot_retract()),
        }
    }

    fn cannot_retract(&self) -> FormatError {
        FormatError::new(format!(
            "expected no delete: aggregate function {} of column `{column}` cannot take a value back; set \
             `fields.{column}.ignore-retract` to pass deletes over",
            self.kind.name(),
            column = self.column
        ))
    }
}

impl FunctionKind {
    /// The function's name in table options.
    fn name(&self) -> &'static str {
        match self {
            Self::PrimaryKey => "primary-key",
            Self::LastValue => "last_value",
            Self::LastNonNullValue => "last_non_null_value",
            Self::FirstValue => "first_value",
            Self::FirstNonNullValue => "first_non_null_value",
            Self::Sum => "sum",
            Self::Product => "product",
            Self::Min => "min",
            Self::Max => "max",
            Self::BoolAnd => "bool_and",
            Self::BoolOr => "bool_or",
            Self::ListAggregate { .. } => "listagg",
            Self::Collect { .. } => "collect",
            Self::MergeMap => "merge_map",
        }
    }
}

fn is_true(cell: &Value) -> bool {
    matches!(cell, Value::Boolean(true))
}

/// Whether values of the type have a least and a greatest, as Paimon compares them.
fn is_ordered(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Boolean | DataType::Array(_) | DataType::Map(_) | DataType::Row(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(kind: FunctionKind, data_type: DataType) -> FieldFunction {
        FieldFunction::new(kind, "v", &data_type, false).unwrap()
    }

    /// The value after these, oldest first.
    fn folded(function: &FieldFunction, inputs: &[Value]) -> Value {
        let mut progress = Progress::default();
        inputs.iter().fold(Value::Null, |accumulated, input| function.add(&mut progress, &accumulated, input).unwrap())
    }

    #[test]
    fn functions_of_numbers_pass_null_over() {
        let numbers = [Value::Null, Value::Int(4), Value::Null, Value::Int(-3), Value::Int(5), Value::Null];
        for (kind, expected) in [
            (FunctionKind::Sum, Value::Int(6)),
            (FunctionKind::Product, Value::Int(-60)),
            (FunctionKind::Min, Value::Int(-3)),
            (FunctionKind::Max, Value::Int(5)),
            (FunctionKind::LastValue, Value::Null),
            (FunctionKind::LastNonNullValue, Value::Int(5)),
            (FunctionKind::FirstValue, Value::Null),
            (FunctionKind::FirstNonNullValue, Value::Int(4)),
        ] {
            assert_eq!(folded(&function(kind.clone(), DataType::BigInt), &numbers), expected, "{kind:?}");
        }
    }

    #[test]
    fn texts_are_joined_and_empty_ones_are_not() {
        let list = |distinct| FunctionKind::ListAggregate { delimiter: ",".to_owned(), distinct };
        let texts = ["a", "", "b", "a,c"].map(Value::string);
        assert_eq!(folded(&function(list(false), DataType::STRING), &texts), Value::string("a,b,a,c"));
        assert_eq!(folded(&function(list(true), DataType::STRING), &texts), Value::string("a,b,c"));
    }

    #[test]
    fn truths_are_combined() {
        let truths = [Value::Boolean(true), Value::Null, Value::Boolean(false)];
        assert_eq!(folded(&function(FunctionKind::BoolAnd, DataType::Boolean), &truths), Value::Boolean(false));
        assert_eq!(folded(&function(FunctionKind::BoolOr, DataType::Boolean), &truths), Value::Boolean(true));
    }

    #[test]
    fn an_older_value_is_put_before_what_is_there() {
        let list = FunctionKind::ListAggregate { delimiter: "|".to_owned(), distinct: false };
        let older = |kind, data_type, accumulated: Value, input: Value| {
            function(kind, data_type).add_older(&mut Progress { met_first: true }, &accumulated, &input).unwrap()
        };
        assert_eq!(older(list, DataType::STRING, Value::string("b"), Value::string("a")), Value::string("a|b"));
        assert_eq!(older(FunctionKind::LastValue, DataType::Int, Value::Int(2), Value::Int(1)), Value::Int(2));
        assert_eq!(older(FunctionKind::FirstValue, DataType::Int, Value::Int(2), Value::Int(1)), Value::Int(1));
        assert_eq!(older(FunctionKind::Sum, DataType::Int, Value::Int(2), Value::Int(1)), Value::Int(3));
    }

    #[test]
    fn values_are_taken_back_where_that_is_defined() {
        let retracted = |kind, accumulated: Value, input: Value| {
            function(kind, DataType::Int).retract(&accumulated, &input).map_err(|error| error.to_string())
        };
        let int = Value::Int;
        assert_eq!(retracted(FunctionKind::Sum, int(5), int(3)), Ok(int(2)));
        assert_eq!(retracted(FunctionKind::Sum, Value::Null, int(3)), Ok(int(-3)));
        assert_eq!(retracted(FunctionKind::Sum, int(5), Value::Null), Ok(int(5)));
        assert_eq!(retracted(FunctionKind::Product, int(6), int(3)), Ok(int(2)));
        assert_eq!(retracted(FunctionKind::Product, Value::Null, int(3)), Ok(Value::Null));
        assert_eq!(retracted(FunctionKind::LastValue, int(5), Value::Null), Ok(Value::Null));
        assert_eq!(retracted(FunctionKind::LastNonNullValue, int(5), Value::Null), Ok(int(5)));
        assert_eq!(retracted(FunctionKind::LastNonNullValue, int(5), int(1)), Ok(Value::Null));
        assert!(retracted(FunctionKind::Min, int(5), int(5)).unwrap_err().contains("`fields.v.ignore-retract`"));
        let patient = FieldFunction::new(FunctionKind::Min, "v", &DataType::Int, true).unwrap();
        assert_eq!(patient.retract(&int(5), &int(1)), Ok(int(5)));
        assert_eq!(patient.check_retraction(), Ok(()));
    }

    #[test]
    fn functions_want_types_that_they_are_defined_for() {
        let list = || FunctionKind::ListAggregate { delimiter: String::new(), distinct: false };
        for (kind, data_type) in [
            (FunctionKind::Sum, DataType::STRING),
            (FunctionKind::Product, DataType::Date),
            (FunctionKind::Max, DataType::Boolean),
            (FunctionKind::BoolOr, DataType::Int),
            (list(), DataType::VarChar(10)),
            (FunctionKind::Collect { distinct: true }, DataType::STRING),
            (FunctionKind::MergeMap, DataType::STRING),
        ] {
            let error = FieldFunction::new(kind.clone(), "v", &data_type, false).unwrap_err().to_string();
            assert!(error.contains(kind.name()) && error.contains(&data_type.to_string()), "{error}");
        }
    }
}
