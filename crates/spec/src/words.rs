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

/// Parses a size with its unit (`64MB`, `1.5 GB`), in PostgreSQL's units, to bytes.
#[must_use]
pub fn bytes_of(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 5] =
        [("kB", 1 << 10), ("MB", 1 << 20), ("GB", 1 << 30), ("TB", 1 << 40), ("B", 1)];
    let (number, unit) =
        UNITS.iter().find_map(|(name, bytes)| Some((text.trim().strip_suffix(name)?.trim_end(), *bytes)))?;
    let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let bytes = number.parse::<f64>().ok().filter(|_| plain)? * unit as f64;
    (1.0..=(1_u64 << 50) as f64).contains(&bytes).then_some(bytes as u64)
}

/// Bytes as lower-case hexadecimal digits, for hashes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The beginning of a statement, quoted on one line, at most 60 characters.
#[must_use]
pub fn short_sql(sql: &str) -> String {
    const SHOWN: usize = 60;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", line[..end].trim_end()),
        None => format!("\"{line}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_shown_short() {
        assert_eq!(short_sql("SHOW\n server_version"), "\"SHOW server_version\"");
        let long = short_sql(&format!("SELECT {}", "é".repeat(100)));
        assert!(long.ends_with("é…\"") && long.chars().count() == 63, "{long}");
    }

    #[test]
    fn sizes_have_a_unit() {
        let cases = [("64MB", 64 << 20), ("1.5 GB", 3 << 29), ("8kB", 8192), ("10B", 10), ("2TB", 1 << 41)];
        for (text, wanted) in cases {
            assert_eq!(bytes_of(text), Some(wanted), "{text}");
        }
        for text in ["", "64", "MB", "-1MB", "1e9B", "0GB", "nanGB", "9999999TB", "64MiB"] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }

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
