//! Numbers between types: what fits, what wraps around, what is rounded.

use crate::contract::{DataType, decimal_text};

/// The integer in the low bits that the type has; `None` if the type is no integer.
pub(super) fn wrapped(number: i64, to: &DataType) -> Option<i64> {
    Some(match to {
        DataType::TinyInt => i64::from(number as i8),
        DataType::SmallInt => i64::from(number as i16),
        DataType::Int => i64::from(number as i32),
        DataType::BigInt => number,
        _ => return None,
    })
}

/// The decimal with another scale, rounded half away from zero; `None` if it has more digits than the precision.
pub(super) fn rescaled(unscaled: i128, from_scale: u8, precision: u8, scale: u8) -> Option<i128> {
    let rescaled = if scale >= from_scale {
        unscaled.checked_mul(10_i128.checked_pow(u32::from(scale - from_scale))?)?
    } else {
        let divisor = 10_i128.checked_pow(u32::from(from_scale - scale))?;
        let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
        quotient + if rest.abs() >= divisor - rest.abs() { rest.signum() } else { 0 }
    };
    within_precision(rescaled, precision)
}

fn within_precision(unscaled: i128, precision: u8) -> Option<i128> {
    let limit = 10_u128.checked_pow(u32::from(precision))?;
    (unscaled.unsigned_abs() < limit).then_some(unscaled)
}

/// A decimal from `[+-]digits[.digits][e[+-]digits]`: `None` if the text is none, `Some(None)` if it does not fit the
/// type. Exponents cost nothing, however large.
pub(super) fn decimal_of_text(text: &str, precision: u8, scale: u8) -> Option<Option<i128>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(Some(0));
    }
    // How many of the significant digits stand before the point once the point is moved behind the scale's last digit.
    let kept = i64::try_from(significant.len()).ok()? - i64::try_from(fraction.len()).ok()?;
    let kept = kept.saturating_add(exponent).saturating_add(i64::from(scale));
    if kept > i64::from(precision) {
        return Some(None);
    }
    let kept_digits = usize::try_from(kept).unwrap_or(0);
    let mut unscaled: i128 = 0;
    for position in 0..kept_digits {
        let digit = significant.as_bytes().get(position).map_or(0, |byte| byte - b'0');
        unscaled = unscaled.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    let rounds_up = kept >= 0 && significant.as_bytes().get(kept_digits).is_some_and(|byte| *byte >= b'5');
    let rounded = unscaled + i128::from(rounds_up);
    Some(within_precision(if negative { -rounded } else { rounded }, precision))
}

/// An exponent; one beyond all numbers counts as the largest.
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

/// The nearest FLOAT.
pub(super) fn float_of_decimal(unscaled: i128, scale: u8) -> f32 {
    decimal_text(unscaled, scale).parse().unwrap_or(f32::NAN)
}

/// The nearest DOUBLE.
pub(super) fn double_of_decimal(unscaled: i128, scale: u8) -> f64 {
    decimal_text(unscaled, scale).parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_read_and_rounded() {
        for (text, expected) in [
            ("1.005", Some(101)),
            ("-1.005", Some(-101)),
            ("1.0049", Some(100)),
            ("+12", Some(1200)),
            (".5", Some(50)),
            ("0.004", Some(0)),
            ("0.005", Some(1)),
            ("5e-3", Some(1)),
            ("5e-4", Some(0)),
            ("1e-999999999999999999999", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("1e999999999999999999999", None),
            ("999.999", None),
            ("999.99", Some(99_999)),
        ] {
            assert_eq!(decimal_of_text(text, 5, 2), Some(expected), "{text}");
        }
        for text in ["", "-", ".", "1e", "1e+", "1 ", "0x1", "NaN", "1.2.3"] {
            assert_eq!(decimal_of_text(text, 5, 2), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_decimal_is_read_as_it_is_spelled(unscaled in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in 0_u8..=38) {
            prop_assert_eq!(decimal_of_text(&decimal_text(unscaled, scale), 38, scale), Some(Some(unscaled)));
        }

        #[test]
        fn scaling_up_and_down_again_changes_nothing(unscaled in -(10_i128.pow(18))..10_i128.pow(18), more in 0_u8..=19) {
            let scaled = rescaled(unscaled, 3, 38, 3 + more);
            prop_assert_eq!(scaled.and_then(|scaled| rescaled(scaled, 3 + more, 38, 3)), Some(unscaled));
        }
    }
}
