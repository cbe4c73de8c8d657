//! What makes two plans two experiments.

use std::collections::BTreeMap;

use serde_json::Value;
use spec::plan::Plan;

use super::identity::identity;

const SHOWN: usize = 60;

/// The differences between the contents of two plans, one line each: `factors.clients: ["1","4"] →
/// ["1","8"]`. Empty when they are the same experiment.
#[must_use]
pub fn diff(before: &Plan, after: &Plan) -> Vec<String> {
    let (old, new) = (leaves(&identity(&before.content)), leaves(&identity(&after.content)));
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let shown = |value: Option<&String>| value.map_or("(nothing)", String::as_str).to_owned();
    paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path))
        .map(|path| format!("{path}: {} → {}", shown(old.get(path)), shown(new.get(path))))
        .collect()
}

/// Every value that is not a table, by its dotted path.
fn leaves(value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(value, String::new(), &mut found);
    found
}

fn collect(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (name, entry) in entries {
                let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(entry, below, found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                // Arms have names, which are clearer than numbers.
                let name = item.get("name").and_then(Value::as_str).map_or(index.to_string(), str::to_owned);
                collect(item, format!("{path}.{name}"), found);
            }
        }
        Value::Null => {}
        _ => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let short: String = text.chars().take(SHOWN).collect();
            let text = if short.len() < text.len() { format!("{short}…") } else { text };
            found.insert(path, text);
        }
    }
}
