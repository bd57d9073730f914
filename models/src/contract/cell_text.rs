//! Decimals, dates, times and timestamps as text, both ways.
//!
//! The calendar is the proleptic Gregorian one; no time zone and no clock is known here.

use super::value::Value;

pub(super) fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if fraction.len() > usize::from(scale) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let padded = format!("{whole}{fraction:0<width$}", width = usize::from(scale));
    if !padded.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let unscaled: i128 = padded.parse().ok()?;
    (unscaled < 10_i128.pow(precision.into())).then_some(if negative { -unscaled } else { unscaled })
}

/// Days since 1970-01-01 of a proleptic Gregorian `yyyy-mm-dd`.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-');
    let year: i64 = parts.next()?.parse().ok()?;
    let month: i64 = parts.next()?.parse().ok()?;
    let day: i64 = parts.next()?.parse().ok()?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_from_civil(year, month, day);
    (civil_from_days(days) == (year, month, day)).then_some(i32::try_from(days).ok()?)
}

/// Days since 1970-01-01 of a day of the proleptic Gregorian calendar.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Milliseconds since midnight, and nanoseconds within the millisecond.
pub(super) fn parse_time(text: &str) -> Option<(i64, u32)> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':').map(str::parse::<i64>);
    let (hours, minutes) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let seconds = parts.next().unwrap_or(Ok(0)).ok()?;
    if parts.next().is_some() || !(0..24).contains(&hours) || !(0..60).contains(&minutes) || !(0..60).contains(&seconds)
    {
        return None;
    }
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some((((hours * 60 + minutes) * 60 + seconds) * 1000 + i64::from(nanos / 1_000_000), nanos % 1_000_000))
}

pub(super) fn parse_timestamp(text: &str) -> Option<Value> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once('T').or_else(|| text.split_once(' '))?;
    let (millis, nanos_of_milli) = parse_time(time)?;
    Some(Value::Timestamp { millis: i64::from(parse_date(date)?) * 86_400_000 + millis, nanos_of_milli })
}

/// A decimal as text, `-12.50` for −1250 with scale 2.
pub fn decimal_text(unscaled: i128, scale: u8) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if unscaled < 0 { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

pub(super) fn date_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}")
}

pub(super) fn time_text(millis: i64, nanos_of_milli: u32) -> String {
    let seconds = millis / 1000;
    let nanos = (millis % 1000) * 1_000_000 + i64::from(nanos_of_milli);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if nanos == 0 {
        return clock;
    }
    let fraction = format!("{nanos:09}");
    format!("{clock}.{}", fraction.trim_end_matches('0'))
}
