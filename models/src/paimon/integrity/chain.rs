//! Rules `snapshot-chain`, `snapshot-order`, `snapshot-time` and `hint`: how the snapshots of a line follow each other.
//!
//! What a snapshot leads to is the business of the module [`super::snapshots`].

use super::super::directory::{numbers_after, parse_canonical};
use super::super::table::decode_snapshot;
use super::super::{FormatError, Snapshot};
use super::check::{Check, Line, Referrer};
use super::rule::Rule;
use super::snapshots::SnapshotFiles;

impl Check<'_> {
    /// Checks all snapshots of a line, and all that they lead to; returns the newest that could be read and its files,
    /// and the ids of all.
    pub(super) async fn chain(&mut self, line: &Line) -> (Option<(Snapshot, SnapshotFiles)>, Vec<u64>) {
        let directory = line.directory.snapshot_directory();
        let ids = numbers_after(self.beneath(&directory), &directory, "snapshot-");
        self.hints(line, &ids).await;
        let mut before: Option<Snapshot> = None;
        let mut live: Option<SnapshotFiles> = None;
        for (position, snapshot_id) in ids.iter().enumerate() {
            let path = line.directory.snapshot(*snapshot_id);
            if position > 0 && ids[position - 1].checked_add(1) != Some(*snapshot_id) {
                let missing = line.directory.snapshot(ids[position - 1].saturating_add(1));
                let found = format!("expected the snapshot, for {path} exists, found none");
                self.findings.add(Rule::SnapshotChain, &missing, None, found);
                (before, live) = (None, None);
            }
            let Some(snapshot) = self.snapshot_file(&path, *snapshot_id).await else {
                (before, live) = (None, None);
                continue;
            };
            if let Some(before) = &before {
                self.order(&path, before, &snapshot);
            }
            live = self.snapshot(line, &path, &snapshot, live.take()).await;
            before = Some(snapshot);
        }
        (before.zip(live), ids)
    }

    async fn snapshot_file(&mut self, path: &str, snapshot_id: u64) -> Option<Snapshot> {
        let referrer = Referrer::Directory;
        let read = match self.read(path, referrer).await {
            Some(bytes) => decode_snapshot(path, snapshot_id, &bytes),
            None => {
                self.incomplete = true;
                return None;
            }
        };
        match read {
            Ok(snapshot) => Some(snapshot),
            Err(failure) => {
                self.incomplete = true;
                self.unreadable(path, referrer, &FormatError::new(failure.message));
                None
            }
        }
    }

    fn order(&mut self, path: &str, before: &Snapshot, snapshot: &Snapshot) {
        let id = Some(snapshot.id);
        if before.watermark > snapshot.watermark {
            let found = format!(
                "expected a watermark of at least {}, that of the snapshot before, found {}",
                shown(before.watermark),
                shown(snapshot.watermark)
            );
            self.findings.add(Rule::SnapshotOrder, path, id, found);
        }
        if before.next_row_id > snapshot.next_row_id {
            let found = format!(
                "expected a nextRowId of at least {}, that of the snapshot before, found {}",
                shown(before.next_row_id),
                shown(snapshot.next_row_id)
            );
            self.findings.add(Rule::SnapshotOrder, path, id, found);
        }
        if before.time_millis > snapshot.time_millis {
            let found = format!(
                "expected timeMillis of at least {}, that of the snapshot before, found {}",
                before.time_millis, snapshot.time_millis
            );
            self.findings.add(Rule::SnapshotTime, path, id, found);
        }
    }

    /// A hint may be old, but it must name a snapshot that exists; the earliest one must not hide others.
    async fn hints(&mut self, line: &Line, ids: &[u64]) {
        let latest = line.directory.latest_hint();
        if let Some(hinted) = self.hint(&latest).await
            && hinted.is_none_or(|id| !ids.contains(&id))
        {
            self.bad_hint(&latest, hinted, "the number of a snapshot that exists");
        }
        let earliest = line.directory.earliest_hint();
        match (self.hint(&earliest).await, ids.first()) {
            (Some(hinted), lowest) if hinted.as_ref() != lowest => {
                let expected = lowest.map_or("no hint, for there is no snapshot".to_owned(), |id| {
                    format!("the number of the first snapshot that exists, {id}")
                });
                self.bad_hint(&earliest, hinted, &expected);
            }
            // Expiry leaves this hint. A branch begins at the snapshot of its tag and needs none.
            (None, Some(lowest)) if *lowest > 1 && line.branch.is_none() => {
                let first = line.directory.snapshot(1);
                let found = format!("expected the snapshot, or an EARLIEST hint that says {lowest}, found neither");
                self.findings.add(Rule::SnapshotChain, &first, None, found);
            }
            _ => {}
        }
    }

    /// The number that a hint says: none where there is no hint, and `Some(None)` where it says no number.
    pub(super) async fn hint(&mut self, path: &str) -> Option<Option<u64>> {
        if !self.is_listed(path) {
            return None;
        }
        let bytes = self.read(path, Referrer::Directory).await?;
        // Some writers end the line.
        Some(std::str::from_utf8(&bytes).ok().and_then(|text| parse_canonical(text.trim_end())))
    }

    fn bad_hint(&mut self, path: &str, hinted: Option<u64>, expected: &str) {
        let found = hinted.map_or("no number".to_owned(), |id| id.to_string());
        self.findings.add(Rule::Hint, path, None, format!("expected {expected}, found {found}"));
    }
}

fn shown<Number: std::fmt::Display>(number: Option<Number>) -> String {
    number.map_or("none".to_owned(), |number| number.to_string())
}
