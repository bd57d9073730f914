//! From when on a table's content cannot be judged any more, and why: a statement after which the texts are silent, or
//! one whose effect on the content only a closer reading than ours would tell.

use models::contract::Statement;

use super::Docket;
use super::index::{End, Fate, Index, NEVER, Operation};
use super::table::{Table, is_promotion};
use super::timeline::{Known, Timeline, mode_switch};

/// Properties that a `noted` event takes out of judgement for its table.
const SILENCED: [&str; 6] = ["L1", "L2", "L5", "L6", "L7", "L17"];

/// From when on which judgements of a table end. Ordinals of invocations; [`NEVER`] where nothing disturbs.
#[derive(Clone, Copy, Debug)]
pub struct Disturbance {
    /// Its content follows from more than its writes: the mode was switched, columns changed, a lake-side write went
    /// behind the store's key-value state, or it became another table.
    pub content_from_n: u64,
    /// The same moment in milliseconds, for what bears a time and no ordinal: lake snapshots.
    pub content_from_ms: u64,
    /// It may be another table: renamed, replaced, dropped or created.
    pub structure_from_n: u64,
    /// As `structure_from_n`, not counting the steps of a promotion.
    pub replaced_from_n: u64,
    /// Its columns may have changed.
    pub columns_from_n: u64,
    /// As `content_from_n`, not counting the steps of a promotion: those P5 and P8 judge.
    pub beside_promotion_from_n: u64,
    /// The position of the operation that disturbed its content first.
    pub cause: Option<usize>,
}

impl Disturbance {
    /// Of one table, by all operations that name it.
    pub fn of<'h>(operations: &[Operation<'h>], of_table: &[usize], timeline: &Timeline, has_key: bool) -> Self {
        let mut found = Self {
            content_from_n: NEVER,
            content_from_ms: NEVER,
            structure_from_n: NEVER,
            replaced_from_n: NEVER,
            columns_from_n: NEVER,
            beside_promotion_from_n: NEVER,
            cause: None,
        };
        for position in of_table {
            let operation = &operations[*position];
            let n = operation.invoked.n;
            let Some(reach) = reach(operation, timeline, has_key) else { continue };
            if n < found.content_from_n {
                (found.content_from_n, found.content_from_ms) = (n, operation.invoked.at_ms);
                found.cause = Some(*position);
            }
            if !is_promotion(operation.statement) {
                found.beside_promotion_from_n = found.beside_promotion_from_n.min(n);
            }
            match reach {
                Reach::Content => {}
                Reach::Columns => found.columns_from_n = found.columns_from_n.min(n),
                Reach::Structure => {
                    found.structure_from_n = found.structure_from_n.min(n);
                    if !is_promotion(operation.statement) {
                        found.replaced_from_n = found.replaced_from_n.min(n);
                    }
                }
            }
        }
        found
    }
}

enum Reach {
    Content,
    Columns,
    Structure,
}

fn reach(operation: &Operation, timeline: &Timeline, has_key: bool) -> Option<Reach> {
    if operation.fate() == Fate::Failed {
        return None;
    }
    // If it has an effect all the same, the judges may say so.
    let guarded = || timeline.refuses(operation);
    match operation.statement {
        Statement::RenameTable { .. } | Statement::ReplaceTable { .. } => (!guarded()).then_some(Reach::Structure),
        Statement::TruncateTable { .. } => (!guarded()).then_some(Reach::Content),
        Statement::DropTable { .. } => Some(Reach::Structure),
        Statement::CreateTable { .. } => Some(Reach::Structure),
        Statement::AlterOptions { .. } => mode_switch(operation.statement).map(|_| Reach::Content),
        Statement::AlterColumns { .. } => Some(Reach::Columns),
        // Outside the mode there is no key-value state to go behind.
        Statement::InsertOverwrite { .. } | Statement::NativeInsert { .. } => {
            let answered_n = operation.answered().map_or(NEVER, |at| at.n);
            let outside = timeline.mode.during(operation.invoked.n, answered_n) == Known::No;
            (has_key && !outside).then_some(Reach::Content)
        }
        Statement::Delete { filter: Some(_), .. } | Statement::Update { .. } => Some(Reach::Content),
        Statement::Delete { .. } => (!has_key).then_some(Reach::Content),
        Statement::CreateOnLake { .. } | Statement::Enable { .. } | Statement::Promote { .. } => Some(Reach::Structure),
        Statement::CreateBranch { .. }
        | Statement::CreateView { .. }
        | Statement::Describe { .. }
        | Statement::Insert { .. }
        | Statement::Select { .. }
        | Statement::Lookup { .. }
        | Statement::Changes { .. } => None,
    }
}

/// Tells for each disturbed table what is not judged, and why. What the texts say nothing about is the mode, so a table
/// that never was in it leaves nothing to tell.
pub fn note(index: &Index, docket: &mut Docket) {
    let may_have_been_on = |table: &&Table| table.schema.is_some() && !table.timeline.mode.was_never_so();
    for table in index.tables.iter().filter(may_have_been_on) {
        // What a promotion makes of the content is P5's and P8's.
        let told = |cause: &usize| !is_promotion(index.operations[*cause].statement);
        let Some(cause) = table.disturbance.cause.filter(told) else { continue };
        let text = note_text(&index.operations[cause]);
        for property in SILENCED {
            docket.note(property, text.clone());
        }
    }
}

/// The same for every run in which the same kind of statement came first, so that notes can be counted: it names no
/// table, session or event.
fn note_text(operation: &Operation) -> String {
    let outcome = match operation.end {
        End::Ok(..) => "succeeded",
        End::Failed { .. } | End::Open => "may have taken effect",
    };
    format!(
        "{} {outcome} on a lake-stream table: the texts do not say what becomes of the content of both sides; not \
         judged from there on",
        operation.statement.name()
    )
}
