//! Scripts and SQL as they may be kept: passwords in them replaced, everything else as it was, so that it still runs.
//!
//! What is replaced is the value alone: of `PASSWORD '…'`, of `password=…` in a connection string, of a URI. A value in
//! code that is no literal (`password = md5(:x)`) is no password, and stays.

use std::ops::Range;

use super::secret::describes_connection;

/// What stands in place of a password.
pub const REPLACED: &str = "(hidden)";

/// Names of passwords, as whole words or as ends of longer ones (`sslpassword`, `app.api_token`).
const WORDS: [&str; 8] = ["password", "passwd", "passphrase", "passwort", "pass", "pwd", "secret", "token"];

/// A text without its passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covered {
    pub text: String,
    /// Lines, from 1, on which something was replaced.
    pub lines: Vec<u32>,
}

/// Replaces what may be a password in a script or in SQL.
#[must_use]
pub fn without_passwords(text: &str) -> Covered {
    let zones = zones(text);
    let mut found = in_uris(text);
    // ASCII only: bytes stay where they are.
    let lower = text.to_ascii_lowercase();
    for word in WORDS {
        for (at, _) in lower.match_indices(word) {
            found.extend(value_behind(text, &zones, at + word.len()));
        }
    }
    found.retain(|range| !range.is_empty() && &text[range.clone()] != REPLACED);
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut covered = Covered { text: String::with_capacity(text.len()), lines: Vec::new() };
    let mut end = 0;
    for range in found {
        if range.start < end {
            continue;
        }
        covered.text.push_str(&text[end..range.start]);
        covered.text.push_str(REPLACED);
        let line = text[..range.start].matches('\n').count() as u32 + 1;
        if covered.lines.last() != Some(&line) {
            covered.lines.push(line);
        }
        end = range.end;
    }
    covered.text.push_str(&text[end..]);
    covered
}

/// What a byte is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// Names, operators, and the quotes of literals.
    Code,
    /// Inside `'…'`.
    Literal,
    /// Comments, backslash commands, connection strings in dollar quotes: whatever stands there is text.
    Text,
}

/// The zone of each byte.
fn zones(text: &str) -> Vec<Zone> {
    let bytes = text.as_bytes();
    let mut zones = vec![Zone::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        let line = || rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (zone, length, quotes) = match rest[0] {
            b'\'' => {
                let length = quoted(rest, at > 0 && matches!(bytes[at - 1], b'e' | b'E'));
                let closed = length > 1 && rest[length - 1] == b'\'';
                (Zone::Literal, length, (1, usize::from(closed)))
            }
            b'-' if rest.starts_with(b"--") => (Zone::Text, line(), (0, 0)),
            b'\\' if starts_line(&bytes[..at]) => (Zone::Text, line(), (0, 0)),
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 2);
                (Zone::Text, end, (0, 0))
            }
            b'$' => match dollar_quoted(rest) {
                // A function's body is code again.
                Some((tag, length)) => {
                    match describes_connection(&String::from_utf8_lossy(&rest[tag..length - tag])) {
                        true => (Zone::Text, length, (tag, tag)),
                        false => (Zone::Code, tag, (0, 0)),
                    }
                }
                None => (Zone::Code, 1, (0, 0)),
            },
            _ => (Zone::Code, 1, (0, 0)),
        };
        zones[at + quotes.0..at + length - quotes.1].fill(zone);
        at += length;
    }
    zones
}

fn starts_line(before: &[u8]) -> bool {
    before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t')).is_none_or(|byte| *byte == b'\n')
}

/// Length of a literal with both of its quotes; all there is where it does not end.
fn quoted(rest: &[u8], escapes: bool) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' if escapes => at += 2,
            b'\'' if rest.get(at + 1) == Some(&b'\'') => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of the opening tag (`$$`, `$x$`), and of the whole with both; `None` for a parameter or a lone sign.
fn dollar_quoted(rest: &[u8]) -> Option<(usize, usize)> {
    let name = rest[1..].iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))?;
    let tag = rest[1 + name..].starts_with(b"$").then(|| &rest[..name + 2])?;
    let end = rest[tag.len()..].windows(tag.len()).position(|window| window == tag)?;
    Some((tag.len(), tag.len() + end + tag.len()))
}

