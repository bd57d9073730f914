//! The reference system as a black box: a client for each session, made when it first speaks.
//!
//! It must never know what the clients are connected to; whoever builds the system gives it a way to make them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use async_trait::async_trait;

use crate::contract::{Failure, Output, Statement, System};

use super::client::Client;
use super::discovery::StoreUse;

/// Makes the client of a session: its name, and how many clients it had before.
type ClientFactory = Box<dyn Fn(&str, u64) -> Rc<Client>>;

/// What is known of one session.
struct Session {
    /// The number of clients that the session has lost.
    incarnation: u64,
    /// Its client, from its first statement to its next crash.
    client: Option<Rc<Client>>,
}

/// All clients of the reference system.
pub struct ReferenceSystem {
    make_client: ClientFactory,
    sessions: RefCell<BTreeMap<String, Session>>,
}

impl ReferenceSystem {
    /// A system without clients. `make_client` is given a session and its incarnation.
    pub fn new(make_client: impl Fn(&str, u64) -> Rc<Client> + 'static) -> Self {
        Self { make_client: Box::new(make_client), sessions: RefCell::new(BTreeMap::new()) }
    }

    /// The client of a session crashes: everything that it remembered is gone, and its next statement is executed by
    /// another incarnation. What it has already sent may still take effect.
    pub fn forget(&self, session: &str) {
        if let Some(session) = self.sessions.borrow_mut().get_mut(session) {
            session.client = None;
            session.incarnation += 1;
        }
    }

    /// A session closes its catalog: the Paimon side, whose own closing may fail, and the store's side even then. What
    /// the catalog had to do with the store until the end, and the first failure. The session's next statement makes
    /// another catalog.
    pub fn close(&self, session: &str, lake_side: Result<(), Failure>) -> (StoreUse, Result<(), Failure>) {
        let client = self.sessions.borrow_mut().get_mut(session).and_then(|known| {
            known.incarnation += 1;
            known.client.take()
        });
        match client {
            Some(client) => {
                let closed = client.close(lake_side);
                (client.store_use(), closed)
            }
            None => (StoreUse::default(), lake_side),
        }
    }

    /// What a session's catalog had to do with the store so far, with the session's incarnation: another incarnation
    /// has another catalog. `None` while it has none.
    pub fn store_use(&self, session: &str) -> Option<(u64, StoreUse)> {
        let sessions = self.sessions.borrow();
        let known = sessions.get(session)?;
        known.client.as_ref().map(|client| (known.incarnation, client.store_use()))
    }

    fn client(&self, name: &str) -> Rc<Client> {
        let mut sessions = self.sessions.borrow_mut();
        if !sessions.contains_key(name) {
            sessions.insert(name.to_owned(), Session { incarnation: 0, client: None });
        }
        let session = sessions.get_mut(name).expect("it was just put there");
        session.client.get_or_insert_with(|| (self.make_client)(name, session.incarnation)).clone()
    }
}

#[async_trait(?Send)]
impl System for ReferenceSystem {
    async fn execute(&self, session: &str, operation: &str, statement: Statement) -> Result<Output, Failure> {
        // The client is held for the whole statement, but no borrow of the table of sessions is.
        let client = self.client(session);
        client.execute(operation, statement).await
    }
}
