//! Filling in a form's template. What stands in braces names what is filled in; this module never knows which forms
//! there are.

use models::contract::Statement;
use serde_json::Value as Json;

use super::Form;

impl Form {
    /// The statement of this form. `fill` gives what stands for a placeholder, by its name without braces: a text may be
    /// part of a longer one, as in `{table}$rt`; anything else stands alone. The error says which placeholder is not
    /// filled in, or what is wrong with the template.
    pub fn statement(&self, fill: &dyn Fn(&str) -> Option<Json>) -> Result<Statement, String> {
        let filled = fill_in(&self.statement, fill).map_err(|found| format!("form {:?}: {found}", self.name))?;
        serde_json::from_value(filled)
            .map_err(|error| format!("form {:?}: expected a statement, found one with {error}", self.name))
    }
}

fn fill_in(template: &Json, fill: &dyn Fn(&str) -> Option<Json>) -> Result<Json, String> {
    Ok(match template {
        Json::String(text) => fill_text(text, fill)?,
        Json::Array(elements) => {
            Json::Array(elements.iter().map(|element| fill_in(element, fill)).collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), fill_in(value, fill)?)));
            Json::Object(fields.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, fill: &dyn Fn(&str) -> Option<Json>) -> Result<Json, String> {
    let Some((before, rest)) = text.split_once('{') else { return Ok(Json::String(text.to_owned())) };
    let (name, after) = rest.split_once('}').ok_or_else(|| format!("expected a closing brace in {text:?}"))?;
    let value = fill(name).ok_or_else(|| format!("expected a placeholder that is filled in, found {{{name}}}"))?;
    match value {
        whole if before.is_empty() && after.is_empty() => Ok(whole),
        Json::String(part) => Ok(Json::String(format!("{before}{part}{after}"))),
        _ => Err(format!("expected {{{name}}} to stand alone, found it within {text:?}")),
    }
}
