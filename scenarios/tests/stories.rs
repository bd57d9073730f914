//! What stories and attempts are about happens often enough in a campaign of a thousand seeds.

use models::config::CatalogKind;
use models::contract::{ColumnChange, Side, Statement};
use scenarios::plan::{CallFault, Fault, Phase, Plan};

/// How many plans of a scenario the tests look at: fewer than a campaign runs.
const SEEDS: u64 = 60;

fn plans(scenario: &str) -> Vec<Plan> {
    let scenario = scenarios::find(scenario).unwrap();
    (0..SEEDS).map(|seed| scenario.plan(seed)).collect()
}

/// In how many of the plans such a statement is.
fn having(plans: &[Plan], is: impl Fn(&Statement) -> bool) -> usize {
    plans.iter().filter(|plan| plan.statements().any(|(_, planned)| is(&planned.statement))).count()
}

fn sets(statement: &Statement, key: &str, wanted: &str) -> bool {
    let Statement::AlterOptions { set, side: Side::Store, .. } = statement else { return false };
    set.get(key).is_some_and(|value| value == wanted)
}

#[test]
fn promotions_are_tried_in_every_way_and_broken_in_every_place() {
    let plans = plans("promotion");
    let counts = [
        having(&plans, |statement| matches!(statement, Statement::Promote { partitions: None, .. })),
        having(&plans, |statement| matches!(statement, Statement::Promote { partitions: Some(_), .. })),
        having(&plans, |statement| matches!(statement, Statement::Enable { .. })),
        having(
            &plans,
            |statement| matches!(statement, Statement::CreateOnLake { properties, .. } if properties.is_empty()),
        ),
        having(
            &plans,
            |statement| matches!(statement, Statement::CreateOnLake { properties, .. } if !properties.is_empty()),
        ),
        having(&plans, |statement| matches!(statement, Statement::NativeInsert { .. })),
        having(&plans, |statement| statement.table().table().ends_with("_odd")),
    ];
    for (number, wanted) in [60, 15, 30, 25, 10, 55, 15].into_iter().enumerate() {
        assert!(counts[number] >= wanted, "{number}: {counts:?}");
    }
    for call in ["store.begin-load", "store.stage-load", "store.publish-load", "store.register-source-snapshot"] {
        let dies = |fault: &Fault| match fault {
            Fault::Call { at, what: CallFault::CallerCrashesBefore { .. } | CallFault::CallerCrashesAfter { .. } } => {
                at.call == call && at.caller.starts_with('s')
            }
            _ => false,
        };
        let dying = plans.iter().filter(|plan| plan.faults().any(|(_, fault)| dies(fault))).count();
        assert!(dying >= 5, "{call}: {dying}");
    }
    // Both kinds of table, with a history and without.
    let keyed = |plan: &Plan, wanted: bool| {
        plan.tables
            .iter()
            .any(|planned| planned.table.table().starts_with("promo") && planned.schema.has_primary_key() == wanted)
    };
    for wanted in [false, true] {
        assert!(plans.iter().filter(|plan| keyed(plan, wanted)).count() >= 20);
    }
}

