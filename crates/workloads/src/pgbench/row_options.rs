//! Options of variables that come from rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Error;

use crate::error;

/// `variables = { csv = "users.csv" }`, `{ query = "SELECT id AS user_id FROM users", order = "random" }`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RowOptions {
    /// A CSV file (UTF-8, at most 64 MiB) whose first line names the variables. Its content is part of the experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csv: Option<String>,
    /// One `SELECT` or `VALUES`, executed once before the first run; its columns are the variables. Use this or `csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// When a client takes a row.
    pub per: RowPer,
    /// The order of the rows in a run.
    pub order: RowOrder,
    /// Whether rows may be used several times in a run, its warm-up included.
    #[serde(rename = "use")]
    pub usage: RowUse,
}

/// When a client takes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowPer {
    /// At the start of each transaction.
    #[default]
    Transaction,
    /// Once before the run; no two clients have the same row.
    Client,
    /// At the start of each session of a user.
    Session,
}

/// The order of the rows in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// As they come.
    #[default]
    Listed,
    /// Shuffled by the run's seed.
    Random,
}

/// Whether rows may be used several times in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowUse {
    /// A client without a further row stops, and the run is invalid.
    Once,
    /// After the last row comes the first one.
    #[default]
    Repeat,
}

impl RowOptions {
    pub(super) fn validate(&self) -> Result<(), Error> {
        match (&self.csv, &self.query) {
            (Some(text), None) | (None, Some(text)) if !text.trim().is_empty() => Ok(()),
            _ => {
                let problem = "needs one of csv (a file) and query (SQL that returns the rows)";
                Err(error::option("pgbench.variables", problem))
            }
        }
    }
}
