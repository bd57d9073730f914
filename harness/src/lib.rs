//! Who **runs** and **judges**: engine, history, checkers, campaign, replay and reports.
//!
//! Data flows one way: seed → plan → run → history → findings → verdict → report.

pub mod check;
pub mod history;
