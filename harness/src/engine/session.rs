//! Sessions: they execute the statements of a plan, one after the other, and write down what they asked and got.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use models::contract::{Failure, FailureCode, Host, Output, Statement, System, TablePath};
use models::system::{ReferenceSystem, StoreUse};
use scenarios::plan::{DESCRIBED_LAYOUT, NEXT_POSITION, Phase, PlannedClose, PlannedStatement};
use tokio::time::Instant as SimulatedInstant;

use super::hosts::HostState;
use super::network::{Network, Scope};
use super::observer::Observer;
use crate::history::{Event, Moment};

/// Where a changelog begins.
const EARLIEST: &str = "earliest";

/// The process that a session's client runs in: when it dies the client forgets everything.
pub struct SessionHost {
    /// The session.
    pub session: String,
    /// Where its client lives.
    pub system: Rc<ReferenceSystem>,
}

#[async_trait(?Send)]
impl Host for SessionHost {
    fn crash(&self) {
        self.system.forget(&self.session);
    }

    async fn run(&self) {
        std::future::pending().await
    }
}

/// What a session does, one after the other.
#[derive(Clone, Debug)]
pub enum SessionStep {
    /// It executes a statement.
    Run(PlannedStatement),
    /// It closes its catalog.
    Close(PlannedClose),
}

impl SessionStep {
    fn phase(&self) -> Phase {
        match self {
            Self::Run(planned) => planned.phase,
            Self::Close(planned) => planned.phase,
        }
    }

    fn at_ms(&self) -> u64 {
        match self {
            Self::Run(planned) => planned.at_ms,
            Self::Close(planned) => planned.at_ms,
        }
    }
}

/// One session at work.
pub struct Session {
    network: Rc<Network>,
    observer: Rc<Observer>,
    system: Rc<ReferenceSystem>,
    host: Rc<HostState>,
    scope: Rc<Scope>,
    positions: RefCell<BTreeMap<TablePath, String>>,
    /// The layout that the last DESCRIBE of each table showed.
    layouts: RefCell<BTreeMap<TablePath, String>>,
    /// The incarnation of the catalog that was last seen, and what it had to do with the store by then.
    seen: RefCell<(u64, StoreUse)>,
}

impl Session {
    /// A session that has done nothing yet.
    pub fn new(
        network: &Rc<Network>,
        observer: &Rc<Observer>,
        system: &Rc<ReferenceSystem>,
        host: &Rc<HostState>,
        scope: &Rc<Scope>,
    ) -> Rc<Self> {
        Rc::new(Self {
            network: network.clone(),
            observer: observer.clone(),
            system: system.clone(),
            host: host.clone(),
            scope: scope.clone(),
            positions: RefCell::default(),
            layouts: RefCell::default(),
            seen: RefCell::default(),
        })
    }

