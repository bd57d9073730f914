//! Values of table options: how a text becomes a truth, a choice or a list of columns.

use std::collections::BTreeMap;

use crate::contract::{Failure, TableSchema};

use super::super::option_text::{choice, flag};

/// What the options of single columns begin with.
pub(in super::super) const FIELDS_PREFIX: &str = "fields.";

/// The options of one table.
#[derive(Clone, Copy)]
pub(super) struct OptionValues<'a> {
    pub(super) schema: &'a TableSchema,
}

impl<'a> OptionValues<'a> {
    /// All options.
    pub(super) fn all(self) -> &'a BTreeMap<String, String> {
        &self.schema.options
    }

    /// The option's text.
    pub(super) fn text(self, option: &str) -> Option<&'a str> {
        self.all().get(option).map(String::as_str)
    }

    /// The option's truth; false if it is not set.
    pub(super) fn is_set(self, option: &str) -> Result<bool, Failure> {
        flag(self.all(), option, false)
    }

    /// The first of these options that is set, as a truth. They are names of one option.
    pub(super) fn is_any_set(self, names: &[&str]) -> Result<bool, Failure> {
        match names.iter().find(|name| self.text(name).is_some()) {
            None => Ok(false),
            Some(name) => self.is_set(name),
        }
    }

    /// The choice that the option's text names, in any case; the first one if it is not set.
    pub(super) fn choice<T: Copy>(self, option: &str, choices: &[(&str, T)]) -> Result<T, Failure> {
        choice(self.all(), option, choices)
    }

    /// The option of a column, `fields.<column>.<name>`.
    pub(super) fn of_column(column: &str, name: &str) -> String {
        format!("{FIELDS_PREFIX}{column}.{name}")
    }

    /// The positions of the columns in a comma-separated list; the option is named in the error.
    pub(super) fn columns(self, option: &str, list: &str) -> Result<Vec<usize>, Failure> {
        list.split(',').map(|name| self.column(option, name.trim())).collect()
    }

    /// The position of a column that an option names.
    pub(super) fn column(self, option: &str, name: &str) -> Result<usize, Failure> {
        self.schema
            .position(name)
            .ok_or_else(|| Failure::invalid(format!("expected option `{option}` to name columns, `{name}` is none")))
    }
}
