//! Compacting one bucket of a key table: a pick of sorted runs becomes files of one level.
//!
//! Of the changes of a key in the pick one is left, by the table's merge. A delete is left too, as long as an older run
//! may hold the key; above the oldest run, and where deletion vectors mark what it deletes, it goes.

use std::rc::Rc;

use crate::concurrently;
use crate::contract::{DataType, Failure};
use crate::defects::Defect;

use super::super::PaimonTable;
use super::super::data_file::KeyValue;
use super::super::deletion_vectors::{BucketVectors, DeletionVector};
use super::super::scan::{FileContent, compare_keys};
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
    /// Whether a change goes, if an older run has its key: the first row of a key stands.
    keeps_first: bool,
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
            CompactionKind::Full => pick_full(level_count, &sizes),
        };
        let pick = match pick {
            Some(pick) if needs_everything(table, &runs, pick)? => {
                Some(Pick { run_count: runs.len(), output_level: level_count - 1 })
            }
            other => other,
        };
        let has_vector = |file: &TreeFile| vectors.vectors.contains_key(&file.entry.file.file_name);
        let (newer, output_level): (Vec<SortedRun>, i32) = match (kind, pick) {
            (_, Some(Pick { run_count, output_level })) => (runs.drain(..run_count).collect(), output_level),
            (CompactionKind::Automatic, None) => return Ok(None),
            // Everything is at the top already. What there is to gain are the rows that vectors delete.
            (CompactionKind::Full, None) => (std::mem::take(&mut runs), level_count - 1),
        };
        let mut files: Vec<TreeFile> = newer.into_iter().flat_map(|run| run.files).collect();
        if pick.is_none() {
            files.retain(has_vector);
        }
        let older: Vec<TreeFile> = runs.into_iter().flat_map(|run| run.files).collect();
        let unit = Unit { output_level, max_level: level_count - 1, options };
        let steps = steps(unit, files, has_vector);
        Ok(Some(Self {
            table,
            steps,
            output_level,
            // Planted bug delete-dropped-early: every level passes for the lowest.
            drops_deletes: output_level >= highest
                || options.deletion_vectors
                || table.lake.defects.has(Defect::DeleteDroppedEarly),
            marks_replaced: options.deletion_vectors,
            keeps_first: table.merge_options()?.function.hides_level_zero(),
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
                // What moves out of level 0 must be held against older rows, and that takes reading.
                Step::Upgrade(file) if file.level() == 0 && self.looks_up() => vec![file],
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

    /// Whether older runs are looked through for the keys of the pick.
    fn looks_up(&self) -> bool {
        self.marks_replaced || self.keeps_first
    }

    async fn rewrite(&mut self, files: &[TreeFile], output: &mut Output<'_>) -> Result<(), Failure> {
        let touched =
            |older: &&TreeFile| files.iter().any(|file| file.min_key <= older.max_key && older.min_key <= file.max_key);
        let older: Vec<&TreeFile> = self.older.iter().filter(|_| self.looks_up()).filter(touched).collect();
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
    ) -> Result<Merged, Failure> {
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
        let function = &self.table.merge_options()?.function;
        // The sort is stable: equal changes stay in the order of age.
        found.sort_by(|a, b| function.compare(a.change, b.change));
        let key_positions = self.table.version.layout.key_positions();
        let same_key = |a: &Found<'_>, b: &Found<'_>| compare_keys(key_positions, &a.change.row, &b.change.row).is_eq();
        let mut merged = Merged { changes: Vec::new(), replaced: Vec::new() };
        for group in found.chunk_by(same_key) {
            let has_older = group.iter().any(|found| found.older_file.is_some());
            if group.iter().all(|found| found.older_file.is_some()) || (has_older && self.keeps_first) {
                continue;
            }
            for found in group {
                if let Some(file) = found.older_file {
                    merged.replaced.push((file.entry.file.file_name.clone(), found.position));
                }
            }
            let changes: Vec<&KeyValue> = group.iter().map(|found| found.change).collect();
            let left = function.merge(&changes)?;
            merged.changes.extend(left.filter(|change| change.kind.adds() || !self.drops_deletes));
        }
        Ok(merged)
    }
}

/// Whether the pick must take all runs: where every change counts, in its order, changes that a raced writer put before
/// those of an older run must not be merged with later ones first.
fn needs_everything(table: &PaimonTable, runs: &[SortedRun], pick: Pick) -> Result<bool, Failure> {
    let (picked, left) = runs.split_at(pick.run_count);
    let lowest_picked = all_files(picked).map(|file| file.entry.file.min_sequence_number).min();
    let highest_left = all_files(left).map(|file| file.entry.file.max_sequence_number).max();
    Ok(!table.merge_options()?.function.keeps_newest() && lowest_picked < highest_left)
}

fn all_files(runs: &[SortedRun]) -> impl Iterator<Item = &TreeFile> {
    runs.iter().flat_map(|run| &run.files)
}
