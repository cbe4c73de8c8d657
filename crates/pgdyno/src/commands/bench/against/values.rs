//! Converts words of a command line to experiment values.

use serde::Serialize;
use toml::{Table, Value};

use super::usage;

/// A number, `true` or `false`, else a text.
pub(in crate::commands) fn scalar(text: &str) -> Value {
    match text {
        "true" | "false" => Value::Boolean(text == "true"),
        _ => match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Value::Integer(number),
            _ => Value::from(text),
        },
    }
}

/// A number, or the text of a changing rate, which is checked with the experiment.
pub(in crate::commands) fn rate(text: &str) -> Value {
    text.parse::<f64>().map_or_else(|_| text.into(), Value::from)
}

pub(in crate::commands) fn one_or_many(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}

pub(in crate::commands) fn toml_table(
    entries: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Table {
    entries.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

pub(in crate::commands) fn flag(wanted: bool) -> Option<Value> {
    wanted.then_some(Value::Boolean(true))
}

/// The options that differ from these defaults.
///
/// # Errors When a value cannot be written: a path that is not UTF-8.
pub(in crate::commands) fn changed<T: Serialize>(options: &T, usual: &T) -> anyhow::Result<Table> {
    let written = |options| Table::try_from(options).map_err(|error| usage(&error.to_string(), ""));
    let (mut table, usual) = (written(options)?, written(usual)?);
    table.retain(|key, value| usual.get(key) != Some(value));
    Ok(table)
}
