//! What a read, a snapshot or a changelog entry shows, told in write ids: each row is parsed once.

use std::collections::BTreeMap;

use models::contract::{Row, RowSet, TableSchema, Value};

use super::writes::{WRITE_ID, Writes, id_in, typed};

/// "No write" in [`Content::of_key`].
pub const NOTHING: u32 = u32::MAX;

/// A set of rows, as the writes that they come from.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// The write of each row that is known, in the order of the rows.
    pub writes: Vec<u32>,
    /// By write: whether it is shown.
    pub shows: Vec<bool>,
    /// By key: the write that is shown, or [`NOTHING`]. Empty for append tables.
    pub of_key: Vec<u32>,
    /// Append tables: writes that are shown again. Key tables: writes of a key that is shown already.
    pub repeated: Vec<u32>,
    /// For each row that is no known write: why not.
    pub strays: Vec<String>,
}

/// Recognises the rows of one table.
pub struct Recogniser<'t> {
    /// The definition that the run began with.
    pub schema: &'t TableSchema,
    /// All writes.
    pub writes: &'t Writes,
    /// Whether columns may have changed: then only columns that both sides have are compared.
    pub columns_changed: bool,
}

impl Recogniser<'_> {
    /// The content of these row sets together.
    pub fn content<'r>(&self, parts: impl Iterator<Item = &'r RowSet>) -> Content {
        let mut content = Content {
            shows: vec![false; self.writes.all.len()],
            of_key: vec![NOTHING; self.writes.of_key.len()],
            ..Content::default()
        };
        for part in parts {
            let sources: Vec<Option<usize>> =
                self.schema.columns.iter().map(|column| part.position(&column.name)).collect();
            let same_order = sources.len() == part.columns.len()
                && sources.iter().enumerate().all(|(target, source)| *source == Some(target));
            let id = part.position(WRITE_ID);
            for row in &part.rows {
                let found = self.recognise(id.map(|id| &row[id]), |written| {
                    if same_order && written == row {
                        return None;
                    }
                    self.difference(written, |column| sources[column].map(|source| &row[source]))
                });
                match found {
                    Ok(Some(write)) => content.add(write, self.writes),
                    Ok(None) => {}
                    Err(why) => content.strays.push(why),
                }
            }
        }
        content
    }

    /// The write of one changelog entry's row; `None` for a row that an UPDATE left.
    pub fn named_row(&self, row: &BTreeMap<String, Value>) -> Result<Option<u32>, String> {
        self.recognise(row.get(WRITE_ID), |written| {
            self.difference(written, |column| row.get(&self.schema.columns[column].name))
        })
    }

    /// The key of one changelog entry's row, if it was ever written.
    pub fn named_key(&self, row: &BTreeMap<String, Value>) -> Option<u32> {
        if !self.schema.has_primary_key() {
            return None;
        }
        let cells = self.schema.key_positions().into_iter().map(|position| {
            let cell = row.get(&self.schema.columns[position].name).cloned().unwrap_or(Value::Null);
            typed(cell, self.schema, position)
        });
        self.writes.known_key(&Row::new(cells.collect()))
    }

    /// The write of a row; `None` for one that an UPDATE left, of which only the id is known.
    fn recognise(
        &self,
        id: Option<&Value>,
        difference: impl Fn(&Row) -> Option<String>,
    ) -> Result<Option<u32>, String> {
        let Some(number) = id.and_then(id_in) else {
            return Err("a row without a write id, and nobody wrote such a row".to_owned());
        };
        if self.writes.is_of_update(number) {
            return Ok(None);
        }
        let Some(write) = self.writes.by_id(number) else {
            return Err(format!("a row with the write id {number}, which nobody wrote"));
        };
        match self.writes.get(write).row.as_ref().and_then(difference) {
            None => Ok(Some(write)),
            Some(difference) => Err(format!("the row with the write id {number}, but {difference}")),
        }
    }

    fn difference<'v>(&self, written: &Row, shown: impl Fn(usize) -> Option<&'v Value>) -> Option<String> {
        for (position, column) in self.schema.columns.iter().enumerate() {
            let (expected, found) = (&written[position], shown(position));
            if found.is_none() && self.columns_changed {
                continue;
            }
            let found = found.unwrap_or(&Value::Null);
            if expected != found && *expected != typed(found.clone(), self.schema, position) {
                return Some(format!("with {} = {found:?} where {expected:?} was written", column.name));
            }
        }
        None
    }
}

impl Content {
    fn add(&mut self, write: u32, writes: &Writes) {
        self.writes.push(write);
        let again = std::mem::replace(&mut self.shows[write as usize], true);
        let again = match writes.get(write).key {
            Some(key) => std::mem::replace(&mut self.of_key[key as usize], write) != NOTHING,
            None => again,
        };
        if again {
            self.repeated.push(write);
        }
    }

    /// The write that is shown for a key.
    pub fn at_key(&self, key: u32) -> Option<u32> {
        Some(self.of_key[key as usize]).filter(|write| *write != NOTHING)
    }
}
