//! The integrity check on deliberately damaged tables: each test breaks one thing and expects one finding, of the rule
//! and the file that is to blame.

mod damaged;

mod data;
mod hostile;
mod metadata;
mod on_disk;
mod refused;
mod side_files;
mod sound;
