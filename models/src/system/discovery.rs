//! How a catalog finds its store: by the identifier in its options, when a statement first needs it, once (rules 18–22;
//! C14, C17).
//!
//! It must never know which statements need a store. No message of it tells the value of an option other than the
//! identifier, because a store's options may be secrets (rule 44).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::config::{STORE_ADDRESS, STORE_BOOTSTRAP, STORE_IDENTIFIER};
use crate::contract::{Failure, FailureCode, LAKESTREAM_STORE, Store};
use crate::defects::{Defect, Defects};

/// An implementation of the Lakestream Store, as catalogs find it. Opening and closing are local: what is out of reach
/// shows with the first call.
pub trait StoreFactory {
    /// What `lakestream.store` says where this implementation is meant.
    fn identifier(&self) -> &str;

    /// Makes a connection. `options` are those that the catalog has for this store, without the store's prefix. A
    /// failure is definite, and its message tells no option's value.
    fn open(&self, options: &BTreeMap<String, String>) -> Result<Rc<dyn Store>, Failure>;

    /// Ends a connection that [`StoreFactory::open`] made.
    fn close(&self, store: Rc<dyn Store>) -> Result<(), Failure>;
}

/// The reference store's factory.
pub struct ReferenceStoreFactory {
    store: Rc<dyn Store>,
}

impl ReferenceStoreFactory {
    /// A factory of connections to this store, which listens at [`STORE_ADDRESS`].
    pub fn new(store: Rc<dyn Store>) -> Self {
        Self { store }
    }
}

impl StoreFactory for ReferenceStoreFactory {
    fn identifier(&self) -> &str {
        STORE_IDENTIFIER
    }

    fn open(&self, options: &BTreeMap<String, String>) -> Result<Rc<dyn Store>, Failure> {
        match options.get(STORE_BOOTSTRAP) {
            None => {
                Err(misconfigured(format!("expected the option `{STORE_BOOTSTRAP}` that says where it is, found none")))
            }
            Some(address) if address != STORE_ADDRESS => Err(Failure::definite(
                FailureCode::Unavailable,
                format!("nobody answers where `{STORE_BOOTSTRAP}` says that it is"),
            )),
            Some(_) => Ok(self.store.clone()),
        }
    }

    fn close(&self, _store: Rc<dyn Store>) -> Result<(), Failure> {
        Ok(())
    }
}

/// What one catalog had to do with its store since it was made (C16, C17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreUse {
    /// How often it opened the store.
    pub opened: u64,
    /// How often it closed it.
    pub closed: u64,
    /// The names of the options that it last handed to the store's factory, as the factory got them, ascending.
    pub option_keys: Vec<String>,
}

/// The store's side of one catalog.
pub(super) struct StoreConnection {
    options: BTreeMap<String, String>,
    factories: Vec<Rc<dyn StoreFactory>>,
    defects: Defects,
    open: RefCell<Option<Rc<dyn Store>>>,
    used: RefCell<StoreUse>,
    /// Only the planted bug refuses-after-heal looks at it.
    was_unavailable: Cell<bool>,
}

impl StoreConnection {
    /// The connection of a catalog with these options; nothing is opened yet.
    pub(super) fn new(
        options: BTreeMap<String, String>,
        factories: Vec<Rc<dyn StoreFactory>>,
        defects: Defects,
    ) -> Self {
        let (open, used, was_unavailable) = (RefCell::new(None), RefCell::default(), Cell::new(false));
        Self { options, factories, defects, open, used, was_unavailable }
    }

    /// The store, opened now if no statement needed it before. A failed opening is no opening: the next statement that
    /// needs the store tries again. `misconfigured` if the options name no store, or one that is not there.
    pub(super) fn store(&self) -> Result<Rc<dyn Store>, Failure> {
        // Planted bug store-created-twice: the second statement that needs the store opens it again.
        let again = self.defects.has(Defect::StoreCreatedTwice) && self.used.borrow().opened == 1;
        if let (Some(store), false) = (&*self.open.borrow(), again) {
            return Ok(store.clone());
        }
        let factory = self.factory().map_err(|failure| self.planted_lookup_failure(failure))?;
        let options = self.options_of(factory.identifier());
        self.used.borrow_mut().option_keys = options.keys().cloned().collect();
        let store = factory.open(&options).map_err(|failure| self.planted_lookup_failure(failure))?;
        self.used.borrow_mut().opened += 1;
        *self.open.borrow_mut() = Some(store.clone());
        Ok(store)
    }

    /// Whether there is a factory for what the options name.
    pub(super) fn is_known(&self) -> bool {
        self.factory().is_ok()
    }

    /// Whether a statement ended because the store was unavailable.
    pub(super) fn was_unavailable(&self) -> bool {
        self.was_unavailable.get()
    }

    /// Closes what is open.
    pub(super) fn close(&self) -> Result<(), Failure> {
        let Some(store) = self.open.take() else { return Ok(()) };
        self.used.borrow_mut().closed += 1;
        self.factory()?.close(store)
    }

