//! The host on which tables are looked after: it remembers what it was asked to do, through crashes, does one job after
//! the other, and one that was cut short again. It knows what is due and nothing of how a job is done.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::select;
use models::contract::{Environment, FailureCode, Host, TablePath};
use models::maintenance::{Job, Maintenance, Progress};
use models::paimon::LakeAccess;
use models::points::Point;
use scenarios::plan::calls::{COORDINATOR, MAINTENANCE, tiering_worker};
use tokio::sync::Notify;

use super::builder::Builder;
use super::environment::SimulatedEnvironment;
use super::hosts::HostState;
use super::network::{Network, Scope};
use super::observer::Observer;

/// For how long an operator stops tiering to roll a table back, at most; without success that time it is tried again.
const STOPPED_MS: u64 = 400;

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
    /// The same without ports: what an operator does by hand while all is still.
    by_hand: Maintenance,
    environment: Rc<SimulatedEnvironment>,
    scope: Rc<Scope>,
    /// What is left to do, in the order in which it was asked for; durable.
    tasks: RefCell<Vec<Task>>,
    /// How many jobs were begun or gone on with; durable, so that no two commits have one number (L11).
    number: Cell<u64>,
    asked: Notify,
    /// The job that is being done, as the history tells it.
    under_way: RefCell<Option<(&'static str, Rc<str>)>>,
    /// The table whose snapshots the job under way may let go.
    expiring: RefCell<Option<TablePath>>,
}

impl MaintenanceHost {
    /// The host, up and with nothing to do. The observer looks at snapshots before they go.
    pub(super) fn start(builder: &Builder, observer: &Rc<Observer>) -> Rc<Self> {
        let network = &builder.network;
        let state = HostState::new(MAINTENANCE);
        let scope = Scope::new(network.seed(), MAINTENANCE);
        let lake = builder.lake(&state, MAINTENANCE, &scope);
        let outside = LakeAccess { objects: builder.objects.clone(), ..lake.clone() };
        let host = Rc::new(Self {
            network: network.clone(),
            observer: observer.clone(),
            maintenance: Maintenance::new(lake, builder.store(&state, MAINTENANCE, &scope)),
            by_hand: Maintenance::new(outside, builder.store.clone()),
            environment: SimulatedEnvironment::new(network, &state),
            scope,
            tasks: RefCell::default(),
            number: Cell::new(0),
            asked: Notify::new(),
            under_way: RefCell::default(),
            expiring: RefCell::default(),
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

    /// Reads the snapshots that a job under way may let go: once before it begins, and now and then those that came while
    /// it was held up.
    pub fn keep_snapshots(&self) {
        if let Some(table) = &*self.expiring.borrow() {
            self.observer.keep_snapshots(table);
        }
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
        self.expiring.take();
        if let Some((kind, target)) = self.under_way.take() {
            self.network.end_window(kind, &target);
        }
    }

    /// Rolls a table back as an operator must: tiering is stopped, and nothing is done before all that could still reach
    /// the lake or the registry has come to its end. Then it is done at once, in no time. `false` if that did not come
    /// in time. When all is healed, nobody rolls anything back any more.
    async fn roll_back(&self, task: &Task) -> bool {
        let tasks_of =
            |worker: u32| Some(self.network.hosts_of(&tiering_worker(worker))).filter(|tasks| !tasks.is_empty());
        let workers: Vec<_> = (1..).map_while(tasks_of).flatten().collect();
        workers.iter().for_each(|task| self.network.crash(task, STOPPED_MS));
        let others: Vec<_> = [COORDINATOR, MAINTENANCE].iter().filter_map(|host| self.network.host(host)).collect();
        for _ in 0..STOPPED_MS {
            if self.network.is_healed() {
                return true;
            }
            let is_still = workers.iter().all(|task| !task.is_up() && task.is_quiet());
            if is_still && others.iter().all(|host| host.is_quiet()) {
                let target: Rc<str> = Rc::from(task.table.to_string());
                // What is registered by now was registered before.
                self.observer.sample(false);
                self.network.begin_window(task.job.name(), &target);
                let done = self.by_hand.perform(&task.job, &task.table, self.number.get()).now_or_never();
                self.observer.rolled_back(&task.table);
                self.network.end_window(task.job.name(), &target);
                return done.is_some_and(|done| done.is_ok());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        false
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
        if matches!(task.job, Job::RollBack { .. }) {
            let again = Task { due_ms: self.network.now_ms() + STOPPED_MS + RETRY_MS, ..task.clone() };
            let is_done = self.roll_back(&task).await;
            return self.keep(&task.id, (!is_done).then_some(again));
        }
        if task.job.removes_snapshots() {
            self.expiring.replace(Some(task.table.clone()));
            self.keep_snapshots();
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
                // Of a table that is gone nothing can be owed.
                let is_gone = failure.definite && failure.code == FailureCode::NotFound;
                ((task.is_owed && !is_gone) || failure.is_transient()).then_some(RETRY_MS)
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
