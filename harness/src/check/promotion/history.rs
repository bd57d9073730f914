//! P5 and P8: after a promotion `t$rt` shows the history and what came after it, each row once. If the promotion was cut
//! short, or a call of it failed, what shows at all must be whole all the same.

use models::contract::{FailureCode, Statement};

use crate::check::content::Content;
use crate::check::index::{End, Fate, Index, NEVER, Operation};
use crate::check::permitted;
use crate::check::table::{Read, Table};
use crate::check::timeline::{Known, goes_on};
use crate::check::weather::Weather;
use crate::check::writes::Write;
use crate::check::{Docket, prose};

/// When a table was promoted, and whether smoothly.
struct Promotion {
    /// The first success that waited for the end.
    done_n: u64,
    /// When a call of it ended in doubt, or failed after it had begun; [`NEVER`] if none did.
    cut_n: u64,
}

fn promotion(index: &Index, table: &Table) -> Option<Promotion> {
    let mut found: Option<Promotion> = None;
    for operation in table.operations.iter().map(|position| &index.operations[*position]) {
        if !matches!(operation.statement, Statement::Promote { .. } | Statement::Enable { .. }) {
            continue;
        }
        let of_table = found.get_or_insert(Promotion { done_n: NEVER, cut_n: NEVER });
        match operation.end {
            End::Ok(at, _) if !goes_on(operation) => of_table.done_n = of_table.done_n.min(at.n),
            End::Ok(..) => {}
            _ if operation.fate() == Fate::Failed => {}
            End::Failed { .. } | End::Open => of_table.cut_n = of_table.cut_n.min(operation.invoked.n),
        }
    }
    found
}

/// Judges P5 and P8 of one table.
pub fn judge(index: &Index, table: &Table, docket: &mut Docket) {
    let Some(promotion) = promotion(index, table) else { return };
    repeats(index, table, docket);
    let until_n = table.disturbance.beside_promotion_from_n;
    for read in table.reads.iter().filter(|read| read.real_time && !read.historic && read.answered.n < until_n) {
        let Some(content) = &read.content else { continue };
        if read.invoked.n > promotion.cut_n {
            // That it answers at all shows that the table is enabled.
            is_whole(index, table, read, content, "P8", docket);
        } else if read.invoked.n > promotion.done_n {
            is_whole(index, table, read, content, "P5", docket);
        }
    }
}

/// P8: calling the procedure again after its success finds it done.
fn repeats(index: &Index, table: &Table, docket: &mut Docket) {
    let until_n = table.disturbance.beside_promotion_from_n;
    let mut done: Option<&Operation> = None;
    for operation in table.operations.iter().map(|position| &index.operations[*position]) {
        if !matches!(operation.statement, Statement::Promote { .. }) {
            continue;
        }
        let Some(answered) = operation.answered().filter(|answered| answered.n < until_n) else { continue };
        let earlier = done.filter(|done| done.acked_n() < operation.invoked.n && done.statement == operation.statement);
        let certain = table.timeline.mode.during(operation.invoked.n, answered.n) == Known::Yes
            && index.forecast.during(operation) == Weather::Calm;
        match (earlier.filter(|_| certain), operation.end) {
            (Some(_), End::Ok(..)) => docket.judged("P8", 1),
            (Some(earlier), End::Failed { code, message, .. })
                if !matches!(code, FailureCode::Unavailable | FailureCode::Timeout) =>
            {
                docket.judged("P8", 1);
                docket.violated("P8", [earlier.events(), operation.events()].concat(), || {
                    format!(
                        "The {} had promoted the table. The {}, the same again with no fault near, failed: {message}. P8 \
                         demands that a call after another one completes or fails cleanly, and here all was complete.",
                        prose::statement(earlier),
                        prose::statement(operation)
                    )
                });
            }
            _ => {}
        }
        if matches!(operation.end, End::Ok(..)) && !goes_on(operation) {
            done = Some(operation);
        }
    }
}

fn is_whole(index: &Index, table: &Table, read: &Read, content: &Content, property: &'static str, docket: &mut Docket) {
    let demand = match property {
        "P8" => "a promotion that was cut short is completed or undone, and a half-loaded table is never enabled",
        _ => "after a promotion no row of the history is lost, repeated or shadowed",
    };
    let staleness_ms = index.history.header.bounds.rt_staleness_ms;
    let binds = |write: &Write| {
        write.acked_n < read.invoked.n && write.acked_at_ms.saturating_add(staleness_ms) <= read.invoked.at_ms
    };
    let judged = permitted::compare(table, read, content, binds, |missed| {
        docket.violated(property, prose::events(index, table, &[missed.write], &[read]), || {
            format!(
                "There was {}. The {} shows neither it nor what supersedes it. {property} demands that {demand}.",
                prose::write(index, table, missed.write),
                prose::read(index, read)
            )
        });
    });
    docket.judged(property, judged + u64::from(!content.writes.is_empty()));
    for write in &content.repeated {
        docket.violated(property, prose::events(index, table, &[*write], &[read]), || {
            format!(
                "There was {}. The {} shows it, or its key, more than once. {property} demands that {demand}.",
                prose::write(index, table, *write),
                prose::read(index, read)
            )
        });
    }
}
