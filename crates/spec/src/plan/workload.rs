//! Workloads and jobs of a plan, with their texts and files.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Options as written, to be parsed by the crate that defines them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkloadOptions(Map<String, Value>);

impl WorkloadOptions {
    /// Converts options to their stored form.
    ///
    /// # Panics
    /// If the options are not a table, or a key is not a string.
    #[must_use]
    pub fn of(options: &impl Serialize) -> Self {
        match serde_json::to_value(options) {
            Ok(Value::Object(table)) => Self(table),
            other => panic!("options are a table, not {other:?}"),
        }
    }

    /// Parses the options into their type.
    ///
    /// # Errors
    /// The expected value, if an option is invalid.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        T::deserialize(Value::Object(self.0.clone())).map_err(|error| error.to_string())
    }

    /// The table of these options, for generic changes.
    pub fn table_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A text; `None` if missing or empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The value of an option that is a number; `None` if it is missing or another type.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name)?.as_f64()
    }

    /// An integer, which may have more digits than an `f64` can hold.
    #[must_use]
    pub fn whole_number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// Whether an option is on; `None` if not set.
    #[must_use]
    pub fn is_on(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// A list of texts; empty if missing.
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

/// A workload, with its texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    pub spec: WorkloadOptions,
    /// SHA-256 of its scripts, layers, commands and input files, by name.
    pub scripts: BTreeMap<String, String>,
    /// The same for each option level with different ones: `files = b.sql`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, BTreeMap<String, String>>,
}

/// The preparation of the target.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlannedPreparation {
    /// The jobs; the paths in them belong to this machine and are not part of the identity.
    #[serde(flatten)]
    pub jobs: WorkloadOptions,
    /// SHA-256 of the input files, by file name.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
}
