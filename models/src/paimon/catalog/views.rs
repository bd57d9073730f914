//! A view as catalogs keep it. Where it is kept is each catalog's own business.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::{Failure, FailureCode, TablePath};
use crate::paimon::DataField;

/// A view: a query with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// The columns of its rows.
    pub fields: Vec<DataField>,
    /// The query, in SQL.
    pub query: String,
    /// The query in the dialects of single engines, by engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dialects: BTreeMap<String, String>,
    /// A comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl View {
    /// `invalid` if it shows nothing.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.fields.is_empty() || self.query.trim().is_empty() {
            return Err(Failure::invalid("expected a view with columns and a query, found none"));
        }
        Ok(())
    }
}

/// Nothing has this view's name.
pub(super) fn no_such_view(path: &TablePath) -> Failure {
    Failure::not_found(format!("view {path} does not exist in the lake"))
}

/// A table or a view has this name.
pub(super) fn name_taken(path: &TablePath, what: &str) -> Failure {
    Failure::definite(FailureCode::AlreadyExists, format!("{what} {path} exists already"))
}
