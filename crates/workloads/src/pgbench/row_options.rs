//! Options of variables that come from rows.

use serde::{Deserialize, Serialize};
use spec::Error;

use crate::error;

/// `variables = { csv = "users.csv" }`, `{ query = "SELECT id AS user_id FROM users", order = "random" }`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RowOptions {
    /// A CSV file with the variables' names in its first line; relative to the experiment file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csv: Option<String>,
    /// A query, asked once per experiment; its columns are the variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    pub per: RowPer,
    pub order: RowOrder,
    #[serde(rename = "use")]
    pub usage: RowUse,
}

/// When a client takes a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowPer {
    /// At the start of each transaction.
    #[default]
    Transaction,
    /// Before the run; no two clients have the same row.
    Client,
    /// At the start of each session of a user. Without users, at the start of each transaction.
    Session,
}

/// The order of the rows in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    #[default]
    Listed,
    /// By the run's seed.
    Random,
}

/// Whether rows may be used several times in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowUse {
    /// A client without a further row stops.
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
