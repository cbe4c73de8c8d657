//! What users did in a run: a summary of its stored figures.

use super::{OpenUsers, UserArrivals};
use crate::figures;
use crate::run::{OfferedLoad, Run};

const HOUR_S: f64 = 3600.0;
const DAY_HOURS: f64 = 24.0;
/// Fewer sessions that began without an end, or a smaller share of them, may be chance.
const FEWEST_MISSING: u64 = 3;
const MISSING_SHARE: f64 = 0.1;

/// What users did in a run. Sessions that were open at its start + begun = finished + failed + cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserSummary {
    /// Clients: users at a time, or connections for users who come openly.
    pub users: u32,
    /// Length of the measured part, seconds.
    pub seconds: f64,
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
            seconds: run.measured_s,
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

    /// How many users are there at a time: the clients where they are always there, otherwise the active ones.
    #[must_use]
    pub fn present(&self, arrivals: &UserArrivals) -> f64 {
        if arrivals.are_always_there() { f64::from(self.users) } else { self.active }
    }

    /// The arrivals of users who come openly; `None` if they do not.
    #[must_use]
    pub fn open(&self, arrivals: &UserArrivals) -> Option<OpenUsers> {
        arrivals.open_per_s().is_some().then_some(OpenUsers {
            begun: self.begun,
            waiting: self.waiting,
            connections: self.users.into(),
            seconds: self.seconds,
        })
    }

    /// Share by which the sessions that ended are fewer than those that began, from a tenth on, if that is because more
    /// than twice as many were open at the end of the measured part as at its start. The sessions per hour are too
    /// low by about this share: a warm-up would have had users come to their number before.
    #[must_use]
    pub fn missing_ends(&self) -> Option<f64> {
        let ended = self.finished + self.failed;
        let open_at_start = (ended + self.cut).saturating_sub(self.begun);
        let missing = self.begun.saturating_sub(ended);
        let share = missing as f64 / self.begun.max(1) as f64;
        (missing >= FEWEST_MISSING && share >= MISSING_SHARE && 2 * open_at_start < self.cut).then_some(share)
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

/// `30 users: about 600 registered people, …`; `are_active` where users come and go, so that these are a mean.
#[must_use]
pub fn registered_line(users: f64, are_active: bool, active_share: f64) -> String {
    let words = registered_words(users, active_share);
    match are_active {
        true => format!("{users:.1} active users: {words}"),
        false => format!("{}: {words}", crate::count(users.round() as u64, "user")),
    }
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
        assert!(registered_line(2.41, true, 0.05).starts_with("2.4 active users: about 48 registered"));
        assert!(registered_line(7.0, false, 0.05).starts_with("7 users: about 140 registered"));
    }

    #[test]
    fn active_users_are_those_who_are_there() {
        let mut run = crate::fixture::one(9);
        (run.clients, run.measured_s, run.load) = (16, 30.0, OfferedLoad::Users);
        run.figures.set(figures::ACTIVE_USERS_MEAN, 2.5);
        let counts =
            [(figures::SESSIONS_BEGUN, 40), (figures::SESSIONS_FINISHED, 30), (figures::SESSIONS_CUT, 10)];
        run.counts.extend(counts);
        let users = UserSummary::of(&run).unwrap();
        for (arrivals, wanted) in [
            ("together", 16.0),
            ("80 per min", 2.5),
            ("spike 0.1 to 1 for 2s at 9s", 2.5),
            ("up 9s, hold 9s", 2.5),
        ] {
            assert_eq!(users.present(&arrivals.parse().unwrap()), wanted, "{arrivals}");
        }
        assert_eq!(users.missing_ends(), Some(0.25));
        for (begun, finished, cut) in [(40, 37, 3), (17, 15, 2), (40, 32, 20)] {
            let users = UserSummary { begun, finished, cut, ..users };
            assert_eq!(users.missing_ends(), None, "{users:?}");
        }
    }
}
