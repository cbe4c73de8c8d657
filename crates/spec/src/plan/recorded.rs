//! The plan that a results file keeps.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Plan, PlannedPreparation, TargetSpec, WorkloadOptions};
use crate::Profile;

/// The plan that a results file keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recorded {
    Plan(Box<Plan>),
    Single(Box<SinglePlan>),
    Calibration(Box<CalibrationPlan>),
    /// Imported runs have no plan, and a plan of another version may not be readable: its JSON is kept
    /// unread.
    Unknown(Value),
}

impl Default for Recorded {
    fn default() -> Self {
        Self::Unknown(Value::Null)
    }
}

impl Recorded {
    /// Parses a stored plan.
    #[must_use]
    pub fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self::Unknown(Value::from(text)))
    }

    /// Whether there is a plan that cannot be read: it is damaged, or of another version. Imported results have
    /// none.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unknown(value) if !value.is_null() && value.get("imported").is_none())
    }

    /// The plan, if this is an experiment.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::Single(_) | Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }

    /// The plan, if this is a single run or job.
    #[must_use]
    pub fn single(&self) -> Option<&SinglePlan> {
        match self {
            Self::Single(single) => Some(single),
            Self::Plan(_) | Self::Calibration(_) | Self::Unknown(_) => None,
        }
    }

    /// The preparation of the server.
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

/// One run or job without an experiment file: two with equal plans are rounds of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinglePlan {
    pub target: TargetSpec,
    /// The preparation, or the job itself, without file paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<PlannedPreparation>,
    /// `None` for a job.
    #[serde(flatten)]
    pub load: Option<SingleLoad>,
}

/// The load of a single run of pgbench scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SingleLoad {
    pub workload: WorkloadOptions,
    /// Name, SHA-256 of the text, and weight of each script.
    pub scripts: Vec<(String, String, u32)>,
    pub clients: u32,
    pub threads: u32,
    pub until: SingleEnd,
    pub warmup_s: f64,
    /// Transactions per second; `None`: closed load.
    pub rate: Option<Profile>,
    /// Slower transactions are late, seconds. (The identity uses its former name.)
    #[serde(rename = "limit_s")]
    pub promise_s: Option<f64>,
}

/// When a single run ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SingleEnd {
    #[serde(rename = "elapsed_s")]
    Elapsed(f64),
    /// Transactions per client.
    PerClient(u64),
    /// When a stop is requested.
    Told,
}

/// Two calibrations with equal plans are rounds of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPlan {
    pub driver: String,
    pub time_s: f64,
    pub clients: Vec<u32>,
    pub server: String,
    pub host: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some readers took a plan of another version for an empty one, others for an error.
    #[test]
    fn what_cannot_be_read_is_kept_as_it_is() {
        for text in [r#"{"imported":"a"}"#, r#"{"content":{"seed":1},"later":true}"#, "null", "{}"] {
            let recorded = Recorded::read(text);
            assert_eq!((recorded.plan(), recorded.single()), (None, None), "{text}");
            assert_eq!(recorded.is_unreadable(), text.len() > 20 || text == "{}", "{text}");
            assert_eq!(serde_json::to_string(&recorded).unwrap(), text);
        }
        assert_eq!(Recorded::read("no JSON"), Recorded::Unknown("no JSON".into()));
        assert!(Recorded::read("no JSON").is_unreadable());
    }

    /// Fields that a later version adds do not make a plan unreadable.
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
