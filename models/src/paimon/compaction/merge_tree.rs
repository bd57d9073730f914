//! Compacting one bucket of a key table: a pick of sorted runs becomes files of one level.
//!
//! Of the changes of a key in the pick one is left, by the table's merge. A delete is left too, as long as an older run
//! may hold the key; above the oldest run, and where deletion vectors mark what it deletes, it goes.

use std::rc::Rc;

use crate::concurrently;
use crate::contract::{DataType, Failure};

use super::super::data_file::KeyValue;
use super::super::deletion_vectors::{BucketVectors, DeletionVector};
use super::super::scan::{FileContent, compare_keys};
use super::super::{FormatResult, PaimonTable};
use super::levels::{SortedRun, TreeFile, sorted_runs};
use super::options::CompactionOptions;
use super::output::Output;
use super::steps::{Step, Unit, steps};
use super::universal::{Pick, RunSize, pick_automatic, pick_full};
use super::{CompactionKind, ManifestEntry};

/// The compaction of one bucket.
pub(super) struct TreeCompaction<'a> {
    table: &'a PaimonTable,
    steps: Vec<Step>,
    output_level: i32,
    /// Whether deletes are not needed in the result.
    drops_deletes: bool,
    /// Whether replaced rows of older runs are marked.
    marks_replaced: bool,
    /// The files that are older than the pick.
    older: Vec<TreeFile>,
    vectors: BucketVectors,
    /// Whether the vectors are others than before.
    vectors_changed: bool,
}

/// One change with where it was found.
struct Found<'a> {
    change: &'a KeyValue,
    position: u64,
    /// The file, if it is one that stays.
    older_file: Option<&'a TreeFile>,
}

/// What is left of the changes of one step, and the rows of older files that it replaces.
struct Merged {
    changes: Vec<KeyValue>,
    replaced: Vec<(String, u64)>,
}

impl<'a> TreeCompaction<'a> {
    /// The compaction of a bucket with these live files, in commit order; `None` if there is nothing to do.
    pub(super) fn plan(
        table: &'a PaimonTable,
        options: &CompactionOptions,
        kind: CompactionKind,
        files: Vec<ManifestEntry>,
        vectors: BucketVectors,
    ) -> Result<Option<Self>, Failure> {
        let key_types: Vec<DataType> = table.version.key_types();
        let mut runs = sorted_runs(&key_types, files)?;
        let highest = runs.iter().map(|run| run.level).max().unwrap_or(0);
        let level_count = options.level_count.max(highest.saturating_add(1));
        let sizes: Vec<RunSize> = runs.iter().map(SortedRun::size).collect();
        let pick = match kind {
            CompactionKind::Automatic => pick_automatic(options, level_count, &sizes),
            // A bucket that is one run at the top is looked through for deleted rows.
            CompactionKind::Full => pick_full(level_count, &sizes)
                .or((!runs.is_empty()).then_some(Pick { run_count: 1, output_level: level_count - 1 })),
        };
        let Some(Pick { run_count, output_level }) = pick else {
            return Ok(None);
        };
        let older: Vec<TreeFile> = runs.split_off(run_count).into_iter().flat_map(|run| run.files).collect();
        let files: Vec<TreeFile> = runs.into_iter().flat_map(|run| run.files).collect();
        let unit = Unit { output_level, max_level: level_count - 1, options };
        let steps = steps(unit, files, |file| vectors.vectors.contains_key(&file.entry.file.file_name));
        Ok(Some(Self {
            table,
            steps,
            output_level,
            drops_deletes: output_level >= highest || options.deletion_vectors,
            marks_replaced: options.deletion_vectors,
            older,
            vectors,
            vectors_changed: false,
        }))
    }

    /// Reads, merges, and tells the output.
    pub(super) async fn run(mut self, output: &mut Output<'_>) -> Result<(), Failure> {
        let mut sibling = None;
        for step in std::mem::take(&mut self.steps) {
            let files = match step {
                // What moves out of level 0 replaces older rows, and which ones is known only by reading.
                Step::Upgrade(file) if file.level() == 0 && self.marks_replaced => vec![file],
                Step::Upgrade(file) => {
                    output.upgrade(&file.entry, self.output_level);
                    continue;
                }
                Step::Rewrite(files) => files,
            };
            self.rewrite(&files, output).await?;
            sibling = files.into_iter().next();
        }
        if let (Some(sibling), true) = (sibling, self.vectors_changed) {
            output.replace_vectors(&sibling.entry, &self.vectors.index_files, &self.vectors.vectors)?;
        }
        Ok(())
    }

