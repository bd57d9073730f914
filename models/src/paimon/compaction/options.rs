//! The options of a table that say when and how it is compacted.

use crate::contract::{Failure, TableSchema};

use super::super::option_text::{flag, size_bytes};

const MEBIBYTE: u64 = 1 << 20;

/// How a table is compacted: its options, with Paimon's defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionOptions {
    /// From so many sorted runs of a bucket on, compaction is looked for (`num-sorted-run.compaction-trigger`).
    pub run_count_trigger: usize,
    /// By how many percent of the oldest run's size the newer runs may exceed it
    /// (`compaction.max-size-amplification-percent`).
    pub max_size_amplification_percent: u64,
    /// By how many percent a run may be larger than all newer ones and still go with them (`compaction.size-ratio`).
    pub size_ratio_percent: u64,
    /// The number of levels, level 0 included (`num-levels`); at least 2.
    pub level_count: i32,
    /// Whether level 0 is emptied whenever it is not empty: asked for (`compaction.force-up-level-0`), or needed,
    /// because batch readers of tables with deletion vectors do not look at level 0.
    pub force_up_level_0: bool,
    /// New files are about so large, in bytes (`target-file-size`).
    pub target_file_size: u64,
    /// An append bucket is compacted from so many files on (`compaction.min.file-num`).
    pub min_file_count: usize,
    /// What opening a file costs, in bytes of reading (`source.split.open-file-cost`).
    pub open_file_cost: u64,
    /// Whether deletion vectors mark replaced rows (`deletion-vectors.enabled`).
    pub deletion_vectors: bool,
}

impl CompactionOptions {
    /// The options of a table; `invalid` with the option's name if one has no meaning.
    pub fn of(schema: &TableSchema) -> Result<Self, Failure> {
        let read = Reader { schema };
        let run_count_trigger = read.number("num-sorted-run.compaction-trigger", 5, 1)?;
        let deletion_vectors = read.flag("deletion-vectors.enabled")?;
        let target_file_size = if schema.has_primary_key() { 128 * MEBIBYTE } else { 256 * MEBIBYTE };
        let default_levels = run_count_trigger.saturating_add(1).max(2);
        Ok(Self {
            run_count_trigger: usize::try_from(run_count_trigger).unwrap_or(usize::MAX),
            max_size_amplification_percent: read.number("compaction.max-size-amplification-percent", 200, 0)?,
            size_ratio_percent: read.number("compaction.size-ratio", 1, 0)?,
            level_count: i32::try_from(read.number("num-levels", default_levels, 2)?).unwrap_or(i32::MAX),
            force_up_level_0: read.flag("compaction.force-up-level-0")? || deletion_vectors,
            target_file_size: read.size("target-file-size", target_file_size)?,
            min_file_count: usize::try_from(read.number("compaction.min.file-num", 5, 1)?).unwrap_or(usize::MAX),
            open_file_cost: read.size("source.split.open-file-cost", 4 * MEBIBYTE)?,
            deletion_vectors,
        })
    }

    /// Files below this size are rewritten with their neighbours where larger ones are left as they are: 70 % of the
    /// target, since a file that was rolled at the target may have become a little smaller.
    pub fn small_file_size(&self) -> u64 {
        (u128::from(self.target_file_size) * 7 / 10) as u64
    }

    /// The highest level.
    pub fn max_level(&self) -> i32 {
        self.level_count - 1
    }
}

/// Reads single options of one table.
struct Reader<'a> {
    schema: &'a TableSchema,
}

impl Reader<'_> {
    fn number(&self, option: &str, default: u64, least: u64) -> Result<u64, Failure> {
        let Some(text) = self.schema.options.get(option) else {
            return Ok(default);
        };
        // Java's integers.
        let number = text.trim().parse().ok().filter(|number| (least..=i32::MAX as u64).contains(number));
        number.ok_or_else(|| {
            Failure::invalid(format!("expected option `{option}` to be a whole number from {least} on, found {text:?}"))
        })
    }

    fn flag(&self, option: &str) -> Result<bool, Failure> {
        flag(&self.schema.options, option, false)
    }

    fn size(&self, option: &str, default: u64) -> Result<u64, Failure> {
        let Some(text) = self.schema.options.get(option) else {
            return Ok(default);
        };
        size_bytes(text).filter(|size| *size > 0).ok_or_else(|| {
            Failure::invalid(format!("expected option `{option}` to be a size such as `128 mb`, found {text:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(primary_key: bool, options: &[(&str, &str)]) -> TableSchema {
        let key = if primary_key { r#"["id"]"# } else { "[]" };
        let text = format!(r#"{{"columns": [{{"name": "id", "type": "BIGINT"}}], "primary_key": {key}}}"#);
        let mut schema: TableSchema = serde_json::from_str(&text).unwrap();
        schema.options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        schema
    }

    #[test]
    fn the_defaults_are_paimons() {
        let options = CompactionOptions::of(&schema(true, &[])).unwrap();
        assert_eq!((options.run_count_trigger, options.level_count, options.max_level()), (5, 6, 5));
        assert_eq!((options.max_size_amplification_percent, options.size_ratio_percent), (200, 1));
        assert_eq!((options.target_file_size, options.force_up_level_0), (128 << 20, false));
        assert_eq!(CompactionOptions::of(&schema(false, &[])).unwrap().target_file_size, 256 << 20);
    }

    #[test]
    fn levels_follow_the_trigger_and_deletion_vectors_empty_level_0() {
        let options = [("num-sorted-run.compaction-trigger", "2"), ("deletion-vectors.enabled", "TRUE")];
        let options = CompactionOptions::of(&schema(true, &options)).unwrap();
        assert_eq!((options.level_count, options.deletion_vectors, options.force_up_level_0), (3, true, true));
    }

    #[test]
    fn an_option_without_meaning_is_named() {
        for (option, value) in [
            ("num-levels", "1"),
            ("compaction.size-ratio", "-1"),
            ("compaction.min.file-num", "many"),
            ("target-file-size", "0 mb"),
            ("deletion-vectors.enabled", "perhaps"),
        ] {
            let failure = CompactionOptions::of(&schema(true, &[(option, value)])).unwrap_err();
            assert!(failure.definite && failure.message.contains(option), "{}", failure.message);
        }
    }
}
