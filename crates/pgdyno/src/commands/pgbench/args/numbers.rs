//! Numbers as C reads them: `strtol`, `atoi`, `atof`.

const SPACES: [char; 6] = [' ', '\t', '\n', '\x0B', '\x0C', '\r'];

/// Splits off a leading integer after blanks; returns it saturated, whether it overflowed, and the rest.
/// Without digits it is 0, and nothing is consumed.
fn leading_integer(text: &str) -> (i64, bool, &str) {
    let start = text.trim_start_matches(SPACES);
    let (negative, digits) = match start.as_bytes().first() {
        Some(b'-') => (true, &start[1..]),
        Some(b'+') => (false, &start[1..]),
        _ => (false, start),
    };
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return (0, false, text);
    }
    let sign = if negative { "-" } else { "" };
    let rest = &digits[length..];
    match format!("{sign}{}", &digits[..length]).parse() {
        Ok(value) => (value, false, rest),
        Err(_) => (if negative { i64::MIN } else { i64::MAX }, true, rest),
    }
}

/// An integer in a range; messages call the option `option`, in pgbench's words.
pub(super) fn integer(text: &str, option: &str, least: i32, most: i32) -> Result<i32, String> {
    let (value, _, rest) = leading_integer(text);
    if !rest.trim_start_matches(SPACES).is_empty() {
        return Err(format!("invalid value \"{text}\" for option {option}"));
    }
    match i32::try_from(value) {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("{option} must be in range {least}..{most}")),
    }
}

/// `atoi`: ignores text after the number, and drops bits above the 32nd.
pub(super) fn atoi(text: &str) -> i32 {
    leading_integer(text).0 as i32
}

/// `atof`: ignores text after the number; 0 without a number.
pub(super) fn atof(text: &str) -> f64 {
    let start = text.trim_start_matches(SPACES);
    let (sign, body) = match start.as_bytes().first() {
        Some(b'-') => (-1.0, &start[1..]),
        Some(b'+') => (1.0, &start[1..]),
        _ => (1.0, start),
    };
    let lower = body.to_ascii_lowercase();
    let size = if lower.starts_with("inf") {
        f64::INFINITY
    } else if lower.starts_with("nan") {
        f64::NAN
    } else if let Some(digits) = lower.strip_prefix("0x") {
        hexadecimal(digits)
    } else {
        decimal(&lower)
    };
    sign * size
}

fn digits_of(text: &str, radix: u32) -> &str {
    let length = text.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    &text[..length]
}

fn decimal(text: &str) -> f64 {
    let mut end = digits_of(text, 10).len();
    if let Some(fraction) = text[end..].strip_prefix('.') {
        let fraction = digits_of(fraction, 10).len();
        if end + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if end > 0 && text[end..].starts_with('e') {
        let exponent = &text[end + 1..];
        let signed = usize::from(exponent.starts_with(['+', '-']));
        let digits = digits_of(&exponent[signed..], 10).len();
        if digits > 0 {
            end += 1 + signed + digits;
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// Hexadecimal integers; a fraction or exponent is ignored.
fn hexadecimal(text: &str) -> f64 {
    digits_of(text, 16)
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .fold(0.0, |value, digit| value * 16.0 + f64::from(digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        let range = Err("-c/--client must be in range 1..2147483647".to_owned());
        let invalid = |text: &str| Err(format!("invalid value \"{text}\" for option -c/--client"));
        let cases = [
            ("5", Ok(5)),
            (" 5", Ok(5)),
            ("5 ", Ok(5)),
            ("+5", Ok(5)),
            ("2147483647", Ok(i32::MAX)),
            ("2147483648", range.clone()),
            ("99999999999999999999", range.clone()),
            ("0", range.clone()),
            ("-1", range.clone()),
            ("", range.clone()),
            ("  ", range),
            ("x", invalid("x")),
            ("-", invalid("-")),
            ("3x", invalid("3x")),
            ("1.5", invalid("1.5")),
            ("5 x", invalid("5 x")),
            ("99999999999999999999x", invalid("99999999999999999999x")),
        ];
        for (text, wanted) in cases {
            assert_eq!(integer(text, "-c/--client", 1, i32::MAX), wanted, "{text:?}");
        }
    }

    #[test]
    fn numbers_that_may_be_followed_by_anything() {
        for (text, wanted) in [
            ("3", 3),
            ("3x", 3),
            ("x", 0),
            ("", 0),
            ("-1", -1),
            ("4294967297", 1),
            ("99999999999999999999", -1),
        ] {
            assert_eq!(atoi(text), wanted, "{text:?}");
        }
        for (text, wanted) in [
            ("1.5", 1.5),
            (" 5x", 5.0),
            ("abc", 0.0),
            ("", 0.0),
            (".", 0.0),
            ("e5", 0.0),
            (".5e1ms", 5.0),
            ("5.", 5.0),
            ("5e", 5.0),
            ("5e+", 5.0),
            ("-2e-1", -0.2),
            ("0x1F", 31.0),
            ("1e999", f64::INFINITY),
            ("Infinity", f64::INFINITY),
        ] {
            assert_eq!(atof(text), wanted, "{text:?}");
        }
        assert!(atof("nan").is_nan());
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_read(text in "\\PC*") {
            let _ = (atoi(&text), atof(&text), integer(&text, "x", 0, 9));
        }
    }
}
