//! Column statistics: the least and greatest value and the number of NULLs of each column of a file.

use std::sync::Arc;

use crate::contract::{DataType, Row, Value};

use super::{FormatResult, binary_row};

/// How many characters of a text the statistics of a table's columns keep, Paimon's default.
pub const VALUE_CHARACTERS: usize = 16;
/// How many characters of a text the statistics of a file's key columns keep.
pub const KEY_CHARACTERS: usize = 128;

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
    /// The statistics of these rows, each of one cell for each type. Bytes and nested cells have no least and
    /// greatest value here: Paimon writes none, and its readers would compare bytes as signed.
    pub fn of<'a>(types: &[DataType], rows: impl Iterator<Item = &'a Row>) -> FormatResult<Self> {
        Self::with_texts_of(usize::MAX, types, rows)
    }

    /// Like [`Self::of`], but no text is longer than this many characters: longer ones become a shorter text that is not
    /// greater, or not less. Where there is none such, the column has neither a least nor a greatest value.
    pub fn with_texts_of<'a>(
        most_characters: usize,
        types: &[DataType],
        rows: impl Iterator<Item = &'a Row>,
    ) -> FormatResult<Self> {
        let mut least = vec![&Value::Null; types.len()];
        let mut greatest = least.clone();
        let mut null_counts = vec![0; types.len()];
        for row in rows {
            for (column, cell) in row.cells().iter().take(types.len()).enumerate() {
                if cell.is_null() {
                    null_counts[column] += 1;
                    continue;
                }
                if types[column].is_nested() || matches!(types[column], DataType::Binary(_) | DataType::VarBinary(_)) {
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
        let bounds = least.into_iter().zip(greatest).map(|(least, greatest)| match (least, greatest) {
            (Value::String(least), Value::String(greatest)) => shorter_bounds(most_characters, least, greatest),
            (least, greatest) => (least.clone(), greatest.clone()),
        });
        let (least, greatest) = bounds.unzip();
        Ok(Self {
            min_values: binary_row::serialize(types, &Row::new(least))?,
            max_values: binary_row::serialize(types, &Row::new(greatest))?,
            null_counts: null_counts.into_iter().map(Some).collect(),
        })
    }

    /// The statistics of no columns.
    pub fn empty() -> Self {
        // A row of no fields: the arity, then the header.
        Self { min_values: vec![0; 12], max_values: vec![0; 12], null_counts: Vec::new() }
    }
}

/// Bounds of at most this many characters; NULL both if there is no such upper bound.
fn shorter_bounds(most_characters: usize, least: &Arc<str>, greatest: &Arc<str>) -> (Value, Value) {
    let end = |text: &str| text.char_indices().nth(most_characters).map(|(end, _)| end);
    let lower = end(least).map_or_else(|| Value::String(Arc::clone(least)), |end| Value::string(&least[..end]));
    match end(greatest) {
        None => (lower, Value::String(Arc::clone(greatest))),
        Some(end) => next_text(&greatest[..end]).map_or((Value::Null, Value::Null), |upper| (lower, upper)),
    }
}

/// A text of no more characters that is greater than every text that begins with this one.
fn next_text(beginning: &str) -> Option<Value> {
    beginning.char_indices().rev().find_map(|(start, last)| {
        // The range leaves the surrogates out, which are no characters.
        let next = (last..=char::MAX).nth(1)?;
        Some(Value::string(&format!("{}{next}", &beginning[..start])))
    })
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
    fn bytes_have_no_least_and_greatest() {
        let bytes = |content: &[u8]| Row::new(vec![Value::Bytes(content.into())]);
        for data_type in [DataType::BYTES, DataType::Binary(1)] {
            let rows = [bytes(&[0xff]), bytes(&[0x00]), Row::new(vec![Value::Null])];
            let stats = SimpleStats::of(std::slice::from_ref(&data_type), rows.iter()).unwrap();
            let none = binary_row::serialize(&[data_type], &Row::new(vec![Value::Null])).unwrap();
            assert_eq!((stats.min_values, stats.max_values), (none.clone(), none));
            assert_eq!(stats.null_counts, [Some(1)]);
        }
    }

    #[test]
    fn long_texts_become_shorter_bounds() {
        let bounds = |most: usize, text: &str| {
            let rows = [Row::new(vec![Value::string(text)])];
            let stats = SimpleStats::with_texts_of(most, &[DataType::STRING], rows.iter()).unwrap();
            let cell = |bytes: &[u8]| binary_row::deserialize(&[DataType::STRING], bytes).unwrap()[0].clone();
            (cell(&stats.min_values), cell(&stats.max_values))
        };
        let texts = |least: &str, greatest: &str| (Value::string(least), Value::string(greatest));
        assert_eq!(bounds(3, "abc"), texts("abc", "abc"));
        assert_eq!(bounds(3, "abcd"), texts("abc", "abd"));
        assert_eq!(bounds(2, "äöü"), texts("äö", "ä÷"));
        assert_eq!(bounds(2, "a\u{d7ff}z"), texts("a\u{d7ff}", "a\u{e000}"));
        assert_eq!(bounds(2, "a\u{10ffff}z"), texts("a\u{10ffff}", "b"));
        assert_eq!(bounds(1, "\u{10ffff}z"), (Value::Null, Value::Null));
    }

    #[test]
    fn no_columns_are_the_empty_statistics() {
        assert_eq!(SimpleStats::of(&[], [].iter()).unwrap(), SimpleStats::empty());
    }
}
