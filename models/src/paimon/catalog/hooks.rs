//! What a catalog supplies: where names are kept. What may be done with them is decided above, in [`super::Catalog`].

use async_trait::async_trait;

use crate::contract::{Failure, TablePath, TableSchema};

use super::View;
use crate::paimon::{LakeAccess, PaimonTable};

/// The hooks of one kind of catalog. Only [`super::Catalog`] calls those that change something; they check no contract.
#[async_trait(?Send)]
pub trait CatalogHooks {
    /// The warehouse, where schemas and rows are whatever keeps the names.
    fn lake(&self) -> &LakeAccess;

    /// Opens a table; `not-found` if the catalog knows none of this name.
    async fn table(&self, path: &TablePath) -> Result<PaimonTable, Failure>;

    /// Creates a table of a valid definition; `false` and no effect if the name is taken.
    async fn create_table_impl(&self, path: &TablePath, schema: &TableSchema) -> Result<bool, Failure>;

    /// Drops a table that was there when it was opened.
    async fn drop_table_impl(&self, table: &PaimonTable) -> Result<(), Failure>;

    /// Renames a table that was there when it was opened; `already-exists` if the name is taken.
    async fn rename_table_impl(&self, table: &PaimonTable, to: &TablePath) -> Result<(), Failure>;

    /// The view of this name, `$` and what follows included (C18); `not-found` if there is none.
    async fn view(&self, path: &TablePath) -> Result<View, Failure>;

    /// Creates a view whose name no table has; `false` and no effect if a view has it.
    async fn create_view_impl(&self, path: &TablePath, view: &View) -> Result<bool, Failure>;
}
