//! How long snapshots and changelogs are kept, as the table's options say.
//!
//! Numbers only; what they protect is expiry's business.

use std::collections::BTreeMap;

use crate::contract::Failure;

use super::super::option_text::duration_ms;

/// How much of one kind is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retained {
    /// So many of the newest are kept however old they are; at least 1.
    pub at_least: u64,
    /// No more than so many are kept however young they are; not below `at_least`.
    pub at_most: u64,
    /// Within these bounds they are kept as long as this, in milliseconds.
    pub time_ms: u64,
}

/// What expiry goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// `snapshot.num-retained.min`, `.max` and `snapshot.time-retained`.
    pub snapshots: Retained,
    /// `changelog.num-retained.min`, `.max` and `changelog.time-retained`; the snapshots' unless they are set.
    pub changelogs: Retained,
    /// `snapshot.expire.limit`: no more than so many expire at once.
    pub limit: u64,
}

impl Retention {
    /// What these table options say; `invalid` if one of them makes no sense.
    pub fn of_options(options: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let number = |option: &str, otherwise: u64| match options.get(option) {
            None => Ok(otherwise),
            Some(text) => text.trim().parse().map_err(|_| invalid(option, "a number that is not negative", text)),
        };
        let duration = |option: &str, otherwise: u64| match options.get(option) {
            None => Ok(otherwise),
            Some(text) => duration_ms(text).ok_or_else(|| invalid(option, "a duration such as `1 h`", text)),
        };
        let retained = |kind: &str, otherwise: Retained| -> Result<Retained, Failure> {
            let retained = Retained {
                at_least: number(&format!("{kind}.num-retained.min"), otherwise.at_least)?,
                at_most: number(&format!("{kind}.num-retained.max"), otherwise.at_most)?,
                time_ms: duration(&format!("{kind}.time-retained"), otherwise.time_ms)?,
            };
            retained.check(kind).map(|()| retained)
        };
        let defaults = Retained { at_least: 10, at_most: i32::MAX as u64, time_ms: 3_600_000 };
        let snapshots = retained("snapshot", defaults)?;
        let changelogs = retained("changelog", snapshots)?;
        let limit = number("snapshot.expire.limit", 50)?;
        Ok(Self { snapshots, changelogs, limit })
    }

    /// Whether changelogs outlive their snapshots, so that an expired snapshot leaves its changelog behind.
    pub fn changelogs_live_longer(&self) -> bool {
        self.changelogs.at_least > self.snapshots.at_least
            || self.changelogs.at_most > self.snapshots.at_most
            || self.changelogs.time_ms > self.snapshots.time_ms
    }
}

impl Retained {
    /// `invalid` unless 1 ≤ `at_least` ≤ `at_most`. `kind` is for the message.
    pub(super) fn check(&self, kind: &str) -> Result<(), Failure> {
        if self.at_least >= 1 && self.at_most >= self.at_least {
            return Ok(());
        }
        Err(Failure::invalid(format!(
            "expected 1 <= {kind}.num-retained.min <= {kind}.num-retained.max, found {} and {}",
            self.at_least, self.at_most
        )))
    }
}

fn invalid(option: &str, expected: &str, found: &str) -> Failure {
    Failure::invalid(format!("option {option}: expected {expected}, found {found:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[(&str, &str)]) -> Result<Retention, Failure> {
        Retention::of_options(&options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn changelogs_are_kept_like_snapshots_unless_told_otherwise() {
        let retention = of(&[("snapshot.num-retained.min", "2"), ("snapshot.time-retained", "5 min")]).unwrap();
        assert_eq!(retention.snapshots, Retained { at_least: 2, at_most: 2_147_483_647, time_ms: 300_000 });
        assert_eq!((retention.changelogs, retention.limit), (retention.snapshots, 50));
        assert!(!retention.changelogs_live_longer());
        assert!(of(&[("changelog.time-retained", "2 h")]).unwrap().changelogs_live_longer());
        assert!(of(&[("changelog.num-retained.min", "11")]).unwrap().changelogs_live_longer());
        assert!(!of(&[("changelog.time-retained", "1 min")]).unwrap().changelogs_live_longer());
    }

    #[test]
    fn options_that_make_no_sense_are_refused_by_name() {
        for (option, value) in [
            ("snapshot.num-retained.min", "0"),
            ("snapshot.num-retained.max", "9"),
            ("snapshot.num-retained.min", "-1"),
            ("snapshot.time-retained", "soon"),
            ("snapshot.expire.limit", "1.5"),
            ("changelog.num-retained.max", "9"),
        ] {
            let failure = of(&[(option, value)]).unwrap_err();
            assert!(failure.message.contains(option) && failure.definite, "{failure}");
        }
    }
}
