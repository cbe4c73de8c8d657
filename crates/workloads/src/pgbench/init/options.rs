//! What a user may write about making pgbench's tables.

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::WorkloadError;
use crate::words::unknown_word;

/// Largest scale: above it account numbers would not fit pgbench's own 64-bit arithmetic by far; pgbench's bound.
const LARGEST_SCALE: u32 = i32::MAX as u32;

/// `pgbench = { scale = 10 }` in `[prepare]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitOptions {
    /// Scale: 100,000 accounts each. At least 1.
    pub scale: u32,
    /// Steps in order, pgbench's letters: d drop, t tables, g rows made here, G rows made on the server, v vacuum,
    /// p primary keys, f foreign keys.
    #[serde(deserialize_with = "steps", serialize_with = "letters")]
    pub steps: Vec<Step>,
    /// Fill factor of the tables, percent. 10..=100.
    pub fillfactor: u32,
    /// Make the tables unlogged.
    pub unlogged: bool,
    /// Add foreign keys, if the steps do not say so already.
    pub foreign_keys: bool,
    /// Partitions of the accounts; 0 for none.
    pub partitions: u32,
    /// How accounts are divided among partitions.
    pub partition_method: PartitionMethod,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Say how far the rows are every 5 s instead of every 100,000.
    pub quiet: bool,
}

impl Default for InitOptions {
    fn default() -> Self {
        use Step::{CreateTables, Drop, Generate, PrimaryKeys, Vacuum};
        Self {
            scale: 1,
            steps: vec![Drop, CreateTables, Generate, Vacuum, PrimaryKeys],
            fillfactor: 100,
            unlogged: false,
            foreign_keys: false,
            partitions: 0,
            partition_method: PartitionMethod::Range,
            tablespace: None,
            index_tablespace: None,
            quiet: false,
        }
    }
}

/// One step of `-i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `d`
    Drop,
    /// `t`
    CreateTables,
    /// `g`
    Generate,
    /// `G`
    GenerateOnServer,
    /// `v`
    Vacuum,
    /// `p`
    PrimaryKeys,
    /// `f`
    ForeignKeys,
}

const LETTERS: [(char, Step, &str); 7] = [
    ('d', Step::Drop, "drop tables"),
    ('t', Step::CreateTables, "create tables"),
    ('g', Step::Generate, "client-side generate"),
    ('G', Step::GenerateOnServer, "server-side generate"),
    ('v', Step::Vacuum, "vacuum"),
    ('p', Step::PrimaryKeys, "primary keys"),
    ('f', Step::ForeignKeys, "foreign keys"),
];

impl Step {
    /// Its name in pgbench's summary, and the name of its phase.
    #[must_use]
    pub fn name(self) -> &'static str {
        LETTERS[self as usize].2
    }

    /// pgbench's letter for it.
    #[must_use]
    pub fn letter(self) -> char {
        LETTERS[self as usize].0
    }
}

/// Reads steps as `-I` takes them; blanks are passed over.
///
/// # Errors
/// In pgbench's words, for a letter that is no step and for no step at all.
pub fn parse_steps(text: &str) -> Result<Vec<Step>, String> {
    if text.is_empty() {
        return Err("no initialization steps specified".to_owned());
    }
    let step = |letter: char| {
        let found = LETTERS.iter().find(|(known, _, _)| *known == letter);
        found.map(|(_, step, _)| *step).ok_or_else(|| {
            format!("unrecognized initialization step \"{letter}\"; allowed steps are: d, t, g, G, v, p, f")
        })
    };
    text.chars().filter(|letter| *letter != ' ').map(step).collect()
}

fn steps<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Step>, D::Error> {
    parse_steps(&String::deserialize(source)?).map_err(serde::de::Error::custom)
}

#[expect(clippy::ptr_arg, reason = "serde hands the field over as it is")]
fn letters<S: serde::Serializer>(steps: &Vec<Step>, target: S) -> Result<S::Ok, S::Error> {
    target.serialize_str(&steps.iter().map(|step| step.letter()).collect::<String>())
}

/// How accounts are divided among partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionMethod {
    /// By ranges of account numbers.
    #[default]
    Range,
    /// By a hash of the account number.
    Hash,
}

impl<'de> Deserialize<'de> for PartitionMethod {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.to_ascii_lowercase().as_str() {
            "range" => Ok(Self::Range),
            "hash" => Ok(Self::Hash),
            other => {
                Err(serde::de::Error::custom(unknown_word("partition_method", other, &["range", "hash"])))
            }
        }
    }
}

impl InitOptions {
    /// pgbench's own defaults at this scale.
    #[must_use]
    pub fn at_scale(scale: u32) -> Self {
        Self { scale, ..Self::default() }
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn validate(&self) -> Result<(), WorkloadError> {
        let wrong = |key: &str, problem: &str| Err(WorkloadError::option(format!("pgbench.{key}"), problem));
        if !(1..=LARGEST_SCALE).contains(&self.scale) {
            return wrong("scale", "must be at least 1 and fit 31 bits");
        }
        if !(10..=100).contains(&self.fillfactor) {
            return wrong("fillfactor", "is not within 10..100");
        }
        if self.partition_method == PartitionMethod::Hash && self.partitions == 0 {
            return wrong("partition_method", "means nothing without partitions");
        }
        Ok(())
    }

    /// The steps with the foreign keys that are asked for apart.
    #[must_use]
    pub fn all_steps(&self) -> Vec<Step> {
        let mut steps = self.steps.clone();
        if self.foreign_keys && !steps.contains(&Step::ForeignKeys) {
            steps.push(Step::ForeignKeys);
        }
        steps
    }
}
