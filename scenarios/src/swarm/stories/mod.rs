//! Stories: what one session does with a table of its own, in an order that means something. While others work beside
//! it and faults strike, or afterwards, when all must succeed that the contract allows.
//!
//! A story is retold in many runs, each time in another variant. This module never knows how a run of one ended.

mod bad_table;
mod columns;
mod layouts;
mod lifecycle;
mod promotion;
mod recreate;
mod statements;
mod switches;

use models::contract::{Side, Statement, TablePath};

use super::closing::{self, CLOSING_DEADLINE_MS};
use super::session::{Session, Turn};
use super::tables::{self, Table};
use super::{Run, within};
use crate::draw::Draws;
use crate::plan::{Phase, Step};
use crate::scenario::{StoryGroup, StoryKind};

/// How long after a statement those beside it begin, in milliseconds: a statement of several remote calls is at work then.
const BESIDE_MS: u64 = 60;

/// How far apart the statements of a story are that is told when all is healed, in milliseconds.
const HEALED_PAUSE_MS: u64 = 30;

/// How long after the moment from which others must be fresh a patient story ends, in milliseconds: the reads that look
/// for it have begun and ended by then.
const PATIENCE_MS: u64 = 500;

/// A statement to be, once its turn has come.
type Make = Box<dyn Fn(&Table, &Turn) -> Statement>;

/// When a statement of a tale begins.
enum Begins {
    /// After a pause as long as the phase allows.
    InTime,
    /// At most so many milliseconds (exclusive) after its predecessor began, and not before that one has ended.
    Within(u64),
}

/// One statement of a tale.
struct Part {
    make: Make,
    begins: Begins,
}

/// What is told.
#[derive(Default)]
struct Tale {
    /// In order.
    main: Vec<Part>,
    /// By another session, each soon after the statement of this number in `main` has begun.
    beside: Vec<(usize, Make)>,
    /// When all is healed, by the first session again.
    end: Vec<Make>,
    /// Whether the other tables are read once they must be fresh in spite of it (F7). Such a run has one worker.
    neighbours: bool,
    /// Whether the end waits for those reads.
    patient: bool,
}

impl Tale {
    fn then(&mut self, make: impl Fn(&Table, &Turn) -> Statement + 'static) {
        self.main.push(Part { make: Box::new(make), begins: Begins::InTime });
    }

    /// As soon as the statement that was told last has ended.
    fn at_once(&mut self, make: impl Fn(&Table, &Turn) -> Statement + 'static) {
        self.soon(1, make);
    }

    /// Less than so many milliseconds after the statement that was told last has begun.
    fn soon(&mut self, within_ms: u64, make: impl Fn(&Table, &Turn) -> Statement + 'static) {
        self.main.push(Part { make: Box::new(make), begins: Begins::Within(within_ms) });
    }

    /// At the same time as the statement that was told last.
    fn beside(&mut self, make: impl Fn(&Table, &Turn) -> Statement + 'static) {
        self.beside.push((self.main.len().saturating_sub(1), Box::new(make)));
    }

    fn at_last(&mut self, make: impl Fn(&Table, &Turn) -> Statement + 'static) {
        self.end.push(Box::new(make));
    }
}

/// One story of a run.
pub(super) struct Story {
    /// Its table.
    pub table: Table,
    /// How the table begins.
    pub side: Side,
    /// Who tells it.
    pub session: Session,
    kind: StoryKind,
    other: Session,
    in_chaos: bool,
    tale: Tale,
}

impl Story {
    /// The table that most of its calls are about.
    pub(super) fn called(&self) -> TablePath {
        match self.kind {
            StoryKind::Lifecycle => lifecycle::path(&self.table),
            StoryKind::Layouts
            | StoryKind::Promotion
            | StoryKind::Recreate
            | StoryKind::BadTable
            | StoryKind::Columns
            | StoryKind::Switches => self.table.path.clone(),
        }
    }
}

/// The stories of a run.
pub(super) fn stories(groups: &[StoryGroup], draws: Draws) -> Vec<Story> {
    let mut stories = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        for _ in 0..within(draws.at("plan", "stories"), "count", index as u64, group.count) {
            let number = stories.len() as u64 + 1;
            stories.push(story(group, number, draws));
        }
    }
    stories
}

