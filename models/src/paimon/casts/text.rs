//! Text as values, in the spellings that Paimon's casts accept. `None`: it is none of them.

use crate::contract::{civil_from_days, days_from_civil};

const MILLIS_PER_DAY: i64 = 86_400_000;

pub(super) fn parse_boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// An integer; digits behind a point are checked and dropped.
pub(super) fn parse_integer(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = whole.strip_prefix(['+', '-']).unwrap_or(whole);
    if !(is_digits(unsigned) && is_digits(fraction)) || (unsigned.is_empty() && whole.len() == text.len()) {
        return None;
    }
    if unsigned.is_empty() { Some(0) } else { whole.parse().ok() }
}

/// The part of the text that Rust reads as Java reads the whole: without blanks around it and without the suffix of a
/// Java literal.
pub(super) fn parse_floating(text: &str) -> Option<&str> {
    let text = text.trim_matches(|character: char| character <= ' ');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return Some(text);
    }
    let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    (text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().all(is_part)).then_some(text)
}

/// Days since 1970-01-01: a number of them, or `y[-m[-d]]` with whatever follows a blank.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    if !text.is_empty() && is_digits(text) {
        return text.parse().ok();
    }
    let date = match text.find(' ') {
        Some(end @ 1..) => &text[..end],
        _ => text,
    };
    let mut parts = date.splitn(3, '-').map(|part| number(part.trim()));
    let (year, month, day) = (parts.next()??, parts.next().unwrap_or(Some(1))?, parts.next().unwrap_or(Some(1))?);
    day_number(year, month, day)
}

/// The number of a day that exists, of the years 0 to 9999.
fn day_number(year: i64, month: i64, day: i64) -> Option<i32> {
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    if civil_from_days(days) == (year, month, day) { i32::try_from(days).ok() } else { None }
}

/// Milliseconds since midnight: a number of them, or `h[:m[:s[.fraction]]]`.
pub(super) fn parse_time(text: &str) -> Option<i32> {
    if !text.is_empty() && is_digits(text) {
        return text.parse().ok();
    }
    let (millis, nanos_of_milli) = parse_clock(text)?;
    i32::try_from(millis + i64::from(nanos_of_milli >= 500_000)).ok()
}

/// Milliseconds since midnight and nanoseconds within the millisecond.
fn parse_clock(text: &str) -> Option<(i64, u32)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.splitn(3, ':').map(|part| number(part.trim()));
    let (hours, minutes, seconds) =
        (parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    if hours > 23 || minutes > 59 || seconds > 59 || fraction.len() > 9 || !is_digits(fraction) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    let millis = ((hours * 60 + minutes) * 60 + seconds) * 1000 + i64::from(nanos / 1_000_000);
    Some((millis, nanos % 1_000_000))
}

/// Milliseconds since the epoch and nanoseconds within the millisecond: a date, alone or with a time behind `T` or a
/// blank; or, where the precision of the type is given, a count in its unit.
pub(super) fn parse_timestamp(text: &str, count_precision: Option<u8>) -> Option<(i64, u32)> {
    if !text.is_empty() && is_digits(text) {
        let count: i64 = text.parse().ok()?;
        return match count_precision? {
            0 => Some((count.checked_mul(1000)?, 0)),
            3 => Some((count, 0)),
            6 => Some((count / 1000, (count % 1000) as u32 * 1000)),
            9 => Some((count / 1_000_000, (count % 1_000_000) as u32)),
            _ => None,
        };
    }
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, parse_clock(clock)?),
        None => (text, (0, 0)),
    };
    let mut parts = date.splitn(3, '-').map(number);
    let days = day_number(parts.next()??, parts.next()??, parts.next()??)?;
    Some((i64::from(days) * MILLIS_PER_DAY + clock.0, clock.1))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A short number without a sign.
fn number(text: &str) -> Option<i64> {
    if (1..=9).contains(&text.len()) && is_digits(text) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_have_a_fraction_that_is_dropped() {
        for (text, expected) in [
            ("12", Some(12)),
            ("+12.9", Some(12)),
            ("-12.", Some(-12)),
            (".5", Some(0)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("+", None),
            ("1.x", None),
            ("1e3", None),
        ] {
            assert_eq!(parse_integer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn dates_and_times_may_be_numbers_or_short() {
        assert_eq!(parse_date("19782"), Some(19_782));
        assert_eq!(parse_date("2024-02-29 09:30:00"), Some(19_782));
        assert_eq!(parse_date("1970-2"), Some(31));
        assert_eq!(parse_date("1970-13"), None);
        assert_eq!(parse_time("01:00:00.5"), Some(3_600_500));
        assert_eq!(parse_time("1:2"), Some(3_720_000));
        assert_eq!(parse_time("24:00"), None);
        assert_eq!(parse_timestamp("1500", Some(3)), Some((1_500, 0)));
        assert_eq!(parse_timestamp("1500", Some(4)), None);
        assert_eq!(parse_timestamp("1970-01-02", None), Some((MILLIS_PER_DAY, 0)));
        assert_eq!(parse_timestamp("1970-01-01 00:00:00.000001", None), Some((0, 1_000)));
    }

    #[test]
    fn floating_numbers_lose_what_only_java_reads() {
        for (text, expected) in [(" 1.5f ", Some("1.5")), ("-Infinity", Some("-Infinity")), ("1e5", Some("1e5"))] {
            assert_eq!(parse_floating(text), expected);
        }
        for text in ["inf", "nan", "", "e", "1_0"] {
            assert_eq!(parse_floating(text), None, "{text:?}");
        }
    }
}
