//! The stored form of an experiment file: its text and its plan, without the credentials of addresses.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use spec::plan::{Plan, PlannedRun, Recorded};
use toml::Spanned;
use toml::de::DeValue;

/// The text of a file without credentials. It can be read again.
pub(super) fn text(text: &str, document: &Spanned<DeValue<'_>>) -> String {
    let mut found = Vec::new();
    find_addresses(document, &mut found);
    found.sort_by_key(|(span, _)| span.start);
    let mut kept = String::with_capacity(text.len());
    let mut end = 0;
    for (span, shown) in found {
        kept.push_str(&text[end..span.start]);
        // JSON strings are valid TOML strings.
        kept.push_str(&Value::from(shown).to_string());
        end = span.end;
    }
    kept + &text[end..]
}

/// Texts that are addresses with credentials: their position, and the replacement.
fn find_addresses(value: &Spanned<DeValue<'_>>, found: &mut Vec<(Range<usize>, String)>) {
    match value.get_ref() {
        DeValue::String(text) => {
            if let Cow::Owned(shown) = protocol::without_credentials(text) {
                found.push((value.span(), shown));
            }
        }
        DeValue::Array(list) => list.iter().for_each(|value| find_addresses(value, found)),
        DeValue::Table(table) => table.iter().for_each(|(_, value)| find_addresses(value, found)),
        _ => {}
    }
}

pub(crate) fn without_credentials(plan: &Plan) -> Recorded {
    // There may be many thousands, and nearly all of them have equal texts.
    let runs = plan.runs.iter().map(run_without_credentials).collect();
    let plan = Plan { runs: Vec::new(), ..plan.clone() };
    let plain = plain_data(&serde_json::to_value(plan).expect("plans are plain data"));
    let mut recorded = Recorded::read(&plain.to_string());
    if let Recorded::Plan(plan) = &mut recorded {
        plan.runs = runs;
    }
    recorded
}

fn run_without_credentials(run: &PlannedRun) -> PlannedRun {
    let shown = |text: &String| protocol::without_credentials(text).into_owned();
    let is_address = |level: &String| matches!(protocol::without_credentials(level), Cow::Owned(_));
    let factors = match run.factors.values().any(is_address) {
        true => Arc::new(run.factors.iter().map(|(key, level)| (key.clone(), shown(level))).collect()),
        false => Arc::clone(&run.factors),
    };
    PlannedRun { workload: shown(&run.workload), arm: run.arm.as_ref().map(shown), factors, ..run.clone() }
}

fn plain_data(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            entries.iter().map(|(name, value)| (name.clone(), plain_data(value))).collect()
        }
        Value::Array(values) => values.iter().map(plain_data).collect(),
        Value::String(text) => protocol::without_credentials(text).into(),
        other => other.clone(),
    }
}
