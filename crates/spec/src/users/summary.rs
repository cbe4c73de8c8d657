//! What users did in a run: a summary of its stored figures.

use crate::figures;
use crate::run::{OfferedLoad, Run};

const HOUR_S: f64 = 3600.0;
const DAY_HOURS: f64 = 24.0;

/// What users did in a run. Sessions that were open at its start + begun = finished + failed + cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserSummary {
    /// Clients: users at a time, or connections for users who come openly.
    pub users: u32,
    /// Sessions that ended with their last transaction, per hour.
    pub sessions_per_hour: f64,
    pub transactions_per_hour: f64,
    pub begun: u64,
    pub finished: u64,
    /// Ended with a failed transaction.
    pub failed: u64,
    /// Open at the end of the measured part.
    pub cut: u64,
    /// Users who came openly and found no free connection until the end.
    pub waiting: u64,
    /// Mean number of users in a session.
    pub active: f64,
    /// Mean number of transactions that the server had to answer.
    pub in_flight: f64,
    /// Mean think time, drawn and actual, ms; `None` without think times.
    pub think_wanted_ms: Option<f64>,
    pub think_actual_ms: Option<f64>,
}

impl UserSummary {
    /// The users of a stored run; `None` in other loads, and where sessions were not counted.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let active = run.figures.get(figures::ACTIVE_USERS_MEAN)?;
        if run.load != OfferedLoad::Users || run.measured_s <= 0.0 {
            return None;
        }
        let per_hour = |count: u64| count as f64 / run.measured_s * HOUR_S;
        let finished = run.counts.count(figures::SESSIONS_FINISHED);
        Some(Self {
            users: run.clients,
            sessions_per_hour: per_hour(finished),
            transactions_per_hour: per_hour(run.completed()),
            begun: run.counts.count(figures::SESSIONS_BEGUN),
            finished,
            failed: run.counts.count(figures::SESSIONS_FAILED),
            cut: run.counts.count(figures::SESSIONS_CUT),
            waiting: run.counts.count(figures::USERS_WAITING),
            active,
            in_flight: run.figures.get(figures::IN_FLIGHT_MEAN).unwrap_or_default(),
            think_wanted_ms: run.figures.get(figures::THINK_WANTED_MEAN_MS),
            think_actual_ms: run.figures.get(figures::THINK_ACTUAL_MEAN_MS),
        })
    }

    /// Sessions per day, at this pace.
    #[must_use]
    pub fn sessions_per_day(&self) -> f64 {
        DAY_HOURS * self.sessions_per_hour
    }

    /// Transactions per day, at this pace.
    #[must_use]
    pub fn transactions_per_day(&self) -> f64 {
        DAY_HOURS * self.transactions_per_hour
    }
}

/// How many registered people there are to these users at a time, if this share (0..=1) of them is active.
#[must_use]
pub fn registered(users: f64, active_share: f64) -> f64 {
    users / active_share
}

/// The sentence about registered people, with its assumption.
#[must_use]
pub fn registered_words(users: f64, active_share: f64) -> String {
    let people = registered(users, active_share);
    // More digits would say more than the assumption does.
    let digits = if people >= 100.0 { 10f64.powf(people.log10().floor() - 1.0) } else { 1.0 };
    format!(
        "about {} registered people, assuming that {} % of them are active at a time",
        (people / digits).round() * digits,
        (active_share * 1e4).round() / 1e2
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_people_are_told_with_the_assumption() {
        assert_eq!(
            registered_words(30.0, 0.05),
            "about 600 registered people, assuming that 5 % of them are active at a time"
        );
        assert!(registered_words(137.0, 0.025).starts_with("about 5500 registered"));
        assert!(registered_words(2.0, 0.5).starts_with("about 4 registered"));
    }
}
