//! How a pick is carried out: which files are rewritten together, and which only move to the output level.
//!
//! A file whose keys overlap with no other file's needs no merge. If it is large it keeps its bytes and gets another
//! level; if it is small it is rewritten with its neighbours, so that small files do not stay for ever. Only manifests
//! are looked at here.

use super::levels::TreeFile;
use super::options::CompactionOptions;

/// One step; the files of different steps share no key.
#[derive(Clone, Debug)]
pub enum Step {
    /// These files, by key, become new files at the output level.
    Rewrite(Vec<TreeFile>),
    /// This file moves to the output level as it is.
    Upgrade(TreeFile),
}

/// What is known of the compaction as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Where its results go; not level 0.
    pub output_level: i32,
    /// The highest level of the bucket's tree.
    pub max_level: i32,
    /// The table's options.
    pub options: &'a CompactionOptions,
}

/// The steps of a compaction of these files, by key. Files that are fine where they are appear in none.
pub fn steps(unit: Unit<'_>, files: Vec<TreeFile>, has_vector: impl Fn(&TreeFile) -> bool) -> Vec<Step> {
    let mut planner = Planner { unit, has_vector, steps: Vec::new(), together: Vec::new(), is_merge: false };
    for section in sections(files) {
        match <[TreeFile; 1]>::try_from(section) {
            Ok([file]) if file.bytes() < unit.options.small_file_size() => planner.together.push(file),
            Ok([file]) => {
                planner.rewrite();
                planner.upgrade(file);
            }
            Err(overlapping) => {
                planner.is_merge = true;
                planner.together.extend(overlapping);
            }
        }
    }
    planner.rewrite();
    planner.steps
}

/// Groups of files, by key: files of different groups share no key, and each file of a group overlaps with another.
fn sections(mut files: Vec<TreeFile>) -> Vec<Vec<TreeFile>> {
    files.sort_by(|a, b| a.min_key.cmp(&b.min_key).then_with(|| a.max_key.cmp(&b.max_key)));
    let mut sections: Vec<Vec<TreeFile>> = Vec::new();
    let mut greatest = None;
    for file in files {
        let overlaps = greatest.as_ref().is_some_and(|greatest| file.min_key <= *greatest);
        greatest = greatest.max(Some(file.max_key.clone()));
        match sections.last_mut() {
            Some(section) if overlaps => section.push(file),
            _ => sections.push(vec![file]),
        }
    }
    sections
}

struct Planner<'a, HasVector> {
    unit: Unit<'a>,
    has_vector: HasVector,
    steps: Vec<Step>,
    /// The files that are rewritten next.
    together: Vec<TreeFile>,
    /// Whether some of them overlap.
    is_merge: bool,
}

impl<HasVector: Fn(&TreeFile) -> bool> Planner<'_, HasVector> {
    fn rewrite(&mut self) {
        let mut files = std::mem::take(&mut self.together);
        let is_merge = std::mem::take(&mut self.is_merge);
        match files.len() {
            0 => {}
            1 if !is_merge => self.upgrade(files.remove(0)),
            _ => self.steps.push(Step::Rewrite(files)),
        }
    }

    fn upgrade(&mut self, file: TreeFile) {
        let Unit { output_level, max_level, .. } = self.unit;
        if file.level() == output_level {
            // Its deleted rows are what there is to gain.
            if (self.has_vector)(&file) {
                self.steps.push(Step::Rewrite(vec![file]));
            }
        } else if output_level == max_level && file.entry.file.delete_row_count != Some(0) {
            // Deletes have no business at the top: there is nothing older that they could delete.
            self.steps.push(Step::Rewrite(vec![file]));
        } else {
            self.steps.push(Step::Upgrade(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use crate::contract::TableSchema;

    use super::super::super::{DataFileMeta, ManifestEntry};
    use super::super::levels::tests::{file, runs};
    use super::*;

    /// Files of 70 bytes and more are large.
    fn options() -> CompactionOptions {
        let schema: TableSchema = serde_json::from_str(r#"{"columns": [], "primary_key": ["id"]}"#).unwrap();
        CompactionOptions { target_file_size: 100, ..CompactionOptions::of(&schema).unwrap() }
    }

    /// The steps towards an output level below level 5, as `rewrite a b` or `upgrade a`.
    fn planned(output_level: i32, files: Vec<ManifestEntry>, with_vector: &str) -> Vec<String> {
        let options = options();
        let unit = Unit { output_level, max_level: 5, options: &options };
        let files = runs(files).into_iter().flat_map(|run| run.files).collect();
        let has_vector = |file: &TreeFile| file.entry.file.file_name == with_vector;
        let name = |file: &TreeFile| file.entry.file.file_name.clone();
        let text = |step: &Step| match step {
            Step::Rewrite(files) => format!("rewrite {}", files.iter().map(name).collect::<Vec<_>>().join(" ")),
            Step::Upgrade(file) => format!("upgrade {}", name(file)),
        };
        steps(unit, files, has_vector).iter().map(text).collect()
    }

    fn with_deletes(entry: ManifestEntry, count: Option<i64>) -> ManifestEntry {
        let file = DataFileMeta { delete_row_count: count, ..(*entry.file).clone() };
        ManifestEntry { file: Rc::new(file), ..entry }
    }

    #[test]
    fn overlapping_files_are_merged_and_a_large_one_between_moves() {
        let files = vec![
            file("c", 5, (20, 29), 100),
            file("b", 0, (5, 14), 100),
            file("a", 5, (0, 9), 100),
            file("e", 0, (40, 44), 1),
            file("d", 0, (30, 39), 70),
        ];
        assert_eq!(planned(5, files, ""), ["rewrite a b", "upgrade d", "upgrade e"]);
    }

    #[test]
    fn small_neighbours_are_rewritten_together() {
        let files = vec![file("a", 0, (0, 9), 1), file("b", 0, (10, 19), 1), file("c", 0, (20, 29), 100)];
        assert_eq!(planned(4, files, ""), ["rewrite a b", "upgrade c"]);
    }

    #[test]
    fn one_small_file_alone_only_moves() {
        assert_eq!(planned(4, vec![file("a", 0, (0, 9), 1)], ""), ["upgrade a"]);
    }

    #[test]
    fn deletes_do_not_reach_the_top() {
        for count in [Some(1), None] {
            let files = vec![with_deletes(file("a", 0, (0, 9), 100), count)];
            assert_eq!(planned(5, files.clone(), ""), ["rewrite a"]);
            assert_eq!(planned(4, files, ""), ["upgrade a"]);
        }
    }

    #[test]
    fn a_file_at_its_level_stays_unless_rows_of_it_are_deleted() {
        let files = vec![file("a", 5, (0, 9), 100), file("b", 5, (10, 19), 100)];
        assert_eq!(planned(5, files, "b"), ["rewrite b"]);
    }

    #[test]
    fn touching_ranges_overlap() {
        let files = vec![file("a", 5, (0, 9), 100), file("b", 0, (9, 9), 100), file("c", 0, (10, 10), 100)];
        assert_eq!(planned(5, files, ""), ["rewrite a b", "upgrade c"]);
    }
}
