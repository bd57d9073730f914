//! Products and quotients of decimals: 128-bit numbers whose intermediate results need 256 bits.

/// `a * b / divisor`, rounded to the nearest, halves away from zero; `None` if the divisor is 0 or the result does not
/// fit.
pub(super) fn multiply_then_divide(a: i128, b: i128, divisor: i128) -> Option<i128> {
    if divisor == 0 {
        return None;
    }
    let negative = (a < 0) ^ (b < 0) ^ (divisor < 0);
    let (high, low) = wide_product(a.unsigned_abs(), b.unsigned_abs());
    let divisor = divisor.unsigned_abs();
    let (quotient, remainder) = divide_wide(high, low, divisor)?;
    let rounded = if remainder >= divisor - remainder { quotient.checked_add(1)? } else { quotient };
    let magnitude = i128::try_from(rounded).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Whether the quotient, written as a decimal, ends.
pub(super) fn quotient_ends(dividend: i128, divisor: i128) -> bool {
    let (mut a, mut b) = (dividend.unsigned_abs(), divisor.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let mut reduced = divisor.unsigned_abs() / a.max(1);
    for prime in [2, 5] {
        while reduced > 1 && reduced.is_multiple_of(prime) {
            reduced /= prime;
        }
    }
    reduced == 1
}

/// The product as its high and its low 128 bits.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other_middle = a_low * b_high + (middle & HALF);
    (a_high * b_high + (middle >> 64) + (other_middle >> 64), (other_middle << 64) | (low & HALF))
}

/// Quotient and remainder of a 256-bit number; `None` if the quotient does not fit. The divisor is not 0 and, as the
/// magnitude of a signed number, at most 2^127.
fn divide_wide(high: u128, low: u128, divisor: u128) -> Option<(u128, u128)> {
    if high >= divisor {
        return None;
    }
    let (mut quotient, mut remainder) = (0, high);
    for bit in (0..128).rev() {
        remainder = (remainder << 1) | ((low >> bit) & 1);
        quotient <<= 1;
        if remainder >= divisor {
            remainder -= divisor;
            quotient |= 1;
        }
    }
    Some((quotient, remainder))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn small_numbers_agree_with_plain_arithmetic(a in -99_i128..99, b in -99_i128..99, divisor in 1_i128..50) {
            let rounded = (2 * (a * b).abs() + divisor) / (2 * divisor);
            prop_assert_eq!(multiply_then_divide(a, b, divisor), Some(rounded * (a * b).signum()));
            prop_assert_eq!(multiply_then_divide(a, b, -divisor), Some(-rounded * (a * b).signum()));
        }

        #[test]
        fn what_is_multiplied_and_divided_comes_back(a in any::<i64>(), b in 1_i128..i128::MAX) {
            prop_assert_eq!(multiply_then_divide(a.into(), b, b), Some(a.into()));
            prop_assert_eq!(multiply_then_divide(b, b, b), Some(b));
        }
    }

    #[test]
    fn too_large_results_and_zero_divisors_are_refused() {
        assert_eq!(multiply_then_divide(i128::MAX, i128::MAX, 1), None);
        assert_eq!(multiply_then_divide(i128::MAX, 2, 1), None);
        assert_eq!(multiply_then_divide(1, 1, 0), None);
        assert_eq!(multiply_then_divide(i128::MIN, 1, i128::MIN), Some(1));
    }

    #[test]
    fn thirds_do_not_end_and_eighths_do() {
        assert!(quotient_ends(1, 8) && quotient_ends(-3, 6) && quotient_ends(0, 7) && quotient_ends(7, -40));
        assert!(!quotient_ends(1, 3) && !quotient_ends(10, 7) && !quotient_ends(1, 60));
    }
}
