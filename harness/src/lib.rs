//! Who **runs** and **judges**: engine, history, checkers, campaign, replay and reports.
//!
//! Data flows one way: seed → plan → run → history → findings → verdict → report.

pub mod bounded_text;
pub mod campaign;
pub mod check;
pub mod cli;
pub mod coverage;
pub mod engine;
pub mod history;
pub mod matrix;
pub mod replay;
pub mod report;
pub mod shrink;
