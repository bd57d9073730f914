//! Filling in a form's template. What stands in braces names what is filled in; this module never knows which forms
//! there are.

use std::collections::BTreeMap;

use models::contract::Statement;
use serde_json::Value as Json;

use super::Form;

/// What is filled in for one statement on one table, by placeholder without its braces. A text may be part of a longer
/// one, as in `{table}$rt`; anything else stands alone.
pub type Filling = BTreeMap<&'static str, Json>;

impl Form {
    /// The statement of this form. The error says which placeholder is missing, or what is wrong with the template.
    pub fn statement(&self, filling: &Filling) -> Result<Statement, String> {
        let filled = fill(&self.statement, filling).map_err(|found| format!("form {:?}: {found}", self.name))?;
        serde_json::from_value(filled)
            .map_err(|error| format!("form {:?}: expected a statement, found one with {error}", self.name))
    }
}

fn fill(template: &Json, filling: &Filling) -> Result<Json, String> {
    Ok(match template {
        Json::String(text) => fill_text(text, filling)?,
        Json::Array(elements) => {
            Json::Array(elements.iter().map(|element| fill(element, filling)).collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), fill(value, filling)?)));
            Json::Object(fields.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, filling: &Filling) -> Result<Json, String> {
    let Some((before, rest)) = text.split_once('{') else { return Ok(Json::String(text.to_owned())) };
    let (name, after) = rest.split_once('}').ok_or_else(|| format!("expected a closing brace in {text:?}"))?;
    let value =
        filling.get(name).ok_or_else(|| format!("expected a placeholder that is filled in, found {{{name}}}"))?;
    match value {
        whole if before.is_empty() && after.is_empty() => Ok(whole.clone()),
        Json::String(part) => Ok(Json::String(format!("{before}{part}{after}"))),
        _ => Err(format!("expected {{{name}}} to stand alone, found it within {text:?}")),
    }
}
