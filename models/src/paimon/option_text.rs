//! Durations and sizes as table options spell them.
//!
//! Which option means what is not known here.

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
    }

    #[test]
    fn sizes_have_paimons_units() {
        for (text, expected) in [("7", 7), ("7 b", 7), ("8 MB", 8 << 20), ("16kb", 16 << 10), ("1 g", 1 << 30)] {
            assert_eq!(size_bytes(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["", "ms", "-1 ms", "1.5 s", "1 fortnight", "99999999999999999999", "18446744073709551615 d"] {
            assert_eq!(duration_ms(text), None, "{text:?}");
        }
        for text in ["", "mb", "-1", "1.5 mb", "1 parsec", "18446744073709551615 kb"] {
            assert_eq!(size_bytes(text), None, "{text:?}");
        }
    }
}
