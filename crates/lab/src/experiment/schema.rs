//! The JSON Schema of experiment files, from the types that read them.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use spec::experiment::Experiment;
use workloads::{Preparation, Spec};

use crate::factors::FACTORS;

/// The schema. A `title` of a value is its kind in words.
#[must_use]
pub fn schema() -> Value {
    let mut root = of::<Experiment>();
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    let properties = properties(&mut root);
    let described = |name: &str, mut schema: Value| {
        schema["description"] = properties[name]["description"].clone();
        schema
    };
    let preparation = described("prepare", of::<Preparation>());
    let mut kinds = of::<Spec>();
    for kind in kinds["oneOf"].as_array_mut().into_iter().flatten() {
        // A variant's comment says more than its options' comment.
        let meaning = kind.as_object_mut().and_then(|kind| kind.remove("description"));
        for options in self::properties(kind).values_mut() {
            options["description"] = meaning.clone().unwrap_or_default();
        }
    }
    let workload = described("workload", json!({ "type": "object", "additionalProperties": kinds }));
    for (name, schema) in [("prepare", preparation), ("workload", workload)] {
        properties.insert(name.to_owned(), schema);
    }
    let factors = factors(&properties["factors"]["additionalProperties"]);
    properties["factors"]["properties"] = factors.clone();
    properties["full"]["properties"]["factors"]["properties"] = factors;
    root
}

fn properties(schema: &mut Value) -> &mut Map<String, Value> {
    schema["properties"].as_object_mut().expect("a table has keys")
}

/// The factors that `[factors]` lists, with their levels.
fn factors(levels: &Value) -> Value {
    let listed = FACTORS.into_iter().filter(|factor| factor.in_grid());
    let described = listed.map(|factor| {
        let mut levels = levels.clone();
        levels["title"] = factor.levels().into();
        levels["description"] = factor.meaning().into();
        (factor.name().to_owned(), levels)
    });
    described.collect::<Map<_, _>>().into()
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let settings = settings.with_transform(RecursiveTransform(as_in_toml));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("$schema");
    schema.into()
}

/// TOML has no null: a key that may be missing is not listed as required. Keys that are `false` by default are not
/// written, so serde gives no default for them.
fn as_in_toml(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties {
            let is_plain_flag = property.get("type").is_some_and(|kind| kind == "boolean");
            if is_plain_flag && !required.contains(&json!(name)) && property.get("default").is_none() {
                property["default"] = false.into();
            }
        }
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(kinds @ Value::Array(_)) = object.get_mut("type") {
        let rest: Vec<_> =
            kinds.as_array().into_iter().flatten().filter(|kind| **kind != "null").cloned().collect();
        *kinds = if let [one] = &rest[..] { one.clone() } else { rest.into() };
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(either)) = object.get_mut("anyOf") else { return };
    either.retain(|schema| schema.get("type").is_none_or(|kind| kind != "null"));
    if let [one] = &either[..] {
        let one = one.as_object().cloned().unwrap_or_default();
        object.remove("anyOf");
        for (key, value) in one {
            // The key's own description has priority over its type's.
            object.entry(key).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::experiment::keys::keys_of_tables;

    fn either(schema: &Value) -> Vec<&Value> {
        let list = schema["anyOf"].as_array();
        list.map_or_else(|| vec![schema], |list| list.iter().flat_map(either).collect())
    }

    fn below<'s>(schema: &'s Value, step: &str) -> &'s Value {
        let mut found = either(schema).into_iter().map(|schema| match &schema["properties"][step] {
            Value::Null => &schema["additionalProperties"],
            found => found,
        });
        found.find(|found| found.is_object()).unwrap_or(&Value::Null)
    }

    /// A key that the reader knows and the schema does not would be marked as a mistake by editors.
    #[test]
    fn the_schema_has_the_keys_of_the_reader() {
        let schema = schema();
        let tile_servers = ("target.tile_servers".to_owned(), crate::experiment::tile_servers::KEYS.to_vec());
        for (table, keys) in keys_of_tables().into_iter().chain([tile_servers]) {
            let at =
                table.split('.').filter(|step| !step.is_empty()).fold(&schema, |at, step| below(at, step));
            let known: BTreeSet<_> = either(at)
                .into_iter()
                .filter_map(|table| table["properties"].as_object())
                .flat_map(|properties| properties.keys().map(String::as_str))
                .collect();
            assert_eq!(known, keys.into_iter().collect(), "[{table}]");
        }
    }

    /// The reference page shows these words.
    #[test]
    fn every_key_says_what_it_means() {
        fn look(at: &Value, path: &str, lacking: &mut Vec<String>) {
            if !at.is_object() {
                return;
            }
            for (name, property) in at["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                let words = property["description"].as_str().unwrap_or_default();
                if words.is_empty() {
                    lacking.push(path.clone());
                }
                look(property, &path, lacking);
            }
            let others =
                ["anyOf", "oneOf"].into_iter().flat_map(|key| at[key].as_array().into_iter().flatten());
            for other in others.chain([&at["additionalProperties"], &at["items"]]) {
                look(other, path, lacking);
            }
        }
        let mut lacking = Vec::new();
        look(&schema(), "", &mut lacking);
        assert!(lacking.is_empty(), "add doc comments to {lacking:?}");
    }
}
