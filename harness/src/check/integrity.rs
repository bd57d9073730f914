//! L10: every file that the lake refers to exists, parses and agrees with the others. L18: after clean-up there is no
//! other file. Our own reader looked at the files after the run; its findings are the evidence.

use crate::history::Event;

use super::Docket;
use super::index::{Index, NEVER};

/// Why the files of a table that had a predecessor prove nothing: a commit goes to a path, and compares and swaps the
/// number of a snapshot. One that is in flight while the path gets another table meets that one.
const IN_FLIGHT: &str = "a table of this name was renamed, replaced, dropped or created; a commit that was in flight then may \
                         have reached its successor, and the texts name nothing that keeps it away";

/// Judges L10 and L18: one judgement a table.
pub fn judge(index: &Index, docket: &mut Docket) {
    for entry in &index.history.events {
        let Event::Files { table, findings, orphans, cleaned } = &entry.event else { continue };
        let made_again = index.table(table).is_some_and(|known| known.disturbance.replaced_from_n != NEVER);
        if made_again && !findings.is_empty() {
            docket.undecided("L10");
            docket.note("L10", IN_FLIGHT.to_owned());
            continue;
        }
        // Findings would have been excused, so there was nothing that could fail.
        docket.judged("L10", u64::from(!made_again));
        for finding in findings {
            docket.violated("L10", vec![entry.n], || {
                format!(
                    "The file {} of {table} breaks a rule of the format: {}. For a reader that means: {}.",
                    finding.file,
                    finding.rule.trim_end_matches('.'),
                    finding.consequence.trim_end_matches('.')
                )
            });
        }
        // Where a file cannot be read, it is not known what it would have led to.
        if !cleaned || !findings.is_empty() {
            continue;
        }
        docket.judged("L18", 1);
        if let Some(first) = orphans.first() {
            docket.violated("L18", vec![entry.n], || {
                format!(
                    "All was drained, no writer was alive, and the system's own clean-up had just run over {table}. {} \
                     files that nothing leads to are left (event {}), {first} first. L18 demands that the files on the \
                     lake are exactly the reachable ones.",
                    orphans.len(),
                    entry.n
                )
            });
        }
    }
}
