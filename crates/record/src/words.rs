//! Numbers in text.

/// `1 run`, `3 runs`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Bytes as lower-case hexadecimal digits: hashes, as they are stored.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_their_leading_zeros() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    /// "1 clients gave up".
    #[test]
    fn one_is_no_plural() {
        let words = [0, 1, 2].map(|number| count(number, "client"));
        assert_eq!(words, ["0 clients", "1 client", "2 clients"]);
    }
}
