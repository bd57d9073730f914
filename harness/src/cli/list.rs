//! `list`: what there is.

use clap::{Args, ValueEnum};
use models::defects::Defect;
use serde_json::{Value, json};

use super::console::Console;
use super::status::{CommandError, Status};
use crate::check::properties;
use crate::coverage::{Need, catalogue};
use crate::report::paragraph::wrapped;

/// The options of `list`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to list
    what: Kind,
    /// Tell more of each property: what counts as judging it, its rules, their sources, and what is uncertain
    #[arg(long)]
    long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// What is run
    Scenarios,
    /// What is judged
    Properties,
    /// Bugs that can be planted in the reference system
    Defects,
    /// What can go wrong in a run
    Faults,
    /// What must sometimes happen in a campaign
    Coverage,
}

/// The column of names is at most so wide; after a longer name the rest begins on the next line.
const NAME_WIDTH: usize = 40;

/// One listed thing: its name, what stands in a column of its own, its description, titled lines below, and all of it
/// for machines.
struct Item {
    name: String,
    column: String,
    description: String,
    below: Vec<(&'static str, String)>,
    data: Value,
}

impl Item {
    /// As people read it: the name, then the rest, indented where it needs more than a line. Only names begin a line.
    fn text(&self, name_width: usize) -> String {
        let first = format!("{:<name_width$}  {}", self.name, self.column);
        let indent = " ".repeat(name_width + 2 + self.column.chars().count());
        let mut text = if self.name.chars().count() > name_width {
            format!("{}\n{}", self.name, wrapped(&self.description, &indent, &indent))
        } else {
            wrapped(&self.description, &first, &indent)
        };
        for (title, told) in &self.below {
            let first = format!("      {title:<12} ");
            text.push('\n');
            text.push_str(&wrapped(told, &first, &" ".repeat(first.len())));
        }
        text.push('\n');
        text
    }
}

/// Lists.
pub fn list(options: &Options, console: &Console) -> Result<Status, CommandError> {
    if options.long && options.what != Kind::Properties {
        return Err(CommandError::usage("--long tells more of properties: expected `list properties --long`"));
    }
    let items = match options.what {
        Kind::Scenarios => scenarios(),
        Kind::Properties => properties(options.long),
        Kind::Defects => defects(),
        Kind::Faults => faults(),
        Kind::Coverage => coverage(),
    };
    if console.json() {
        let data: Vec<Value> = items.into_iter().map(|item| item.data).collect();
        let text = serde_json::to_string_pretty(&data).map_err(|error| CommandError::trouble(error.to_string()))?;
        console.machines(&format!("{text}\n"))?;
    } else {
        let width = items.iter().map(|item| item.name.len()).max().unwrap_or(0).min(NAME_WIDTH);
        let texts: Vec<String> = items.iter().map(|item| item.text(width)).collect();
        console.people(&texts.concat())?;
    }
    Ok(Status::Held)
}

fn scenarios() -> Vec<Item> {
    let library = scenarios::library();
    let items = library.iter().map(|scenario| Item {
        name: scenario.name.clone(),
        column: format!("weight {:>2}  ", scenario.weight),
        description: scenario.description.clone(),
        below: Vec::new(),
        data: json!({ "name": scenario.name, "weight": scenario.weight, "description": scenario.description,
                       "exercises": scenario.exercises }),
    });
    items.collect()
}

fn properties(long: bool) -> Vec<Item> {
    let items = properties::ALL.iter().map(|property| Item {
        name: property.id.to_owned(),
        column: String::new(),
        description: {
            let not_judged = if property.judged { "" } else { " (not judged by this version)" };
            format!("{}{not_judged}", property.statement)
        },
        below: if long { more(property) } else { Vec::new() },
        data: json!({
            "id": property.id,
            "family": property.family.name(),
            "level": property.level.name(),
            "statement": property.statement,
            "rules": property.rules,
            "source": property.source,
            "uncertain": property.uncertain,
            "judged_when": property.exercised,
            "capability": property.capability,
            "judged": property.judged,
        }),
    });
    items.collect()
}

/// The lines of `--long` below a property.
fn more(property: &properties::Property) -> Vec<(&'static str, String)> {
    let rules: Vec<String> = property.rules.iter().map(u8::to_string).collect();
    let rules = if rules.is_empty() { String::new() } else { format!("{} ({})", rules.join(", "), property.source) };
    let lines = [
        ("level", property.level.name()),
        ("judged when", property.exercised),
        ("rules", rules.as_str()),
        // A property without a rule of its own still says where it comes from.
        ("source", if rules.is_empty() { property.source } else { "" }),
        ("uncertain", property.uncertain),
    ];
    let told = lines.iter().filter(|(_, text)| !text.is_empty());
    told.map(|(title, text)| (*title, (*text).to_owned())).collect()
}

fn defects() -> Vec<Item> {
    let items = Defect::ALL.iter().map(|defect| Item {
        name: defect.id().to_owned(),
        column: format!("{:<3}  ", defect.properties().join(", ")),
        description: format!("{} ({})", defect.bug(), defect.source()),
        below: Vec::new(),
        data: json!({
            "id": defect.id(),
            "properties": defect.properties(),
            "bug": defect.bug(),
            "source": defect.source(),
        }),
    });
    items.collect()
}

fn coverage() -> Vec<Item> {
    let items = catalogue().points().map(|(_, point)| Item {
        name: point.id.clone(),
        column: String::new(),
        description: {
            let rare = if point.need == Need::Rare { " (rare)" } else { "" };
            format!("{}{rare}", point.happened)
        },
        below: Vec::new(),
        data: json!({ "id": point.id, "happened": point.happened, "source": point.source, "need": point.need }),
    });
    items.collect()
}

fn faults() -> Vec<Item> {
    let items = scenarios::fault_kinds::FAULT_KINDS.iter().map(|(kind, description)| Item {
        name: (*kind).to_owned(),
        column: String::new(),
        description: (*description).to_owned(),
        below: Vec::new(),
        data: json!({ "kind": kind, "description": description }),
    });
    items.collect()
}
