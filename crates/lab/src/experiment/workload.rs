//! Tables that belong to workloads: read by their own types, with their mistakes put in our words.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::DeValue;
use workloads::{Spec, WorkloadError};

use super::problem::suggestion;
use super::reader::Field;

/// Reads a table by its own type; a mistake is noted and answered with `None`.
pub(super) fn read<T: DeserializeOwned>(field: &Field<'_>) -> Option<T> {
    field.section()?;
    let deserializer = toml::de::ValueDeserializer::from(field.value.clone());
    T::deserialize(deserializer)
        .map_err(|error| {
            let span = error.span().unwrap_or_else(|| field.value.span());
            let (message, hint) = in_our_words(error.message());
            let key = key_before(field, &span).map(|key| format!("`{key}` ")).unwrap_or_default();
            let key = if message.starts_with("must be") { key } else { String::new() };
            field.source.problem(&span, format!("{key}{message} in [{}]", field.path), hint);
        })
        .ok()
}

/// Notes what a workload's own check found, at the key it names.
pub(super) fn note(field: &Field<'_>, error: &WorkloadError) {
    let (span, message) = match error {
        WorkloadError::Option { key, problem } => {
            (place_of(field.value, key.split('.').collect()), format!("{key}: {problem}"))
        }
        // Only scripts and lists of tiles come from files.
        WorkloadError::File { .. } | WorkloadError::Script(_) => {
            let files = [&["pgbench", "files"], &["tiles", "picker"]]
                .map(|path| place_of(field.value, path.to_vec()));
            (files.into_iter().flatten().next(), error.to_string())
        }
        other => (None, other.to_string()),
    };
    let span = span.unwrap_or_else(|| field.value.span());
    field.source.problem(&span, message, None);
}

/// Where the value of a dotted key stands in a table; a first part that is the table's own name is passed over.
fn place_of(value: &Spanned<DeValue<'_>>, path: Vec<&str>) -> Option<Range<usize>> {
    let [first, rest @ ..] = path.as_slice() else { return Some(value.span()) };
    let table = value.get_ref().as_table()?;
    match table.get(*first) {
        Some(below) => place_of(below, rest.to_vec()),
        None if rest.is_empty() => None,
        None => place_of(value, rest.to_vec()),
    }
}

/// The key whose value this is, where it stands right before it.
fn key_before<'a>(field: &Field<'a>, value: &Range<usize>) -> Option<&'a str> {
    let before = field.source.text.get(field.key_span.start..value.start)?.trim_end().strip_suffix('=')?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    before.trim_end().trim_matches('"').rsplit(|c| !plain(c)).next().filter(|key| !key.is_empty())
}

/// serde's messages about unknown words and wrong types, as this page says such things.
fn in_our_words(message: &str) -> (String, Option<String>) {
    for (kind, name) in [("unknown field ", "unknown key"), ("unknown variant ", "unknown kind of workload")]
    {
        let Some((word, rest)) = message.strip_prefix(kind).and_then(|rest| rest.split_once(", ")) else {
            continue;
        };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        return (format!("{name} {word}"), suggestion(word.trim_matches('`'), &known));
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return (format!("{field} is missing"), None);
    }
    for kind in ["invalid type: ", "invalid value: "] {
        let parts = message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((found, wanted)) = parts {
            return (format!("must be {}, not {}", wanted_in_words(wanted), found_in_words(found)), None);
        }
    }
    if let Some((found, wanted)) = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected an array of length "))
    {
        return (format!("must be a list of {wanted}, not of {found}"), None);
    }
    if message.starts_with("wanted exactly 1 element") || message.contains("exactly 1 key") {
        return (format!("a workload is exactly one of {}", Spec::KINDS.join(", ")), None);
    }
    // What our own forms say they are: "a text or a list of texts".
    let is_form = message.starts_with("a ") || message.starts_with('"');
    (if is_form { format!("must be {message}") } else { message.to_owned() }, None)
}

/// What serde says it wanted, in the words of TOML's users.
fn wanted_in_words(wanted: &str) -> String {
    let words = match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more and not too large",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "path string" | "a borrowed string" | "a character" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        "unit" | "option" => "left out",
        _ if wanted.starts_with("struct ") => "a table, such as { … }",
        _ if wanted.contains("enum ") || wanted.contains("variant") => {
            return format!("a table with one of {}", Spec::KINDS.join(", "));
        }
        _ => wanted.strip_prefix("an array of length").map_or(wanted, |_| ""),
    };
    match words {
        "" => wanted.replace("an array of length", "a list of"),
        words => words.to_owned(),
    }
}

/// What serde says it found.
fn found_in_words(found: &str) -> String {
    let found = found.replace('`', "").replace(" as i128", "").replace(" as u128", "");
    for (kind, word) in
        [("floating point ", ""), ("integer ", ""), ("boolean ", ""), ("string ", "the text ")]
    {
        if let Some(value) = found.strip_prefix(kind) {
            return format!("{word}{value}");
        }
    }
    match found.as_str() {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found,
    }
}

/// Keys that a workload's table may have, as its own reader lists them when it meets another one.
#[cfg(test)]
pub(super) fn keys_of(table: &str, text: &toml::Table) -> Vec<String> {
    let message = match table {
        "prepare.osm" => text["prepare"]["osm"].clone().try_into::<workloads::osm::Options>().map(drop),
        "prepare.pgbench" => {
            text["prepare"]["pgbench"].clone().try_into::<workloads::pgbench::init::InitOptions>().map(drop)
        }
        _ => text["workload"]["w"].clone().try_into::<workloads::Spec>().map(drop),
    };
    let message = message.err().map(|error| error.to_string()).unwrap_or_default();
    let listed = message.split("expected").nth(1).unwrap_or_default();
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serde_is_translated() {
        let cases = [
            (
                "unknown field `zoms`, expected one of `table`, `zooms`",
                "unknown key `zoms`",
                Some("did you mean `zooms`?"),
            ),
            ("unknown field `q`, expected `set`", "unknown key `q`", Some("known here: set")),
            (
                "unknown variant `tile`, expected one of `pgbench`, `tiles`",
                "unknown kind of workload `tile`",
                Some("did you mean `tiles`?"),
            ),
            ("missing field `command`", "`command` is missing", None),
            (
                "invalid type: floating point `1.5`, expected struct Options",
                "must be a table, such as { … }, not 1.5",
                None,
            ),
            (
                "invalid type: string \"x, y\", expected u32",
                "must be a whole number, 0 or more and not too large, not the text \"x, y\"",
                None,
            ),
            (
                "invalid type: integer `3`, expected a text or a list of texts",
                "must be a text or a list of texts, not 3",
                None,
            ),
            ("invalid length 3, expected an array of length 2", "must be a list of 2, not of 3", None),
            ("a text or a list of texts", "must be a text or a list of texts", None),
            ("anything else", "anything else", None),
        ];
        for (message, wanted, hint) in cases {
            assert_eq!(in_our_words(message), (wanted.to_owned(), hint.map(str::to_owned)));
        }
    }
}
