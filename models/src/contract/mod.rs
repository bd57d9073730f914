//! The contract: the words of lake-stream mode and the traits of its parts.
//!
//! Everything here is a definition. It must never know how a part is implemented, how time passes, or what can go
//! wrong between two parts. Rule numbers such as L6 or C14 are property ids, printed by
//! `lakestream-certify list properties`.

mod cell_text;
mod coercion;
mod data_type;
mod data_type_text;
mod environment;
mod failure;
mod host;
mod metastore;
mod names;
mod object_store;
mod row_json;
mod rows;
mod schema;
mod statement;
mod store;
mod system;
mod tiering;
mod value;

pub use cell_text::decimal_text;
pub(crate) use cell_text::{civil_from_days, days_from_civil};
pub use coercion::coerce;
pub use data_type::*;
pub use data_type_text::DEEPEST_TYPE;
pub use environment::*;
pub use failure::*;
pub use host::*;
pub use metastore::*;
pub use names::*;
pub use object_store::*;
pub use row_json::{TypedCell, TypedRow, TypedRows, cell_json};
pub use rows::*;
pub use schema::*;
pub use statement::*;
pub use store::*;
pub use system::*;
pub use tiering::*;
pub use value::*;