/// The password behind the end of a word for one.
fn value_behind(text: &str, zones: &[Zone], end: usize) -> Option<Range<usize>> {
    let rest = &text[end..];
    let closed = rest.strip_prefix(['\'', '"', '`']);
    let behind = closed.unwrap_or(rest).trim_start();
    let lower = behind.get(..3).unwrap_or_default().to_ascii_lowercase();
    let assigned = [":=", "=>", "=", ":"].iter().find_map(|sign| behind.strip_prefix(sign));
    let assigned = assigned.or_else(|| closed.and_then(|_| behind.strip_prefix(',')));
    let assigned = assigned.or_else(|| (lower == "to " && closed.is_none()).then(|| &behind[3..]));
    let value = match assigned {
        Some(value) => value.trim_start(),
        // `PASSWORD '…'`, of which the value must be a literal.
        None if closed.is_none() && behind.len() < rest.len() => behind,
        None => return None,
    };
    let start = text.len() - value.len();
    let zone = zones.get(end.min(zones.len().saturating_sub(1))).copied().unwrap_or(Zone::Code);
    let bare = assigned.is_some() && zone != Zone::Code && closed.is_none();
    literal(text, start, zone).or_else(|| bare.then(|| bare_value(text, start, zones)).flatten())
}

/// The content of the literal that begins there.
fn literal(text: &str, start: usize, zone: Zone) -> Option<Range<usize>> {
    let rest = &text[start..];
    if zone == Zone::Literal {
        // Quotes inside a literal are doubled, or escaped.
        for quote in ["''", "\\'", "\""] {
            if let Some(inner) = rest.strip_prefix(quote) {
                let length = inner.find(quote).unwrap_or(inner.len());
                return Some(start + quote.len()..start + quote.len() + length);
            }
        }
        // `'password=' || 'geheim'`
        let joined = rest.strip_prefix('\'')?.trim_start().strip_prefix("||")?.trim_start();
        return literal(text, text.len() - joined.len(), Zone::Code);
    }
    let prefix = ["e'", "E'", "u&'", "U&'", "'"].into_iter().find(|prefix| rest.starts_with(prefix));
    if let Some(prefix) = prefix {
        let quote = prefix.len() - 1;
        let escapes = prefix.starts_with(['e', 'E']);
        let length = quoted(&rest.as_bytes()[quote..], escapes);
        let end = start + quote + length;
        let closed = length > 1 && text[..end].ends_with('\'');
        return Some(start + prefix.len()..if closed { end - 1 } else { end });
    }
    if let Some((tag, length)) = rest.starts_with('$').then(|| dollar_quoted(rest.as_bytes())).flatten() {
        return Some(start + tag..start + length - tag);
    }
    let inner = rest.strip_prefix('"').filter(|_| zone == Zone::Text)?;
    Some(start + 1..start + 1 + inner.find(['"', '\n']).unwrap_or(inner.len()))
}

/// A value without quotes, up to what ends it in a connection string, and no further than the text that it is in.
fn bare_value(text: &str, start: usize, zones: &[Zone]) -> Option<Range<usize>> {
    let mut escaped = false;
    let ends = |(at, c): &(usize, char)| {
        let ends = !escaped && (c.is_whitespace() || matches!(c, '\'' | '"' | '&'));
        escaped = *c == '\\' && !escaped;
        ends || zones[start + at] == Zone::Code
    };
    let length = text[start..].char_indices().find(ends).map_or(text.len() - start, |(at, _)| at);
    (length > 0).then(|| start..start + length)
}

