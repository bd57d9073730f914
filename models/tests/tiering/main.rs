//! Tiering as a specification: the coordinator and the tasks of a worker against the reference store and a real lake table.

mod coordinator;
mod crashes;
mod defects;
mod faults;
mod fixture;
mod hand_out;
mod key_snapshots;
mod lifecycle;
mod maintenance;
mod readable;
mod rollback;
mod rounds;
mod tasks;
