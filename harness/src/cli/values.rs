//! How option values are written: seeds, ranges, shards, durations, globs.

use std::ops::Range;
use std::time::Duration;

use crate::campaign::schedule::{SeedRange, Shard, seed_of};

/// `N` or `A..B`; the range excludes B.
pub fn seeds(text: &str) -> Result<SeedRange, String> {
    if text.contains("..") {
        return range(text).map(SeedRange::Each);
    }
    match text.parse() {
        Ok(total) if total > 0 => Ok(SeedRange::Total(total)),
        _ => Err(format!("expected a number of seeds like 500 or a range like 0..500, found {text:?}")),
    }
}

/// `A..B`, excluding B and not empty.
pub fn range(text: &str) -> Result<Range<u64>, String> {
    let malformed = || format!("expected a range of seeds like 0..500, found {text:?}");
    let (start, end) = text.split_once("..").ok_or_else(malformed)?;
    let start: u64 = start.parse().map_err(|_| malformed())?;
    let end: u64 = end.parse().map_err(|_| malformed())?;
    if start >= end {
        return Err(format!("expected a range of seeds that is not empty (A..B excludes B), found {text:?}"));
    }
    Ok(start..end)
}

/// A seed: a number, or any text but none, which is what a command that failed leaves.
pub fn seed(text: &str) -> Result<u64, String> {
    match text {
        "" => Err("expected a seed, a number or any text, found an empty one".to_owned()),
        text => Ok(seed_of(text)),
    }
}

/// A day as YYYY-MM-DD, so that earlier days sort before later ones.
pub fn date(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, digits| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        [year, month, day]
            if number(year, 4)
                && number(month, 2)
                && number(day, 2)
                && ("01"..="12").contains(month)
                && ("01"..="31").contains(day) =>
        {
            Ok(text.to_owned())
        }
        _ => Err(format!("expected a day like 2026-01-31, found {text:?}")),
    }
}

/// A whole number.
pub fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number like 3, found {text:?}"))
}

/// A whole number that is not 0.
pub fn count_from_1(text: &str) -> Result<u64, String> {
    match count(text)? {
        0 => Err("expected at least 1, found 0".to_owned()),
        count => Ok(count),
    }
}

/// How many workers.
pub fn jobs(text: &str) -> Result<u16, String> {
    let count = count_from_1(text)?;
    u16::try_from(count).map_err(|_| format!("expected at most {} jobs, found {count}", u16::MAX))
}

/// A share in a hundred.
pub fn percent(text: &str) -> Result<u64, String> {
    match count(text)? {
        percent @ 0..=100 => Ok(percent),
        more => Err(format!("expected a share from 0 to 100, found {more}")),
    }
}

/// `I/N`, I counting from 0.
pub fn shard(text: &str) -> Result<Shard, String> {
    let malformed = || format!("expected a shard as I/N with I from 0 and less than N, like 0/4, found {text:?}");
    let (index, of) = text.split_once('/').ok_or_else(malformed)?;
    let index = index.parse().map_err(|_| malformed())?;
    let of = of.parse().map_err(|_| malformed())?;
    if index < of { Ok(Shard { index, of }) } else { Err(malformed()) }
}

/// `90s`, `5m`, `1h` or `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let malformed = || format!("expected a duration like 90s, 5m, 1h or 500ms, found {text:?}");
    let digits = text.find(|character: char| !character.is_ascii_digit()).ok_or_else(malformed)?;
    let number: u64 = text[..digits].parse().map_err(|_| malformed())?;
    let milliseconds = match &text[digits..] {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    milliseconds.map(Duration::from_millis).ok_or_else(malformed)
}

/// Whether `name` matches `glob`: `*` stands for any characters, `?` for one.
pub fn matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut at_glob, mut at_name) = (0, 0);
    // Where to go on if what follows the last star does not fit.
    let mut retry: Option<(usize, usize)> = None;
    while at_name < name.len() {
        match glob.get(at_glob) {
            Some('*') => {
                retry = Some((at_glob + 1, at_name));
                at_glob += 1;
            }
            Some(character) if *character == '?' || *character == name[at_name] => {
                at_glob += 1;
                at_name += 1;
            }
            _ => match retry {
                Some((after_star, taken)) => {
                    at_glob = after_star;
                    at_name = taken + 1;
                    retry = Some((after_star, at_name));
                }
                None => return false,
            },
        }
    }
    glob[at_glob..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_number_or_a_range() {
        assert_eq!(seeds("12"), Ok(SeedRange::Total(12)));
        assert_eq!(seeds("3..5"), Ok(SeedRange::Each(3..5)));
        for (text, part) in [
            ("5..5", "not empty"),
            ("a..b", "like 0..500"),
            ("many", "a number of seeds"),
            ("0", "a number"),
            ("-1", "a number"),
        ] {
            assert!(seeds(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn a_seed_is_some_text() {
        assert_eq!((seed("7"), seed("a commit")), (Ok(7), Ok(seed_of("a commit"))));
        assert!(seed("").unwrap_err().contains("found an empty one"));
    }

    #[test]
    fn days_sort_by_time() {
        assert_eq!(date("2026-01-31"), Ok("2026-01-31".to_owned()));
        for text in ["2026-1-31", "31.01.2026", "2026-13-01", "2026-12-32", "2026-00-01", "today", ""] {
            assert!(date(text).unwrap_err().contains("a day like"), "{text}");
        }
    }

    #[test]
    fn counts_have_bounds() {
        assert_eq!((count("0"), count_from_1("3"), jobs("65535"), percent("100")), (Ok(0), Ok(3), Ok(65_535), Ok(100)));
        assert!(count("x").unwrap_err().contains("a whole number"));
        assert!(count_from_1("0").unwrap_err().contains("at least 1"));
        assert!(jobs("65536").unwrap_err().contains("at most 65535"));
        assert!(percent("101").unwrap_err().contains("from 0 to 100"));
    }

    #[test]
    fn shards_count_from_0() {
        assert_eq!(shard("3/4"), Ok(Shard { index: 3, of: 4 }));
        for text in ["4/4", "1", "0/0", "-1/2", "/"] {
            assert!(shard(text).unwrap_err().contains("I/N"), "{text}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        for text in ["90", "s", "1.5m", "5 m", "", "18446744073709551615h"] {
            assert!(duration(text).unwrap_err().contains("like 90s"), "{text}");
        }
    }

    #[test]
    fn globs_match_whole_names() {
        for (glob, name, expected) in [
            ("*", "anything", true),
            ("commit-*", "commit-races", true),
            ("commit-*", "recommit-races", false),
            ("*race*", "commit-races", true),
            ("commit-race?", "commit-races", true),
            ("commit", "commit-races", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("", "", true),
        ] {
            assert_eq!(matches(glob, name), expected, "{glob} {name}");
        }
    }
}
