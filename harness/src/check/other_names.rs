//! C18 and C24: names that look like `t$rt` and are not, and tables that carry the option and are not routed.
//!
//! How such statements end is judged with the contract's table where it has a row for them; here is what they show.

use models::contract::{Output, Statement};

use super::content::Recogniser;
use super::index::{End, Index, NEVER};
use super::timeline::Known;
use super::weather::Weather;
use super::{Docket, prose, table};

/// Judges what views show (C18) and that other types of table never need the store (C24).
pub fn judge(index: &Index, docket: &mut Docket) {
    for operation in &index.operations {
        shows_the_view(index, operation, docket);
        stays_with_the_lake(index, operation, docket);
    }
}

/// C18: a read of a view's name shows rows of the table that the view shows.
fn shows_the_view(index: &Index, operation: &super::index::Operation, docket: &mut Docket) {
    let (Statement::Select { table: named, .. }, End::Ok(answered, Output::Rows { rows, .. })) =
        (operation.statement, operation.end)
    else {
        return;
    };
    let view = named.spelled();
    if index.names.is_view(&view, operation.invoked.n, answered.n) != Known::Yes {
        return;
    }
    let Some(shown) = index.names.shown_by(&view).and_then(|path| index.table(path)) else { return };
    let (Some(schema), true) = (shown.schema, shown.writes.id_position.is_some()) else { return };
    if shown.disturbance.content_from_n < answered.n || rows.rows.is_empty() {
        return;
    }
    docket.judged("C18", 1);
    let recogniser =
        Recogniser { schema, writes: &shown.writes, columns_changed: shown.disturbance.columns_from_n != NEVER };
    let content = recogniser.content(std::iter::once(rows));
    if let Some(stray) = content.strays.first() {
        docket.violated("C18", operation.events(), || {
            format!(
                "{view} is a view of {}. The {} shows {stray}: rows of something else. C18 demands that a view keeps \
                 resolving as that view, whatever its name ends in.",
                shown.path,
                prose::statement(operation)
            )
        });
    }
}

/// C24: a table of another type is none of the store's business, even if it carries the option.
fn stays_with_the_lake(index: &Index, operation: &super::index::Operation, docket: &mut Docket) {
    let Some(found) = index.table(operation.statement.table()) else { return };
    let carries = found.schema.is_some_and(|schema| !table::is_plain(schema) && schema.lakestream_enabled());
    let plain_use = operation.statement.writes_rows() || operation.statement.is_read();
    let real_time = operation.statement.view().is_some_and(|view| view.real_time);
    if !carries || !plain_use || real_time || matches!(operation.end, End::Open) {
        return;
    }
    let opened = index.catalogs.opened_during(operation).map(|sight| sight.n);
    let fault = match operation.end {
        _ if opened.is_some() => "opened the store".to_owned(),
        End::Failed { code: models::contract::FailureCode::Misconfigured, message, .. } => {
            format!("failed for want of a store: {message}")
        }
        End::Failed { code: models::contract::FailureCode::Unavailable, message, .. }
            if index.forecast.during(operation) == Weather::StoreDown =>
        {
            format!("failed while nothing but the store was down: {message}")
        }
        End::Ok(..) => {
            docket.judged("C24", 1);
            return;
        }
        End::Failed { .. } | End::Open => return,
    };
    docket.judged("C24", 1);
    docket.violated("C24", operation.events().into_iter().chain(opened).collect(), || {
        format!(
            "{} is not a plain Paimon table, though it carries the option. The {} {fault}. C24 demands that only a plain \
             table is routed.",
            found.path,
            prose::statement(operation)
        )
    });
}
