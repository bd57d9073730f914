//! The order of changes by columns of the table: Paimon's options `sequence.field` and `fields.<f>.sequence-group`.

use std::cmp::Ordering;

use crate::contract::Row;

/// Columns whose values say which of two changes is newer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SequenceOrder {
    /// The columns, the most significant first.
    pub(super) positions: Vec<usize>,
    /// Whether the lower value is the newer one.
    pub(super) descending: bool,
}

impl SequenceOrder {
    /// Whether there are no such columns: then all changes are equal.
    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The newer row is the greater. NULL is older than every value, in either direction.
    pub(super) fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let compare_cells = |position: &usize| {
            let (a, b) = (&a[*position], &b[*position]);
            let reversed = self.descending && !a.is_null() && !b.is_null();
            if reversed { b.cmp(a) } else { a.cmp(b) }
        };
        self.positions.iter().map(compare_cells).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Value;

    fn row(cells: [Option<i64>; 2]) -> Row {
        Row::new(cells.map(|cell| cell.map_or(Value::Null, Value::Int)).to_vec())
    }

    #[test]
    fn null_is_the_oldest_in_either_direction() {
        for descending in [false, true] {
            let order = SequenceOrder { positions: vec![0, 1], descending };
            assert_eq!(order.compare(&row([None, Some(1)]), &row([Some(1), None])), Ordering::Less);
            let (low, high) = (row([Some(1), Some(1)]), row([Some(1), Some(2)]));
            assert_eq!(order.compare(&low, &high), if descending { Ordering::Greater } else { Ordering::Less });
            assert_eq!(order.compare(&low, &low), Ordering::Equal);
        }
    }
}
