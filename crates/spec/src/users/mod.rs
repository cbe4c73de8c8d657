//! Users as a load: what a session is, and when users come.

mod arrivals;
mod open;
mod session;
mod summary;
mod think;
mod times;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::arrivals::UserArrivals;
pub use self::open::OpenUsers;
pub use self::session::{Session, Visit};
pub use self::summary::{UserSummary, registered, registered_line, registered_words};
pub use self::think::{Centre, MOST_PAUSES, Think, read_pauses};
pub use self::times::SessionTimes;

/// What is wrong with a text about users, phrased to follow the name of the option; advice is on a separate line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n{advice}")]
pub struct UsersError {
    what: String,
    advice: String,
}

impl UsersError {
    fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to write.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.advice
    }
}

/// How long a user keeps a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UserConnection {
    /// From the first session to the end of the run.
    #[default]
    Kept,
    /// Each session makes its own.
    Session,
}

impl UserConnection {
    /// Whether it is the usual way.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        *self == Self::Kept
    }
}

/// Sessions of users in a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedSessions {
    pub session: Session,
    /// Observed pauses by the name of their file, seconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pauses: BTreeMap<String, Vec<f64>>,
    #[serde(default, skip_serializing_if = "UserArrivals::is_spread")]
    pub arrivals: UserArrivals,
    #[serde(default, skip_serializing_if = "UserConnection::is_kept")]
    pub connection: UserConnection,
    /// Sessions of each user, in place of a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
}

impl PlannedSessions {
    /// Mean sum of the think times of a session, seconds: between its steps, and after its last one.
    #[must_use]
    pub fn mean_think_s(&self) -> [f64; 2] {
        let visits = self.session.visits();
        let mean = |visit: &Visit| visit.pauses.iter().map(|think| think.mean_s(&self.pauses)).sum::<f64>();
        let (last, within) = visits
            .split_last()
            .map_or((0.0, 0.0), |(last, before)| (mean(last), before.iter().map(mean).sum()));
        [within, last]
    }
}
