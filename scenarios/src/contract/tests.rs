//! The table is well formed, and every form is recognised by its own statement.

use std::collections::BTreeMap;

use models::contract::Statement;
use serde_json::{Value as Json, json};

use super::*;

/// A filling for a small table `db.t`, partitioned and with a key.
fn filling() -> BTreeMap<&'static str, Json> {
    let row = json!({"id": 1, "dt": "d", "w": 7, "v": "a"});
    BTreeMap::from([
        ("table", json!("db.t")),
        ("bare", json!("db.")),
        ("renamed", json!("db.t_renamed")),
        ("absent", json!("db.t_absent")),
        ("missing", json!("db.t_missing")),
        ("view", json!("db.t_view$rt")),
        ("rows", json!([row])),
        ("rows_in_partition", json!([{"id": 1, "dt": "d", "w": 8, "v": "a"}])),
        ("rows_without_partition", json!([{"id": 1, "w": 8, "v": "a"}])),
        ("partition", json!({"dt": "d"})),
        ("filter", json!({"v": "a"})),
        ("one", json!({"id": 1})),
        ("set", json!({"v": "b", "w": 9})),
        ("key", json!({"id": 1, "dt": "d"})),
        ("keys", json!([{"id": 1, "dt": "d"}])),
        ("columns", json!([{"name": "id", "type": "INT", "nullable": false}])),
        ("primary_key", json!(["id"])),
        ("partition_keys", json!([])),
        ("options", json!({"bucket": "1"})),
    ])
}

fn subjects(form: &Form) -> Vec<Subject> {
    match form.subject {
        Named::View => vec![Subject::View],
        Named::Nothing => vec![Subject::Nothing],
        Named::Table if form.needs.contains(&Need::Key) => vec![Subject::KeyTable],
        Named::Table if form.needs.contains(&Need::NoKey) => vec![Subject::AppendTable],
        Named::Table => vec![Subject::AppendTable, Subject::KeyTable],
    }
}

#[test]
fn every_form_is_recognised_by_its_own_statement() {
    let filling = filling();
    for form in forms() {
        let statement = form.statement(&|name| filling.get(name).cloned()).unwrap();
        for subject in subjects(form) {
            let found = form_of(&statement, subject).map(|form| form.name.as_str());
            assert_eq!(found, Some(form.name.as_str()), "{statement:?} on {subject:?}");
        }
    }
}

#[test]
fn what_no_text_speaks_of_has_no_form() {
    for text in [
        r#"{"enable":{"table":"db.t"}}"#,
        r#"{"promote":{"table":"db.t"}}"#,
        r#"{"describe":{"table":"db.t","side":"store"}}"#,
        r#"{"alter_options":{"table":"db.t","set":{"lakestream.enabled":"true"},"side":"store"}}"#,
        r#"{"truncate_table":{"table":"db.t$branch_b"}}"#,
    ] {
        let statement: Statement = serde_json::from_str(text).unwrap();
        assert_eq!(form_of(&statement, Subject::KeyTable), None, "{text}");
    }
}

#[test]
fn out_of_the_mode_no_verdict_speaks_of_the_store() {
    let of_the_store =
        [Verdict::Store, Verdict::StoreIfAble, Verdict::Union, Verdict::NamesStore, Verdict::Unavailable];
    for form in forms() {
        let verdict = expected(form, false, StoreState::Working).verdict;
        assert!(!of_the_store.contains(&verdict), "{}", form.name);
    }
}

#[test]
fn the_store_is_named_wherever_it_is_needed_and_not_found() {
    let expectation = |name: &str, store| expected(form(name).unwrap(), true, store);
    for name in ["select-rt", "lookup-rt", "changes-rt", "insert", "delete-keys", "update"] {
        for store in [StoreState::Unset, StoreState::Unknown, StoreState::Uncreatable, StoreState::Lacking] {
            assert_eq!(expectation(name, store).verdict, Verdict::NamesStore, "{name} {store:?}");
        }
    }
    for store in StoreState::ALL {
        assert_eq!(expectation("rename", store).verdict, Verdict::RejectedWithAdvice);
        assert_eq!(expectation("select", store).verdict, Verdict::Lake);
        assert_eq!(expectation("insert-branch", store).verdict, Verdict::Rejected);
        assert_eq!((expectation("mode-off-by-reset", store).property), "C6");
    }
}

#[test]
fn a_template_or_a_table_that_makes_no_sense_is_refused_by_name() {
    let table_only = |name: &str| (name == "table").then(|| json!("db.t"));
    assert_eq!(
        form("insert").unwrap().statement(&table_only).unwrap_err(),
        "form \"insert\": expected a placeholder that is filled in, found {rows}"
    );
    let good = r#"
        [[form]]
        name = "x"
        sql = "x"
        statement = { truncate_table = { table = "{table}" } }
        in_the_mode = { property = "C9", rules = [41], others = "lake" }
        out_of_the_mode = "lake"
    "#;
    assert_eq!(form::parse("f", good).unwrap().len(), 1);
    let cases = [
        (good.repeat(2), "f: expected each form to have a name of its own, found \"x\" twice"),
        (good.replace("[41]", "[]"), "f: expected the rules that decide about form \"x\", found none"),
        (good.replace("others = \"lake\"", "others = \"pond\""), "f, line 6: unknown variant `pond`"),
        (good.replace("name = \"x\"", "nmae = \"x\""), "f, line 3: unknown field `nmae`"),
    ];
    for (text, expected) in cases {
        let found = form::parse("f", &text).unwrap_err();
        assert!(found.starts_with(expected), "expected {expected}\n   found {found}");
    }
}

#[test]
fn the_table_as_people_read_it() {
    let rendered = render();
    let widest = rendered.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 120, "{widest}");
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("contract-table", rendered);
    });
}