#[test]
fn what_is_to_be_unmappable_is_a_table_that_the_lake_can_hold() {
    let mut checked = 0;
    for plan in plans("promotion") {
        for (id, planned) in plan.statements() {
            let Statement::CreateTable { table, schema, side: Side::Lake, .. } = &planned.statement else { continue };
            assert!(table.table().ends_with("_odd"), "{id}");
            models::paimon::validate_schema(schema).unwrap_or_else(|failure| panic!("{id}: {}", failure.message));
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked}");
}

#[test]
fn lives_begin_in_every_way_and_are_switched_by_every_spelling() {
    let plans = plans("lifecycle");
    let option = |schema: &models::contract::TableSchema, key: &str| schema.options.get(key).cloned();
    let counts = [
        having(&plans, |statement| {
            matches!(statement, Statement::CreateTable { schema, side: Side::Store, .. }
            if option(schema, "table.datalake.enabled").is_some())
        }),
        having(&plans, |statement| {
            matches!(statement, Statement::CreateTable { schema, side: Side::Store, .. }
            if option(schema, "lakestream.enabled").is_some())
        }),
        having(&plans, |statement| {
            matches!(statement, Statement::CreateTable { schema, side: Side::Lake, .. }
            if schema.position("__timestamp").is_some())
        }),
        having(&plans, |statement| sets(statement, "table.datalake.enabled", "false")),
        having(&plans, |statement| sets(statement, "table.datalake.enabled", "true")),
        having(&plans, resets),
        having(&plans, |statement| matches!(statement, Statement::Enable { .. })),
        having(&plans, |statement| adds(statement, |name, position| name.starts_with("__") && position.is_none())),
        having(&plans, |statement| adds(statement, |_, position| position.is_some())),
    ];
    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
}

fn resets(statement: &Statement) -> bool {
    matches!(statement, Statement::AlterOptions { reset, side: Side::Store, .. } if !reset.is_empty())
}

fn adds(statement: &Statement, wanted: impl Fn(&str, Option<&str>) -> bool) -> bool {
    let Statement::AlterColumns { changes, side: Side::Store, .. } = statement else { return false };
    changes.iter().any(|change| match change {
        ColumnChange::Add { column, position } => wanted(&column.name, position.as_deref()),
        _ => false,
    })
}

#[test]
fn layouts_change_between_describe_and_insert() {
    let plans = plans("layouts");
    for plan in &plans {
        let described = plan
            .statements()
            .filter(|(_, planned)| matches!(&planned.statement, Statement::Insert { layout: Some(_), .. }))
            .count();
        assert!(described >= 5, "{described}");
    }
    let again = having(&plans, |statement| matches!(statement, Statement::CreateTable { side: Side::Store, .. }));
    let store = having(&plans, |statement| adds(statement, |_, _| true));
    assert!(again >= 30 && store >= 30, "{again} {store}");
}

#[test]
fn tables_are_made_again_at_once_with_the_layout_that_they_had() {
    let plans = plans("recreate");
    let at_once = |plan: &Plan| {
        let story: Vec<_> = plan
            .statements()
            .filter(|(_, planned)| {
                planned.phase == Phase::Chaos && planned.statement.table().table().starts_with("again")
            })
            .map(|(_, planned)| (planned.at_ms, &planned.statement))
            .collect();
        story.windows(3).any(|three| {
            let [
                (dropped_ms, Statement::DropTable { side: Side::Store, .. }),
                (_, Statement::DropTable { .. }),
                (made_ms, made),
            ] = three
            else {
                return false;
            };
            let Statement::CreateTable { table, schema, side: Side::Store, .. } = made else { return false };
            let first = plan.tables.iter().find(|planned| planned.table == *table).unwrap();
            dropped_ms == made_ms && first.schema.bucket_count() == schema.bucket_count()
        })
    };
    assert!(plans.iter().filter(|plan| at_once(plan)).count() >= 35);
    let made_disabled = having(&plans, |statement| match statement {
        Statement::CreateTable { schema, side: Side::Store, .. } => {
            schema.options.contains_key("table.datalake.enabled")
        }
        _ => false,
    });
    assert!(made_disabled >= 30, "{made_disabled}");
}

#[test]
fn a_table_that_cannot_be_tiered_stays_so_until_the_others_were_read() {
    let takes = |statement: &Statement| match statement {
        Statement::AlterColumns { changes, side: Side::Lake, .. } => {
            matches!(changes[..], [ColumnChange::Drop(_) | ColumnChange::Rename { .. }])
        }
        _ => false,
    };
    let mut seen = 0;
    for plan in plans("recreate") {
        let of_bad = |wanted: bool| {
            plan.statements().filter(move |(_, planned)| planned.statement.table().table().starts_with("bad") == wanted)
        };
        let Some((_, taken)) = of_bad(true).find(|(_, planned)| takes(&planned.statement)) else { continue };
        let mended_ms = of_bad(true)
            .filter(|(_, planned)| planned.phase == Phase::Healed && !planned.statement.is_read())
            .map(|(_, planned)| planned.at_ms)
            .find(|at_ms| *at_ms > 2_000)
            .unwrap();
        let patient = of_bad(false)
            .filter(|(_, planned)| planned.phase == Phase::Healed && planned.session == "r1")
            .map(|(_, planned)| planned.at_ms)
            .max();
        assert!((taken.phase, taken.at_ms) < (Phase::Healed, mended_ms), "{}", plan.seed);
        assert!(patient.is_some_and(|at_ms| at_ms > 2_000 && at_ms < mended_ms), "{}: {patient:?}", plan.seed);
        seen += 1;
    }
    assert!(seen >= 15, "{seen}");
}

#[test]
fn definitions_race_on_both_catalogs() {
    let plans = plans("ddl-races");
    let jdbc = plans.iter().filter(|plan| plan.catalog.kind == CatalogKind::Jdbc).count();
    assert!((20..=40).contains(&jdbc), "{jdbc}");
    let racing = |is: &dyn Fn(&Statement) -> bool| {
        let races = |plan: &&Plan| {
            plan.statements()
                .any(|(_, planned)| planned.phase == Phase::Chaos && planned.session == "c1" && is(&planned.statement))
        };
        plans.iter().filter(races).count()
    };
    let counts = [
        racing(&|statement| matches!(statement, Statement::RenameTable { .. })),
        racing(&|statement| matches!(statement, Statement::AlterColumns { side: Side::Store, .. })),
        racing(&|statement| matches!(statement, Statement::AlterColumns { side: Side::Lake, .. })),
        racing(&|statement| matches!(statement, Statement::CreateBranch { .. })),
        racing(&|statement| matches!(statement, Statement::Insert { branch: Some(_), .. })),
        racing(&|statement| matches!(statement, Statement::CreateView { .. })),
        racing(&|statement| matches!(statement, Statement::Update { .. })),
        racing(&|statement| sets(statement, "lakestream.enabled", "false")),
    ];
    for (number, wanted) in [40, 25, 25, 40, 25, 30, 25, 4].into_iter().enumerate() {
        assert!(counts[number] >= wanted, "{number}: {counts:?}");
    }
}

/// How long after each statement that `is` the next one of that session is asked for, over all plans.
fn pauses_after(plans: &[Plan], is: impl Fn(&Statement) -> bool) -> Vec<u64> {
    let mut pauses = Vec::new();
    for plan in plans {
        let chaos = plan.statements().filter(|(_, planned)| planned.phase == Phase::Chaos);
        let chaos: Vec<_> = chaos.map(|(_, planned)| planned).collect();
        for (index, first) in chaos.iter().enumerate().filter(|(_, planned)| is(&planned.statement)) {
            let next = chaos[index + 1..].iter().find(|planned| planned.session == first.session);
            pauses.extend(next.map(|next| next.at_ms - first.at_ms));
        }
    }
    pauses
}

#[test]
fn the_mode_comes_back_before_a_round_is_over() {
    let plans = plans("lifecycle");
    let of_story = |statement: &Statement| statement.table().table().starts_with("switch");
    let off = |statement: &Statement| {
        of_story(statement) && (resets(statement) || sets(statement, "table.datalake.enabled", "false"))
    };
    let pauses = pauses_after(&plans, off);
    assert!(pauses.len() >= 150 && pauses.iter().all(|pause_ms| *pause_ms < 120), "{}", pauses.len());
}

/// Whether the statement inserts rows with a column that no table of the plan begins with.
fn names_an_added_column(statement: &Statement) -> bool {
    let Statement::Insert { rows, .. } = statement else { return false };
    rows.columns.iter().any(|name| name.starts_with("added"))
}

#[test]
fn rows_with_a_new_column_come_at_once() {
    let plans = plans("layouts");
    let added = |statement: &Statement| adds(statement, |name, _| name.starts_with("added"));
    let of_story = |statement: &Statement| added(statement) && statement.table().table().starts_with("wide");
    let pauses = pauses_after(&plans, of_story);
    assert!(pauses.len() >= 100 && pauses.iter().all(|pause_ms| *pause_ms == 0), "{}", pauses.len());
    assert!(having(&plans, names_an_added_column) >= 50);
}

#[test]
fn columns_are_added_in_the_middle_of_ordinary_work() {
    for (scenario, least) in [("append", 3), ("key-upsert-delete", 3), ("tiering-crash", 3), ("ddl-races", 15)] {
        let plans = plans(scenario);
        let in_store = having(&plans, |statement| adds(statement, |name, _| name.starts_with("added")));
        let written = having(&plans, names_an_added_column);
        assert!(in_store >= least && written >= least, "{scenario}: {in_store} {written}");
        // In most runs the columns stay, so that what tables contain is judged to the end.
        assert!(in_store <= plans.len() / 2, "{scenario}: {in_store}");
    }
    let in_lake = having(&plans("ddl-races"), |statement| match statement {
        Statement::AlterColumns { changes, side: Side::Lake, .. } => changes
            .iter()
            .any(|change| matches!(change, ColumnChange::Add { column, .. } if column.name.starts_with("added"))),
        _ => false,
    });
    assert!(in_lake >= 4, "{in_lake}");
}

#[test]
fn calls_about_the_table_of_a_story_go_wrong_where_a_scenario_says_so() {
    let of_story = |plan: &Plan, fault: &Fault| match fault {
        Fault::Call { at, .. } => {
            at.caller == "tiering"
                && at
                    .table
                    .as_ref()
                    .is_some_and(|table| table.table().starts_with("again") || table.table().starts_with("bad"))
                && plan.tables.iter().any(|planned| Some(&planned.table) == at.table.as_ref())
        }
        _ => false,
    };
    let plans = plans("recreate");
    let struck = plans.iter().filter(|plan| plan.faults().any(|(_, fault)| of_story(plan, fault))).count();
    assert!(struck >= 40, "{struck}");
}
