//! Texts of `--against`: lists, settings and quotes.

/// A quote that belongs to a name begins a quotation.
const OPEN_QUOTE: &str = "a quote is not closed\nput a backslash before each quote, blank, comma, semicolon or backslash of a name: \
                          --against \"build: git it\\'s\"";

/// `jit=off, search_path='a, b'; work_mem=64MB`.
pub(super) fn settings(what: &str) -> Result<Vec<(String, String)>, String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for part in parts(what)? {
        let example = "write name=value, several separated by commas";
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("invalid setting {}\n{example}", shown(part)))?;
        let (name, value) = (name.trim(), unquoted(value.trim()));
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!("invalid name of a setting: {}\n{example}", shown(name)));
        }
        let value = value.ok_or_else(|| format!("{name} has no value\n{example}; an empty one is ''"))?;
        if value.contains(char::is_whitespace) && !part.trim_end().ends_with(['\'', '"']) {
            return Err(format!("{name}: a value with spaces needs quotes\n{example}"));
        }
        if found.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(format!("{name} is given twice"));
        }
        found.push((name.to_ascii_lowercase(), value));
    }
    Ok(found)
}

/// Splits at commas or semicolons outside of quotes.
pub(in crate::commands) fn parts(what: &str) -> Result<Vec<&str>, String> {
    split(what, &[',', ';'])
}

/// Splits at these characters outside of quotes; empty parts are left out.
fn split<'t>(what: &'t str, at: &[char]) -> Result<Vec<&'t str>, String> {
    cut(what, at, false).ok_or_else(|| "a quote is not closed".to_owned())
}

/// The same by the quotes of a shell, where a backslash takes the meaning from the next character.
pub(super) fn split_words<'t>(what: &'t str, at: &[char]) -> Result<Vec<&'t str>, String> {
    cut(what, at, true).ok_or_else(|| OPEN_QUOTE.to_owned())
}

/// The words of a text by the quotes of a shell.
pub(super) fn words(what: &str) -> Result<Vec<String>, String> {
    spec::shell::words(what).ok_or_else(|| OPEN_QUOTE.to_owned())
}

/// `None` if a quote is not closed.
fn cut<'t>(what: &'t str, at: &[char], has_backslashes: bool) -> Option<Vec<&'t str>> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    let mut places = what.char_indices();
    while let Some((place, c)) = places.next() {
        match (quote, c) {
            (None | Some('"'), '\\') if has_backslashes => {
                places.next();
            }
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if at.contains(&c) => {
                parts.push(&what[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    if quote.is_some() {
        return None;
    }
    parts.push(&what[start..]);
    Some(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

/// Removes quotes, which are doubled inside; `None` if empty.
pub(super) fn unquoted(value: &str) -> Option<String> {
    for quote in ['\'', '"'] {
        let inside = value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
        if let Some(inside) = inside {
            return Some(inside.replace(&format!("{quote}{quote}"), &quote.to_string()));
        }
    }
    (!value.is_empty()).then(|| value.to_owned())
}

/// The input, unless it has characters of connection strings.
pub(super) fn shown(written: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./ ".contains(c);
    if written.len() <= 80 && written.chars().all(plain) {
        written.to_owned()
    } else {
        "(not shown)".to_owned()
    }
}
