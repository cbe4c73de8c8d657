//! What a results file keeps of what was to be done.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Options, Plan, PlannedPreparation, TargetSpec};
use crate::Profile;

/// What a results file keeps of what was to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recorded {
    /// An experiment.
    Plan(Box<Plan>),
    /// One run or job.
    Single(Box<SinglePlan>),
    /// A calibration of this machine.
    Calibration(Box<CalibrationPlan>),
    /// Imported runs have no plan, and one of another version of pgdyno may not be readable: it is kept, and nothing of it is known.
    Unknown(Value),
}

impl Default for Recorded {
    /// Nothing.
    fn default() -> Self {
        Self::Unknown(Value::Null)
    }
}

impl Recorded {
    /// The plan that a results file has as this text.
    #[must_use]
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self::Unknown(Value::from(text)))
    }

    /// The plan of an experiment.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::Single(_) | Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }

    /// The plan of one run or job.
    #[must_use]
    pub fn single(&self) -> Option<&SinglePlan> {
        match self {
            Self::Single(single) => Some(single),
            Self::Plan(_) | Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }

    /// What was put on the server first.
    #[must_use]
    pub fn preparation(&self) -> Option<&PlannedPreparation> {
        match self {
            Self::Plan(plan) => Some(&plan.content.prepare),
            Self::Single(single) => single.prepare.as_ref(),
            Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }

    /// Slower transactions are late, seconds.
    #[must_use]
    pub fn promise_s(&self) -> Option<f64> {
        match self {
            Self::Plan(plan) => plan.content.measure.promise_s,
            Self::Single(single) => single.load.as_ref()?.promise_s,
            Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }
}

impl From<Plan> for Recorded {
    fn from(plan: Plan) -> Self {
        Self::Plan(Box::new(plan))
    }
}

impl From<SinglePlan> for Recorded {
    fn from(plan: SinglePlan) -> Self {
        Self::Single(Box::new(plan))
    }
}

impl From<CalibrationPlan> for Recorded {
    fn from(plan: CalibrationPlan) -> Self {
        Self::Calibration(Box::new(plan))
    }
}

/// One run or job that no file planned: all that makes another one its next round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinglePlan {
    pub target: TargetSpec,
    /// What was put on it first, or the job itself, without the places of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<PlannedPreparation>,
    /// `None` for a job.
    #[serde(flatten)]
    pub load: Option<SingleLoad>,
}

/// The load of a single run of pgbench scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleLoad {
    /// Options of pgbench.
    pub workload: Options,
    /// Name, SHA-256 of the text, and weight of each script.
    pub scripts: Vec<(String, String, u32)>,
    pub clients: u32,
    /// Threads as they were asked for.
    pub threads: u32,
    pub until: SingleEnd,
    /// Load before anything counts, seconds.
    pub warmup_s: f64,
    /// Transactions per second; closed when `None`.
    pub rate: Option<Profile>,
    /// Slower transactions are late, seconds. (Known by its former name in the identity.)
    #[serde(rename = "limit_s")]
    pub promise_s: Option<f64>,
}

/// When a single run ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SingleEnd {
    /// After so many seconds.
    #[serde(rename = "elapsed_s")]
    Elapsed(f64),
    /// After so many transactions of each client.
    PerClient(u64),
    /// When it is told to.
    Told,
}

/// What makes two calibrations rounds of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPlan {
    /// Which driver was asked for.
    pub driver: String,
    /// Length of a run, seconds.
    pub time_s: f64,
    /// Clients of its runs.
    pub clients: Vec<u32>,
    /// Version of the server.
    pub server: String,
    /// Identity of the machine.
    pub host: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of another version was an empty one to some readers, and an error to others.
    #[test]
    fn what_cannot_be_read_is_kept_as_it_is() {
        for text in [r#"{"imported":"a"}"#, r#"{"content":{"seed":1},"later":true}"#, "null", "{}"] {
            let recorded = Recorded::read(text);
            assert_eq!((recorded.plan(), recorded.single()), (None, None), "{text}");
            assert_eq!(serde_json::to_string(&recorded).unwrap(), text);
        }
        assert_eq!(Recorded::read("no JSON"), Recorded::Unknown("no JSON".into()));
    }

    /// What a later pgdyno adds is no reason to know nothing.
    #[test]
    fn unknown_fields_are_passed_over() {
        let plan = Plan { rounds: 4, ..Plan::default() };
        let mut value = serde_json::to_value(&plan).unwrap();
        value["later"] = 1.into();
        value["content"]["later"] = 1.into();
        assert_eq!(Recorded::read(&value.to_string()).plan(), Some(&plan));
    }

    #[test]
    fn single_runs_are_kept_as_earlier_builds_kept_them() {
        let bench = r#"{"clients":2,"limit_s":null,"rate":null,"scripts":[["a.sql","ab",1]],"target":{"Url":{"change_server":false,"place":"host=h","redis":null}},"threads":1,"until":{"elapsed_s":2.0},"warmup_s":0.0,"workload":{"mode":"simple"}}"#;
        let job = r#"{"prepare":{"inputs":{},"osm":null,"pgbench":{"scale":1},"sql":[]},"target":{"Managed":{"extensions":[],"name":"default","redis":false,"version":null}}}"#;
        let calibration = r#"{"clients":[1,4],"driver":"Auto","host":"ab","server":"18.0","time_s":1.0}"#;
        for (text, is_single) in [(bench, true), (job, true), (calibration, false)] {
            let recorded = Recorded::read(text);
            assert_eq!(recorded.single().is_some(), is_single, "{text}");
            assert!(!matches!(recorded, Recorded::Unknown(_)), "{text}");
            assert_eq!(serde_json::to_value(&recorded).unwrap().to_string(), text);
        }
    }
}
