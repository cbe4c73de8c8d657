//! One term of a promise: a share of the arrivals done within a time.

use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::figures::{self, Counts};
use crate::run::{Run, ScriptRecord};

/// `p99 < 250ms`, or the equivalent `late(250ms) < 1%`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// `None`: all scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// From intended start to end, µs.
    pub within_us: u64,
    /// Largest share of the offered arrivals that may be slower or never succeed; above 0, below 1.
    pub share: f64,
    pub written: String,
}

/// How a run kept a term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermResult {
    /// Offered but not done in time: slower, failed, skipped, unfinished, or never taken by a client.
    pub bad: f64,
    pub slow: f64,
    pub offered: f64,
    pub share: f64,
}

impl Term {
    /// A term for all scripts as one writes it: `p99 < 250ms`, or with another share `late(250ms) < 5%`.
    #[must_use]
    pub fn words(time: &str, share: f64) -> String {
        match share {
            0.01 => format!("p99 < {time}"),
            share => format!("late({time}) < {}%", (share * 1e8).round() / 1e6),
        }
    }

    /// Whether it applies to a script with this name; the term may name only the file.
    #[must_use]
    pub fn is_of(&self, script: &str) -> bool {
        let file = || std::path::Path::new(script).file_name().and_then(|name| name.to_str());
        self.script.as_deref().is_none_or(|named| named == script || Some(named) == file())
    }

    /// Fewest arrivals that a trial should have, so that a single bad arrival decides nothing: ten times the
    /// reciprocal of the share.
    #[must_use]
    pub fn least_arrivals(&self) -> f64 {
        10.0 / self.share
    }

    /// How this run kept it; `None` if the run has no such script, or nothing was offered.
    #[must_use]
    pub fn kept(&self, run: &Run) -> Option<TermResult> {
        let (counts, slow) = self.seen(run, |script| script.response.count_above(self.within_us * 1000));
        // Scripts do not count arrivals that no client took.
        let arrivals = Arrivals::of(run).filter(|_| self.script.is_none());
        let never = arrivals.map_or(0.0, |arrivals| (arrivals.offered - arrivals.due as f64).max(0.0));
        let undone = (counts.failed + counts.skipped + counts.unfinished) as f64 + never;
        self.of(slow, undone, counts.due as f64 + never)
    }

    /// The same with service times of started transactions: the result if no arrival had waited for a client.
    #[must_use]
    pub fn kept_in_service(&self, run: &Run) -> Option<TermResult> {
        let (counts, slow) = self.seen(run, |script| script.service.count_above(self.within_us * 1000));
        self.of(slow, counts.failed as f64, (counts.processed() + counts.failed) as f64)
    }

    /// Whether it would hold without the generator's lag. A late thread is late twice: when it starts a
    /// transaction and when it reads the answer.
    #[must_use]
    pub fn is_broken_by_lag(&self, run: &Run) -> bool {
        let lag_us = run.figures.get(figures::START_LAG_P99_US).unwrap_or_default();
        let later = Self { within_us: self.within_us + (2.0 * lag_us) as u64, ..self.clone() };
        let holds = |kept: Option<TermResult>| kept.is_some_and(|kept| kept.holds());
        !holds(self.kept(run)) && (holds(self.kept_in_service(run)) || holds(later.kept(run)))
    }

    fn of(&self, slow: u64, undone: f64, offered: f64) -> Option<TermResult> {
        let slow = slow as f64;
        (offered > 0.0).then_some(TermResult { bad: slow + undone, slow, offered, share: self.share })
    }

    /// Counters of the scripts in question, and the number of slow transactions.
    fn seen(&self, run: &Run, slow: impl Fn(&ScriptRecord) -> u64) -> (Counts, u64) {
        let meant = |script: &&ScriptRecord| self.is_of(&script.name);
        let mut counts = Counts::default();
        let scripts: Vec<_> = run.scripts.iter().filter(meant).collect();
        scripts.iter().for_each(|script| counts.add(&Counts::of(&script.counts)));
        (counts, scripts.into_iter().map(slow).sum())
    }
}

impl TermResult {
    /// Whether few enough were bad.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.bad <= self.share * self.offered
    }

    /// Bad share of the offered arrivals.
    #[must_use]
    pub fn bad_share(&self) -> f64 {
        self.bad / self.offered
    }
}
