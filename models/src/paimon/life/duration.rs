//! Durations as table options spell them: a number and a unit.

/// Units by the length of one in nanoseconds, with every spelling.
const UNITS: [(u128, &[&str]); 7] = [
    (86_400_000_000_000, &["d", "day", "days"]),
    (3_600_000_000_000, &["h", "hour", "hours"]),
    (60_000_000_000, &["min", "m", "minute", "minutes"]),
    (1_000_000_000, &["s", "sec", "secs", "second", "seconds"]),
    (1_000_000, &["", "ms", "milli", "millis", "millisecond", "milliseconds"]),
    (1_000, &["µs", "micro", "micros", "microsecond", "microseconds"]),
    (1, &["ns", "nano", "nanos", "nanosecond", "nanoseconds"]),
];

/// Whole milliseconds of a text such as `30 min`; without a unit it is milliseconds. `None` if it is no duration, or
/// none that fits.
pub(super) fn parse_duration_ms(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit_start = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_start);
    let unit = unit.trim().to_lowercase();
    let (nanoseconds, _) = UNITS.iter().find(|(_, spellings)| spellings.contains(&unit.as_str()))?;
    let total = u128::from(number.parse::<u64>().ok()?) * nanoseconds;
    u64::try_from(total / 1_000_000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        for (text, expected) in [
            ("1 h", Some(3_600_000)),
            (" 30min ", Some(1_800_000)),
            ("2 Days", Some(172_800_000)),
            ("15", Some(15)),
            ("1500 µs", Some(1)),
            ("0s", Some(0)),
            ("", None),
            ("h", None),
            ("-1 h", None),
            ("1.5 h", None),
            ("1 fortnight", None),
            ("18446744073709551615 d", None),
            ("18446744073709551616", None),
        ] {
            assert_eq!(parse_duration_ms(text), expected, "{text:?}");
        }
    }
}
