//! Tables that belong to workloads: read by their own types, with their mistakes put in our words.

use std::ops::Range;

use serde::de::DeserializeOwned;
use workloads::WorkloadError;

use super::problem::suggestion;
use super::reader::Field;

/// Reads a table by its own type; a mistake is noted and answered with `None`.
pub(super) fn read<T: DeserializeOwned>(field: &Field<'_>) -> Option<T> {
    let deserializer = toml::de::ValueDeserializer::from(field.value.clone());
    T::deserialize(deserializer)
        .map_err(|error| {
            let span = error.span().unwrap_or_else(|| field.value.span());
            let (message, hint) = in_our_words(error.message());
            field.source.problem(&span, format!("{message} in [{}]", field.path), hint);
        })
        .ok()
}

/// Notes what a workload's own check found, at the key it names.
pub(super) fn note(field: &Field<'_>, error: &WorkloadError) {
    let (span, message) = match error {
        WorkloadError::Option { key, problem } => (key_span(field, key), format!("{key}: {problem}")),
        other => (field.value.span(), other.to_string()),
    };
    field.source.problem(&span, message, None);
}

/// Where the last part of a dotted key stands inside the field's table; else the table itself.
fn key_span(field: &Field<'_>, key: &str) -> Range<usize> {
    let all = field.value.span();
    let wanted = key.rsplit('.').next().unwrap_or(key);
    let text = field.source.text.get(all.clone()).unwrap_or_default();
    let starts = text.match_indices(wanted).find(|(at, found)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + found.len()..].trim_start();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_') && after.starts_with('=')
    });
    starts.map_or(all.clone(), |(at, found)| all.start + at..all.start + at + found.len())
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
    (message.to_owned(), None)
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
            ("anything else", "anything else", None),
        ];
        for (message, wanted, hint) in cases {
            assert_eq!(in_our_words(message), (wanted.to_owned(), hint.map(str::to_owned)));
        }
    }
}
