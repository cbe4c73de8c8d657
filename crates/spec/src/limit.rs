//! The search for a limit: its options, and how a trial is judged.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stats::LimitGoal;

use crate::arrivals::{Arrivals, KEPT_UP};
use crate::figures;
use crate::profile::Profile;
use crate::run::Run;
use crate::term::{Term, TermResult};

/// The options of a search for the highest rate at which all terms of a promise hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedLimit {
    /// At least one.
    pub promise: Vec<Term>,
    /// Lowest rate tried, per second; `None`: a share of the peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
    /// Highest rate tried, per second; `None`: somewhat more than the peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// Width of the final interval, a share: (upper − lower) / upper.
    pub width: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grow_clients: bool,
    /// Numbers of users are tried in place of rates, beginning with about this one; `lowest` and `highest` are then
    /// numbers of users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u32>,
    /// Profiles, as shares of the limit, under which the limit is confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirm: Vec<Profile>,
}

/// Whether a trial kept a promise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedTrial {
    /// Whether all terms held without an overload.
    pub kept: bool,
    /// Bad share of the offered arrivals, for the term with the worst result.
    pub bad_share: f64,
    /// Share of the offered arrivals that still waited at the end, were skipped or never taken; `None` within
    /// the allowed share.
    pub left_share: Option<f64>,
    /// Whether the promise would hold with service times: arrivals waited for a client.
    pub by_clients: bool,
}

impl AskedLimit {
    /// The precision at which a search ends.
    #[must_use]
    pub fn goal(&self) -> LimitGoal {
        LimitGoal { width: self.width, ..LimitGoal::default() }
    }

    /// Whether numbers of users are tried.
    #[must_use]
    pub fn are_users(&self) -> bool {
        self.users.is_some()
    }

    /// Whether the search itself varies this factor.
    #[must_use]
    pub fn varies(&self, factor: &str) -> bool {
        factor == "rate" || (factor == "clients" && (self.grow_clients || self.are_users()))
    }

    /// What is tried, as text: `2676/s`, `30 users`.
    #[must_use]
    pub fn level_words(&self, level: f64) -> String {
        match self.are_users() {
            true => crate::count(level.round() as u64, "user"),
            false => format!("{level}/s"),
        }
    }

    /// The promise as written by the user.
    #[must_use]
    pub fn words(&self) -> String {
        let written: Vec<&str> = self.promise.iter().map(|term| term.written.as_str()).collect();
        written.join(" and ")
    }

    /// The longest time of all terms: slower transactions are late by every term.
    #[must_use]
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.promise.iter().map(|term| term.within_us).max().unwrap_or_default())
    }

    /// The terms that a run broke, and how. Terms on scripts that the run does not have are left out.
    #[must_use]
    pub fn broken(&self, run: &Run) -> Vec<(&Term, TermResult)> {
        let kept = self.promise.iter().filter_map(|term| Some((term, term.kept(run)?)));
        kept.filter(|(_, kept)| !kept.holds()).collect()
    }

    /// Judges a run; `None` if nothing was offered.
    #[must_use]
    pub fn judge(&self, run: &Run) -> Option<JudgedTrial> {
        let kept: Vec<TermResult> = self.promise.iter().filter_map(|term| term.kept(run)).collect();
        let worst =
            kept.iter().max_by(|a, b| (a.bad_share() / a.share).total_cmp(&(b.bad_share() / b.share)))?;
        let left_share = left_share(run);
        let holds = kept.iter().all(TermResult::holds) && left_share.is_none();
        let in_service: Vec<TermResult> =
            self.promise.iter().filter_map(|term| term.kept_in_service(run)).collect();
        let in_service = !in_service.is_empty() && in_service.iter().all(TermResult::holds);
        Some(JudgedTrial {
            kept: holds,
            bad_share: worst.bad_share(),
            left_share,
            // Every user has a client.
            by_clients: !holds && in_service && !self.are_users(),
        })
    }
}

/// Share of the arrivals not started in time, if above both the [`KEPT_UP`] limit and the number of clients:
/// a growing queue breaks every promise in the end.
fn left_share(run: &Run) -> Option<f64> {
    let arrivals = Arrivals::of(run)?;
    let untaken = (arrivals.offered - arrivals.due as f64).max(0.0);
    let left = (run.count(figures::DRAINED) + arrivals.skipped + arrivals.unfinished) as f64 + untaken;
    let is_too_much = left > f64::from(run.clients).max((1.0 - KEPT_UP) * arrivals.offered);
    is_too_much.then(|| left / arrivals.offered)
}

