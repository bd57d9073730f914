//! L10: every file that the lake refers to exists, parses and agrees with the others. L18: after clean-up there is no
//! other file. Our own reader looked at the files after the run; its findings are the evidence.

use crate::history::Event;

use super::Docket;
use super::index::Index;

/// Judges L10 and L18: one judgement a table.
pub fn judge(index: &Index, docket: &mut Docket) {
    for entry in &index.history.events {
        let Event::Files { table, findings, orphans, cleaned } = &entry.event else { continue };
        docket.judged("L10", 1);
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
