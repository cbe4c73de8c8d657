//! The stored form of an experiment file: its text and its plan, without the credentials of addresses.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use spec::plan::{Plan, Recorded};
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

/// Without its runs: there may be hundreds of thousands, and they follow from the file and the facts. A calibration has
/// few, and its answer is read from them.
pub(crate) fn without_credentials(plan: &Plan) -> Recorded {
    let is_calibration = plan.content.calibrate.is_some();
    let runs = if is_calibration { plan.runs.clone() } else { Vec::new() };
    let plan = Plan { runs, ..plan.clone() };
    let plain = plain_data(&serde_json::to_value(plan).expect("plans are plain data"));
    Recorded::read(&plain.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::hash;
    use crate::plan::tests::{plan, text};

    #[test]
    fn a_stored_plan_has_no_runs() {
        let plan = plan(&text(1, &[1, 4], 2, true, 2));
        assert!(!plan.runs.is_empty());
        let recorded = without_credentials(&plan);
        let stored = recorded.plan().unwrap();
        assert!(stored.runs.is_empty());
        assert_eq!(hash(&stored.content), hash(&plan.content), "it is the same experiment");
    }
}
