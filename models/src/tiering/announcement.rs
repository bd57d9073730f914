//! A task says that it started, so that its planner knows that whatever it had before is lost.

use super::messages::{TieringPlanner, TieringTask};
use super::parts::TaskParts;

/// Tells the planner until it answers. A planner that never hears of it has no round in which this task had anything.
pub(super) async fn announce(planner: &dyn TieringPlanner, task: TieringTask, life: u64, parts: &TaskParts) {
    while planner.task_started(task, life).await.is_err() {
        parts.environment.sleep_ms(parts.config.poll_interval_ms).await;
    }
}