/// The passwords of `scheme://user:password@host`.
fn in_uris(text: &str) -> Vec<Range<usize>> {
    let one = |(at, _): (usize, &str)| {
        let start = at + 3;
        let rest = &text[start..];
        let rest =
            &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')).unwrap_or(rest.len())];
        // A password may hold an `@`, a slash or a question mark; a host holds no `@`.
        let user = &rest[..rest.rfind('@')?];
        let colon = user.find(':')?;
        Some(start + colon + 1..start + user.len())
    };
    text.match_indices("://").filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_replaced_where_they_stand() {
        for (text, wanted) in [
            ("CREATE USER u PASSWORD 'geheim';", "CREATE USER u PASSWORD '(hidden)';"),
            (
                "alter role r encrypted password E'ge\\'heim' valid until 'x'",
                "alter role r encrypted password E'(hidden)' valid until 'x'",
            ),
            ("ALTER ROLE r PASSWORD $$geheim$$", "ALTER ROLE r PASSWORD $$(hidden)$$"),
            ("ALTER ROLE r PASSWORD 'ge''heim'", "ALTER ROLE r PASSWORD '(hidden)'"),
            (
                "SELECT dblink_connect('host=h user=u password=geheim dbname=d');",
                "SELECT dblink_connect('host=h user=u password=(hidden) dbname=d');",
            ),
            (
                "SELECT dblink_connect('host=h password=''ge heim'' user=u')",
                "SELECT dblink_connect('host=h password=''(hidden)'' user=u')",
            ),
            ("SELECT dblink('password=' || 'geheim')", "SELECT dblink('password=' || '(hidden)')"),
            (
                "CREATE SUBSCRIPTION s CONNECTION 'host=h password=geheim' PUBLICATION p",
                "CREATE SUBSCRIPTION s CONNECTION 'host=h password=(hidden)' PUBLICATION p",
            ),
            (
                "CREATE SUBSCRIPTION s CONNECTION 'postgres://u:ge@heim@h/d?sslpassword=geheim&x=1' PUBLICATION p",
                "CREATE SUBSCRIPTION s CONNECTION 'postgres://u:(hidden)@h/d?sslpassword=(hidden)&x=1' PUBLICATION p",
            ),
            (
                "CREATE USER MAPPING FOR u SERVER s OPTIONS (user 'u', password 'geheim')",
                "CREATE USER MAPPING FOR u SERVER s OPTIONS (user 'u', password '(hidden)')",
            ),
            ("SET app.api_token TO 'geheim'", "SET app.api_token TO '(hidden)'"),
            (
                "SELECT set_config('app.secret', 'geheim', false)",
                "SELECT set_config('app.secret', '(hidden)', false)",
            ),
            ("-- password: geheim\nSELECT 1", "-- password: (hidden)\nSELECT 1"),
            ("/* pwd=geheim */ SELECT 1", "/* pwd=(hidden) */ SELECT 1"),
            ("\\connect host=h password=geheim", "\\connect host=h password=(hidden)"),
            ("SELECT f($$host=h password=geheim$$)", "SELECT f($$host=h password=(hidden)$$)"),
            ("select '{\"password\": \"geheim\"}'", "select '{\"password\": \"(hidden)\"}'"),
            (
                "update u set password = 'geheim' where id = 1",
                "update u set password = '(hidden)' where id = 1",
            ),
            ("select f(password => 'geheim')", "select f(password => '(hidden)')"),
            ("ALTER ROLE r PASSWORD 'geheim", "ALTER ROLE r PASSWORD '(hidden)"),
        ] {
            let covered = without_passwords(text);
            assert_eq!((covered.text.as_str(), covered.lines.len()), (wanted, 1));
            assert_eq!(without_passwords(wanted), Covered { text: wanted.into(), lines: vec![] }, "twice");
        }
    }

    #[test]
    fn what_is_no_password_stays() {
        for text in [
            "",
            "ALTER ROLE r PASSWORD NULL",
            "select a from t where password = b.password and token = :token and pass = $1",
            "update u set password = md5(:x)",
            "SET password_encryption = 'md5'",
            "select 'a:b@c', x::text from t",
            "\\set pass 3 * :scale\nselect abalance from accounts where aid = :aid;",
            "DO $$ BEGIN PERFORM 1 WHERE a.password = b.password; END $$",
            "select password, token from t",
            "select passed = 'yes' from t",
            "select 'postgres://u@h/d'",
            "insert into t values ('password')",
        ] {
            assert_eq!(without_passwords(text), Covered { text: text.into(), lines: vec![] });
        }
    }

    #[test]
    fn lines_are_told_once_each() {
        let covered =
            without_passwords("select 1;\n-- pwd=a pwd=b\nselect 2;\nALTER ROLE r PASSWORD 'ü€';\n");
        assert_eq!(covered.lines, [2, 4]);
        assert_eq!(
            covered.text,
            "select 1;\n-- pwd=(hidden) pwd=(hidden)\nselect 2;\nALTER ROLE r PASSWORD '(hidden)';\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "([a-z'\"$\\\\:@/=\\n -]|password|PASSWORD '|://|--|/\\*|ü|\\$\\$|host=){0,40}") {
            let once = without_passwords(&text);
            proptest::prop_assert_eq!(once.lines.is_empty(), once.text == text);
        }
    }
}
