//! The host on which tables are looked after: it remembers what it was asked to do, through crashes, does one job after
//! the other, and one that was cut short again. It knows what is due and nothing of how a job is done.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::select;
use models::contract::{Environment, Host, TablePath};
use models::maintenance::{Job, Maintenance, Progress};
use models::points::Point;
use scenarios::plan::calls::MAINTENANCE;
use tokio::sync::Notify;

use super::builder::Builder;
use super::environment::SimulatedEnvironment;
use super::hosts::HostState;
use super::network::{Network, Scope};
use super::observer::Observer;

/// The pause before a job that failed without a clear outcome is done again.
const RETRY_MS: u64 = 100;

/// Something to do.
#[derive(Clone)]
struct Task {
    /// The plan's step.
    id: String,
    table: TablePath,
    job: Job,
    due_ms: u64,
    /// How often it was begun or gone on with.
    tries: u64,
    /// Whether it may have had some of its effect, so that it must be done to the end (L10).
    is_owed: bool,
}

/// The process, with what it keeps on its disk.
pub struct MaintenanceHost {
    network: Rc<Network>,
    observer: Rc<Observer>,
    maintenance: Maintenance,
    environment: Rc<SimulatedEnvironment>,
    scope: Rc<Scope>,
    /// What is left to do, in the order in which it was asked for; durable.
    tasks: RefCell<Vec<Task>>,
    /// How many jobs were begun or gone on with; durable, so that no two commits have one number (L11).
    number: Cell<u64>,
    asked: Notify,
    /// The job that is being done, as the history tells it.
    under_way: RefCell<Option<(&'static str, Rc<str>)>>,
}

impl MaintenanceHost {
    /// The host, up and with nothing to do. The observer looks at snapshots before they go.
    pub(super) fn start(builder: &Builder, observer: &Rc<Observer>) -> Rc<Self> {
        let network = &builder.network;
        let state = HostState::new(MAINTENANCE);
        let scope = Scope::new(network.seed(), MAINTENANCE);
        let lake = builder.lake(&state, MAINTENANCE, &scope);
        let host = Rc::new(Self {
            network: network.clone(),
            observer: observer.clone(),
            maintenance: Maintenance::new(lake, builder.store(&state, MAINTENANCE, &scope)),
            environment: SimulatedEnvironment::new(network, &state),
            scope,
            tasks: RefCell::default(),
            number: Cell::new(0),
            asked: Notify::new(),
            under_way: RefCell::default(),
        });
        state.install(host.clone());
        network.add_host(state);
        host
    }

    /// Asks for a job now.
    pub fn ask(&self, id: &str, table: &TablePath, job: &Job) {
        let due_ms = self.network.now_ms();
        let task = Task { id: id.to_owned(), table: table.clone(), job: job.clone(), due_ms, tries: 0, is_owed: false };
        self.tasks.borrow_mut().push(task);
        self.asked.notify_one();
    }

    /// Whether nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.tasks.borrow().is_empty()
    }

    /// The task that is due first.
    fn next(&self) -> Option<Task> {
        self.tasks.borrow().iter().min_by_key(|task| task.due_ms).cloned()
    }

    /// Puts down how far a task is now; `None`: it is over.
    fn keep(&self, id: &str, kept: Option<Task>) {
        let mut tasks = self.tasks.borrow_mut();
        match (tasks.iter().position(|task| task.id == id), kept) {
            (Some(position), Some(task)) => tasks[position] = task,
            (Some(position), None) => drop(tasks.remove(position)),
            (None, _) => {}
        }
    }

    /// Tells that the job under way has ended, or was cut short.
    fn leave(&self) {
        if let Some((kind, target)) = self.under_way.take() {
            self.network.end_window(kind, &target);
        }
    }

    async fn perform(&self, mut task: Task) {
        let number = self.number.get() + 1;
        self.number.set(number);
        if task.tries > 0 && !matches!(task.job, Job::RemoveOrphans { .. }) {
            self.environment.reached(Point::MaintenanceAgain);
        }
        task.tries += 1;
        self.keep(&task.id, Some(task.clone()));
        self.scope.enter(&format!("{}/{}", task.id, task.tries));
        if task.job.removes_snapshots() {
            self.observer.keep_snapshots(&task.table);
        }
        let target: Rc<str> = Rc::from(task.table.to_string());
        self.network.begin_window(task.job.name(), &target);
        self.under_way.replace(Some((task.job.name(), target)));
        let ended = self.maintenance.perform(&task.job, &task.table, number).await;
        self.leave();
        let again_in_ms = match ended {
            Ok(Progress::Done) => None,
            Ok(Progress::Later(after_ms)) => Some(after_ms),
            Err(failure) => {
                task.is_owed |= !failure.definite;
                (task.is_owed || failure.is_transient()).then_some(RETRY_MS)
            }
        };
        let kept = again_in_ms.map(|after_ms| Task { due_ms: self.network.now_ms() + after_ms, ..task.clone() });
        self.keep(&task.id, kept);
    }
}

#[async_trait(?Send)]
impl Host for MaintenanceHost {
    fn crash(&self) {
        self.maintenance.crash();
        self.leave();
        // What was under way when it died may have had some of its effect.
        self.tasks.borrow_mut().iter_mut().for_each(|task| task.is_owed |= task.tries > 0);
    }

    async fn run(&self) {
        loop {
            let asked = Box::pin(self.asked.notified());
            let Some(task) = self.next() else {
                asked.await;
                continue;
            };
            let wait_ms = task.due_ms.saturating_sub(self.network.now_ms());
            if wait_ms == 0 {
                self.perform(task).await;
            } else {
                select(Box::pin(tokio::time::sleep(Duration::from_millis(wait_ms))), asked).await;
            }
        }
    }
}
