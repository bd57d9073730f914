//! The catalogue of what must sometimes happen in a campaign, registered before the first run, so that what never
//! happens shows.
//!
//! It has the points of the reference's own code, each fault at each step at which the library can let it strike, and
//! what only the engine sees. It must never know a planted bug, nor say whether a system is right: a campaign that
//! never was somewhere has simply not looked there.

pub mod required;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use models::points::Point;
use scenarios::coverage::{FaultStep, fault_steps};

use required::required;

/// Which entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoverageIndex(u16);

/// The points that one run was at.
pub type Reached = BTreeSet<CoverageIndex>;

/// How much a campaign wants to have been at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A whole campaign that never was there is inconclusive.
    Required,
    /// Only told.
    Rare,
}

/// Where a point comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The reference says so itself.
    System,
    /// A fault struck.
    Fault,
    /// The engine saw it.
    Engine,
}

/// One entry of the catalogue.
#[derive(Clone, Debug)]
pub struct CoveragePoint {
    /// Its name, unique.
    pub id: String,
    /// What happened, in a sentence.
    pub happened: String,
    /// Who says so.
    pub source: Source,
    /// Whether a campaign must have been there.
    pub need: Need,
}

/// What the engine sees and no part of the system can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnginePoint {
    /// A worker, the store or the coordinator died while a commit was not registered yet.
    CrashAfterCommit,
    /// Two workers committed to a table, the second before the first one's commit was registered.
    CommitsUnregistered,
}

impl EnginePoint {
    const ALL: [Self; 2] = [Self::CrashAfterCommit, Self::CommitsUnregistered];

    fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::CrashAfterCommit => (
                "crash-after-commit",
                "a worker, the store or the coordinator died between a lake commit and its registration",
            ),
            Self::CommitsUnregistered => (
                "commits-unregistered",
                "a second worker committed to a table before the first one's commit was registered",
            ),
        }
    }
}

/// All points, and how they are found.
#[derive(Debug)]
pub struct Catalogue {
    points: Vec<CoveragePoint>,
    faults: BTreeMap<FaultStep, CoverageIndex>,
}

/// The catalogue, the same in every process.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::new);
    &CATALOGUE
}

impl Catalogue {
    fn new() -> Self {
        let mut points = Vec::new();
        let required = required();
        let mut add = |id: String, happened: String, source| {
            let need = if required.contains(id.as_str()) { Need::Required } else { Need::Rare };
            points.push(CoveragePoint { id, happened, source, need });
            CoverageIndex(points.len() as u16 - 1)
        };
        for point in Point::ALL {
            add(point.id().to_owned(), point.happened().to_owned(), Source::System);
        }
        for point in EnginePoint::ALL {
            let (id, happened) = point.told();
            add(id.to_owned(), happened.to_owned(), Source::Engine);
        }
        let faults = fault_steps().iter().map(|step| {
            let (id, happened) = (fault_id(step), format!("{} struck at {}", step.kind, step.step));
            (step.clone(), add(id, happened, Source::Fault))
        });
        let faults = faults.collect();
        Self { points, faults }
    }

    /// All points, in the order of their indices.
    pub fn points(&self) -> impl Iterator<Item = (CoverageIndex, &CoveragePoint)> {
        self.points.iter().enumerate().map(|(index, point)| (CoverageIndex(index as u16), point))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The index of a point of the reference.
    pub fn of_system(point: Point) -> CoverageIndex {
        CoverageIndex(point as u16)
    }

    /// The index of what the engine saw.
    pub fn of_engine(point: EnginePoint) -> CoverageIndex {
        CoverageIndex(Point::ALL.len() as u16 + point as u16)
    }

    /// The index of a fault that struck; `None` where no scenario of the library can let it strike, as in a plan that
    /// somebody wrote.
    pub fn of_fault(&self, kind: &str, target: &str) -> Option<CoverageIndex> {
        self.faults.get(&FaultStep::of(kind, target)).copied()
    }
}

/// `reply-lost@tiering.store.append`.
fn fault_id(step: &FaultStep) -> String {
    format!("{}@{}", step.kind, step.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_lead_to_their_points() {
        let catalogue = catalogue();
        let id = |index: CoverageIndex| catalogue.points[usize::from(index.0)].id.as_str();
        for point in Point::ALL {
            assert_eq!(id(Catalogue::of_system(*point)), point.id());
        }
        for point in EnginePoint::ALL {
            assert_eq!(id(Catalogue::of_engine(point)), point.told().0);
        }
        let lost = catalogue.of_fault("reply-lost", "tiering(db.t).store.register-lake-snapshot#2").unwrap();
        assert_eq!(id(lost), "reply-lost@tiering.store.register-lake-snapshot");
        assert_eq!(catalogue.of_fault("reply-lost", "w1(db.t).store.no-such-call#2"), None);
    }

    #[test]
    fn every_point_has_a_name_of_its_own_and_what_is_required_is_a_point() {
        let ids: BTreeSet<&str> = catalogue().points.iter().map(|point| point.id.as_str()).collect();
        assert_eq!(ids.len(), catalogue().count());
        let unknown: Vec<_> = required().into_iter().filter(|id| !ids.contains(id)).collect();
        assert!(unknown.is_empty(), "no such points: {unknown:?}");
    }
}
