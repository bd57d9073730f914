//! Cell values and rows.

use std::collections::BTreeMap;
use std::sync::Arc;

/// One cell. Integer widths are the column type's business: a TINYINT and a BIGINT of the same number are equal.
#[derive(Clone, Debug)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// TINYINT, SMALLINT, INT and BIGINT.
    Int(i64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL: the unscaled number; the scale is the column type's.
    Decimal(i128),
    /// CHAR, VARCHAR and STRING.
    String(Arc<str>),
    /// BINARY, VARBINARY and BYTES.
    Bytes(Arc<[u8]>),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: milliseconds since midnight.
    Time(i32),
    /// TIMESTAMP and TIMESTAMP_LTZ: milliseconds since 1970-01-01T00:00 and nanoseconds within the millisecond.
    Timestamp {
        /// Milliseconds since the epoch; may be negative.
        millis: i64,
        /// 0 ..= 999,999.
        nanos_of_milli: u32,
    },
    /// ARRAY: its elements in order.
    Array(Arc<[Value]>),
    /// MAP: its keys, ascending and each once, with their values.
    Map(Arc<[(Value, Value)]>),
    /// ROW: its fields in order.
    Row(Row),
}

impl Value {
    /// A string cell.
    pub fn string(text: &str) -> Self {
        Self::String(Arc::from(text))
    }

    /// A map cell of these entries in any order; of entries with one key the last counts, as in Paimon.
    pub fn map(entries: Vec<(Value, Value)>) -> Self {
        if entries.is_sorted_by(|(key, _), (next, _)| key < next) {
            return Self::Map(Arc::from(entries));
        }
        let ascending: BTreeMap<Value, Value> = entries.into_iter().collect();
        Self::Map(ascending.into_iter().collect())
    }

    /// The number of an integer cell.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The text of a string cell.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Boolean(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Double(_) => 4,
            Self::Decimal(_) => 5,
            Self::String(_) => 6,
            Self::Bytes(_) => 7,
            Self::Date(_) => 8,
            Self::Time(_) => 9,
            Self::Timestamp { .. } => 10,
            Self::Array(_) => 11,
            Self::Map(_) => 12,
            Self::Row(_) => 13,
        }
    }
}

/// A total order: NULL first, then by type, floats by IEEE total order. Within one column it is the order of the
/// values.
impl Ord for Value {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Double(a), Self::Double(b)) => a.total_cmp(b),
            (Self::Decimal(a), Self::Decimal(b)) => a.cmp(b),
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) | (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Timestamp { millis: a, nanos_of_milli: x }, Self::Timestamp { millis: b, nanos_of_milli: y }) => {
                (a, x).cmp(&(b, y))
            }
            (Self::Array(a), Self::Array(b)) => a.cmp(b),
            (Self::Map(a), Self::Map(b)) => a.cmp(b),
            (Self::Row(a), Self::Row(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Value {}

impl std::hash::Hash for Value {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u8(self.rank());
        match self {
            Self::Null => {}
            Self::Boolean(value) => state.write_u8(u8::from(*value)),
            Self::Int(value) => state.write_i64(*value),
            Self::Float(value) => state.write_u32(value.to_bits()),
            Self::Double(value) => state.write_u64(value.to_bits()),
            Self::Decimal(value) => state.write_i128(*value),
            Self::String(value) => value.hash(state),
            Self::Bytes(value) => value.hash(state),
            Self::Date(value) | Self::Time(value) => state.write_i32(*value),
            Self::Timestamp { millis, nanos_of_milli } => {
                state.write_i64(*millis);
                state.write_u32(*nanos_of_milli);
            }
            Self::Array(elements) => elements.hash(state),
            Self::Map(entries) => entries.hash(state),
            Self::Row(row) => row.hash(state),
        }
    }
}

/// One row: its cells in the order of the schema's columns. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(Arc<[Value]>);

impl Row {
    /// A row of these cells.
    pub fn new(cells: Vec<Value>) -> Self {
        Self(Arc::from(cells))
    }

    /// The cells in schema order.
    pub fn cells(&self) -> &[Value] {
        &self.0
    }

    /// The cells at these positions, as a row of their own: a key, a partition.
    pub fn project(&self, positions: &[usize]) -> Row {
        Row(positions.iter().map(|position| self.0[*position].clone()).collect())
    }
}

impl std::ops::Index<usize> for Row {
    type Output = Value;

    fn index(&self, position: usize) -> &Value {
        &self.0[position]
    }
}

/// What a changelog entry does. The numbers are Paimon's `_VALUE_KIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum RowKind {
    /// `+I`: a key, or an append row, that was not there.
    #[serde(rename = "+I")]
    Insert = 0,
    /// `-U`: the row before an update.
    #[serde(rename = "-U")]
    UpdateBefore = 1,
    /// `+U`: the row after an update.
    #[serde(rename = "+U")]
    UpdateAfter = 2,
    /// `-D`: the row that is deleted.
    #[serde(rename = "-D")]
    Delete = 3,
}

impl RowKind {
    /// Whether the row is present after this entry.
    pub fn adds(self) -> bool {
        matches!(self, Self::Insert | Self::UpdateAfter)
    }

    /// From Paimon's number.
    pub fn from_number(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Insert,
            1 => Self::UpdateBefore,
            2 => Self::UpdateAfter,
            3 => Self::Delete,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maps_keys_are_ascending_and_the_last_of_equal_ones_counts() {
        let entry = |key: i64, value: &str| (Value::Int(key), Value::string(value));
        let map = Value::map(vec![entry(2, "old"), entry(-1, "a"), entry(2, "new")]);
        assert_eq!(map, Value::Map([entry(-1, "a"), entry(2, "new")].into()));
    }
}