    /// Does these steps in order, none before its time in the phase that began at `phase_began_ms`. Each has its id.
    pub async fn work(&self, phase_began_ms: u64, steps: &[(String, SessionStep)]) {
        for (id, step) in steps {
            let due_ms = phase_began_ms + if step.phase() == Phase::Drained { 0 } else { step.at_ms() };
            let wait_ms = due_ms.saturating_sub(self.network.now_ms());
            if wait_ms > 0 {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
            self.host.alive().await;
            match step {
                SessionStep::Run(planned) => self.execute(id, planned).await,
                SessionStep::Close(planned) => self.close(planned),
            }
        }
    }

    /// Closes the session's catalog. Whether that fails is the plan's to say; what matters is what was closed (C17).
    fn close(&self, planned: &PlannedClose) {
        let lake_side = if planned.fails {
            Err(Failure::internal("closing the Paimon side of the catalog failed"))
        } else {
            Ok(())
        };
        let (store_use, _) = self.system.close(&self.host.name, lake_side);
        self.show_catalog(&store_use, true);
        // The next catalog has another incarnation, and so is seen from its beginning.
    }

    /// Writes down what the session's catalog had to do with the store, if that is news.
    fn observe_catalog(&self) {
        let Some((incarnation, store_use)) = self.system.store_use(&self.host.name) else { return };
        let is_news = {
            let seen = self.seen.borrow();
            if seen.0 == incarnation { seen.1 != store_use } else { store_use != StoreUse::default() }
        };
        if is_news {
            self.show_catalog(&store_use, false);
            *self.seen.borrow_mut() = (incarnation, store_use);
        }
    }

    fn show_catalog(&self, store_use: &StoreUse, closed: bool) {
        self.network.observe(Event::Catalog {
            session: self.host.name.to_string(),
            store_opened: store_use.opened,
            store_closed: store_use.closed,
            store_option_keys: store_use.option_keys.clone(),
            closed,
        });
    }

    async fn execute(&self, step: &str, planned: &PlannedStatement) {
        let statement = self.with_answers(planned.statement.clone());
        let table = statement.table().clone();
        let network = &self.network;
        // The observer looks at no cost where the answer must find nothing changed (C22).
        let defines = is_definition(&statement);
        let guarded = defines || planned.phase == Phase::Drained;
        if guarded {
            self.observer.state(step, &table, Moment::Before);
        }
        let reads_changes = matches!(statement, Statement::Changes { .. });
        network.observe(Event::Invoke {
            op: step.to_owned(),
            session: self.host.name.to_string(),
            statement: statement.clone(),
        });
        network.count(|statistics| statistics.count_statement(&statement));
        let writes_rows = statement.writes_rows();
        self.scope.enter(step);
        let deadline = SimulatedInstant::now() + Duration::from_millis(planned.deadline_ms);
        let execution = self.host.run_on(self.system.execute(&self.host.name, step, statement));
        let ended = tokio::time::timeout_at(deadline, execution).await;
        self.observe_catalog();
        match ended {
            // The client died with the statement in flight: an invocation without an end is indefinite.
            Ok(None) => {}
            Ok(Some(Ok(output))) => {
                if let (true, Output::Changes { position, .. }) = (reads_changes, &output) {
                    self.positions.borrow_mut().insert(table.clone(), position.clone());
                }
                if let Output::Described(described) = &output
                    && let Some(layout) = &described.layout
                {
                    self.layouts.borrow_mut().insert(table.clone(), layout.clone());
                }
                if writes_rows {
                    network.count(|statistics| statistics.writes_acked += 1);
                }
                network.observe(Event::Ok { op: step.to_owned(), output });
                if defines {
                    // What a definition made of both sides (C7, C19, C20, P1).
                    self.observer.state(step, &table, Moment::After);
                }
            }
            Ok(Some(Err(failure))) => {
                if reads_changes && failure.code == FailureCode::Invalid {
                    // The position has left the log.
                    self.positions.borrow_mut().remove(&table);
                }
                network.observe(Event::Fail {
                    op: step.to_owned(),
                    code: failure.code,
                    definite: failure.definite,
                    message: failure.message,
                });
                if guarded && failure.definite {
                    self.observer.state(step, &table, Moment::After);
                }
            }
            Err(_) => network.observe(Event::Fail {
                op: step.to_owned(),
                code: FailureCode::Timeout,
                definite: false,
                message: format!("no answer within the deadline of {} ms", planned.deadline_ms),
            }),
        }
    }

    /// The statement with what a plan cannot spell, because earlier answers say it: positions and layouts.
    fn with_answers(&self, mut statement: Statement) -> Statement {
        match &mut statement {
            Statement::Changes { table, from, .. } if from == NEXT_POSITION => {
                *from = self.positions.borrow().get(&table.path).cloned().unwrap_or_else(|| EARLIEST.to_owned());
            }
            Statement::Insert { table, layout, .. } if layout.as_deref() == Some(DESCRIBED_LAYOUT) => {
                *layout = self.layouts.borrow().get(&table.path).cloned();
            }
            _ => {}
        }
        statement
    }
}

/// Whether the statement is about a table's definition or its whole content.
fn is_definition(statement: &Statement) -> bool {
    !statement.writes_rows() && !statement.is_read()
}
