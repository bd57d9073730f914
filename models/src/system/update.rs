//! UPDATE, and DELETE of all rows that match (rule 40, C23): on the side that the route says, and never on the other.
//!
//! Both read first and then write whole rows, so another session's write between the two is overwritten, as by every
//! engine that updates without a transaction. Keys stay: a row with another key is another row.

use std::collections::BTreeMap;

use crate::contract::{
    Failure, FailureCode, Filter, Output, Row, RowKind, StoreTable, TablePath, TableSchema, Value, coerce,
};
use crate::paimon::PaimonTable;

use super::client::Client;
use super::filter::BoundFilter;
use super::layout::ColumnMapping;
use super::union_read::UnionSource;

/// The merge engines under which writing a whole row makes it the key's row. Paimon updates under these only.
const UPDATABLE_MERGE_ENGINES: [&str; 2] = ["deduplicate", "partial-update"];
const MERGE_ENGINE: &str = "merge-engine";

/// New values by column, bound to a table's columns.
struct Assignments(Vec<(usize, Value)>);

impl Assignments {
    /// `invalid` if a column is unknown, part of a key, or NOT NULL and set to NULL, or if a value cannot be of its
    /// column's type.
    fn bind(set: &BTreeMap<String, Value>, schema: &TableSchema) -> Result<Self, Failure> {
        if set.is_empty() {
            return Err(Failure::invalid("expected new values for one column or more, found none"));
        }
        let bind = |(name, value): (&String, &Value)| {
            let Some(position) = schema.position(name) else {
                let known: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
                return Err(Failure::invalid(format!(
                    "expected to set columns among [{}], found `{name}`",
                    known.join(", ")
                )));
            };
            if schema.primary_key.contains(name) || schema.partition_keys.contains(name) {
                return Err(Failure::invalid(format!(
                    "expected to set columns other than those of the keys, found `{name}`: delete the row and insert \
                     another one"
                )));
            }
            let column = &schema.columns[position];
            if value.is_null() && !column.nullable {
                return Err(Failure::invalid(format!("column `{name}` is NOT NULL but is set to NULL")));
            }
            let value = coerce(value.clone(), &column.data_type)
                .map_err(|found| Failure::invalid(format!("column `{name}`: {found}")))?;
            Ok((position, value))
        };
        set.iter().map(bind).collect::<Result<Vec<_>, Failure>>().map(Self)
    }

    fn applied_to(&self, row: &Row) -> Row {
        let mut cells = row.cells().to_vec();
        for (position, value) in &self.0 {
            cells[*position] = value.clone();
        }
        Row::new(cells)
    }
}

impl Client {
    /// UPDATE of a table in the mode: the rows that match in the union, upserted with the new values.
    pub(super) async fn update_in_store(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        set: &BTreeMap<String, Value>,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        let store_table = self.store_table(path).await?;
        self.require_key_in_store(&store_table, "updates")?;
        let set = Assignments::bind(set, &store_table.schema)?;
        let rows = self.matching_in_union(table, &store_table, filter).await?;
        self.put_into_store(table, &store_table, rows.iter().map(|row| set.applied_to(row)).collect()).await
    }

    /// DELETE of the rows that match, from a table in the mode.
    pub(super) async fn delete_matching_from_store(
        &self,
        path: &TablePath,
        table: &PaimonTable,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        let store_table = self.store_table(path).await?;
        self.require_key_in_store(&store_table, "deletes")?;
        let rows = self.matching_in_union(table, &store_table, filter).await?;
        self.delete_rows_from_store(table, &store_table, rows).await
    }

    /// The freshest rows that match, in the store's columns.
    async fn matching_in_union(
        &self,
        table: &PaimonTable,
        store_table: &StoreTable,
        filter: &Filter,
    ) -> Result<Vec<Row>, Failure> {
        let filter = BoundFilter::bind(filter, table.schema())?;
        let found = UnionSource::new(self, table, store_table).read(&filter, None).await?;
        let mapping = ColumnMapping::between(table.schema(), &store_table.schema);
        Ok(found.rows.into_iter().map(|row| mapping.map(row)).collect())
    }

    /// UPDATE as Paimon has it.
    pub(super) async fn update_in_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        set: &BTreeMap<String, Value>,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        let schema = table.schema();
        if !schema.has_primary_key() {
            return Err(unsupported("expected a table with a primary key to update, found one without"));
        }
        let merge_engine = schema.options.get(MERGE_ENGINE).map_or(UPDATABLE_MERGE_ENGINES[0], String::as_str);
        if !UPDATABLE_MERGE_ENGINES.contains(&merge_engine) {
            return Err(unsupported(&format!(
                "expected a table with one of the merge engines [{}] to update, found `{merge_engine}`",
                UPDATABLE_MERGE_ENGINES.join(", ")
            )));
        }
        let set = Assignments::bind(set, schema)?;
        let rows = self.matching_in_lake(table, filter).await?;
        let rows = rows.iter().map(|row| set.applied_to(row)).collect();
        self.append_to_lake(operation_id, table, RowKind::Insert, rows).await
    }

    /// DELETE of the rows that match, as Paimon has it.
    pub(super) async fn delete_matching_from_lake(
        &self,
        operation_id: &str,
        table: &PaimonTable,
        filter: &Filter,
    ) -> Result<Output, Failure> {
        if !table.schema().has_primary_key() {
            return Err(unsupported("expected a table with a primary key to delete rows from, found one without"));
        }
        let rows = self.matching_in_lake(table, filter).await?;
        self.append_to_lake(operation_id, table, RowKind::Delete, rows).await
    }

    async fn matching_in_lake(&self, table: &PaimonTable, filter: &Filter) -> Result<Vec<Row>, Failure> {
        let filter = BoundFilter::bind(filter, table.schema())?;
        match self.patience.read(async || table.latest_snapshot().await).await? {
            Some(snapshot) => self.scan_lake(table, &snapshot, &filter).await,
            None => Ok(Vec::new()),
        }
    }
}

fn unsupported(message: &str) -> Failure {
    Failure::definite(FailureCode::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TableSchema {
        serde_json::from_str(
            r#"{"columns":[{"name":"id","type":"BIGINT","nullable":false},{"name":"d","type":"DATE"},
                           {"name":"n","type":"INT","nullable":false}],"primary_key":["id"]}"#,
        )
        .unwrap()
    }

    fn bind(column: &str, value: Value) -> Result<Assignments, Failure> {
        Assignments::bind(&BTreeMap::from([(column.to_owned(), value)]), &schema())
    }

    #[test]
    fn new_values_are_of_their_columns_type_and_the_other_cells_stay() {
        let row = Row::new(vec![Value::Int(1), Value::Null, Value::Int(3)]);
        let updated = bind("d", Value::string("1970-01-03")).unwrap().applied_to(&row);
        assert_eq!(updated, Row::new(vec![Value::Int(1), Value::Date(2), Value::Int(3)]));
    }

    #[test]
    fn keys_unknown_columns_and_null_where_there_is_none_cannot_be_set() {
        for (column, value) in
            [("id", Value::Int(2)), ("colour", Value::Int(2)), ("n", Value::Null), ("d", Value::string("a day"))]
        {
            let failure = bind(column, value).err().unwrap();
            assert!(failure.code == FailureCode::Invalid && failure.message.contains(column), "{failure}");
        }
        assert_eq!(Assignments::bind(&BTreeMap::new(), &schema()).err().unwrap().code, FailureCode::Invalid);
    }
}
