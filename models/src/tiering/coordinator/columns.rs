//! Store-side ALTER TABLE … columns (C20): new columns go last, may be NULL, and are in the lake before the store.
//!
//! The lake first: a row can only be tiered into columns that are there (L13). A statement that was cut short between
//! the two is completed by repeating it. This module must never know how the store keeps older rows readable.

use std::collections::BTreeSet;

use super::TieringCoordinator;
use super::ddl::{nothing_changed, track_as_it_is};
use crate::contract::{Column, ColumnChange, Failure, FailureCode, TablePath};
use crate::defects::{Defect, Defects};
use crate::paimon::PaimonTable;
use crate::tiering::lake_columns::{first_system_column, refuse_system_names};

/// The statement.
pub(super) async fn alter_columns(
    coordinator: &TieringCoordinator,
    path: &TablePath,
    changes: &[ColumnChange],
) -> Result<(), Failure> {
    let added = added_columns(path, changes, &coordinator.defects)?;
    let table = coordinator.store.table(path).await.map_err(nothing_changed)?;
    if let Some(present) = added.iter().find(|column| table.schema.position(&column.name).is_some()) {
        return Err(Failure::invalid(format!("expected no column `{}` in {path}, found one", present.name)));
    }
    let enabled = table.schema.lakestream_enabled();
    let lake_table = match coordinator.catalog.table(path).await {
        Ok(lake_table) => Some(lake_table),
        // Out of the mode the lake table is nobody's promise.
        Err(failure) if failure.code == FailureCode::NotFound && !enabled => None,
        Err(failure) => return Err(nothing_changed(failure)),
    };
    let lake_changes = lake_table.map_or(Ok(Vec::new()), |lake_table| missing_in_lake(&lake_table, changes))?;
    if !lake_changes.is_empty() {
        coordinator.catalog.alter_columns(path, &lake_changes).await?;
    }
    if let Err(failure) = coordinator.store.add_columns(path, &added).await {
        coordinator.note_doubt(&failure);
        return Err(if lake_changes.is_empty() { failure } else { failure.made_indefinite() });
    }
    if enabled {
        track_as_it_is(coordinator, path).await;
    }
    Ok(())
}

/// The columns that the statement adds. It fails, and does nothing, if it asks for anything else.
fn added_columns(path: &TablePath, changes: &[ColumnChange], defects: &Defects) -> Result<Vec<Column>, Failure> {
    let mut added: Vec<Column> = Vec::new();
    for change in changes {
        let (column, position) = match change {
            ColumnChange::Add { column, position } => (column, position.as_deref()),
            ColumnChange::Drop(name) | ColumnChange::Rename { from: name, .. } => {
                return Err(Failure::definite(
                    FailureCode::Unsupported,
                    format!(
                        "expected columns to add to {path}, found a drop or rename of `{name}`, which the store cannot do"
                    ),
                ));
            }
        };
        // Planted bug column-in-the-middle: the lake puts the column wherever the statement says.
        let anywhere = defects.has(Defect::ColumnInTheMiddle);
        if let Some(position) = position.filter(|position| *position != "last" && !anywhere) {
            return Err(Failure::rejected(format!(
                "expected column `{}` to be added last, found position {position:?}",
                column.name
            )));
        }
        if !column.nullable {
            return Err(Failure::rejected(format!(
                "expected a nullable column to add to {path}, found `{}` NOT NULL, which rows that are there lack",
                column.name
            )));
        }
        added.push(column.clone());
    }
    refuse_system_names(&added, defects)?;
    let mut names = BTreeSet::new();
    match added.iter().find(|column| !names.insert(column.name.as_str())) {
        Some(twice) => Err(Failure::invalid(format!("expected each new column once, found `{}` twice", twice.name))),
        None => Ok(added),
    }
}

/// What is left to do on the lake: last, or before the system columns of a legacy table. `invalid` if the lake has
/// another column of that name.
fn missing_in_lake(lake_table: &PaimonTable, changes: &[ColumnChange]) -> Result<Vec<ColumnChange>, Failure> {
    let schema = lake_table.schema();
    let mut first_system = first_system_column(lake_table.path(), &schema.columns)?;
    let mut missing = Vec::new();
    for change in changes {
        let ColumnChange::Add { column, position } = change else { continue };
        match schema.position(&column.name).map(|position| &schema.columns[position]) {
            Some(present) if present.nullable && present.data_type.is_like(&column.data_type) => {}
            Some(present) => {
                return Err(Failure::invalid(format!(
                    "expected the lake table {} to have no column `{}`, or one of type {}, found one of type {}",
                    lake_table.path(),
                    column.name,
                    column.data_type,
                    present.data_type
                )));
            }
            None => {
                let place = position.clone().filter(|position| position != "last");
                let end = first_system.as_mut().map_or_else(
                    || "last".to_owned(),
                    |first| {
                        *first += 1;
                        (*first - 1).to_string()
                    },
                );
                missing.push(ColumnChange::Add { column: column.clone(), position: Some(place.unwrap_or(end)) });
            }
        }
    }
    Ok(missing)
}
