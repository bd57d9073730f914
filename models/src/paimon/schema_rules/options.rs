//! Options as values, for the rules.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::contract::{Failure, FailureCode, TableSchema};

use super::super::option_text::{choice, flag};
use super::option_changes::{PARTITION, PRIMARY_KEY};

/// The value of an option, without blanks around it.
pub(super) fn option_of<'a>(schema: &'a TableSchema, key: &str) -> Option<&'a str> {
    schema.options.get(key).map(|text| text.trim())
}

/// Whether a boolean option is on. One that is neither `true` nor `false` is refused by [`boolean`].
pub(in super::super) fn is_option_on(options: &BTreeMap<String, String>, key: &str, default: bool) -> bool {
    match options.get(key).map(|text| text.trim()) {
        Some(text) if text.eq_ignore_ascii_case("true") => true,
        Some(text) if text.eq_ignore_ascii_case("false") => false,
        _ => default,
    }
}

/// A boolean option; `invalid` if it is none.
pub(super) fn boolean(schema: &TableSchema, key: &str, default: bool) -> Result<bool, Failure> {
    flag(&schema.options, key, default)
}

/// A 32-bit option; `invalid` if it is none.
pub(super) fn integer(schema: &TableSchema, key: &str, default: i32) -> Result<i32, Failure> {
    option_of(schema, key).map_or(Ok(default), |text| {
        text.parse().map_err(|_| Failure::invalid(format!("expected option `{key}` to be a number, found {text:?}")))
    })
}

/// An option that is one of these words, in lower case; the first is the default. `invalid` if it is another.
pub(super) fn word<'a>(schema: &TableSchema, key: &str, words: &[&'a str]) -> Result<&'a str, Failure> {
    choice(&schema.options, key, &words.iter().map(|word| (*word, *word)).collect::<Vec<_>>())
}

/// `unsupported`, unless the option is absent or one of these words.
pub(super) fn require_word(schema: &TableSchema, key: &str, words: &[&str]) -> Result<(), Failure> {
    match option_of(schema, key) {
        Some(found) if !words.iter().any(|word| word.eq_ignore_ascii_case(found)) => {
            Err(unsupported(format!("expected option `{key}` to be one of [{}], found {found:?}", words.join(", "))))
        }
        _ => Ok(()),
    }
}

/// The failure of a definition that asks for what this version does not hold.
pub(super) fn unsupported(sentence: String) -> Failure {
    Failure::definite(FailureCode::Unsupported, sentence)
}

/// The definition with the keys that its options name moved to where keys belong, as Paimon does; `invalid` if it names
/// them twice.
pub(in super::super) fn with_keys_of_options(schema: &TableSchema) -> Result<Cow<'_, TableSchema>, Failure> {
    if !schema.options.contains_key(PRIMARY_KEY) && !schema.options.contains_key(PARTITION) {
        return Ok(Cow::Borrowed(schema));
    }
    let mut moved = schema.clone();
    for (key, columns) in [(PRIMARY_KEY, &mut moved.primary_key), (PARTITION, &mut moved.partition_keys)] {
        let Some(text) = moved.options.remove(key) else { continue };
        if !columns.is_empty() {
            return Err(Failure::invalid(format!("expected the {key} once, found it also as option `{key}`")));
        }
        columns.extend(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned));
    }
    Ok(Cow::Owned(moved))
}
