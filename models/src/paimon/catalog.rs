//! Catalogs: which tables a warehouse has, and what may be done to a table as a whole.
//!
//! There are two, as in Paimon. [`FilesystemCatalog`] supplies hooks and inherits everything above them, the guards of
//! lake-stream mode included. [`JdbcCatalog`] keeps the names in an SQL database, overrides rename and replace, and so
//! has to guard these by itself (C4). Both guard below every engine and without any store (C1, C2, C9): a catalog
//! client that knows nothing of the mode meets the guards too. A catalog must never open, name or need a store (C6,
//! C16).

mod filesystem;
mod guarded;
mod guards;
mod hooks;
mod jdbc;
mod object_names;
mod schema_versions;
mod views;

pub use self::filesystem::{DEFAULT_DATABASE, FilesystemCatalog, SYSTEM_DATABASE};
pub use self::guarded::Catalog;
pub use self::hooks::CatalogHooks;
pub use self::jdbc::JdbcCatalog;
#[cfg(feature = "jdbc")]
pub use self::jdbc::SqlMetastore;
pub use self::object_names::ObjectName;
pub use self::views::View;
