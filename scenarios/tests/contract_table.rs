//! The plans of `contract-table` have every cell of the contract's table.

use std::collections::{BTreeMap, BTreeSet};

use models::config::CatalogKind;
use models::contract::{Side, Statement, TablePath};
use scenarios::contract::{self, Named, Need, SENTINEL, StoreState, Subject, form_of};
use scenarios::plan::{Action, Fault, Phase, Plan};
use scenarios::{contract_combinations, contract_store_state};

fn plans() -> Vec<Plan> {
    let scenario = scenarios::find("contract-table").unwrap();
    (0..contract_combinations().len() as u64).map(|seed| scenario.plan(seed)).collect()
}

/// The table that a name asks for, or was made from.
fn origin(path: &TablePath) -> &str {
    path.table().split(['$', '_']).next().unwrap_or_default()
}

/// The form of a planned statement, by what its name must stand for if all goes as the plan means it.
fn form_name(plan: &Plan, statement: &Statement) -> Option<&'static str> {
    let keyed = plan.tables[0].schema.has_primary_key();
    let name = statement.table().table();
    let subject = match name.split_once('_').map(|(_, suffix)| suffix.split('$').next().unwrap_or_default()) {
        Some("view") => Subject::View,
        Some(_) if !name.contains("$branch") => Subject::Nothing,
        _ if keyed => Subject::KeyTable,
        _ => Subject::AppendTable,
    };
    let subject = if matches!(statement, Statement::CreateView { .. }) { Subject::Nothing } else { subject };
    form_of(statement, subject).map(|form| form.name.as_str())
}

#[test]
fn the_first_seeds_have_every_combination_of_catalog_store_and_table() {
    let names = contract_combinations();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 2 * 7 * 4);
    let found: BTreeSet<_> = plans()
        .iter()
        .map(|plan| {
            let schema = &plan.tables[0].schema;
            let keyed = schema.has_primary_key();
            let state = contract_store_state(plan.seed);
            (plan.catalog.kind == CatalogKind::Jdbc, state, keyed, schema.partition_keys.is_empty())
        })
        .collect();
    // An outage and a wrong address are one state.
    assert_eq!(found.len(), 2 * StoreState::ALL.len() * 4);
}

#[test]
fn every_form_is_tried_in_the_mode_and_out_of_it_in_every_combination() {
    for plan in plans() {
        let schema = &plan.tables[0].schema;
        let mut tried: BTreeMap<bool, BTreeSet<&str>> = BTreeMap::new();
        for (_, planned) in plan.statements() {
            let outside = origin(planned.statement.table()).starts_with("plain");
            // Which side of the mode a story's table is on changes as it goes; both are counted below.
            tried.entry(outside).or_default().extend(form_name(&plan, &planned.statement));
        }
        for form in contract::forms() {
            let fits = form.needs.iter().all(|need| match need {
                Need::Key => schema.has_primary_key(),
                Need::NoKey => !schema.has_primary_key(),
                Need::Partitions => !schema.partition_keys.is_empty(),
            });
            for (outside, names) in &tried {
                // No table is behind a bare `$rt`.
                let has = names.contains(form.name.as_str()) || form.name == "select-bare-rt";
                assert_eq!(
                    has,
                    fits,
                    "{} of {}: {} {outside}",
                    plan.scenario,
                    contract_combinations()[plan.seed as usize],
                    form.name
                );
            }
            assert!(form.subject != Named::View || fits);
        }
    }
}

#[test]
fn plans_are_long_closed_and_full_of_secrets() {
    for plan in plans() {
        plan.validate().unwrap();
        let count = plan.statements().count();
        assert!((150..=450).contains(&count), "{count}");
        let closes: Vec<bool> = plan
            .steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::Close(close) => Some(close.fails),
                _ => None,
            })
            .collect();
        assert!(closes.contains(&true) && closes.contains(&false), "{closes:?}");
        assert!(
            plan.tables.iter().all(|planned| planned.schema.options.values().any(|value| value.contains(SENTINEL)))
        );
        assert!(plan.catalog.options.iter().any(|(key, value)| key == "other.x" && value.contains(SENTINEL)));
    }
}

#[test]
fn the_state_of_the_store_is_what_the_catalog_the_tables_and_an_outage_make_of_it() {
    for plan in plans() {
        let option = |key: &str| plan.catalog.options.get(key).map(String::as_str);
        let outage = plan.faults().any(|(_, fault)| matches!(fault, Fault::Outage { part, .. } if part == "store"));
        let expected = match (option("lakestream.store"), option("reference.bootstrap.servers")) {
            (None, _) => StoreState::Unset,
            (Some(store), _) if store != "reference" => StoreState::Unknown,
            (_, None) => StoreState::Uncreatable,
            (_, Some(address)) if outage || address != "store:9123" => StoreState::Down,
            _ if plan.tables.iter().all(|planned| planned.side == Side::Lake) => StoreState::Lacking,
            _ => StoreState::Working,
        };
        assert_eq!(contract_store_state(plan.seed), expected, "{}", contract_combinations()[plan.seed as usize]);
    }
}

#[test]
fn statements_on_one_table_in_the_mode_come_one_after_the_other() {
    for plan in plans() {
        let mut sessions: BTreeMap<(Phase, &str), BTreeSet<&str>> = BTreeMap::new();
        for (_, planned) in plan.statements().filter(|(_, planned)| planned.session != "w1") {
            let table = origin(planned.statement.table());
            sessions.entry((planned.phase, table)).or_default().insert(&planned.session);
        }
        let alone = sessions.iter().filter(|((_, table), _)| !table.is_empty()).all(|(_, names)| names.len() == 1);
        assert!(alone, "{sessions:?}");
    }
}
