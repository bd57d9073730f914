//! Compacting one bucket of an append table: small files are put together.
//!
//! In a table with buckets rows keep their order, so only files that follow each other are put together. A
//! bucket-unaware table has no order, and any small files will do. Files with deleted rows are worth rewriting too.

use crate::concurrently;
use crate::contract::{Failure, Row};

use super::super::deletion_vectors::BucketVectors;
use super::super::scan::FileContent;
use super::super::{ManifestEntry, PaimonTable};
use super::CompactionKind;
use super::options::CompactionOptions;
use super::output::Output;

/// A full compaction of a bucket with fewer files is not worth while.
const FULL_MIN_FILE_COUNT: usize = 3;

impl PaimonTable {
    /// Compacts a bucket with these live files, in commit order.
    pub(super) async fn compact_append_bucket(
        &self,
        output: &mut Output<'_>,
        options: &CompactionOptions,
        kind: CompactionKind,
        mut files: Vec<ManifestEntry>,
        mut vectors: BucketVectors,
    ) -> Result<(), Failure> {
        self.sort_oldest_first(&mut files);
        let Some(sibling) = files.first().cloned() else {
            return Ok(());
        };
        let has_vector = |file: &ManifestEntry| vectors.vectors.contains_key(&file.file.file_name);
        let groups = if self.schema.bucket_count().is_some() {
            let group = match kind {
                CompactionKind::Full => all_files(options, &files, has_vector),
                CompactionKind::Automatic => window(options, &files),
            };
            vec![group]
        } else {
            bins(options, kind, &files, has_vector)
        };
        let mut vectors_changed = false;
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let reads = group.iter().map(|file| {
                let vector = vectors.vectors.get(&file.file.file_name);
                self.read_data_file(file, vector)
            });
            let contents = concurrently::all_or_first_failure(reads).await?;
            let rows = contents.into_iter().flat_map(|content| match content {
                FileContent::Rows(rows) => rows.to_vec(),
                FileContent::Changes(_) => Vec::new(),
            });
            let rows: Vec<Row> = rows.collect();
            for file in &group {
                output.delete(file);
                vectors_changed |= vectors.vectors.remove(&file.file.file_name).is_some();
            }
            output.add_rows(&group[0], group[0].file.min_sequence_number, &rows)?;
        }
        if vectors_changed {
            output.replace_vectors(&sibling, &vectors.index_files, &vectors.vectors)?;
        }
        Ok(())
    }
}

/// The first files of a bucket that follow each other, are enough in number and not too large together; none if there
/// are no such files.
fn window(options: &CompactionOptions, files: &[ManifestEntry]) -> Vec<ManifestEntry> {
    let (mut first, mut bytes) = (0, 0);
    for (last, file) in files.iter().enumerate() {
        bytes += file.file.file_size;
        // One file alone would be rewritten for ever.
        if last + 1 - first >= options.min_file_count.max(2) {
            // A file that begins where its neighbour begins is only in order because of its commit; the result must
            // not come between the two.
            while first > 0 && files[first - 1].file.min_sequence_number == files[first].file.min_sequence_number {
                first -= 1;
            }
            return files[first..=last].to_vec();
        }
        if bytes >= options.target_file_size {
            bytes -= files[first].file.file_size;
            first += 1;
        }
    }
    Vec::new()
}

/// All files of a bucket but the large ones at its beginning, if most of them are small or rows of them are deleted.
fn all_files(
    options: &CompactionOptions,
    files: &[ManifestEntry],
    has_vector: impl Fn(&ManifestEntry) -> bool,
) -> Vec<ManifestEntry> {
    let is_large = |file: &&ManifestEntry| file.file.file_size >= options.target_file_size;
    let begin = files.iter().take_while(|file| is_large(file) && !has_vector(file)).count();
    let rest = &files[begin..];
    let large = rest.iter().filter(is_large).count();
    let worth_while = rest.len() - large > large && rest.len() >= FULL_MIN_FILE_COUNT;
    if worth_while || rest.iter().any(has_vector) { rest.to_vec() } else { Vec::new() }
}

