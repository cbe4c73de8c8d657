//! Numbers to text and back, exactly as C's `printf` and `strtod` convert them for pgbench.

use std::io::Write;

/// Significant digits of a double's text (C's `DBL_DIG`).
const DIGITS: usize = 15;

/// Appends a decimal integer.
pub(crate) fn append_int(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a double as `%.15g` does, with PostgreSQL's words for the special values.
pub(crate) fn append_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value.is_infinite() {
        return out.extend_from_slice(b"Infinity");
    }
    let size = value.abs();
    if size < 1e15 && size.trunc() == size {
        return append_int(size as i64, out);
    }
    append_significant(size, out);
}

/// Appends a positive, finite number that is not a small integer.
fn append_significant(size: f64, out: &mut Vec<u8>) {
    let (digits, exponent) = significant_digits(size);
    let used = DIGITS - digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    let digits = &digits[..used.max(1)];
    if exponent < -4 || exponent >= DIGITS as i32 {
        append_point(digits, 1, out);
        let sign = if exponent < 0 { '-' } else { '+' };
        write_to(out, format_args!("e{sign}{:02}", exponent.unsigned_abs()));
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
        out.extend_from_slice(digits);
    } else {
        append_point(digits, exponent as usize + 1, out);
    }
}

/// Appends `digits` with the decimal point after the first `whole` of them, padded with zeroes.
fn append_point(digits: &[u8], whole: usize, out: &mut Vec<u8>) {
    if digits.len() <= whole {
        out.extend_from_slice(digits);
        out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
    } else {
        out.extend_from_slice(&digits[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// The 15 leading digits, correctly rounded, and the decimal exponent of the first.
fn significant_digits(size: f64) -> ([u8; DIGITS], i32) {
    let mut text = [0_u8; 32];
    let mut rest = &mut text[..];
    // 32 bytes hold every `d.dddddddddddddde-ddd`.
    let _ = write!(rest, "{size:.14e}");
    let unused = rest.len();
    let text = &text[..32 - unused];
    let mut digits = [b'0'; DIGITS];
    digits[0] = text[0];
    digits[1..].copy_from_slice(&text[2..16]);
    let exponent = std::str::from_utf8(&text[17..]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    (digits, exponent)
}

fn write_to(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = out.write_fmt(text);
}

/// A double in messages, as `%f` shows it.
pub(crate) fn double_text(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.6}")
    } else {
        let mut text = Vec::new();
        append_double(value, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Why a text is not an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntFault {
    /// Digits, but too many.
    Range,
    /// Something other than blanks, a sign and digits.
    Syntax,
}

/// Parses a 64-bit integer: blanks, sign, digits, blanks.
pub(crate) fn parse_int(text: &[u8]) -> Result<i64, IntFault> {
    let text = skip_spaces(text);
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return Err(IntFault::Syntax);
    }
    // The magnitude is collected as a negative number, where i64::MIN fits.
    let below_zero = digits[..count]
        .iter()
        .try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_sub(i64::from(digit - b'0')));
    let below_zero = below_zero.ok_or(IntFault::Range)?;
    if !skip_spaces(&digits[count..]).is_empty() {
        return Err(IntFault::Syntax);
    }
    if negative { Ok(below_zero) } else { below_zero.checked_neg().ok_or(IntFault::Range) }
}

/// C's `atoi`, but saturating to 64 bits: leading blanks, sign and digits count, the rest is ignored.
pub(crate) fn leading_int(text: &[u8]) -> i64 {
    let text = skip_spaces(text);
    let (sign, digits) = match text.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, text),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0')))
}

/// Parses the whole text as `strtod` does; `None` for other text, on overflow, and (as glibc) on underflow.
pub(crate) fn parse_double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(skip_spaces(text)).ok()?;
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let size = parse_unsigned(body)?;
    Some(if negative { -size } else { size })
}

fn parse_unsigned(body: &str) -> Option<f64> {
    let lower = body.to_ascii_lowercase();
    if lower == "inf" || lower == "infinity" {
        return Some(f64::INFINITY);
    }
    if lower == "nan" || is_nan_with_payload(&lower) {
        return Some(f64::NAN);
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        return parse_hexadecimal(digits);
    }
    if !lower.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let value: f64 = lower.parse().ok()?;
    let mantissa = lower.split('e').next().unwrap_or(&lower);
    let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let in_range = value.is_finite() && (is_zero || value >= f64::MIN_POSITIVE);
    in_range.then_some(value)
}

fn is_nan_with_payload(lower: &str) -> bool {
    lower
        .strip_prefix("nan(")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|payload| payload.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// The part of C's hexadecimal numbers after `0x`: `h.hhh` and an optional `p` with a decimal power of two.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, power) = match text.split_once('p') {
        Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let power = power.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    let scaled = value * 2.0_f64.powi(power);
    (scaled.is_finite() && (value == 0.0 || scaled >= f64::MIN_POSITIVE)).then_some(scaled)
}

/// The text without leading C spaces.
pub(crate) fn skip_spaces(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[blanks..]
}

/// C's `isspace` in the C locale.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r')
}
