//! The reference Paimon table, by what its users see of it: rows, snapshots, failures, files.

mod catalog_guards;
mod catalog_objects;
mod committing;
mod damage;
mod foreign_tables;
mod golden;
mod model;
mod reading_and_writing;
mod schema_evolution;
mod renaming;
mod statements;
mod surroundings;
