//! Options of a pgbench workload.

use std::collections::BTreeMap;
use std::path::Path;

use engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use spec::Error;
use spec::plan::topology::LoadTarget;

use super::row_options::RowOptions;
use super::source::{ScriptSource, find_builtin, weighted};
use crate::error;
use crate::error::unknown_word;
use crate::jobs::file_name;

/// `pgbench = { builtin = "tpcb-like" }`, `pgbench = { files = ["a.sql@3", "b.sql"], mode = "prepared" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PgbenchOptions {
    /// Built-in scripts: `tpcb-like`, `simple-update`, `select-only`, with a weight after `@`: `"select-only@9"`.
    /// Default: `tpcb-like` if there is no other script.
    #[serde(deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany")]
    pub builtin: Vec<String>,
    /// Script files, with a weight after the last `@`.
    #[serde(deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany")]
    pub files: Vec<String>,
    /// Scripts of any kind in one order, after those of `builtin` and `files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptOption>,
    /// Query mode, pgbench's `-M`.
    pub mode: QueryProtocol,
    /// Variables, as with `-D`: `{ region = 3 }`.
    #[serde(deserialize_with = "texts")]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub define: BTreeMap<String, String>,
    /// Variables from the rows of a file or a query. They take precedence over `define`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<RowOptions>,
    /// Value of `:scale` in your own scripts; built-in scripts take it from the tables. Default: 1.
    pub scale: Option<u32>,
    /// The server that the scripts go to. Default: the connection of the run.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "target")]
    pub target: Option<LoadTarget>,
    /// Tries of a transaction that fails by serialization or deadlock. 0: until the run ends.
    pub max_tries: u32,
    /// Connect again for each transaction.
    pub reconnect: bool,
    /// Reopen a lost connection instead of aborting the client. Its open transaction counts as failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reconnect_lost: bool,
    /// Count a failed statement as a failed transaction, instead of aborting the client.
    pub continue_on_error: bool,
    /// With a built-in script or `pgbench_history`: vacuum pgbench's small tables and empty its history before each
    /// run.
    pub vacuum: bool,
    /// Do not retry a transaction that has taken longer than this, ms (pgbench's `-L`).
    pub latency_limit_ms: Option<f64>,
    /// Runs are valid even if a script finds and changes nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
}

impl Default for PgbenchOptions {
    fn default() -> Self {
        Self {
            builtin: Vec::new(),
            files: Vec::new(),
            scripts: Vec::new(),
            mode: QueryProtocol::Simple,
            define: BTreeMap::new(),
            variables: None,
            scale: None,
            target: None,
            max_tries: 1,
            reconnect: false,
            reconnect_lost: false,
            continue_on_error: false,
            vacuum: true,
            latency_limit_ms: None,
            may_be_empty: false,
        }
    }
}

/// A script of `scripts`: one of `builtin`, `file` and `text`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptOption {
    /// A built-in script, with an optional weight after `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// A script file, with an optional weight after the last `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The script itself. Each script has one of `builtin`, `file` and `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Name of a text or a file in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Weight of a text. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The server that it goes to. Default: the server of the whole workload.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "target")]
    pub target: Option<LoadTarget>,
}

impl ScriptOption {
    fn check(&self) -> Result<(), Error> {
        let wrong = |why: &str| Err(error::option("pgbench.scripts", why));
        match (&self.builtin, &self.file, &self.text) {
            (Some(builtin), None, None) => find_builtin(builtin, false).map(drop)?,
            (None, Some(file), None) => weighted("scripts", file).map(drop)?,
            (None, None, Some(_)) => return Ok(()),
            _ => return wrong("each has one of builtin, file and text"),
        }
        match (&self.name, self.weight) {
            (None, None) => Ok(()),
            (Some(_), None) if self.file.is_some() => Ok(()),
            _ => wrong("weight belongs to a text, and name to a text or a file; other weights stand after @"),
        }
    }

    /// Where it comes from; files are relative to `folder`.
    pub(super) fn source(&self, folder: &Path) -> Result<ScriptSource, Error> {
        self.check()?;
        if let Some(builtin) = &self.builtin {
            return Ok(ScriptSource::Builtin(builtin.clone()));
        }
        if let Some(file) = &self.file {
            let source = file_source(file, folder)?;
            return Ok(match (source, &self.name) {
                (ScriptSource::File { path, weight, .. }, Some(name)) => {
                    ScriptSource::File { path, shown: name.clone(), weight }
                }
                (source, _) => source,
            });
        }
        let name = self.name.clone().unwrap_or_else(|| "text".to_owned());
        let text = self.text.clone().unwrap_or_default().into_bytes();
        Ok(ScriptSource::Text { name, text, weight: self.weight.unwrap_or(1) })
    }
}

