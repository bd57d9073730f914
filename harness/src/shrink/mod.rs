//! The shrinker: from a plan that violates a property to a smaller one that violates the same property.
//!
//! Steps are addressed by meaning and every draw is keyed by its step (rules 1 and 2), so a plan from which a step is
//! taken away leaves the rest as it was: that is what makes plans shrinkable. First whole tables, sessions and all
//! faults go, then steps by delta debugging, then rows, options and cells, and last numbers get smaller; all of it again
//! until nothing more can go. The result depends on the plan, the property and the planted bugs only, never on how many
//! workers there are. It never knows what a bug does, nor why a plan fails.

mod delta_debugging;
mod groups;
mod search;
mod values;

use models::defects::Defects;
use scenarios::plan::Plan;

use search::Search;

pub use search::Progress;

/// How a plan is shrunk.
#[derive(Clone, Debug)]
pub struct ShrinkOptions {
    /// The property that every smaller plan has to violate as well.
    pub property: &'static str,
    /// The bugs to plant.
    pub defects: Defects,
    /// How many workers; at least 1.
    pub jobs: usize,
    /// After so many runs no further place is searched; one that was begun is searched to its end. `None`: as many as it
    /// takes.
    pub most_runs: Option<u64>,
}

/// What shrinking came to.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smallest plan that was found.
    pub plan: Plan,
    /// Whether no table, step, row, option or cell can be left out of it alone, each one tried. `false` where shrinking
    /// ended before that was known.
    pub minimal: bool,
    /// How many smaller plans were run to find it: the same whatever the number of workers.
    pub runs: u64,
}

/// Shrinks a plan. Before each run `go_on` is asked whether to begin it; after a `false` the best plan so far is the
/// result. `told` hears of each plan that is smaller than all before. `None` if the plan itself does not violate the
/// property.
pub fn shrink(
    plan: &Plan,
    options: &ShrinkOptions,
    go_on: impl Fn() -> bool + Sync,
    told: impl FnMut(Progress),
) -> Option<Shrunk> {
    let mut search = Search::new(plan, options, &go_on, told);
    if !search.confirmed() {
        return None;
    }
    let mut minimal = false;
    while !minimal && !search.over() {
        let before = search.best().clone();
        groups::leave_out(&mut search);
        leave_out_steps(&mut search);
        values::leave_out(&mut search);
        values::lessen(&mut search);
        // A round in which everything was tried and nothing could go.
        minimal = !search.over() && *search.best() == before;
    }
    let (plan, runs) = search.end();
    Some(Shrunk { plan, minimal, runs })
}

/// Leaves out steps until each is needed.
fn leave_out_steps(search: &mut Search<'_>) {
    let steps = search.best().steps.clone();
    delta_debugging::leave_out(steps, |steps, parts| {
        search.first(parts.len(), |plan, part| {
            let mut smaller = Plan { steps: Vec::new(), ..plan.clone() };
            smaller.steps.extend_from_slice(&steps[..parts[part].start]);
            smaller.steps.extend_from_slice(&steps[parts[part].end..]);
            Some(smaller)
        })
    });
}
