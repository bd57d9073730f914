//! The contract's table, cell by cell: the form of a statement, the mode of its table and the state of the store say
//! what the statement has to come to; the property that the cell names is judged by it.
//!
//! C1, C2, C7 and C9 have judges of their own, which also judge where nothing is known of the catalog.

use models::contract::{FailureCode, Output, Statement, TablePath};
use scenarios::contract::{Expectation, Form, StoreState, Subject, Verdict, expected, form_of};

use super::catalog::{self, Discovery};
use super::index::{End, Fate, Index, NEVER, Operation};
use super::names;
use super::rejection;
use super::sides;
use super::table::Table;
use super::timeline::Known;
use super::weather::Weather;
use super::{Docket, prose};

/// Properties of the table that are judged elsewhere.
const JUDGED_ELSEWHERE: [&str; 4] = ["C1", "C2", "C7", "C9"];

/// Judges every cell that the history meets.
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        let weather = index.forecast.during(operation);
        if let Some(cell) = cell(index, operation, weather)
            && !JUDGED_ELSEWHERE.contains(&cell.property)
        {
            Case { index, operation, weather, cell }.judge(docket);
        }
    }
}

/// A statement in its cell.
#[derive(Clone, Copy)]
struct Cell {
    form: &'static Form,
    verdict: Verdict,
    property: &'static str,
    in_the_mode: bool,
    /// What the statement was executed on, in words.
    on: &'static str,
    /// Whether the store may have worked all the time.
    may_work: bool,
}

/// What is expected in all of these states; `None` if it is not the same in all.
fn agreed(form: &'static Form, in_the_mode: bool, states: &[StoreState]) -> Option<Expectation> {
    let mut all = states.iter().map(|store| expected(form, in_the_mode, *store));
    let first = all.next()?;
    all.try_fold(first, |agreed, other| match (agreed.verdict, other.verdict) {
        (one, another) if one == another => Some(agreed),
        // Refused is all that both demand.
        (Verdict::Rejected, Verdict::Refused) => Some(other),
        (Verdict::Refused, Verdict::Rejected) => Some(agreed),
        _ => None,
    })
}

/// The cell of a statement; `None` where the table has none, or where it is not certain which.
fn cell(index: &Index, operation: &Operation, weather: Weather) -> Option<Cell> {
    let statement = operation.statement;
    if matches!(statement, Statement::CreateView { .. }) || is_planned_write(statement) {
        return None;
    }
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    let named = named(statement);
    let (subject, table) = match index.names.is_view(&named, operation.invoked.n, answered_n) {
        Known::Unknown => return None,
        // A view has no mode; its verdicts are the same in each.
        Known::Yes => {
            // What a view shows may be gone.
            let shown = index.table(index.names.shown_by(&named)?)?;
            if shown.timeline.exists.during(operation.invoked.n, answered_n) != Known::Yes {
                return None;
            }
            (Subject::View, None)
        }
        Known::No => subject(index, operation, &names::base(&named))?,
    };
    let form = form_of(statement, subject)?;
    let (in_the_mode, on) = match table {
        // The row of a view is the same in each mode, and names the property that speaks of views.
        None if subject == Subject::View => (true, "on a view"),
        None => (false, "on a name that nothing bears"),
        Some(table) => match table.timeline.mode.during(operation.invoked.n, answered_n) {
            Known::Yes => (true, "on a table in the mode"),
            Known::No => (false, "on a table out of the mode"),
            Known::Unknown => return None,
        },
    };
    let states = store_states(index, operation, table, weather)?;
    let Expectation { verdict, property, .. } = agreed(form, in_the_mode, &states)?;
    let property = match verdict {
        Verdict::NamesStore | Verdict::Unavailable => "C14",
        _ => property,
    };
    let may_work = states.contains(&StoreState::Working);
    let cell = Cell { form, verdict, property, in_the_mode, on, may_work };
    (!is_excused(index, operation, table, &cell)).then_some(cell)
}

/// A write with a plan meets more than this table knows (C13).
fn is_planned_write(statement: &Statement) -> bool {
    matches!(statement, Statement::Insert { layout: Some(_), .. })
}

/// The whole name that a statement spells.
fn named(statement: &Statement) -> TablePath {
    match statement.view() {
        Some(view) => view.spelled(),
        None => statement.table().clone(),
    }
}