/// A script file with its weight.
pub(super) fn file_source(word: &str, folder: &Path) -> Result<ScriptSource, Error> {
    let file = weighted("files", word)?;
    Ok(ScriptSource::File { path: folder.join(&file.name), shown: file.name, weight: file.weight })
}

/// pgbench's `-M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueryProtocol {
    /// Variables substituted in the text.
    #[default]
    Simple,
    /// Variables as parameters, parsed at each execution.
    Extended,
    /// Variables as parameters, parsed once per connection.
    Prepared,
}

impl QueryProtocol {
    /// The option's values.
    pub const NAMES: [&'static str; 3] = ["simple", "extended", "prepared"];

    /// The option's value.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl std::str::FromStr for QueryProtocol {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "simple" => Ok(Self::Simple),
            "extended" => Ok(Self::Extended),
            "prepared" => Ok(Self::Prepared),
            _ => Err(unknown_word("mode", word, &Self::NAMES)),
        }
    }
}

impl<'de> Deserialize<'de> for QueryProtocol {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Longest latency limit, milliseconds.
const A_DAY_MS: f64 = 86_400_000.0;

impl PgbenchOptions {
    /// The latency after which a transaction is not retried, ns.
    pub(super) fn promise(&self) -> Option<Time> {
        self.latency_limit_ms.map(|promise| (promise * 1e6) as Time)
    }

    /// Whether it asks the same query for its variables.
    pub(crate) fn chooses_like(&self, other: &Self) -> bool {
        let query = |options: &Self| options.variables.as_ref().and_then(|rows| rows.query.clone());
        query(self).is_some_and(|own| query(other) == Some(own))
    }

    /// Its file of variables.
    pub(crate) fn csv(&self) -> Option<&str> {
        self.variables.as_ref().and_then(|rows| rows.csv.as_deref())
    }

    /// Its files, scripts without their weights.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> {
        let files = self.files.iter().map(String::as_str);
        let files = files.chain(self.scripts.iter().filter_map(|script| script.file.as_deref()));
        let files = files.filter_map(|word| weighted("files", word).ok()).map(|file| file.name);
        files.chain(self.csv().map(str::to_owned))
    }

    /// The options without the folders of the files.
    pub(crate) fn portable(&self) -> Self {
        let name = |file: &String| file_name(Path::new(file));
        let script =
            |script: &ScriptOption| ScriptOption { file: script.file.as_ref().map(name), ..script.clone() };
        let (files, scripts) = (self.files.iter().map(name), self.scripts.iter().map(script));
        let of_rows = |rows: &RowOptions| RowOptions { csv: rows.csv.as_ref().map(name), ..rows.clone() };
        let variables = self.variables.as_ref().map(of_rows);
        Self { files: files.collect(), scripts: scripts.collect(), variables, ..self.clone() }
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        if self.scale == Some(0) {
            return Err(error::option("pgbench.scale", "must be at least 1"));
        }
        if self.latency_limit_ms.is_some_and(|limit| !(limit > 0.0 && limit <= A_DAY_MS)) {
            let problem = format!("must be above 0 and at most {A_DAY_MS} (a day)");
            return Err(error::option("pgbench.latency_limit_ms", problem));
        }
        self.variables.as_ref().map_or(Ok(()), RowOptions::validate)?;
        self.builtin.iter().try_for_each(|word| find_builtin(word, false).map(drop))?;
        self.files.iter().try_for_each(|word| weighted("files", word).map(drop))?;
        self.scripts.iter().try_for_each(ScriptOption::check)
    }
}

fn target<'de, D: Deserializer<'de>>(source: D) -> Result<Option<LoadTarget>, D::Error> {
    let word = String::deserialize(source)?;
    let names = LoadTarget::ALL.map(LoadTarget::name);
    let unknown = || serde::de::Error::custom(unknown_word("target", &word, &names));
    LoadTarget::of_name(&word).map(Some).ok_or_else(unknown)
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

fn one_or_many<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMany::deserialize(source)? {
        OneOrMany::One(word) => vec![word],
        OneOrMany::Many(words) => words,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, a number, true or false")]
enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

fn texts<'de, D: Deserializer<'de>>(source: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values: BTreeMap<String, Scalar> = BTreeMap::deserialize(source)?;
    let text = |value| match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => value.to_string(),
        Scalar::Text(value) => value,
    };
    Ok(values.into_iter().map(|(name, value)| (name, text(value))).collect())
}
