//! What an experiment file says, with defaults filled in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use protocol::postgres::Env;
use protocol::postgres::conninfo::Shown;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workloads::{Preparation, Spec};

use super::values::former_spellings;
use target::settings::Wanted;

/// What an experiment file asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentFile {
    /// File name without folder and ending.
    pub name: String,
    /// Where it is; relative paths in it start from its folder.
    pub path: PathBuf,
    /// Its text, without passwords.
    pub text: String,
    /// The question it asks.
    pub question: String,
    /// Why it is only a taste; `None` when it is a measurement.
    pub taste: Option<String>,
    /// Seed of all randomness; `None` to derive it from the plan.
    pub seed: Option<u64>,
    /// What is measured.
    pub target: TargetSpec,
    /// What is prepared on it.
    pub prepare: Preparation,
    /// The workloads, in the order of the file.
    pub workloads: Vec<NamedWorkload>,
    /// What is varied.
    pub factors: Factors,
    /// What runs once a round outside the grid.
    pub beside: Option<Beside>,
    /// What is compared.
    pub compare: Option<Compare>,
    /// The arms, base first; empty when nothing is compared.
    pub arms: Vec<ArmSpec>,
    /// How load is offered.
    pub load: LoadSpec,
    /// How it is measured.
    pub measure: Measure,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetSpec {
    /// A server that pgdyno makes and owns.
    Managed {
        /// Its name.
        name: String,
        /// Major version; `None` for the newest found.
        version: Option<u32>,
        /// Extensions to create.
        extensions: Vec<String>,
        /// Whether it has a Redis.
        redis: bool,
    },
    /// A server somewhere.
    Url {
        /// Connection string, variables expanded; may hold a password, so it is never stored.
        #[serde(skip)]
        url: String,
        /// What of it may be shown.
        shown: String,
        /// Where it leads, however it is spelled and whoever uses it: what makes two targets one. Empty in what earlier
        /// builds stored.
        #[serde(default)]
        place: String,
        /// A Redis beside it, `redis://host:port`.
        redis: Option<String>,
        /// Whether settings of the whole server may be changed (and put back).
        change_server: bool,
    },
}

impl TargetSpec {
    /// A server by its description: anything that libpq takes.
    #[must_use]
    pub fn url(url: String, redis: Option<String>, change_server: bool) -> Self {
        let Shown { text, place, .. } = Shown::of(&url, &Env::process());
        let place = place.unwrap_or_else(|| text.clone());
        Self::Url { url, shown: text, place, redis, change_server }
    }

    /// What makes it this target and no other. Neither a user name nor a password is part of it, nor how they or the
    /// place are written.
    #[must_use]
    pub fn identity(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a target is plain data");
        if let Some(url) = value.get_mut("Url").and_then(Value::as_object_mut) {
            url.remove("shown");
        }
        value
    }

    /// The identities it had in earlier builds: by the URL as it was written, a password replaced by `***`. Empty where
    /// they are the same.
    #[must_use]
    pub(crate) fn former_identities(&self) -> Vec<Value> {
        let Self::Url { url, redis, change_server, .. } = self else { return Vec::new() };
        let spelled = |shown: String| serde_json::json!({ "Url": { "shown": shown, "redis": redis, "change_server": change_server } });
        former_spellings(url).into_iter().map(spelled).collect()
    }
}

/// A workload with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWorkload {
    /// Name in the file.
    pub name: String,
    /// What it asks; paths in it start from the file's folder.
    pub spec: Spec,
}

/// What is varied beside the arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    /// Names of workloads.
    pub workload: Vec<String>,
    /// Numbers of clients.
    pub clients: Vec<u32>,
    /// Offered rates, transactions per second; empty unless the load is open.
    pub rate: Vec<f64>,
}

/// What runs once a round outside the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// Names of workloads.
    pub workload: Vec<String>,
    /// Numbers of clients.
    pub clients: Vec<u32>,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compare {
    /// The factor; `settings`.
    pub factor: String,
    /// The arm the others are compared with.
    pub base: String,
    /// Change that counts as none, as a share.
    pub margin: f64,
}

/// One arm.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmSpec {
    /// Name in the file.
    pub name: String,
    /// What it sets, as written: values may be shares of the machine.
    pub settings: Wanted,
    /// Line of the file that each setting stands in, from 1.
    pub lines: BTreeMap<String, usize>,
}

/// How load is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// Kind and parameters.
    pub kind: LoadKind,
    /// Slower transactions are late; in an open load, arrivals that are hopelessly late are skipped.
    pub limit: Option<Duration>,
}

/// Kinds of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadKind {
    /// As fast as the clients can.
    Closed,
    /// Arrivals on a schedule; the rates are levels of a factor.
    Rate,
    /// Clients that pause.
    Users {
        /// Between the end of one transaction and the start of the next.
        think: Duration,
        /// Between the first starts of two clients.
        ramp: Duration,
    },
}

/// How it is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    /// Load before anything counts.
    pub warmup: Duration,
    /// Length of the measured part of a run.
    pub duration: DurationSpec,
    /// Passes over all cells and arms.
    pub rounds: u32,
    /// Threads of the load generator.
    pub threads: u32,
    /// How the cells of a round are ordered.
    pub order: CellOrder,
}

/// Length of the measured part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationSpec {
    /// As the file says.
    Fixed(Duration),
    /// As long as the time for the whole experiment allows.
    Sized {
        /// Time for all rounds, preparation not counted.
        budget: Duration,
        /// Never shorter.
        from: Duration,
        /// Never longer.
        to: Duration,
    },
}

/// How the cells of a round are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellOrder {
    /// Drawn anew for each round, from the seed.
    Random,
    /// As the file lists the levels, in every round.
    Listed,
}
