//! Steps that go together: all faults, all of a session, all that is about a table, which goes with them.

use std::collections::BTreeSet;

use scenarios::plan::{Action, Plan};

use super::search::Search;

/// Leaves out whole groups until none can go.
pub(super) fn leave_out(search: &mut Search<'_>) {
    loop {
        let groups = groups(search.best());
        let found = search.first(groups.len(), |plan, place| match without(plan, &groups[place]) {
            smaller if smaller.steps.len() < plan.steps.len() || smaller.tables.len() < plan.tables.len() => {
                Some(smaller)
            }
            _ => None,
        });
        if found.is_none() {
            return;
        }
    }
}

/// What goes together.
enum Group {
    /// The table at this place and every step that is none without it.
    Table(usize),
    /// All faults.
    Faults,
    /// All that a session does.
    Session(String),
}

/// The groups of a plan, in the order in which they are tried.
fn groups(plan: &Plan) -> Vec<Group> {
    let sessions: BTreeSet<&str> = plan.sessions().collect();
    let tables = (0..plan.tables.len()).map(Group::Table);
    let sessions = sessions.into_iter().map(|session| Group::Session(session.to_owned()));
    tables.chain([Group::Faults]).chain(sessions).collect()
}

/// The plan without a group.
fn without(plan: &Plan, group: &Group) -> Plan {
    let mut smaller = plan.clone();
    match group {
        Group::Table(place) => {
            smaller.tables.remove(*place);
            // Whether a step makes sense never depends on other steps.
            let alone = Plan { steps: Vec::new(), ..smaller.clone() };
            smaller.steps.retain(|step| Plan { steps: vec![step.clone()], ..alone.clone() }.validate().is_ok());
        }
        Group::Faults => smaller.steps.retain(|step| !matches!(step.action, Action::Fault(_))),
        Group::Session(name) => smaller.steps.retain(|step| match &step.action {
            Action::Run(planned) => planned.session != *name,
            Action::Close(close) => close.session != *name,
            Action::Fault(_) => true,
        }),
    }
    smaller
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_without_a_group_is_a_smaller_plan() {
        let plan = scenarios::find("append").unwrap().plan(3);
        let groups = groups(&plan);
        assert!(groups.len() > 3, "a table, the faults and sessions");
        for group in &groups {
            let smaller = without(&plan, group);
            if !smaller.tables.is_empty() {
                assert_eq!(smaller.validate(), Ok(()));
                assert!(smaller.steps.len() < plan.steps.len());
            }
        }
        let quiet = without(&plan, &Group::Faults);
        assert_eq!((quiet.faults().count(), quiet.statements().count()), (0, plan.statements().count()));
    }
}
