//! The table as people read it.

use super::{Expectation, Form, StoreState, Verdict, expected, forms};

/// The table in columns, at most 120 characters wide, with a line for each form.
pub fn render() -> String {
    let mut lines = vec![line("statement", "in the mode, by the state of the store", "out of the mode", "by rules")];
    lines.push("-".repeat(120));
    lines.extend(forms().iter().map(row));
    lines.push(String::new());
    let named = "where it is C6 or C21, the same one decides";
    lines.push(format!("{} forms. Out of the mode C8 decides; {named} as in the mode.", forms().len()));
    lines.join("\n")
}

fn row(form: &'static Form) -> String {
    let inside = form.in_the_mode.of(StoreState::Working);
    let outside = expected(form, false, StoreState::Working);
    line(&form.sql, &verdicts(form), outside.verdict.word(), &decided_by(inside))
}

fn decided_by(expectation: Expectation) -> String {
    let rules: Vec<String> = expectation.rules.iter().map(ToString::to_string).collect();
    format!("{} {}", expectation.property, rules.join(","))
}

/// The verdicts of the states that have one of their own, then the one of all others.
fn verdicts(form: &Form) -> String {
    let others = form.in_the_mode.others();
    let own: Vec<(StoreState, Verdict)> = form.in_the_mode.own().collect();
    if own.is_empty() {
        return others.word().to_owned();
    }
    let own = own.iter().map(|(store, verdict)| format!("{} {}", state(*store), verdict.word()));
    format!("{}, else {}", own.collect::<Vec<_>>().join(", "), others.word())
}

fn state(store: StoreState) -> String {
    format!("{store:?}").to_lowercase()
}

fn line(statement: &str, inside: &str, outside: &str, decided_by: &str) -> String {
    let line = format!("{statement:<36} {inside:<57} {outside:<13} {decided_by}");
    line.trim_end().to_owned()
}
