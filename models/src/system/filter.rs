//! A filter, bound to a table's columns.
//!
//! It must never know which side answers: lake and log are filtered by the same rule, so that they agree (L17).

use std::collections::BTreeMap;

use crate::contract::{Failure, Filter, Row, TableSchema, Value, coerce};

/// `column = value` for some columns; all must match, NULL equals NULL.
pub(super) struct BoundFilter {
    /// With each value of its column's type, as the lake's scan takes it.
    by_name: Filter,
    by_position: Vec<(usize, Value)>,
}

impl BoundFilter {
    /// A filter that every row passes.
    pub(super) fn everything() -> Self {
        Self { by_name: Filter::new(), by_position: Vec::new() }
    }

    /// Binds names to positions and values to types. `invalid` if a column is unknown or a value cannot be of its type.
    pub(super) fn bind(filter: &Filter, schema: &TableSchema) -> Result<Self, Failure> {
        let mut bound = Self::everything();
        for (name, value) in filter {
            let position = schema.position(name).ok_or_else(|| {
                let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
                Failure::invalid(format!("expected a filter on columns among [{}], found `{name}`", known.join(", ")))
            })?;
            let value = coerce(value.clone(), &schema.columns[position].data_type)
                .map_err(|found| Failure::invalid(format!("filter on column `{name}`: {found}")))?;
            bound.by_name.insert(name.clone(), value.clone());
            bound.by_position.push((position, value));
        }
        Ok(bound)
    }

    /// Binds the key of a point lookup. `invalid` unless it is exactly the primary key, without NULL.
    pub(super) fn bind_key(key: &BTreeMap<String, Value>, schema: &TableSchema) -> Result<Self, Failure> {
        let is_the_key = schema.has_primary_key()
            && key.len() == schema.primary_key.len()
            && schema.primary_key.iter().all(|column| key.get(column).is_some_and(|value| !value.is_null()));
        if !is_the_key {
            let given: Vec<&str> = key.keys().map(String::as_str).collect();
            return Err(Failure::invalid(format!(
                "expected a value for each column of the primary key [{}], found values for [{}]",
                schema.primary_key.join(", "),
                given.join(", "),
            )));
        }
        Self::bind(key, schema)
    }

    /// Whether every row passes.
    pub(super) fn is_everything(&self) -> bool {
        self.by_position.is_empty()
    }

    /// As the lake's scan takes it.
    pub(super) fn by_name(&self) -> &Filter {
        &self.by_name
    }

    /// Whether this row passes.
    pub(super) fn matches(&self, row: &Row) -> bool {
        self.by_position.iter().all(|(position, value)| row[*position] == *value)
    }

    /// A row with the filter's values, and NULL elsewhere: enough to compute the bucket of a key.
    pub(super) fn row(&self, schema: &TableSchema) -> Row {
        let mut cells = vec![Value::Null; schema.columns.len()];
        for (position, value) in &self.by_position {
            cells[*position] = value.clone();
        }
        Row::new(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TableSchema {
        serde_json::from_str(
            r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"day","type":"DATE"}],
                "primary_key":["id"]}"#,
        )
        .unwrap()
    }

    #[test]
    fn values_are_compared_as_their_columns_type_and_null_equals_null() {
        let day = Filter::from([("day".to_owned(), Value::string("1970-01-03"))]);
        let bound = BoundFilter::bind(&day, &schema()).unwrap();
        assert!(bound.matches(&Row::new(vec![Value::Int(1), Value::Date(2)])));
        assert!(!bound.matches(&Row::new(vec![Value::Int(1), Value::Null])));
        let no_day = Filter::from([("day".to_owned(), Value::Null)]);
        assert!(BoundFilter::bind(&no_day, &schema()).unwrap().matches(&Row::new(vec![Value::Int(1), Value::Null])));
    }

    #[test]
    fn an_unknown_column_is_named_and_a_lookup_needs_the_whole_key() {
        let unknown = Filter::from([("colour".to_owned(), Value::Int(1))]);
        assert!(BoundFilter::bind(&unknown, &schema()).err().unwrap().message.contains("`colour`"));
        assert!(BoundFilter::bind_key(&BTreeMap::new(), &schema()).err().unwrap().message.contains("[id]"));
        let null = BTreeMap::from([("id".to_owned(), Value::Null)]);
        assert!(BoundFilter::bind_key(&null, &schema()).is_err());
    }
}
