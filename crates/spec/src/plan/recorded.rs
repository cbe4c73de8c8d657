//! The plan that a results file keeps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Plan, PlannedPreparation};

/// The plan that a results file keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Recorded {
    Plan(Box<Plan>),
    /// Imported runs have no plan, and a plan of another version may not be readable (single runs and calibrations
    /// had one of their own): its JSON is kept unread.
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

    /// The plan, if it can be read.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Self::Plan(plan) => Some(plan),
            Self::Unknown(_) => None,
        }
    }

    /// The preparation of the server, and of servers with other data by their level; empty without a plan.
    #[must_use]
    pub fn preparations(&self) -> BTreeMap<String, PlannedPreparation> {
        let Self::Plan(plan) = self else { return BTreeMap::new() };
        let of_levels = plan.content.data.iter().map(|(level, own)| (level.clone(), own.clone()));
        of_levels.chain([(String::new(), plan.content.prepare.clone())]).collect()
    }

    /// Slower transactions are late, seconds.
    #[must_use]
    pub fn promise_s(&self) -> Option<f64> {
        match self {
            Self::Plan(plan) => plan.content.measure.promise_s,
            Self::Unknown(_) => None,
        }
    }
}

impl From<Plan> for Recorded {
    fn from(plan: Plan) -> Self {
        Self::Plan(Box::new(plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some readers took a plan of another version for an empty one, others for an error.
    #[test]
    fn what_cannot_be_read_is_kept_as_it_is() {
        for text in [r#"{"imported":"a"}"#, r#"{"content":{"seed":1},"later":true}"#, "null", "{}"] {
            let recorded = Recorded::read(text);
            assert_eq!(recorded.plan(), None, "{text}");
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
}