    async fn rewrite(&mut self, files: &[TreeFile], output: &mut Output<'_>) -> Result<(), Failure> {
        let touched =
            |older: &&TreeFile| files.iter().any(|file| file.min_key <= older.max_key && older.min_key <= file.max_key);
        let older: Vec<&TreeFile> = self.older.iter().filter(|_| self.marks_replaced).filter(touched).collect();
        let newer: Vec<&TreeFile> = files.iter().collect();
        let (newer_contents, older_contents) = (self.read(&newer).await?, self.read(&older).await?);
        let Merged { changes, replaced } = self.merge(&newer, &newer_contents, &older, &older_contents)?;
        for (file_name, position) in replaced {
            self.vectors.vectors.entry(file_name).or_default().delete(position);
            self.vectors_changed = true;
        }
        if let ([file], [content]) = (files, newer_contents.as_slice())
            && file.level() != self.output_level
            && **content == changes
        {
            output.upgrade(&file.entry, self.output_level);
            return Ok(());
        }
        for file in files {
            output.delete(&file.entry);
            let vector = self.vectors.vectors.remove(&file.entry.file.file_name);
            self.vectors_changed |= vector.is_some();
        }
        output.add_changes(&files[0].entry, self.output_level, &changes)?;
        Ok(())
    }

    /// What the files hold, deleted rows included, in the order of the files.
    async fn read(&self, files: &[&TreeFile]) -> Result<Vec<Rc<Vec<KeyValue>>>, Failure> {
        let reads = files.iter().map(|file| async {
            Ok(match self.table.read_data_file(&file.entry, None).await? {
                FileContent::Changes(changes) => changes,
                FileContent::Rows(_) => Rc::default(),
            })
        });
        concurrently::all_or_first_failure(reads).await
    }

    fn merge(
        &self,
        newer: &[&TreeFile],
        newer_contents: &[Rc<Vec<KeyValue>>],
        older: &[&TreeFile],
        older_contents: &[Rc<Vec<KeyValue>>],
    ) -> FormatResult<Merged> {
        let none = DeletionVector::default();
        let mut sources: Vec<(&TreeFile, &[KeyValue], bool)> = Vec::new();
        sources.extend(newer.iter().zip(newer_contents).map(|(file, content)| (*file, content.as_slice(), false)));
        sources.extend(older.iter().zip(older_contents).map(|(file, content)| (*file, content.as_slice(), true)));
        sources.sort_by_key(|(file, ..)| file.age_order());
        let mut found: Vec<Found<'_>> = Vec::new();
        for (file, content, is_older) in sources {
            let file_name = &file.entry.file.file_name;
            let vector = self.vectors.vectors.get(file_name).unwrap_or(&none);
            let retained = vector.retained(content).map_err(|error| error.within(file_name))?;
            found.extend(retained.map(|(position, change)| Found {
                change,
                position,
                older_file: is_older.then_some(file),
            }));
        }
        let key_positions = self.table.version.layout.key_positions();
        // The sort is stable: equal keys and sequence numbers stay in the order of age.
        found.sort_by(|a, b| {
            compare_keys(key_positions, &a.change.row, &b.change.row).then(a.change.sequence.cmp(&b.change.sequence))
        });
        let mut merged = Merged { changes: Vec::new(), replaced: Vec::new() };
        let same_key = |a: &Found<'_>, b: &Found<'_>| compare_keys(key_positions, &a.change.row, &b.change.row).is_eq();
        for group in found.chunk_by(same_key) {
            if group.iter().all(|found| found.older_file.is_some()) {
                continue;
            }
            for found in group {
                if let Some(file) = found.older_file {
                    merged.replaced.push((file.entry.file.file_name.clone(), found.position));
                }
            }
            let left = merge_key(group.iter().map(|found| found.change));
            merged.changes.extend(left.filter(|change| change.kind.adds() || !self.drops_deletes));
        }
        Ok(merged)
    }
}

/// What is left of the changes of one key, oldest first: the newest one (L5).
fn merge_key<'a>(changes: impl Iterator<Item = &'a KeyValue>) -> Option<KeyValue> {
    changes.last().cloned()
}
