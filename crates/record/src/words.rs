//! Numbers in text.

/// `1 run`, `3 runs`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Bytes in PostgreSQL's units (1 kB = 1024 bytes), three digits: `33.0 MB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    match value {
        size if size >= 99.95 => format!("{size:.0} {unit}"),
        size if size >= 9.995 => format!("{size:.1} {unit}"),
        size => format!("{size:.2} {unit}"),
    }
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

    #[test]
    fn sizes_use_postgres_units() {
        for (size, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1_992 << 10, "1.95 MB"),
            (33 << 20, "33.0 MB"),
            (1023 << 20, "1.00 GB"),
            (u64::MAX, "16384 PB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    /// "1 clients gave up".
    #[test]
    fn one_is_no_plural() {
        let words = [0, 1, 2].map(|number| count(number, "client"));
        assert_eq!(words, ["0 clients", "1 client", "2 clients"]);
    }
}
