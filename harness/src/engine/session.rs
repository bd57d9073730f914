//! Sessions: they execute the statements of a plan, one after the other, and write down what they asked and got.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use models::contract::{FailureCode, Host, Output, Statement, System, TablePath};
use models::system::ReferenceSystem;
use scenarios::plan::{NEXT_POSITION, Phase, PlannedStatement};
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

/// One session at work.
pub struct Session {
    network: Rc<Network>,
    observer: Rc<Observer>,
    system: Rc<ReferenceSystem>,
    host: Rc<HostState>,
    scope: Rc<Scope>,
    positions: RefCell<BTreeMap<TablePath, String>>,
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
        })
    }

    /// Executes statements in order, none before its time in the phase that began at `phase_began_ms`. Each is a step
    /// id and what to do.
    pub async fn work(&self, phase_began_ms: u64, statements: &[(String, PlannedStatement)]) {
        for (step, planned) in statements {
            let due_ms = phase_began_ms + if planned.phase == Phase::Drained { 0 } else { planned.at_ms };
            let wait_ms = due_ms.saturating_sub(self.network.now_ms());
            if wait_ms > 0 {
                tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            }
            self.host.alive().await;
            self.execute(step, planned).await;
        }
    }

    async fn execute(&self, step: &str, planned: &PlannedStatement) {
        let statement = self.with_position(planned.statement.clone());
        let table = statement.table().clone();
        let network = &self.network;
        // The observer looks at no cost where the answer must find nothing changed (C22).
        let guarded = is_definition(&statement) || planned.phase == Phase::Drained;
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
        match tokio::time::timeout_at(deadline, execution).await {
            // The client died with the statement in flight: an invocation without an end is indefinite.
            Ok(None) => {}
            Ok(Some(Ok(output))) => {
                if let (true, Output::Changes { position, .. }) = (reads_changes, &output) {
                    self.positions.borrow_mut().insert(table.clone(), position.clone());
                }
                if writes_rows {
                    network.count(|statistics| statistics.writes_acked += 1);
                }
                network.observe(Event::Ok { op: step.to_owned(), output });
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

    fn with_position(&self, mut statement: Statement) -> Statement {
        if let Statement::Changes { table, from, .. } = &mut statement
            && from == NEXT_POSITION
        {
            *from = self.positions.borrow().get(&table.path).cloned().unwrap_or_else(|| EARLIEST.to_owned());
        }
        statement
    }
}

/// Whether the statement is about a table's definition or its whole content.
fn is_definition(statement: &Statement) -> bool {
    !statement.writes_rows() && !statement.is_read()
}
