//! The reference Paimon table, by what its users see of it: rows, snapshots, failures, files.

mod catalog_guards;
mod committing;
mod compaction;
mod damage;
mod deletion_vectors;
mod foreign_tables;
mod model;
mod reading_and_writing;
mod surroundings;
