//! The contract as a table: each form of statement, and what it comes to in lake-stream mode and out of it, whatever
//! state the store is in. The table is data, `scenarios/contract.toml`; the words of its verdicts are explained there.
//!
//! A plan is made from the table ([`Form::statement`]), and a judge looks up what a statement of any plan should have
//! come to ([`form_of`], [`expected`]). This module never knows what a system did.

mod form;
mod form_of;
mod render;
mod template;

use std::sync::LazyLock;

pub use form::{Expectation, Form, Named, Need, StoreState, Verdict};
pub use form_of::{Subject, form_of};
pub use render::render;

/// Part of every value that plans use as a secret: table options, options of the store, options that are foreign to
/// the store. A message that contains it has leaked one (C13, C17).
pub const SENTINEL: &str = "SENTINEL";

/// All forms, in the order of the table.
///
/// # Panics
///
/// If the built-in table is malformed, which the tests rule out.
pub fn forms() -> &'static [Form] {
    static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
        form::parse("contract.toml", include_str!("../../contract.toml")).unwrap_or_else(|found| panic!("{found}"))
    });
    &FORMS
}

/// The form of this name.
pub fn form(name: &str) -> Option<&'static Form> {
    forms().iter().find(|form| form.name == name)
}

/// What a statement of this form comes to on a table that is in the mode, or is not, with the store in this state. Out
/// of the mode the store's state never matters (C8).
pub fn expected(form: &'static Form, in_the_mode: bool, store: StoreState) -> Expectation {
    if in_the_mode { form.in_the_mode.of(store) } else { form.out_of_the_mode.expectation() }
}

#[cfg(test)]
mod tests;