/// What a name stands for that is no view's; `None` where that is not certain.
fn subject<'i, 'h>(
    index: &'i Index<'h>,
    operation: &Operation,
    base: &TablePath,
) -> Option<(Subject, Option<&'i Table<'h>>)> {
    let Some(table) = index.table(base) else { return Some((Subject::Nothing, None)) };
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    match table.timeline.exists.during(operation.invoked.n, answered_n) {
        Known::Unknown => None,
        Known::No => Some((Subject::Nothing, None)),
        Known::Yes => {
            let keyed = table.keyed?;
            Some((if keyed { Subject::KeyTable } else { Subject::AppendTable }, Some(table)))
        }
    }
}

/// The states in which the statement may have found the store; `None` where the catalog is not known.
fn store_states(
    index: &Index,
    operation: &Operation,
    table: Option<&Table>,
    weather: Weather,
) -> Option<Vec<StoreState>> {
    Some(match index.catalogs.discovery? {
        Discovery::Unset => vec![StoreState::Unset],
        Discovery::Unknown => vec![StoreState::Unknown],
        Discovery::Uncreatable => vec![StoreState::Uncreatable],
        Discovery::Unreachable => vec![StoreState::Down],
        Discovery::Found => {
            let up = match table.map_or(Known::Yes, |table| known_to_store(index, operation, table)) {
                Known::Yes => vec![StoreState::Working],
                Known::No => vec![StoreState::Lacking],
                Known::Unknown => vec![StoreState::Working, StoreState::Lacking],
            };
            match weather {
                Weather::Calm => up,
                Weather::StoreDown => vec![StoreState::Down],
                Weather::Rough => [up, vec![StoreState::Down]].concat(),
            }
        }
    })
}

/// Whether the store has the table.
fn known_to_store(index: &Index, operation: &Operation, table: &Table) -> Known {
    sides::around(index, operation).before.map_or(table.in_store, |seen| seen.store.is_some().into())
}

/// Cases in which the texts leave a way out of the verdict.
fn is_excused(index: &Index, operation: &Operation, table: Option<&Table>, cell: &Cell) -> bool {
    let with_store = matches!(cell.verdict, Verdict::Store | Verdict::StoreIfAble | Verdict::Union);
    let answered_n = operation.answered().map_or(NEVER, |at| at.n);
    if with_store && table.is_some_and(|table| table.disturbance.columns_from_n < answered_n) {
        // The store may not know of the change yet, and no text says what it then makes of a statement.
        return true;
    }
    match operation.statement {
        // Turned on over rows that the store does not know: declared, or refused as P2 refuses; both stand.
        Statement::AlterOptions { .. } if cell.property == "C6" && !cell.in_the_mode => table.is_none_or(|table| {
            table.operations.iter().map(|position| &index.operations[*position]).any(|other| {
                let during = || table.timeline.mode.during(other.invoked.n, other.answered().map_or(NEVER, |at| at.n));
                other.invoked.n < operation.acked_n()
                    && other.fate() != Fate::Failed
                    && other.statement.writes_rows()
                    && during() != Known::Yes
            })
        }),
        // C5 judges what comes after the mode was turned off.
        Statement::RenameTable { .. } | Statement::ReplaceTable { .. } => {
            cell.property == "C8" && table.is_some_and(|table| table.timeline.mode.was_yes_before(operation.invoked.n))
                || rejection::target_may_exist(index, operation)
        }
        // Nothing to write is no reason to ask the store.
        Statement::Insert { rows, .. } => rows.rows.is_empty(),
        Statement::Delete { keys, filter: None, .. } => keys.rows.is_empty(),
        _ => false,
    }
}

/// One statement, judged in its cell.
struct Case<'c, 'h> {
    index: &'c Index<'h>,
    operation: &'c Operation<'h>,
    weather: Weather,
    cell: Cell,
}

/// What became of one case.
enum Outcome {
    /// As demanded.
    Held,
    /// Not as demanded: what happened, and what was demanded.
    Violated(String, &'static str),
    /// The evidence does not decide.
    Undecided,
    /// It proves nothing.
    Nothing,
}

impl Case<'_, '_> {
    fn judge(&self, docket: &mut Docket) {
        let property = self.cell.property;
        if self.cell.verdict == Verdict::Noted {
            if let Some(outcome) = self.in_words() {
                let Cell { form, on, .. } = &self.cell;
                docket.note(property, format!("`{}` {on} {outcome}: no text says what it comes to", form.sql));
            }
            return;
        }
        if let Some(sight) = self.opened_needlessly() {
            docket.judged(property, 1);
            docket.violated(property, [self.operation.events(), vec![sight]].concat(), || {
                self.argue(&format!("opened the store (event {sight})"), "the store is not opened for it")
            });
            return;
        }
        match self.outcome() {
            // That it does without a store shows only where there is none.
            Outcome::Held if self.cell.may_work && matches!(property, "C6" | "C16") => {}
            Outcome::Held => docket.judged(property, 1),
            Outcome::Violated(what, demand) => {
                docket.judged(property, 1);
                docket.violated(property, self.operation.events(), || self.argue(&what, demand));
            }
            Outcome::Undecided => docket.undecided(property),
            Outcome::Nothing => {}
        }
    }

