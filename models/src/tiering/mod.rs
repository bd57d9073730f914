//! Tiering: how rows get from the store's log into the lake.
//!
//! [`TieringCoordinator`] owns the store's DDL and decides who tiers which table. A worker runs the rounds, with three
//! kinds of tasks that live and die by themselves: a [`Planner`] that plans a round and hands out its splits, one a
//! bucket; [`Reader`]s that read splits and write their rows; a [`Committer`] that collects what they wrote and commits
//! it. None of them may ever be needed for correctness of what is already in the lake: any of them can die, stall or be
//! doubled at any step, and a row still reaches the lake exactly once.
//!
//! # What a task's death costs
//! * A planner that starts anew has no round. What its tasks still have of the old one ends without it or is refused.
//! * A reader that starts anew says so, and its splits of the round are handed out again. Of two results of one split
//!   the committer takes one, and the files of the other are deleted.
//! * A committer that starts anew says so, and the round fails. Results that were meant for the life before are refused,
//!   so nothing of a lost collection comes together with the next one.
//!
//! # Why a double round does no harm
//! Two workers can hold one table at once: a holder that stalls loses it to another and then wakes up; a coordinator
//! that restarts forgets who holds what; an answer is lost. Heartbeats and epochs make that rare. They cannot exclude
//! it, because whatever a worker was told is old by the time it acts.
//!
//! Upstream checks "does the lake have a tiering snapshot that the store does not know?" and then commits. That leaves
//! a hole: round B plans from offset *o*; round A, planned from the same *o*, commits **and registers**; now the lake
//! and the store agree, B's check passes, and B appends `[o, …)` a second time.
//!
//! Here the only authority is the compare-and-swap on the lake's snapshot chain:
//! 1. A plan is made from the newest tiering snapshot **in the lake** (its offsets property), never from what the store
//!    remembers. Let that be *S*.
//! 2. The commit carries the precondition "no tiering snapshot newer than *S*". It reads the chain up to its newest
//!    snapshot *N*, checks, and creates snapshot *N + 1* only if there is none yet.
//! 3. If that succeeds, nothing followed *N* before it, so the check still held at that instant: between the plan and
//!    its commit no other tiering snapshot appeared. If it fails, everything is checked again on the longer chain, and
//!    the loser of two rounds with one plan is refused for good.
//!
//! A commit request that is delayed on its way is covered too: it names *N + 1*, so it takes effect before the next
//! commit, which then sees it, or not at all.
//!
//! The offsets travel inside the snapshot that contains the rows, so rows and progress become visible together (L6,
//! L7). Registration in the store only repeats what the lake says; when it is lost, the next round does it again.

mod announcement;
mod collection;
mod committer;
mod coordinator;
mod inbox;
mod key_snapshot;
mod lake_columns;
mod layout;
pub mod mapping;
mod messages;
mod offsets;
mod parts;
mod plan;
mod planner;
mod read;
mod readable;
mod reader;
mod recover;
mod registration;
mod supervision;
mod worker;

pub use collection::Collection;
pub use committer::Committer;
pub use coordinator::TieringCoordinator;
pub use messages::{
    Progress, RoundPlan, SplitAssignment, SplitResult, TieringCommitter, TieringPlanner, TieringReader, TieringTask,
};
pub use offsets::{decode_offsets, encode_offsets, offsets_of};
pub use parts::TaskParts;
pub use planner::Planner;
pub use reader::{Reader, Splits};
pub use supervision::{Crew, Reports};
pub use worker::TieringWorker;
