//! Plans as text: pretty JSON that a person may edit. What is not understood is refused with its line and column.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::{Action, PLAN_VERSION, Plan, Step};

impl Plan {
    /// A plan from JSON, validated. The error is one sentence: where, what was expected, what was found.
    pub fn from_json(text: &str) -> Result<Self, String> {
        /// Read first, so that a plan of another version is refused as such and not for its unknown fields.
        #[derive(serde::Deserialize)]
        struct Versioned {
            version: Option<serde_json::Value>,
        }
        let malformed = |error: serde_json::Error| format!("expected a plan in JSON, found: {error}");
        let found = match serde_json::from_str::<Versioned>(text).map_err(malformed)?.version {
            Some(version) if version == PLAN_VERSION => None,
            Some(version) => Some(format!("version {version}")),
            None => Some("none".to_owned()),
        };
        if let Some(found) = found {
            return Err(format!("expected a plan with \"version\": {PLAN_VERSION}, found {found}"));
        }
        let plan: Self = serde_json::from_str(text).map_err(malformed)?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as indented JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every key of a plan is text");
        text.push('\n');
        text
    }
}

/// By hand, because a derived reader of a flattened action would pass over fields that it does not know.
impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StepVisitor;
        impl<'de> Visitor<'de> for StepVisitor {
            type Value = Step;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a step: `id`, and one of `run`, `close` and `fault`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Step, A::Error> {
                let (mut id, mut action) = (None, None);
                while let Some(name) = map.next_key::<String>()? {
                    let repeated = match name.as_str() {
                        "id" => id.replace(map.next_value::<String>()?).is_some(),
                        "run" => action.replace(Action::Run(map.next_value()?)).is_some(),
                        "close" => action.replace(Action::Close(map.next_value()?)).is_some(),
                        "fault" => action.replace(Action::Fault(map.next_value()?)).is_some(),
                        other => return Err(A::Error::unknown_field(other, &["id", "run", "close", "fault"])),
                    };
                    if repeated {
                        return Err(A::Error::custom(format!(
                            "expected one `id` and one of `run`, `close` and `fault` in a step, found a second: `{name}`"
                        )));
                    }
                }
                let id = id.ok_or_else(|| A::Error::missing_field("id"))?;
                let action = action.ok_or_else(|| {
                    A::Error::custom(format!("expected `run`, `close` or `fault` in step `{id}`, found none"))
                })?;
                Ok(Step { id, action })
            }
        }
        deserializer.deserialize_map(StepVisitor)
    }
}
