//! What the reference store promises, through its contract only.

mod appends;
mod columns;
mod crashes;
mod fixture;
mod lake;
mod planted;
mod sequences;
