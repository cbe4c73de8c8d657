//! Numbers with their nouns, bytes as text.

/// `1 run`, `3 runs`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Two hex digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1 clients gave up".
    #[test]
    fn one_is_no_plural() {
        let words = [0, 1, 2].map(|number| count(number, "client"));
        assert_eq!(words, ["0 clients", "1 client", "2 clients"]);
    }

    #[test]
    fn each_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0f, 0xa0, 0xff]), "000fa0ff");
    }
}
