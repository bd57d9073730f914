//! What the reference store promises, through its contract only.

mod appends;
mod columns;
mod crashes;
mod fixture;
mod key_snapshots;
mod lake;
mod partitions;
mod planted;
mod sequences;
mod watermark;