fn story(group: &StoryGroup, number: u64, draws: Draws) -> Story {
    let (word, side, enabled) = match group.kind {
        StoryKind::Layouts => ("layout", Side::Store, true),
        StoryKind::Lifecycle => ("life", Side::Lake, false),
        StoryKind::Promotion => ("promo", Side::Lake, false),
        StoryKind::Recreate => ("again", Side::Store, true),
        StoryKind::BadTable => ("bad", Side::Store, true),
        StoryKind::Columns => ("wide", Side::Store, true),
        StoryKind::Switches => ("switch", Side::Store, true),
    };
    let name = format!("{word}{number}");
    let place = draws.at("story", &name);
    let keyed = place.chance("keyed", 0, 500);
    let partitioned = place.chance("partitioned", 0, 350);
    let table = tables::with_secret(&name, keyed, partitioned, enabled, draws);
    let tale = match group.kind {
        StoryKind::Layouts => layouts::tale(place),
        StoryKind::Lifecycle => lifecycle::tale(place),
        StoryKind::Promotion => promotion::tale(&table, place),
        StoryKind::Recreate => recreate::tale(place),
        StoryKind::BadTable => bad_table::tale(place),
        StoryKind::Columns => columns::tale(place),
        StoryKind::Switches => switches::tale(place),
    };
    Story {
        kind: group.kind,
        side,
        session: Session::new(&format!("s{number}"), 70 + number, draws),
        other: Session::new(&format!("n{number}"), 80 + number, draws),
        in_chaos: place.chance("in-chaos", 0, group.chaos_permille.0),
        table,
        tale,
    }
}

/// Whether the other tables are read once they must be fresh in spite of one of them.
pub(super) fn watch_neighbours(stories: &[Story]) -> bool {
    stories.iter().any(|story| story.tale.neighbours)
}

/// The steps of the stories that are told while faults strike.
pub(super) fn chaos(run: &mut Run<'_>) -> Vec<Step> {
    let (chaos_ms, deadline_ms) = (run.chaos_ms, run.deadline_ms);
    let mut steps = Vec::new();
    for story in run.stories.iter_mut().filter(|story| story.in_chaos) {
        let Story { table, session, other, tale, .. } = story;
        let pause_ms = chaos_ms * 9 / 10 / (tale.main.len() as u64 + 1);
        let mut begins_ms = Vec::new();
        for (number, part) in tale.main.iter().enumerate() {
            let turn = session.turn(Phase::Chaos);
            let before_ms = begins_ms.last().copied().unwrap_or(0);
            let at_ms = match part.begins {
                Begins::Within(within_ms) => before_ms + turn.place.below_exclusive("soon", 0, within_ms),
                Begins::InTime => number as u64 * pause_ms + turn.place.below_exclusive("at", 0, pause_ms.max(1)),
            };
            // One that came soon may have come later than its successor's turn.
            let at_ms = at_ms.max(before_ms);
            let statement = (part.make)(table, &turn);
            steps.push(turn.step(at_ms, deadline_ms, statement));
            begins_ms.push(at_ms);
        }
        let mut at_ms = 0;
        for (number, make) in &tale.beside {
            let turn = other.turn(Phase::Chaos);
            at_ms = at_ms.max(begins_ms[*number] + turn.place.below_exclusive("at", 0, BESIDE_MS));
            let statement = make(table, &turn);
            steps.push(turn.step(at_ms, deadline_ms, statement));
        }
    }
    steps
}

/// The steps of the other stories, and how those from the chaos end.
pub(super) fn healed(run: &mut Run<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    let fresh_ms = closing::neighbours_fresh_from_ms(run);
    for story in &mut run.stories {
        let Story { table, session, other, tale, in_chaos, .. } = story;
        let (main, beside) = if *in_chaos { (&[][..], &[][..]) } else { (&tale.main[..], &tale.beside[..]) };
        let makes = main.iter().map(|part| &part.make);
        for (number, make) in makes.chain(&tale.end).enumerate() {
            let turn = session.turn(Phase::Healed);
            let statement = make(table, &turn);
            let waits_ms = if tale.patient && number >= main.len() { fresh_ms + PATIENCE_MS } else { 0 };
            steps.push(turn.step(waits_ms + number as u64 * HEALED_PAUSE_MS, CLOSING_DEADLINE_MS, statement));
        }
        let mut at_ms = 0;
        for (number, make) in beside {
            let turn = other.turn(Phase::Healed);
            let begins_ms = *number as u64 * HEALED_PAUSE_MS;
            at_ms = at_ms.max(begins_ms + turn.place.below_exclusive("at", 0, BESIDE_MS));
            let statement = make(table, &turn);
            steps.push(turn.step(at_ms, CLOSING_DEADLINE_MS, statement));
        }
    }
    steps
}
