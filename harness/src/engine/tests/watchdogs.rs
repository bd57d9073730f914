//! A run that would not end is ended, and says why.

use std::future::pending;

use scenarios::plan::Plan;
use tokio::task::LocalSet;

use super::super::network::Network;
use super::super::run::{RunOptions, Trouble};
use super::super::sim::{run, watched};

const LIMIT_MS: u64 = 5_000;
const BUDGET: u64 = 1_000;

fn plan() -> Plan {
    scenarios::find("append").unwrap().plan(0)
}

/// What ends a run of one task beside which nothing happens.
async fn end_of(task: impl Future<Output = ()> + 'static) -> Result<(), Trouble> {
    let within = async {
        let network = Network::new(&plan(), BUDGET);
        network.spawn(task);
        watched(&network, pending(), LIMIT_MS).await
    };
    LocalSet::new().run_until(within).await
}

#[tokio::test(start_paused = true)]
async fn a_loop_that_never_lets_time_pass_spends_the_event_budget() {
    let looping = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(end_of(looping).await, Err(Trouble::EventBudget { at_ms: 0, events: BUDGET }));
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_an_end_meets_the_deadline() {
    assert_eq!(end_of(pending()).await, Err(Trouble::Deadline { at_ms: LIMIT_MS }));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_task_ends_the_run_with_its_message() {
    let panicking = async {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        panic!("bucket {} does not exist", 7);
    };
    assert_eq!(end_of(panicking).await, Err(Trouble::Panic { message: "bucket 7 does not exist".to_owned() }));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_is_left_alone() {
    let within = async {
        let network = Network::new(&plan(), BUDGET);
        network.spawn(pending());
        watched(&network, async { Ok(()) }, LIMIT_MS).await
    };
    assert_eq!(LocalSet::new().run_until(within).await, Ok(()));
}

#[test]
fn a_table_that_cannot_be_created_ends_the_run() {
    let mut plan = plan();
    plan.steps.clear();
    let twice = plan.tables[0].clone();
    plan.tables.push(twice.clone());
    let trouble = run(&plan, &RunOptions::default()).trouble;
    assert!(
        matches!(&trouble, Some(Trouble::Setup { table, .. }) if *table == twice.table.to_string()),
        "found {trouble:?}"
    );
}
