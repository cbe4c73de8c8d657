//! Small languages inside an experiment file's texts: lengths of time, variables, settings.

use std::time::Duration;

use toml::de::DeValue;

/// Reads `500ms`, `10s`, `1.5h`, `4min 30s`; `None` when it is nothing of that kind.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let mut sum = None;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let unit = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let end =
            rest[unit..].find(|c: char| !c.is_ascii_alphabetic()).map_or(rest.len(), |length| unit + length);
        let seconds = seconds_in(&rest[unit..end])?;
        let number: f64 = rest[..unit].trim().parse().ok()?;
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        sum = Some(sum.unwrap_or(Duration::ZERO).checked_add(part)?);
        rest = rest[end..].trim_start();
    }
    sum
}

/// `1ms`, `30 days`: a bound of a length of time.
pub(super) fn in_words(duration: Duration) -> String {
    match duration.as_secs() {
        0 if duration.is_zero() => "0s".to_owned(),
        0 => format!("{}ms", duration.as_secs_f64() * 1e3),
        seconds if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        seconds => format!("{seconds}s"),
    }
}

/// A number of TOML; `None` when the value is none.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => {
            i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
        }
        DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}

fn seconds_in(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(0.001),
        "s" => Some(1.0),
        "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    }
}

/// Puts variables' values in place of `$NAME` and `${NAME}`; `$$` is a dollar. The error is the first unset name.
pub(super) fn expand(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        result.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            result.push('$');
            rest = after;
            continue;
        }
        let (name, after) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        match variables(name) {
            _ if name.is_empty() => result.push('$'),
            Some(value) => result.push_str(&value),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

/// "a string", "an integer": TOML's names of types, with the right article.
pub(super) fn with_article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

/// How earlier builds wrote a URL into the identity of an experiment: with `***` for its password; and how they would
/// have, had the password been in it, or not. Only ever compared with what is stored, never shown.
pub(super) fn former_spellings(url: &str) -> Vec<String> {
    let written = hide_assigned(&hide_in_uris(url));
    let without = written.replacen(":***@", "@", 1);
    let with = match (written.contains(":***@"), written.split_once("://")) {
        (false, Some((scheme, rest))) => {
            rest.split_once('@').map(|(user, host)| format!("{scheme}://{user}:***@{host}"))
        }
        _ => None,
    };
    let mut spellings = vec![written];
    spellings.extend(with);
    if !spellings.contains(&without) {
        spellings.push(without);
    }
    spellings
}

fn hide_in_uris(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some(scheme) = rest.find("://") {
        let (before, after) = rest.split_at(scheme + 3);
        result.push_str(before);
        let end = after.find(['?', '"', '\'', ' ', '\n']).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((credentials, host)) => match credentials.split_once(':') {
                Some((user, _)) => result.push_str(&format!("{user}:***@{host}")),
                None => result.push_str(authority),
            },
            None => result.push_str(authority),
        }
        rest = tail;
    }
    result.push_str(rest);
    result
}

fn hide_assigned(line: &str) -> String {
    let mut result = String::new();
    let mut rest = line;
    // ASCII case folding keeps all byte positions.
    while let Some(start) = rest.to_ascii_lowercase().find("password") {
        let (before, after) = rest.split_at(start + "password".len());
        result.push_str(before);
        rest = after;
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else { continue };
        let quote = value.chars().next().filter(|first| matches!(first, '\'' | '"'));
        let body = &value[quote.map_or(0, char::len_utf8)..];
        let end = body.find(|c: char| match quote {
            Some(quote) => c == quote,
            None => c.is_whitespace() || matches!(c, '"' | '\'' | '&'),
        });
        result.push_str(&after[..after.len() - body.len()]);
        result.push_str("***");
        rest = &body[end.unwrap_or(body.len())..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let cases = [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("2min", Some(120_000)),
            ("1.5h", Some(5_400_000)),
            (" 3 s ", Some(3_000)),
            ("4min 30s", Some(270_000)),
            ("4min30s", Some(270_000)),
            ("4min 30", None),
            ("10", None),
            ("10m", None),
            ("-1s", None),
            ("s", None),
            ("", None),
            ("1e30h", None),
            ("nans", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(duration(text), wanted.map(Duration::from_millis), "{text}");
        }
    }

    #[test]
    fn variables_are_put_in() {
        let variables = |name: &str| (name == "A").then(|| "x$B".to_owned());
        let cases = [
            ("$A", Ok("x$B")),
            ("p/${A}/q", Ok("p/x$B/q")),
            ("$A.pbf", Ok("x$B.pbf")),
            ("$$A", Ok("$A")),
            ("a$", Ok("a$")),
            ("$B", Err("B")),
            ("${B", Ok("${B")),
            ("", Ok("")),
        ];
        for (text, wanted) in cases {
            let got = expand(text, &variables);
            assert_eq!(got.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }

    #[test]
    fn earlier_spellings_are_known_with_and_without_a_password() {
        let cases: [(&str, &[&str]); 4] = [
            ("postgres://me:s3:cr@t@h:5432/db", &["postgres://me:***@h:5432/db", "postgres://me@h:5432/db"]),
            ("postgres://me@h/db", &["postgres://me@h/db", "postgres://me:***@h/db"]),
            ("host=h password=x y", &["host=h password=*** y"]),
            ("shop", &["shop"]),
        ];
        for (url, wanted) in cases {
            assert_eq!(former_spellings(url), wanted, "{url}");
        }
    }
}
