//! The reference Paimon table, by what its users see of it: rows, snapshots, failures, files.

mod catalog_guards;
mod committing;
mod damage;
mod foreign_tables;
mod life;
mod model;
mod reading_and_writing;
mod surroundings;
