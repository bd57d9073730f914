//! The options of a table that say how commits are tried, and how their manifests are kept.

use crate::contract::{Failure, TableSchema};
use crate::paimon::option_text::{duration_ms, size_bytes};

/// How a table is committed to: its options, with Paimon's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommitOptions {
    /// How often a commit that lost its race starts over (`commit.max-retries`).
    pub(super) max_retries: u32,
    /// The pause before the first retry, in milliseconds; it doubles each time (`commit.min-retry-wait`).
    pub(super) min_retry_wait_ms: u64,
    /// The longest pause before any retry, in milliseconds and without its jitter (`commit.max-retry-wait`).
    pub(super) max_retry_wait_ms: u64,
    /// After so many milliseconds no retry begins; `None` for no limit (`commit.timeout`).
    pub(super) timeout_ms: Option<u64>,
    /// From so many small manifests on they are merged (`manifest.merge-min-count`).
    pub(super) manifest_merge_min_count: usize,
    /// Manifests are about so large, in bytes (`manifest.target-file-size`).
    pub(super) manifest_target_size: u64,
    /// All manifests are rewritten when those that should be are so large together, in bytes
    /// (`manifest.full-compaction-threshold-size`).
    pub(super) manifest_full_compaction_size: u64,
    /// Changes of others in snapshots after this one refuse the commit; `None` if they do not
    /// (`commit.strict-mode.last-safe-snapshot`, which may also be −1 for "not yet").
    pub(super) last_safe_snapshot: Option<u64>,
}

impl CommitOptions {
    /// The options of a table; `invalid` with the option's name if one has no meaning.
    pub(super) fn of(schema: &TableSchema) -> Result<Self, Failure> {
        let read = |option: &str, default: u64, expected: &str, value: fn(&str) -> Option<u64>| {
            let Some(text) = schema.options.get(option) else {
                return Ok(default);
            };
            value(text)
                .ok_or_else(|| Failure::invalid(format!("expected option `{option}` to be {expected}, found {text:?}")))
        };
        let duration = |option, default| read(option, default, "a duration such as `10 ms`", duration_ms);
        let size = |option, default| {
            read(option, default, "a size such as `8 mb`", |text| size_bytes(text).filter(|size| *size > 0))
        };
        let count = |option, default| read(option, default, "a whole number", |text| text.trim().parse().ok());
        let last_safe = schema.options.get("commit.strict-mode.last-safe-snapshot").map(|text| text.trim());
        Ok(Self {
            max_retries: count("commit.max-retries", 10)?.try_into().unwrap_or(u32::MAX),
            min_retry_wait_ms: duration("commit.min-retry-wait", 10)?,
            max_retry_wait_ms: duration("commit.max-retry-wait", 10_000)?,
            timeout_ms: match schema.options.contains_key("commit.timeout") {
                false => None,
                true => Some(duration("commit.timeout", 0)?),
            },
            manifest_merge_min_count: count("manifest.merge-min-count", 30)?.try_into().unwrap_or(usize::MAX),
            manifest_target_size: size("manifest.target-file-size", 8 << 20)?,
            manifest_full_compaction_size: size("manifest.full-compaction-threshold-size", 16 << 20)?,
            last_safe_snapshot: match last_safe {
                None | Some("-1") => None,
                Some(_) => Some(count("commit.strict-mode.last-safe-snapshot", 0)?),
            },
        })
    }

    /// The pause before a retry, counted from 0: doubled each time up to the longest, and up to a fifth more, by
    /// `drawn`, so that two commits do not meet again and again.
    pub(super) fn retry_wait_ms(&self, retry: u32, drawn: u64) -> u64 {
        let doubled = 1_u64.checked_shl(retry).and_then(|factor| self.min_retry_wait_ms.checked_mul(factor));
        let wait_ms = doubled.unwrap_or(u64::MAX).min(self.max_retry_wait_ms);
        wait_ms.saturating_add(drawn % (wait_ms / 5).saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn options(options: &[(&str, &str)]) -> Result<CommitOptions, Failure> {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        CommitOptions::of(&TableSchema {
            columns: Vec::new(),
            primary_key: Vec::new(),
            partition_keys: Vec::new(),
            options: options.collect::<BTreeMap<_, _>>(),
        })
    }

    #[test]
    fn absent_options_have_paimons_defaults() {
        let defaults = options(&[]).unwrap();
        assert_eq!((defaults.max_retries, defaults.min_retry_wait_ms, defaults.max_retry_wait_ms), (10, 10, 10_000));
        assert_eq!((defaults.timeout_ms, defaults.last_safe_snapshot), (None, None));
        assert_eq!((defaults.manifest_merge_min_count, defaults.manifest_target_size), (30, 8 << 20));
    }

    #[test]
    fn options_are_read_and_nonsense_is_refused_by_name() {
        let read = options(&[("commit.timeout", "1 min"), ("commit.strict-mode.last-safe-snapshot", "7")]).unwrap();
        assert_eq!((read.timeout_ms, read.last_safe_snapshot), (Some(60_000), Some(7)));
        assert_eq!(options(&[("commit.strict-mode.last-safe-snapshot", "-1")]).unwrap().last_safe_snapshot, None);
        for (option, value) in [
            ("commit.max-retries", "-1"),
            ("commit.min-retry-wait", "soon"),
            ("commit.timeout", ""),
            ("manifest.target-file-size", "0"),
            ("commit.strict-mode.last-safe-snapshot", "-2"),
        ] {
            assert!(options(&[(option, value)]).unwrap_err().message.contains(option), "{option} = {value}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_jitter_is_a_fifth() {
        let read = options(&[("commit.max-retry-wait", "50 ms")]).unwrap();
        let least: Vec<u64> = (0..5).map(|retry| read.retry_wait_ms(retry, 0)).collect();
        assert_eq!(least, [10, 20, 40, 50, 50]);
        assert_eq!((0..1000).map(|drawn| read.retry_wait_ms(9, drawn)).max(), Some(60));
        assert_eq!(read.retry_wait_ms(u32::MAX, u64::MAX), 50 + u64::MAX % 11, "no overflow");
    }
}
