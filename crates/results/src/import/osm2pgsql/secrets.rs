//! Passwords that a log may quote.

const HIDDEN: &str = "***";

/// A line without the passwords of connection strings in it.
pub(super) fn covered(line: &str) -> String {
    let mut covered = in_uris(line);
    let mut from = 0;
    while let Some(at) = covered[from..].to_ascii_lowercase().find("password=").map(|at| from + at + 9) {
        let rest = &covered[at..];
        let length = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].find(quote).map_or(rest.len(), |end| end + 2),
            _ => rest.find(|c: char| c.is_whitespace() || "&\"'".contains(c)).unwrap_or(rest.len()),
        };
        covered.replace_range(at..at + length, HIDDEN);
        from = at + HIDDEN.len();
    }
    covered
}

/// Without what stands between the name and the host in URIs.
fn in_uris(line: &str) -> String {
    let (mut covered, mut rest) = (String::new(), line);
    while let Some(at) = rest.find("//") {
        let (before, behind) = rest.split_at(at + 2);
        covered.push_str(before);
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        rest = behind;
        if let Some(host) = behind[..end].rfind('@')
            && let Some(colon) = behind[..host].find(':')
        {
            covered.push_str(&behind[..=colon]);
            covered.push_str(HIDDEN);
            rest = &behind[host..];
        }
    }
    covered + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_connections_are_covered() {
        for (line, wanted) in [
            (
                "ERROR: \"postgresql//me:geheim@h/db\" in connection info",
                "ERROR: \"postgresql//me:***@h/db\" in connection info",
            ),
            ("postgres://me:ge@heim@h and postgres://me@h", "postgres://me:***@h and postgres://me@h"),
            ("PGPASSWORD=geheim osm2pgsql", "PGPASSWORD=*** osm2pgsql"),
            ("host=h password='ge heim' user=x Password=y", "host=h password=*** user=x Password=***"),
            ("Setting up table 'x'", "Setting up table 'x'"),
        ] {
            assert_eq!(covered(line), wanted);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "\\PC{0,30}(password=|//)\\PC{0,30}") {
            let _ = covered(&line);
        }
    }
}
