//! Engines: they run a plan against a system and leave a history. They never judge.

mod arrivals;
mod builder;
mod environment;
mod faults;
mod hosts;
mod journey;
mod maintenance;
mod network;
mod observer;
mod ports;
pub mod run;
mod session;
pub mod sim;
mod tiering_tasks;
mod timed_faults;
pub mod trace;
mod world;

#[cfg(test)]
mod tests;
