//! What the catalog's options say of the store, and what each session's catalog did with it.
//!
//! Options are read as a user wrote them: no name of an option or store here is more than what the contract or the
//! reference's own configuration states.

use std::collections::{BTreeMap, BTreeSet};

use models::config::{CatalogConfig, CatalogKind, STORE_ADDRESS, STORE_BOOTSTRAP, STORE_IDENTIFIER};
use models::contract::LAKESTREAM_STORE;

use crate::history::{Event, FaultPhase, History};

use super::index::{NEVER, Operation};

/// What the options of a catalog lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// The store can be found.
    Found,
    /// No store is named.
    Unset,
    /// The named store is not on the class path.
    Unknown,
    /// The store cannot be created: an option is missing.
    Uncreatable,
    /// The store is looked for where nobody listens.
    Unreachable,
}

/// What the options of a catalog lead to.
fn discovery(config: &CatalogConfig) -> Discovery {
    match identifier(config) {
        None => Discovery::Unset,
        Some(name) if name != STORE_IDENTIFIER => Discovery::Unknown,
        Some(name) => match config.options.get(&format!("{name}.{STORE_BOOTSTRAP}")).map(|address| address.trim()) {
            None | Some("") => Discovery::Uncreatable,
            Some(STORE_ADDRESS) => Discovery::Found,
            Some(_) => Discovery::Unreachable,
        },
    }
}

/// The store that the options name.
pub fn identifier(config: &CatalogConfig) -> Option<&str> {
    config.options.get(LAKESTREAM_STORE).map(|name| name.trim()).filter(|name| !name.is_empty())
}

/// The names of the options that the store is handed: those with its prefix, without it.
pub fn forwarded(config: &CatalogConfig) -> BTreeSet<&str> {
    let Some(prefix) = identifier(config).map(|name| format!("{name}.")) else { return BTreeSet::new() };
    config.options.keys().filter_map(|key| key.strip_prefix(&prefix)).collect()
}

/// Whether the catalog overrides the guarded operations by itself (C4).
pub fn overrides(history: &History) -> bool {
    history.header.catalog.as_ref().is_some_and(|config| config.kind == CatalogKind::Jdbc)
}

/// Whether a message says which store it is about: its identifier, or the option that names it. `None` where the
/// identifier is not known.
pub fn names_store(history: &History, message: &str) -> Option<bool> {
    let config = history.header.catalog.as_ref()?;
    Some(message.contains(LAKESTREAM_STORE) || identifier(config).is_some_and(|name| message.contains(name)))
}

/// One observation of a session's catalog.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'h> {
    /// The ordinal of its event.
    pub n: u64,
    /// How often the store was opened, since the catalog was made.
    pub opened: u64,
    /// How often it was closed.
    pub store_closed: u64,
    /// What was handed to it.
    pub keys: &'h [String],
    /// Whether the catalog is closed.
    pub closed: bool,
    /// How often it had been opened before this observation.
    pub opened_before: u64,
}

/// All observations of catalogs, by session.
#[derive(Default)]
pub struct Catalogs<'h> {
    /// What their options lead to; `None` where they are not known.
    pub discovery: Option<Discovery>,
    /// In order.
    pub of_session: BTreeMap<&'h str, Vec<Sight<'h>>>,
}

impl<'h> Catalogs<'h> {
    /// Collects them.
    pub fn of(history: &'h History) -> Self {
        let known = history.header.catalog.as_ref();
        let mut catalogs = Self { discovery: known.map(discovery), ..Self::default() };
        let mut crashed: BTreeSet<&str> = BTreeSet::new();
        for entry in &history.events {
            if let Event::Fault { kind, target, phase: FaultPhase::Start } = &entry.event
                && kind == "crash"
            {
                crashed.insert(target);
            }
            let Event::Catalog { session, store_opened, store_closed, store_option_keys, closed } = &entry.event else {
                continue;
            };
            let sights = catalogs.of_session.entry(session).or_default();
            // After a close or a crash the session has a new catalog, which has opened nothing yet.
            let is_new = crashed.remove(session.as_str()) || sights.last().is_none_or(|last| last.closed);
            let opened_before = if is_new { 0 } else { sights.last().map_or(0, |last| last.opened) };
            sights.push(Sight {
                n: entry.n,
                opened: *store_opened,
                store_closed: *store_closed,
                keys: store_option_keys,
                closed: *closed,
                opened_before,
            });
        }
        catalogs
    }

    /// Whether this history shows catalogs at all. Where it does not, that none opened a store means nothing.
    pub fn are_observed(&self) -> bool {
        !self.of_session.is_empty()
    }

    /// Whether the session's catalog certainly had no store open when the operation was invoked.
    pub fn was_without_store(&self, operation: &Operation) -> bool {
        let Some(sights) = self.of_session.get(operation.session) else { return true };
        let before = sights.partition_point(|sight| sight.n < operation.invoked.n);
        before.checked_sub(1).is_none_or(|last| sights[last].closed || sights[last].opened == 0)
    }

    /// The observation of the store being opened while the operation lasted.
    pub fn opened_during(&self, operation: &Operation) -> Option<&Sight<'h>> {
        let sights = self.of_session.get(operation.session)?;
        let first = sights.partition_point(|sight| sight.n < operation.invoked.n);
        let answered_n = operation.answered().map_or(NEVER, |at| at.n);
        sights[first..].iter().take_while(|sight| sight.n < answered_n).find(|sight| sight.opened > sight.opened_before)
    }
}
