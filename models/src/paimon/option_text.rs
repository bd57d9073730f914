//! Values of table options: how a text becomes a truth, a choice, a duration or a size. Paimon reads truths and choices
//! without regard to case, so do we.
//!
//! Which option means what is not known here.

use std::collections::BTreeMap;

use crate::contract::Failure;

/// The truth of an option; `invalid` if it is neither `true` nor `false`.
pub(super) fn flag(options: &BTreeMap<String, String>, option: &str, default: bool) -> Result<bool, Failure> {
    match options.get(option).map(|text| text.trim()) {
        None => Ok(default),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(Failure::invalid(format!("expected option `{option}` to be true or false, found {text:?}"))),
    }
}

/// The choice that an option's text names; the first one, of which there must be one, if the option is not set.
/// `invalid` if it names none.
pub(super) fn choice<T: Copy>(
    options: &BTreeMap<String, String>,
    option: &str,
    choices: &[(&str, T)],
) -> Result<T, Failure> {
    let Some(text) = options.get(option).map(|text| text.trim()) else {
        return Ok(choices[0].1);
    };
    match choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Err(Failure::invalid(format!(
                "expected option `{option}` to be one of [{}], found {text:?}",
                names.join(", ")
            )))
        }
    }
}

/// A duration in milliseconds: a whole number and a unit, milliseconds if there is none. `None` if the text is no
/// duration or too long a one.
pub(super) fn duration_ms(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let (factor, divisor) = match unit.as_str() {
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => (1, 1),
        "s" | "sec" | "secs" | "second" | "seconds" => (1_000, 1),
        "m" | "min" | "minute" | "minutes" => (60_000, 1),
        "h" | "hour" | "hours" => (3_600_000, 1),
        "d" | "day" | "days" => (86_400_000, 1),
        // Finer than the clock: cut off.
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => (1, 1_000),
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => (1, 1_000_000),
        _ => return None,
    };
    Some(number.checked_mul(factor)? / divisor)
}

/// A size in bytes: a whole number and a unit, bytes if there is none; units are powers of 1024. `None` if the text is
/// no size or too large a one.
pub(super) fn size_bytes(text: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(text)?;
    let shift = match unit.as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_paimons_units() {
        let cases =
            [("10", 10), ("10 ms", 10), ("2s", 2_000), (" 1 MIN ", 60_000), ("1h", 3_600_000), ("1d", 86_400_000)];
        for (text, expected) in cases {
            assert_eq!(duration_ms(text), Some(expected), "{text}");
        }
        assert_eq!((duration_ms("1500 us"), duration_ms("999999ns")), (Some(1), Some(0)));
        for (text, expected) in [(" 30min ", 1_800_000), ("2 Days", 172_800_000), ("15", 15), ("1500 µs", 1), ("0s", 0)]
        {
            assert_eq!(duration_ms(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn sizes_have_paimons_units() {
        for (text, expected) in [
            ("7", 7),
            ("7 b", 7),
            (" 2MB ", 2 << 20),
            ("8 MB", 8 << 20),
            ("1 kb", 1024),
            ("16kb", 16 << 10),
            ("3 g", 3 << 30),
        ] {
            assert_eq!(size_bytes(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "h",
            "ms",
            "-1 ms",
            "1.5 s",
            "1 fortnight",
            "18446744073709551616",
            "99999999999999999999",
            "18446744073709551615 d",
        ] {
            assert_eq!(duration_ms(text), None, "{text:?}");
        }
        for text in ["", "mb", "-1", "1.5 mb", "1 parsec", "18446744073709551615 kb", "18446744073709551615 tb"] {
            assert_eq!(size_bytes(text), None, "{text:?}");
        }
    }
}