    /// What this catalog had to do with its store so far.
    pub(super) fn store_use(&self) -> StoreUse {
        self.used.borrow().clone()
    }

    /// A failure of the store, or of finding it, with a message that names the store (rule 22, C14).
    pub(super) fn blame(&self, failure: Failure) -> Failure {
        self.was_unavailable.set(self.was_unavailable.get() || failure.code == FailureCode::Unavailable);
        // Planted bug error-without-store-name: the user is told that something failed, and not which store.
        if self.defects.has(Defect::ErrorWithoutStoreName) {
            return Failure { message: "the connector failed".to_owned(), ..failure };
        }
        Failure { message: format!("{}: {}", self.name(), failure.message), ..failure }
    }

    /// How messages name the store.
    fn name(&self) -> String {
        match self.identifier() {
            Some(identifier) => format!("the store `{identifier}` that `{LAKESTREAM_STORE}` names"),
            None => format!("no store: `{LAKESTREAM_STORE}` is not set"),
        }
    }

    fn identifier(&self) -> Option<&str> {
        self.options.get(LAKESTREAM_STORE).map(String::as_str).filter(|identifier| !identifier.is_empty())
    }

    fn factory(&self) -> Result<&Rc<dyn StoreFactory>, Failure> {
        let identifier = self
            .identifier()
            .ok_or_else(|| misconfigured("set the catalog's option to the identifier of a store".to_owned()))?;
        self.factories.iter().find(|factory| factory.identifier() == identifier).ok_or_else(|| {
            let known: Vec<&str> = self.factories.iter().map(|factory| factory.identifier()).collect();
            misconfigured(format!(
                "expected one of the stores that are installed ({}), found another",
                known.join(", ")
            ))
        })
    }

    /// The options whose names begin with the store's prefix, without it, and no others (rule 19).
    fn options_of(&self, identifier: &str) -> BTreeMap<String, String> {
        // Planted bug prefix-not-stripped: options reach the store as the catalog spells them.
        let keeps_prefix = self.defects.has(Defect::PrefixNotStripped);
        // Planted bug foreign-options-forwarded: options of others reach the store as well.
        let forwards_all = self.defects.has(Defect::ForeignOptionsForwarded);
        let handed_over = self.options.iter().filter_map(|(key, value)| {
            let own = key.strip_prefix(identifier).and_then(|rest| rest.strip_prefix('.'));
            let key = match own {
                Some(_) if keeps_prefix => key,
                Some(own) => own,
                None if forwards_all => key,
                None => return None,
            };
            Some((key.to_owned(), value.clone()))
        });
        handed_over.collect()
    }

    /// Planted bug misconfiguration-not-found: a store that cannot be found passes for a table that is not there.
    fn planted_lookup_failure(&self, failure: Failure) -> Failure {
        if self.defects.has(Defect::MisconfigurationNotFound) && failure.code == FailureCode::Misconfigured {
            return Failure { code: FailureCode::NotFound, ..failure };
        }
        failure
    }
}

fn misconfigured(message: String) -> Failure {
    Failure::definite(FailureCode::Misconfigured, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens nothing; hands back the names of what it was given.
    struct Telling;

    impl StoreFactory for Telling {
        fn identifier(&self) -> &str {
            "telling"
        }

        fn open(&self, _options: &BTreeMap<String, String>) -> Result<Rc<dyn Store>, Failure> {
            Err(Failure::definite(FailureCode::Unavailable, "it never opens"))
        }

        fn close(&self, _store: Rc<dyn Store>) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn connection(options: &[(&str, &str)]) -> StoreConnection {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        StoreConnection::new(options.collect(), vec![Rc::new(Telling)], Defects::none())
    }

    #[test]
    fn only_the_stores_own_options_are_handed_over_and_without_its_prefix() {
        let connection = connection(&[
            ("lakestream.store", "telling"),
            ("telling.a.b", "1"),
            ("tellingx.c", "2"),
            ("telling", "3"),
            ("other.d", "4"),
        ]);
        assert_eq!(connection.store().err().unwrap().code, FailureCode::Unavailable);
        let expected = StoreUse { opened: 0, closed: 0, option_keys: vec!["a.b".to_owned()] };
        assert_eq!(connection.store_use(), expected, "a failed opening is no opening");
    }

    #[test]
    fn a_store_that_is_unset_or_unknown_is_named_and_no_other_value_is() {
        for (store, told) in [(None, "lakestream.store"), (Some(""), "lakestream.store"), (Some("fluss"), "`fluss`")] {
            let mut options = vec![("fluss.password", "SECRET")];
            options.extend(store.map(|identifier| ("lakestream.store", identifier)));
            let connection = connection(&options);
            let failure = connection.blame(connection.store().err().unwrap());
            assert_eq!((failure.code, failure.definite), (FailureCode::Misconfigured, true), "{store:?}");
            assert!(failure.message.contains(told) && !failure.message.contains("SECRET"), "{failure}");
        }
    }
}
