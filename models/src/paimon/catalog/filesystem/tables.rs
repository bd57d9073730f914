//! The tables that there are.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{Failure, TablePath};

use super::super::guarded::table_if_present;
use super::FilesystemCatalog;
use super::databases::{check_database_name, database_directory};

impl FilesystemCatalog {
    /// The tables of a database, ascending; `not-found` if there is no such database.
    pub async fn list_tables(&self, database: &str) -> Result<Vec<String>, Failure> {
        check_database_name(database)?;
        let directory = database_directory(database);
        let files = self.lake.objects.list(&directory).await?;
        if files.is_empty() {
            self.require_database(database).await?;
        }
        let table_of = |file: &String| {
            let (table, rest) = file.strip_prefix(&directory)?.strip_prefix('/')?.split_once('/')?;
            rest.starts_with("schema/schema-").then(|| table.to_owned())
        };
        Ok(files.iter().filter_map(table_of).collect::<BTreeSet<String>>().into_iter().collect())
    }

    /// The options of every table of the warehouse, as Paimon's system table of all options has them.
    pub async fn list_table_options(&self) -> Result<BTreeMap<TablePath, BTreeMap<String, String>>, Failure> {
        let mut options = BTreeMap::new();
        for database in self.list_databases().await? {
            for table in self.list_tables(&database).await? {
                let path = TablePath::new(&database, &table);
                // One that was dropped meanwhile has none.
                if let Some(table) = table_if_present(self, &path, true).await? {
                    options.insert(path, table.schema().options.clone());
                }
            }
        }
        Ok(options)
    }
}
