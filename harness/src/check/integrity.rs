//! L10: every file that the lake refers to exists, parses and agrees with the others. Our own reader looked at the
//! files after the run; its findings are the evidence.

use crate::history::Event;

use super::Docket;
use super::index::Index;

/// Judges L10: one judgement a table.
pub fn judge(index: &Index, docket: &mut Docket) {
    for entry in &index.history.events {
        let Event::Files { table, findings, .. } = &entry.event else { continue };
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
    }
}
