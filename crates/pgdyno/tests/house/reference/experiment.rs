//! Keys of experiment files, from the schema of the types that read them.

use serde_json::{Map, Value};

use super::{check, head, row};

/// Tables in the order of the page.
const TABLES: [&str; 20] = [
    "target",
    "prepare",
    "workload",
    "factors",
    "compare",
    "settings",
    "load",
    "measure",
    "change",
    "server",
    "version",
    "pooler",
    "placement",
    "storage",
    "by_hand",
    "beside",
    "probe",
    "calibrate",
    "prices",
    "full",
];

/// Values and their list: `anyOf`, `oneOf`, or itself alone.
fn either(schema: &Value) -> Vec<&Value> {
    let list = ["anyOf", "oneOf"].iter().find_map(|key| schema[*key].as_array());
    list.map_or_else(|| vec![schema], |list| list.iter().flat_map(either).collect())
}

/// Words of a list of values.
fn joined(words: impl IntoIterator<Item = String>) -> String {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found.join(" or ")
}

fn in_toml(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(in_toml).collect::<Vec<_>>().join(", ")),
        // A whole number is written without a point.
        Value::Number(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
        plain => plain.to_string(),
    }
}

fn number(schema: &Value, word: &str) -> String {
    let bound = |key: &str| schema[key].as_f64().filter(|bound| *bound > 0.0);
    match (bound("minimum"), bound("maximum")) {
        // The greatest number of the type is no bound that anybody meets.
        (least, Some(most)) if most < f64::from(u32::MAX) && !(most == 255.0 && least.is_none()) => {
            format!("{word}, {} to {most}", least.unwrap_or_default())
        }
        _ => word.to_owned(),
    }
}

/// The kind of value of a key.
fn kind(schema: &Value) -> String {
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    // Described values are listed with the meaning.
    let is_described =
        either(schema).iter().any(|one| one["const"].is_string() && one["description"].is_string());
    joined(either(schema).into_iter().map(|one| match (&one["enum"], &one["const"], &one["type"]) {
        (_, Value::String(_), _) if is_described => "text".to_owned(),
        (Value::Array(values), ..) => values.iter().map(in_code).collect::<Vec<_>>().join(", "),
        (_, value @ Value::String(_), _) => in_code(value),
        (_, _, Value::Array(types)) => {
            joined(types.iter().map(|one| plain(one.as_str().unwrap_or_default(), schema)))
        }
        (_, _, one_type) => plain(one_type.as_str().unwrap_or_default(), one),
    }))
}

fn in_code(value: &Value) -> String {
    format!("`{value}`")
}

fn plain(word: &str, schema: &Value) -> String {
    match word {
        "string" => "text".to_owned(),
        "boolean" => "boolean".to_owned(),
        "integer" | "number" => number(schema, "number"),
        "array" => match schema["minItems"].as_u64() {
            Some(count) if schema["maxItems"].as_u64() == Some(count) => format!("{count} numbers"),
            _ => "list".to_owned(),
        },
        _ => "table".to_owned(),
    }
}

fn sentence(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// What a key means: its comment, then those of its values.
fn meaning(schema: &Value) -> String {
    let values = either(schema).into_iter().filter_map(|one| {
        let word = one["const"].as_str()?;
        Some(format!(" `\"{word}\"`: {}", sentence(one)))
    });
    sentence(schema) + &values.collect::<String>()
}

/// The keys of a table, or of the tables in a list or below names, and the path to them.
fn keys_below(schema: &Value, path: &str) -> Option<(Map<String, Value>, String)> {
    if !schema.is_object() || schema["title"].is_string() {
        return None;
    }
    let mut keys = Map::new();
    for one in either(schema) {
        keys.extend(one["properties"].as_object().cloned().unwrap_or_default());
    }
    if !keys.is_empty() {
        return Some((keys, path.to_owned()));
    }
    let name = if path.ends_with("NAME") { "LEVEL" } else { "NAME" };
    either(schema).into_iter().find_map(|one| {
        let below = keys_below(&one["additionalProperties"], &format!("{path}.{name}"));
        below.or_else(|| keys_below(&one["items"], path))
    })
}

/// The page, with the tables that it has already.
#[derive(Default)]
struct Page {
    text: String,
    tables: Vec<(Map<String, Value>, String)>,
}

impl Page {
    fn section(&mut self, path: &str, schema: &Value) {
        let Some((keys, path)) = keys_below(schema, path) else {
            let name = if schema["additionalProperties"]["type"] == "object" { ".NAME" } else { "" };
            self.text += &format!("\n## `[{path}{name}]`\n\n{}\n", sentence(schema));
            return;
        };
        self.text += &format!("\n## `[{path}]`\n\n{}\n", sentence(schema));
        match self.tables.iter().find(|(known, _)| *known == keys) {
            Some((_, other)) => self.text += &format!("\nThe keys are those of `[{other}]`.\n"),
            None => self.table(&keys, &path, schema),
        }
    }

    fn table(&mut self, keys: &Map<String, Value>, path: &str, schema: &Value) {
        self.tables.push((keys.clone(), path.to_owned()));
        let required = |key: &str| {
            let alone = either(schema).len() == 1;
            let lists = [schema, &schema["additionalProperties"]].map(|schema| schema["required"].as_array());
            alone && lists.into_iter().flatten().flatten().any(|one| one == key)
        };
        self.text += "\n";
        self.text += &head(&["key", "value", "default", "meaning"]);
        for (name, key) in keys {
            let default = match &key["default"] {
                _ if required(name) => "required".to_owned(),
                Value::Null => String::new(),
                Value::Array(list) if list.is_empty() => String::new(),
                Value::String(text) if text.is_empty() => String::new(),
                default @ (Value::Array(_) | Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
                    format!("`{}`", in_toml(default))
                }
                Value::Object(_) => String::new(),
            };
            let known = keys_below(key, &format!("{path}.{name}"));
            let known = known.and_then(|(keys, _)| self.tables.iter().find(|(known, _)| *known == keys));
            let kind = match known {
                Some((_, path)) => format!("as `[{path}]`"),
                None => kind(key),
            };
            self.text += &row(&[&format!("`{name}`"), &kind, &default, &meaning(key)]);
        }
        for (name, key) in keys {
            if let Some((keys, path)) = keys_below(key, &format!("{path}.{name}"))
                && self.tables.iter().all(|(known, _)| *known != keys)
            {
                self.text += &format!("\n### `[{path}]`\n");
                let tables: Vec<_> =
                    either(key).into_iter().filter(|one| one["properties"].is_object()).collect();
                self.table(&keys, &path, if let [one] = tables[..] { one } else { key });
            }
        }
    }
}

#[test]
fn every_key_is_in_its_page() {
    let schema = lab::experiment::schema();
    let keys = schema["properties"].as_object().expect("keys");
    let (tables, own): (Vec<_>, Vec<_>) = keys.iter().partition(|(name, _)| TABLES.contains(&name.as_str()));
    assert_eq!(tables.len(), TABLES.len());
    let mut page = Page { text: "\n## Top level\n".to_owned(), ..Page::default() };
    page.table(&own.into_iter().map(|(name, key)| (name.clone(), key.clone())).collect(), "", &schema);
    for table in TABLES {
        page.section(table, &keys[table]);
    }
    check("experiment.md", &(page.text + "\n"));
}
