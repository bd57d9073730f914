//! The reference system's client side: what a query engine with lake-stream support does.
//!
//! One [`Client`] per session executes statements and sends each to the lake, to the store, or reads both together, as
//! the contract says (`route`). It knows its peers only as traits and as a Paimon warehouse; it must never know how
//! the store works inside, who tiers, what can go wrong between the parts, or who judges.

mod changes;
mod client;
mod ddl;
mod discovery;
mod filter;
mod insert;
mod lake_read;
mod lake_write;
mod layout;
mod layout_token;
mod merge;
mod partition_clause;
mod partition_selection;
mod patience;
mod place;
mod planted;
mod promotion;
mod reference;
mod route;
mod union_read;
mod update;
mod views;

pub use client::{Client, ClientParts};
pub use discovery::{ReferenceStoreFactory, StoreFactory, StoreUse};
pub use reference::ReferenceSystem;
