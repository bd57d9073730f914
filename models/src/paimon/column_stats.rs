//! Column statistics: the least and greatest value and the number of NULLs of each column of a file.

use crate::contract::{DataType, Row, Value};

use super::{FormatResult, binary_row};

/// Statistics as manifests hold them. The rows are bytes because their types are the file's schema's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleStats {
    /// The least value of each column, a serialised binary row; NULL where a column has no values or is nested.
    pub min_values: Vec<u8>,
    /// The greatest value of each column, a serialised binary row; NULL where a column has no values or is nested.
    pub max_values: Vec<u8>,
    /// The number of NULLs of each column; `None` where it is unknown.
    pub null_counts: Vec<Option<i64>>,
}

impl SimpleStats {
    /// The statistics of these rows, each of one cell for each type.
    pub fn of<'a>(types: &[DataType], rows: impl Iterator<Item = &'a Row>) -> FormatResult<Self> {
        let mut least = vec![&Value::Null; types.len()];
        let mut greatest = least.clone();
        let mut null_counts = vec![0; types.len()];
        for row in rows {
            for (column, cell) in row.cells().iter().take(types.len()).enumerate() {
                if cell.is_null() {
                    null_counts[column] += 1;
                    continue;
                }
                if types[column].is_nested() {
                    continue;
                }
                if least[column].is_null() || cell < least[column] {
                    least[column] = cell;
                }
                // NULL is less than every value.
                if cell > greatest[column] {
                    greatest[column] = cell;
                }
            }
        }
        let serialize =
            |cells: Vec<&Value>| binary_row::serialize(types, &Row::new(cells.into_iter().cloned().collect()));
        Ok(Self {
            min_values: serialize(least)?,
            max_values: serialize(greatest)?,
            null_counts: null_counts.into_iter().map(Some).collect(),
        })
    }

    /// The statistics of no columns.
    pub fn empty() -> Self {
        // A row of no fields: the arity, then the header.
        Self { min_values: vec![0; 12], max_values: vec![0; 12], null_counts: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_counted_and_never_least() {
        let types = [DataType::Int, DataType::STRING, DataType::Double];
        let rows = [
            Row::new(vec![Value::Int(3), Value::Null, Value::Null]),
            Row::new(vec![Value::Null, Value::string("b"), Value::Null]),
            Row::new(vec![Value::Int(-3), Value::string("a"), Value::Null]),
        ];
        let stats = SimpleStats::of(&types, rows.iter()).unwrap();
        let least = Row::new(vec![Value::Int(-3), Value::string("a"), Value::Null]);
        let greatest = Row::new(vec![Value::Int(3), Value::string("b"), Value::Null]);
        assert_eq!(binary_row::deserialize(&types, &stats.min_values).unwrap(), least);
        assert_eq!(binary_row::deserialize(&types, &stats.max_values).unwrap(), greatest);
        assert_eq!(stats.null_counts, [Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn nested_columns_have_a_null_count_only() {
        let types = ["ARRAY<INT>".parse().unwrap()];
        let rows = [Row::new(vec![Value::Null]), Row::new(vec![Value::Array([Value::Int(1)].into())])];
        let stats = SimpleStats::of(&types, rows.iter()).unwrap();
        let nothing = Row::new(vec![Value::Null]);
        assert_eq!(binary_row::deserialize(&types, &stats.min_values).unwrap(), nothing);
        assert_eq!(binary_row::deserialize(&types, &stats.max_values).unwrap(), nothing);
        assert_eq!(stats.null_counts, [Some(1)]);
    }

    #[test]
    fn no_columns_are_the_empty_statistics() {
        assert_eq!(SimpleStats::of(&[], [].iter()).unwrap(), SimpleStats::empty());
    }
}
