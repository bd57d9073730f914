//! Where the filesystem catalog keeps views.
//!
//! Paimon's filesystem catalog keeps none. Here each is a file `<database>.db/.views/<view>.json` in the words of
//! Paimon's REST catalog. Other catalogs look for directories with schema files, so they pass over it; one that drops
//! a database drops its views. A table of the same name is found before the view.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::contract::{Failure, FailureCode, TablePath};

use super::super::guarded::Catalog;
use super::super::hooks::CatalogHooks;
use super::super::views::{View, no_such_view};
use super::FilesystemCatalog;
use super::databases::{check_database_name, database_directory};
use crate::paimon::exclusive_create::{Created, create_exclusively};
use crate::paimon::lake_access::before_any_effect;
use crate::paimon::seal::{check_json, seal_json};
use crate::paimon::{FormatError, LakeAccess};

const VIEW_SUFFIX: &str = ".json";

fn views_directory(database: &str) -> String {
    format!("{}/.views", database_directory(database))
}

/// Where a view is; `invalid` if no view can have this name.
fn view_file(path: &TablePath) -> Result<String, Failure> {
    check_database_name(path.database())?;
    let name = path.table();
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
        return Err(Failure::invalid(format!("expected a view name that can be a file, found {name:?}")));
    }
    Ok(format!("{}/{name}{VIEW_SUFFIX}", views_directory(path.database())))
}

fn encode_view(view: &View) -> Result<Bytes, Failure> {
    view.check()?;
    let json = serde_json::to_vec_pretty(view).map_err(|error| Failure::invalid(error.to_string()))?;
    Ok(seal_json(&Bytes::from(json)))
}

/// The view of this name; `not-found` if there is none.
pub(super) async fn read(lake: &LakeAccess, path: &TablePath) -> Result<View, Failure> {
    let file = view_file(path)?;
    let bytes = lake.objects.get(&file).await.map_err(|failure| match failure.code {
        FailureCode::NotFound => no_such_view(path),
        _ => failure,
    })?;
    let decoded = check_json(&bytes).and_then(|()| {
        serde_json::from_slice(&bytes).map_err(|error| FormatError::new(format!("expected a view, found {error}")))
    });
    Ok(decoded.map_err(|error| error.within(&file))?)
}

/// Creates a view; `false` if there is one.
pub(super) async fn create(lake: &LakeAccess, path: &TablePath, view: &View) -> Result<bool, Failure> {
    let (file, bytes) = (view_file(path)?, encode_view(view)?);
    match create_exclusively(lake, &file, &bytes).await {
        Created::Ours => Ok(true),
        Created::Taken => Ok(false),
        Created::Refused(failure) | Created::Unknown(failure) => Err(failure),
    }
}

impl FilesystemCatalog {
    /// Replaces a view's definition; `not-found` if there is none.
    pub async fn alter_view(&self, path: &TablePath, view: &View) -> Result<(), Failure> {
        let (file, bytes) = (view_file(path)?, encode_view(view)?);
        self.view(path).await.map_err(before_any_effect)?;
        self.lake.objects.put(&file, bytes).await
    }

    /// Drops a view; `not-found` if there is none, unless `if_exists`.
    pub async fn drop_view(&self, path: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let file = view_file(path)?;
        match self.view(path).await {
            Err(failure) if failure.code == FailureCode::NotFound && if_exists => Ok(()),
            Err(failure) if failure.code == FailureCode::NotFound => Err(failure),
            // One that cannot be read can be dropped all the same.
            _ => self.lake.objects.delete(&file).await,
        }
    }

    /// Renames a view; `already-exists` if a table or view has the new name. For a moment both names are there.
    pub async fn rename_view(&self, from: &TablePath, to: &TablePath, if_exists: bool) -> Result<(), Failure> {
        let view = match self.view(from).await {
            Err(failure) if failure.code == FailureCode::NotFound && if_exists => return Ok(()),
            found => found.map_err(before_any_effect)?,
        };
        self.create_view(to, &view, false).await?;
        self.lake.objects.delete(&view_file(from)?).await.map_err(Failure::made_indefinite)
    }

    /// The views of a database, ascending; `not-found` if there is no such database.
    pub async fn list_views(&self, database: &str) -> Result<Vec<String>, Failure> {
        self.require_database(database).await?;
        let directory = views_directory(database);
        let files = self.lake.objects.list(&directory).await?;
        let name_of = |file: &String| {
            let name = file.strip_prefix(&directory)?.strip_prefix('/')?.strip_suffix(VIEW_SUFFIX)?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        Ok(files.iter().filter_map(name_of).collect::<BTreeSet<String>>().into_iter().collect())
    }
}