    fn argue(&self, what: &str, demand: &str) -> String {
        format!(
            "The {} had the form `{}`, {} for as long as it lasted. It {what}. {} demands that {demand}.",
            prose::statement(self.operation),
            self.cell.form.sql,
            self.cell.on,
            self.cell.property
        )
    }

    fn in_words(&self) -> Option<String> {
        match self.operation.end {
            End::Ok(..) => Some("succeeded".to_owned()),
            End::Failed { code, definite: true, .. } => Some(format!("failed as {code:?}")),
            End::Failed { .. } | End::Open => None,
        }
    }

    /// The opening of the store by a statement that must not open it. Base reads are C16's, other definitions C17's.
    fn opened_needlessly(&self) -> Option<u64> {
        let forbids = matches!(self.cell.verdict, Verdict::Lake | Verdict::LakeIfAble | Verdict::Rejected)
            && matches!(self.cell.property, "C8" | "C12" | "C24");
        if !forbids {
            return None;
        }
        self.index.catalogs.opened_during(self.operation).map(|sight| sight.n)
    }

    fn outcome(&self) -> Outcome {
        let (code, message) = match self.operation.end {
            End::Ok(_, output) => return self.succeeded(output),
            End::Open => return Outcome::Nothing,
            End::Failed { code, message, .. } => (code, message),
        };
        let failed = |demand| Outcome::Violated(format!("failed as {code:?}: {message}"), demand);
        match (self.cell.verdict, code) {
            (_, FailureCode::Timeout | FailureCode::Internal) => match self.cell.verdict {
                Verdict::Unavailable => Outcome::Held,
                _ if self.weather == Weather::Calm => Outcome::Undecided,
                _ => Outcome::Nothing,
            },
            (Verdict::NamesStore, FailureCode::Misconfigured | FailureCode::Unavailable) => self.by_name(message),
            (Verdict::StoreIfAble, FailureCode::Unsupported) => self.by_name(message),
            (Verdict::Unavailable, FailureCode::Unavailable) => Outcome::Held,
            (_, FailureCode::Unavailable) => match (self.cell.verdict, self.weather) {
                (Verdict::Refused, _) => Outcome::Nothing,
                // A guard may look at more than it has to, but a branch write is refused before the store is opened.
                (Verdict::Rejected | Verdict::RejectedWithAdvice, _) if self.cell.property != "C12" => Outcome::Nothing,
                (Verdict::Store | Verdict::StoreIfAble | Verdict::Union, _) => Outcome::Nothing,
                (_, Weather::StoreDown) => failed("it does not depend on the store"),
                (_, Weather::Calm) if self.store_is_away() => failed("it does not depend on the store"),
                _ => Outcome::Nothing,
            },
            (Verdict::Lake, FailureCode::Rejected | FailureCode::Misconfigured) => failed("it succeeds on the lake"),
            (Verdict::LakeIfAble, FailureCode::Misconfigured) => failed("it does not depend on the store"),
            (Verdict::Lake | Verdict::LakeIfAble, FailureCode::NotFound) if self.is_of_the_present() => {
                failed("it finds the table on the lake")
            }
            (Verdict::Store | Verdict::Union, FailureCode::Rejected | FailureCode::NotFound) => {
                failed("it is served with the store")
            }
            (Verdict::Store | Verdict::StoreIfAble | Verdict::Union, FailureCode::Misconfigured)
            | (Verdict::StoreIfAble, FailureCode::NotFound) => failed("it is served with the store"),
            (Verdict::StoreIfAble, FailureCode::Rejected) => self.by_name(message),
            (Verdict::Unchanged, FailureCode::Invalid | FailureCode::Unsupported) => Outcome::Undecided,
            (Verdict::Unchanged, _) => failed("it succeeds and changes nothing"),
            (Verdict::Rejected | Verdict::RejectedWithAdvice, FailureCode::Rejected) => Outcome::Held,
            (Verdict::Rejected | Verdict::RejectedWithAdvice, FailureCode::NotFound | FailureCode::Misconfigured) => {
                failed("it is rejected")
            }
            (Verdict::Rejected | Verdict::RejectedWithAdvice, _) => Outcome::Undecided,
            (Verdict::NamesStore | Verdict::Unavailable, FailureCode::NotFound) => {
                failed("it fails by naming the store, and never as a lookup failure")
            }
            (Verdict::NamesStore | Verdict::Unavailable, _) => Outcome::Undecided,
            (Verdict::Missing, FailureCode::NotFound) => Outcome::Held,
            (Verdict::Missing, FailureCode::Rejected | FailureCode::Misconfigured) => {
                failed("it finds nothing of that name")
            }
            (Verdict::Refused, FailureCode::Rejected) if self.cell.property == "C21" => {
                failed("a name that is taken or missing is told as that, and never as a guard's refusal")
            }
            (Verdict::Refused, _) => Outcome::Held,
            // What makes no sense for this table is the plan's fault; what the system cannot do is not tested.
            (
                Verdict::Lake
                | Verdict::LakeIfAble
                | Verdict::Store
                | Verdict::StoreIfAble
                | Verdict::Union
                | Verdict::Missing
                | Verdict::Noted,
                _,
            ) => Outcome::Nothing,
        }
    }