#[cfg(test)]
mod tests {
    use stats::Histogram;

    use super::*;
    use crate::run::{OfferedLoad, ScriptRecord};

    fn asked(text: &str, within_us: u64, share: f64) -> AskedLimit {
        let term = Term { script: None, within_us, share, written: text.into() };
        AskedLimit {
            promise: vec![term],
            lowest: None,
            highest: None,
            width: 0.03,
            grow_clients: false,
            users: None,
            confirm: Vec::new(),
        }
    }

    fn trial() -> Run {
        let run = crate::fixture::one(200);
        let mut times = Histogram::new();
        (0..200).for_each(|_| times.record(1_000_000));
        let script = ScriptRecord {
            name: "lookup.sql".into(),
            text_hash: String::new(),
            weight: 1,
            part: None,
            counts: run.counts.clone(),
            response: times.clone(),
            service: times,
        };
        let (scripts, offered_rate) = (vec![script], Some(20.0));
        Run { load: OfferedLoad::Rate, offered_rate, measured_s: 10.0, clients: 2, scripts, ..run }
    }

    #[test]
    fn what_never_succeeded_counts_against_it() {
        let within = asked("p90 < 1s", 1_000_000, 0.1);
        let good = trial();
        let judged = within.judge(&good).unwrap();
        assert!(judged.kept && judged.bad_share == 0.0 && !judged.by_clients, "{judged:?}");
        for what in [figures::FAILED, figures::SKIPPED, figures::UNFINISHED] {
            let mut run = trial();
            for counts in [&mut run.counts, &mut run.scripts[0].counts] {
                counts.extend([(what, 30), (figures::OK, 170), (figures::DUE, 200)]);
            }
            let judged = within.judge(&run).unwrap();
            assert!(!judged.kept && (judged.bad_share - 0.15).abs() < 1e-9, "{what:?}: {judged:?}");
            assert_eq!(within.broken(&run).len(), 1, "{what:?}");
        }
    }

    #[test]
    fn a_queue_that_grows_breaks_every_promise() {
        let median = asked("p50 < 1h", 3_600_000_000, 0.5);
        let mut run = trial();
        run.counts.set(figures::DRAINED, 20);
        let judged = median.judge(&run).unwrap();
        assert!(!judged.kept && judged.left_share == Some(0.1), "{judged:?}");
        run.counts.set(figures::DRAINED, 2);
        let judged = median.judge(&run).unwrap();
        assert!(judged.kept && judged.left_share.is_none(), "{judged:?}");
    }

    #[test]
    fn what_waits_for_a_client_is_told_from_what_the_server_takes() {
        let within = asked("p99 < 5ms", 5_000, 0.01);
        let mut run = trial();
        (0..10).for_each(|_| run.scripts[0].response.record(9_000_000));
        let judged = within.judge(&run).unwrap();
        assert!(!judged.kept && judged.by_clients, "{judged:?}");
        (0..10).for_each(|_| run.scripts[0].service.record(9_000_000));
        assert!(!within.judge(&run).unwrap().by_clients);
    }

    #[test]
    fn a_term_of_one_script_is_of_its_transactions_alone() {
        let mut run = trial();
        let mut other = run.scripts[0].clone();
        other.name = "report.sql".into();
        other.response = Histogram::new();
        (0..200).for_each(|_| other.response.record(40_000_000));
        run.scripts.push(other);
        let of = |script: &str| {
            let term =
                Term { script: Some(script.into()), ..asked("p99 < 5ms", 5_000, 0.01).promise.remove(0) };
            AskedLimit { promise: vec![term], ..asked("p99 < 5ms", 5_000, 0.01) }
                .judge(&run)
                .map(|judged| judged.kept)
        };
        assert_eq!((of("lookup.sql"), of("report.sql"), of("none.sql")), (Some(true), Some(false), None));
    }

    #[test]
    fn a_trial_has_ten_times_what_one_bad_one_may_be_of() {
        let one = asked("p99 < 1s", 1_000_000, 0.01);
        assert!((one.promise[0].least_arrivals() - 1000.0).abs() < 1e-9);
        assert_eq!(one.longest(), Duration::from_secs(1));
    }
}
