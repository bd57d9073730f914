//! Named scenarios: what kind of run it is, in ranges and probabilities, as readable TOML.
//!
//! A scenario says what may happen; a seed decides what does. It names the properties that its runs exercise. It never
//! knows an engine or a checker, and it is never written for one planted defect (rule 9).

mod contract;
mod crash_points;
mod maintenance;
mod nemesis;
mod story;
mod workload;

use models::contract::Bounds;
use serde::Deserialize;

pub use contract::ContractTable;
pub use crash_points::{CrashPoints, CrashedProtocol};
pub use maintenance::*;
pub use nemesis::*;
pub use story::{StoryGroup, StoryKind};
pub use workload::*;

/// One scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: String,
    /// What it is about, in one line.
    pub description: String,
    /// How many of a campaign's seeds it gets, in proportion to the others'; 0 for one that only runs when it is named.
    pub weight: u64,
    /// The ids of the properties that its runs exercise.
    pub exercises: Vec<String>,
    /// What the system may declare at most in any of its runs.
    pub bounds: Bounds,
    /// What is asked of the system beside faults. This, `contract` or `crash_points`.
    #[serde(default)]
    pub workload: Option<Workload>,
    /// How the contract's table is run. This, `workload` or `crash_points`.
    #[serde(default)]
    pub contract: Option<ContractTable>,
    /// Whose crash points are tried. This, `workload` or `contract`.
    #[serde(default)]
    pub crash_points: Option<CrashPoints>,
    /// The reference system's timings.
    #[serde(default)]
    pub timings: Timings,
    /// What goes wrong beside a workload.
    #[serde(default)]
    pub nemeses: Nemeses,
}

impl Scenario {
    /// A scenario from TOML. The error is one sentence and names the file, the line and the key.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start.min(text.len()));
            let number = text[..offset].matches('\n').count() + 1;
            let line = text.lines().nth(number - 1).unwrap_or_default().trim();
            format!("{file}, line {number}, `{line}`: {}", error.message().replace('\n', ", "))
        })?;
        scenario.check().map_err(|found| format!("{file}: {found}"))?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        let kebab = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if !kebab(&self.name) {
            return Err(format!("expected key `name` to be lower-case words joined by `-`, found {:?}", self.name));
        }
        if self.description.is_empty() || self.description.contains('\n') {
            return Err(format!("expected key `description` to be one line, found {:?}", self.description));
        }
        if self.weight == 0 && !self.crash_points.is_some_and(|kind| kind.pairs) {
            return Err("expected key `weight` to be at least 1, found 0".to_owned());
        }
        if self.exercises.is_empty() {
            return Err("expected key `exercises` to name at least one property, found none".to_owned());
        }
        self.timings.check()?;
        if self.crash_points.is_some() {
            // A plan of crash points has nothing beside them.
            let alone = self.workload.is_none()
                && self.contract.is_none()
                && self.timings == Timings::default()
                && self.nemeses == Nemeses::default();
            let beside = "expected nothing beside `crash_points`, found `workload`, `contract`, `timings` or `nemeses`";
            return if alone { Ok(()) } else { Err(beside.to_owned()) };
        }
        match (&self.workload, &self.contract) {
            (Some(workload), None) => {
                workload.check()?;
                self.nemeses.check()?;
                if self.nemeses.strike(Role::Story) && workload.stories.iter().all(|group| group.count.least == 0) {
                    return Err(
                        "expected at least one of `workload.stories` for `nemeses` to strike, found none".to_owned()
                    );
                }
                if self.nemeses.strike(Role::Metastore) && workload.jdbc_permille.0 == 0 {
                    return Err(
                        "expected a `workload.jdbc_permille` for `nemeses` to strike the metastore, found none"
                            .to_owned(),
                    );
                }
                Ok(())
            }
            (None, Some(contract)) if self.nemeses == Nemeses::default() => contract.check(),
            (None, Some(_)) => Err("expected no `nemeses` beside `contract`, found some".to_owned()),
            (Some(_), Some(_)) => Err("expected `workload` or `contract`, found both".to_owned()),
            (None, None) => Err("expected `workload`, `contract` or `crash_points`, found none".to_owned()),
        }
    }
}

/// A range of numbers, `[least, most]`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "[u64; 2]")]
pub struct Range {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

impl Range {
    /// The range from `least` to `most`, both included.
    pub const fn new(least: u64, most: u64) -> Self {
        Self { least, most }
    }

    /// The refusal of a range that goes beyond `[least, most]`.
    fn check_within(self, key: &str, least: u64, most: u64) -> Result<(), String> {
        if self.least >= least && self.most <= most {
            return Ok(());
        }
        Err(format!("expected key `{key}` to lie within [{least}, {most}], found [{}, {}]", self.least, self.most))
    }
}

impl TryFrom<[u64; 2]> for Range {
    type Error = String;

    fn try_from([least, most]: [u64; 2]) -> Result<Self, String> {
        if least <= most {
            Ok(Self { least, most })
        } else {
            Err(format!("expected a range as [least, most], found [{least}, {most}]"))
        }
    }
}

/// A probability in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub struct Permille(pub u64);

impl TryFrom<u64> for Permille {
    type Error = String;

    fn try_from(permille: u64) -> Result<Self, String> {
        if permille <= 1000 {
            Ok(Self(permille))
        } else {
            Err(format!("expected at most 1000 of a thousand, found {permille}"))
        }
    }
}
