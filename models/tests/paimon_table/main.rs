//! The reference Paimon table, by what its users see of it: rows, snapshots, failures, files.

#[cfg(feature = "jdbc")]
mod both_catalogs;
mod catalog_guards;
mod catalog_objects;
mod committing;
mod compaction;
mod damage;
mod deletion_vectors;
mod foreign_tables;
mod golden;
mod java_compactions;
#[cfg(feature = "jdbc")]
mod jdbc_crashes;
mod key_table_life;
mod life;
mod merging;
mod model;
mod planted;
mod reading_and_writing;
mod renaming;
mod schema_evolution;
mod statements;
mod surroundings;