    fn succeeded(&self, output: &Output) -> Outcome {
        let done = |demand| Outcome::Violated("succeeded".to_owned(), demand);
        match self.cell.verdict {
            Verdict::Lake | Verdict::LakeIfAble | Verdict::Union => Outcome::Held,
            Verdict::Store | Verdict::StoreIfAble => match output {
                Output::Acked { snapshot_id: Some(id), .. } => Outcome::Violated(
                    format!("succeeded, and its ack names lake snapshot {id}"),
                    "it reaches the store and makes no lake snapshot by itself",
                ),
                _ => Outcome::Held,
            },
            Verdict::Unchanged => self.unchanged(),
            Verdict::Rejected | Verdict::RejectedWithAdvice => done("it is rejected"),
            Verdict::NamesStore => done("it fails by naming the store, and never falls back in silence"),
            Verdict::Unavailable => done("it fails while the store is away, and never falls back in silence"),
            Verdict::Missing => done("there is nothing of that name"),
            Verdict::Refused => done("it is refused"),
            Verdict::Noted => Outcome::Nothing,
        }
    }

    /// C14, C23: the message says which store it is about.
    fn by_name(&self, message: &str) -> Outcome {
        match catalog::names_store(self.index.history, message) {
            Some(true) => Outcome::Held,
            Some(false) if self.weather == Weather::Rough => Outcome::Nothing,
            Some(false) => Outcome::Violated(
                format!("failed with the message {message:?}, which names neither the store nor `lakestream.store`"),
                "the error names the store",
            ),
            None => Outcome::Undecided,
        }
    }

    /// C21: as both sides were seen around it, nothing changed.
    fn unchanged(&self) -> Outcome {
        let Some((before, after)) = sides::undisturbed(self.index, self.operation) else { return Outcome::Held };
        let definition = |state: Option<&crate::history::SideState>| {
            state.map(|state| (state.table_id.clone(), state.schema.clone()))
        };
        if definition(before.lake) == definition(after.lake) && definition(before.store) == definition(after.store) {
            return Outcome::Held;
        }
        Outcome::Violated("succeeded, and the table was another afterwards".to_owned(), "it changes nothing")
    }

    /// Whether the store cannot be reached, whatever the weather.
    fn store_is_away(&self) -> bool {
        self.index.catalogs.discovery.is_some_and(|found| found != Discovery::Found)
    }

    /// Whether nothing but the table has to be found: no snapshot, branch, partition or column.
    fn is_of_the_present(&self) -> bool {
        match self.operation.statement {
            Statement::Select { table, at_timestamp_ms, at_snapshot, .. } => {
                at_timestamp_ms.is_none() && at_snapshot.is_none() && !table.path.table().contains('$')
            }
            Statement::Insert { table, branch, .. } => branch.is_none() && !table.path.table().contains('$'),
            Statement::Lookup { .. } | Statement::Describe { .. } | Statement::NativeInsert { .. } => true,
            _ => false,
        }
    }
}
