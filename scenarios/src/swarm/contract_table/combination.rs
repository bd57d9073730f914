//! What a plan of the contract's table runs on: one combination of catalog, state of the store and kind of table. A
//! seed names it, so that the first so many seeds have all of them.

use std::collections::BTreeMap;
use std::fmt;

use models::config::{CatalogConfig, CatalogKind, STORE_ADDRESS, STORE_BOOTSTRAP, STORE_IDENTIFIER};
use models::contract::{LAKESTREAM_STORE, Side};

use crate::contract::{SENTINEL, StoreState};

/// How the query side finds the store, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Working,
    /// Away for a part of the chaos phase.
    Outage,
    /// Nobody listens at the address that the catalog knows.
    Elsewhere,
    Unset,
    Unknown,
    Uncreatable,
    /// The tables in the mode are declared on the lake side only.
    Lacking,
}

const FOUND: [Found; 7] =
    [Found::Working, Found::Outage, Found::Elsewhere, Found::Unset, Found::Unknown, Found::Uncreatable, Found::Lacking];
const CATALOGS: [CatalogKind; 2] = [CatalogKind::Filesystem, CatalogKind::Jdbc];
/// (keyed, partitioned)
const KINDS: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

/// How many combinations there are.
pub(super) const COMBINATIONS: u64 = (CATALOGS.len() * FOUND.len() * KINDS.len()) as u64;

/// One combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combination {
    pub catalog: CatalogKind,
    pub found: Found,
    pub keyed: bool,
    pub partitioned: bool,
}

impl Combination {
    /// The combination that a seed names: the catalog changes first, the kind of table last.
    pub(super) fn of(seed: u64) -> Self {
        let number = (seed % COMBINATIONS) as usize;
        let (keyed, partitioned) = KINDS[number / (CATALOGS.len() * FOUND.len())];
        Self {
            catalog: CATALOGS[number % CATALOGS.len()],
            found: FOUND[number / CATALOGS.len() % FOUND.len()],
            keyed,
            partitioned,
        }
    }

    /// The state of the store that the table's verdicts are about.
    pub(super) fn store(self) -> StoreState {
        match self.found {
            Found::Working => StoreState::Working,
            Found::Outage | Found::Elsewhere => StoreState::Down,
            Found::Unset => StoreState::Unset,
            Found::Unknown => StoreState::Unknown,
            Found::Uncreatable => StoreState::Uncreatable,
            Found::Lacking => StoreState::Lacking,
        }
    }

    /// Where the tables in the mode come from.
    pub(super) fn side(self) -> Side {
        if self.found == Found::Lacking { Side::Lake } else { Side::Store }
    }

    /// Whether regular writes to tables in the mode arrive before anything is tried.
    pub(super) fn takes_writes(self) -> bool {
        matches!(self.found, Found::Working | Found::Outage)
    }

    /// The catalog as its user configured it. Two options are secrets: one is the store's, one is not.
    pub(super) fn catalog(self) -> CatalogConfig {
        let own = |key: &str| format!("{STORE_IDENTIFIER}.{key}");
        let mut options = BTreeMap::from([
            (own("security.token"), format!("{SENTINEL}-of-the-store")),
            ("other.x".to_owned(), format!("{SENTINEL}-of-another")),
        ]);
        match self.found {
            Found::Unset => {}
            Found::Unknown => {
                options.insert(LAKESTREAM_STORE.to_owned(), "nowhere".to_owned());
            }
            _ => {
                options.insert(LAKESTREAM_STORE.to_owned(), STORE_IDENTIFIER.to_owned());
            }
        }
        if self.found != Found::Uncreatable {
            let address = if self.found == Found::Elsewhere { "elsewhere:9123" } else { STORE_ADDRESS };
            options.insert(own(STORE_BOOTSTRAP), address.to_owned());
        }
        CatalogConfig { kind: self.catalog, options }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keyed = if self.keyed { "key table" } else { "append table" };
        let partitions = if self.partitioned { " with partitions" } else { "" };
        write!(formatter, "{:?} catalog, store {:?}, {keyed}{partitions}", self.catalog, self.found)
    }
}
