//! Workloads and jobs of a plan, with the texts and files they stand for.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Options as they are written, for the crate that knows what they mean.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Options(Map<String, Value>);

impl Options {
    /// Options as they are stored.
    ///
    /// # Panics
    /// When they are no table, or have keys that are no texts.
    #[must_use]
    pub fn of(options: &impl Serialize) -> Self {
        match serde_json::to_value(options) {
            Ok(Value::Object(table)) => Self(table),
            other => panic!("options are a table, not {other:?}"),
        }
    }

    /// Options as their crate has them.
    ///
    /// # Errors
    /// What it must be, where something is none of them.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }

    /// The table of these options, such as a tool changes that knows none of them.
    pub fn table_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A text; `None` also where it is empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// A number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// A whole number, which may have more digits than one with a fraction holds.
    #[must_use]
    pub fn whole(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// Whether an option is on; `None` where it is not said.
    #[must_use]
    pub fn is_on(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// A list of texts; empty where there is none.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// The tables of this name: one, or a list of them.
    #[must_use]
    pub fn tables(&self, name: &str) -> Vec<Self> {
        let one = |value: &Value| value.as_object().cloned().map(Self);
        match self.0.get(name) {
            Some(Value::Array(list)) => list.iter().filter_map(one).collect(),
            other => other.and_then(one).into_iter().collect(),
        }
    }
}

/// A workload, with the texts it stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    /// As in the file.
    pub spec: Options,
    /// Its scripts, layers or commands, and the files it reads: name to SHA-256 of its text.
    pub scripts: BTreeMap<String, String>,
    /// The same of each level of its options that makes other ones of them: `files = b.sql`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, BTreeMap<String, String>>,
}

/// What is put on the target first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlannedPreparation {
    /// The jobs; the paths in them are those of this machine and no part of the identity.
    #[serde(flatten)]
    pub jobs: Options,
    /// Content of the files they read: SHA-256 by the file's name.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
}
