//! A tree of named facts, written as JSON or as lines. Both have the same content.

use std::fmt::Write;

use serde::{Serialize, Serializer};

use crate::visible;

/// Name and version of the schema; the number changes when a fact changes its meaning, its name or its
/// place.
pub(super) const SCHEMA: &str = "pgdyno-pgbench/1";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum FieldValue {
    Absent,
    Flag(bool),
    Count(u64),
    /// Any finite number, printed with at most six decimals.
    Number(f64),
    Text(String),
    Part(Vec<(String, FieldValue)>),
    /// Parts with the same facts, numbered from 1 in lines.
    List(Vec<FieldValue>),
}

impl From<bool> for FieldValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<u64> for FieldValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for FieldValue {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<f64> for FieldValue {
    fn from(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Absent }
    }
}

impl From<&str> for FieldValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<FieldValue>> From<Option<T>> for FieldValue {
    fn from(fact: Option<T>) -> Self {
        fact.map_or(Self::Absent, Into::into)
    }
}

impl Serialize for FieldValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            // A whole number is printed as one, up to 1e15.
            Self::Number(value) if value.abs() < 1e15 && rounded(*value).fract() == 0.0 => {
                serializer.serialize_i64(rounded(*value) as i64)
            }
            Self::Number(value) => serializer.serialize_f64(rounded(*value)),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Part(facts) => serializer.collect_map(facts.iter().map(|(name, fact)| (name, fact))),
            Self::List(facts) => serializer.collect_seq(facts),
        }
    }
}

pub(super) fn part(facts: impl IntoIterator<Item = (&'static str, FieldValue)>) -> FieldValue {
    FieldValue::Part(facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect())
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

pub(super) fn json(fact: &FieldValue) -> String {
    crate::format::json(fact)
}

pub(super) fn lines(fact: &FieldValue) -> String {
    let mut out = String::new();
    write_lines("", fact, &mut out);
    out
}

fn write_lines(name: &str, fact: &FieldValue, out: &mut String) {
    let below = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match fact {
        FieldValue::Part(facts) => {
            for (part, fact) in facts {
                write_lines(&below(part), fact, out);
            }
        }
        FieldValue::List(facts) => {
            for (number, fact) in (1_usize..).zip(facts) {
                write_lines(&below(&number.to_string()), fact, out);
            }
        }
        _ => {
            let _ = writeln!(out, "{name}={}", value(fact));
        }
    }
}

/// A value on one line: empty if absent, a backslash before characters that would end or hide the line.
fn value(fact: &FieldValue) -> String {
    match fact {
        FieldValue::Flag(flag) => flag.to_string(),
        FieldValue::Count(count) => count.to_string(),
        FieldValue::Number(value) => number(*value),
        FieldValue::Text(text) => visible::line(&text.replace('\\', "\\\\")).into_owned(),
        FieldValue::Absent | FieldValue::Part(_) | FieldValue::List(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (value, wanted) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e-9, "0"),
            (1e20, "100000000000000000000"),
        ] {
            assert_eq!(number(value), wanted);
        }
        assert_eq!(FieldValue::from(f64::NAN), FieldValue::Absent);
    }

    #[test]
    fn texts_stay_on_their_line() {
        let part =
            FieldValue::Part(vec![("a".into(), "x\n\\y\"=\t".into()), ("b".into(), FieldValue::Absent)]);
        assert_eq!(lines(&part), "a=x\\n\\\\y\"=\\t\nb=\n");
        assert_eq!(json(&part), "{\n  \"a\": \"x\\n\\\\y\\\"=\\t\",\n  \"b\": null\n}\n");
        assert_eq!(json(&FieldValue::List(Vec::new())), "[]\n");
    }

    proptest::proptest! {
        #[test]
        fn json_can_be_read_back(text in "\\PC*", count: u64, value in -1e12..1e12) {
            let fact = FieldValue::Part(vec![
                (text.clone(), text.as_str().into()),
                ("list".into(), FieldValue::List(vec![count.into(), FieldValue::Number(value), true.into()])),
            ]);
            let read: serde_json::Value = serde_json::from_str(&json(&fact)).expect("valid JSON");
            proptest::prop_assert!(read.is_object());
            proptest::prop_assert_eq!(lines(&fact).lines().count(), 4);
        }
    }
}
