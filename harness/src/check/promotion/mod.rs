//! P1 to P8: a lake-stream table made of an existing lake table, by the draft FIP-25.
//!
//! Statements are judged by what was seen of both sides around them, contents by the write ids of the history that was
//! promoted. Where another statement may have defined the table in between, nothing is judged.

mod definition;
mod enabling;
mod history;
mod key_state;
mod loading;
mod mapping;
mod selection;

use super::Docket;
use super::index::Index;

/// Judges P1 to P8.
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        definition::judge(index, operation, docket);
        enabling::judge(index, operation, docket);
        mapping::judge(index, operation, docket);
        selection::judge(index, operation, docket);
    }
    for table in &index.tables {
        loading::judge(index, table, docket);
        key_state::judge(index, table, docket);
        history::judge(index, table, docket);
    }
}