/// Groups of files of a bucket-unaware table, each about as large as two new files.
fn bins(
    options: &CompactionOptions,
    kind: CompactionKind,
    files: &[ManifestEntry],
    has_vector: impl Fn(&ManifestEntry) -> bool,
) -> Vec<Vec<ManifestEntry>> {
    let is_candidate = |file: &&ManifestEntry| file.file.file_size < options.small_file_size() || has_vector(file);
    let mut candidates: Vec<&ManifestEntry> = files.iter().filter(is_candidate).collect();
    candidates.sort_by_key(|file| file.file.file_size);
    let mut bins: Vec<Vec<ManifestEntry>> = Vec::new();
    let (mut bin, mut bytes) = (Vec::new(), 0_u64);
    for file in candidates {
        bytes = bytes.saturating_add(file.file.file_size).saturating_add(options.open_file_cost);
        bin.push(file.clone());
        if bin.len() > 1 && bytes >= options.target_file_size.saturating_mul(2) {
            bins.push(std::mem::take(&mut bin));
            bytes = 0;
        }
    }
    let enough = match kind {
        CompactionKind::Full => 2,
        CompactionKind::Automatic => options.min_file_count.max(2),
    };
    if bin.len() >= enough || bin.iter().any(has_vector) {
        bins.push(bin);
    }
    bins
}

#[cfg(test)]
mod tests {
    use crate::contract::TableSchema;

    use super::super::levels::tests::{file, sequenced};
    use super::*;

    /// Files of 100 bytes and more are large; three files are enough.
    fn options() -> CompactionOptions {
        let schema: TableSchema = serde_json::from_str(r#"{"columns": []}"#).unwrap();
        let defaults = CompactionOptions::of(&schema).unwrap();
        CompactionOptions { target_file_size: 100, min_file_count: 3, open_file_cost: 0, ..defaults }
    }

    /// Files `0`, `1`, … of these sizes, each of ten rows.
    fn files(sizes: &[u64]) -> Vec<ManifestEntry> {
        let file_of = |(index, size): (usize, &u64)| {
            sequenced(file(&index.to_string(), 0, (0, 0), *size), index as i64 * 10, index as i64 * 10 + 9)
        };
        sizes.iter().enumerate().map(file_of).collect()
    }

    fn names(files: &[ManifestEntry]) -> String {
        files.iter().map(|file| file.file.file_name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_window_is_the_first_enough_small_neighbours() {
        let cases: [(&[u64], &str); 6] = [
            (&[], ""),
            (&[1, 1], ""),
            (&[1, 1, 1, 1], "0 1 2"),
            (&[100, 1, 1, 1], "1 2 3"),
            (&[1, 100, 1, 1, 1], "2 3 4"),
            (&[40, 40, 40], "0 1 2"),
        ];
        for (sizes, expected) in cases {
            assert_eq!(names(&window(&options(), &files(sizes))), expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_window_does_not_begin_between_files_that_raced() {
        let mut files = files(&[100, 1, 1, 1]);
        files[1] = sequenced(files[1].clone(), 0, 3);
        assert_eq!(names(&window(&options(), &files)), "0 1 2 3");
    }

    #[test]
    fn a_full_compaction_skips_large_files_at_the_beginning() {
        let cases: [(&[u64], &str, &str); 6] = [
            (&[1, 1], "", ""),
            (&[1, 1, 1], "", "0 1 2"),
            (&[100, 1, 100, 1, 1], "", "1 2 3 4"),
            (&[1, 100, 100, 1], "", ""),
            (&[100, 100], "1", "1"),
            (&[100, 1], "0", "0 1"),
        ];
        for (sizes, with_vector, expected) in cases {
            let has_vector = |file: &ManifestEntry| file.file.file_name == with_vector;
            assert_eq!(names(&all_files(&options(), &files(sizes), has_vector)), expected, "{sizes:?}");
        }
    }

    #[test]
    fn bins_hold_small_files_up_to_two_new_ones() {
        let cases: [(CompactionKind, &[u64], &str, &[&str]); 6] = [
            (CompactionKind::Automatic, &[1, 1], "", &[]),
            (CompactionKind::Full, &[1, 1], "", &["0 1"]),
            (CompactionKind::Full, &[1], "", &[]),
            (CompactionKind::Automatic, &[500, 3, 1, 2], "", &["2 3 1"]),
            (CompactionKind::Automatic, &[60, 60, 60, 60, 1], "", &["4 0 1 2 3"]),
            (CompactionKind::Automatic, &[500], "0", &["0"]),
        ];
        for (kind, sizes, with_vector, expected) in cases {
            let has_vector = |file: &ManifestEntry| file.file.file_name == with_vector;
            let bins = bins(&options(), kind, &files(sizes), has_vector);
            assert_eq!(bins.iter().map(|bin| names(bin)).collect::<Vec<_>>(), expected, "{sizes:?}");
        }
    }
}
