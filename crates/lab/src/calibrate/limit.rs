//! The highest rate at which the schedule is kept, the thread has time left and nothing piles up.

use std::time::{Duration, Instant};

use results::{Reason, Run};

use super::asked::Asked;
use super::drive::Shape;
use super::search::Search;
use super::{LAG_CLIENTS, LAG_RATE};

/// How many trials the time is cut for; most searches need fewer.
const TRIALS: f64 = 18.0;
/// What a trial takes beside its measured part.
const AROUND: Duration = Duration::from_millis(150);
/// Shortest and longest trial.
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// A thread busier than this is all but saturated; the machine's CPUs likewise. Percent.
const FULL_PCT: f64 = 85.0;

/// Where this host ends.
#[derive(Debug, Clone)]
pub struct Limit {
    /// Highest clean rate, transactions per second; `None` when not even the lowest one tried was clean.
    pub rate: Option<f64>,
    /// Its run.
    pub best: Option<Run>,
    /// Lowest unclean rate above it; `None` when the time was over before one was found.
    pub next: Option<f64>,
    /// Why that one was unclean.
    pub why: String,
    /// What limits, in words.
    pub limited_by: String,
}

/// The trials, one after another, until the limit is found or the time is over.
pub(super) struct Trials {
    search: Search,
    length: Duration,
    deadline: Instant,
    best: Option<Run>,
    unclean: Option<Run>,
}

impl Trials {
    pub(super) fn new(time: Duration, now: Instant) -> Self {
        let length = time.div_f64(TRIALS).saturating_sub(AROUND).clamp(SHORTEST, LONGEST);
        // Retries may need more than was planned for; half as much again is the end.
        let deadline = now + time.mul_f64(1.5);
        Self { search: Search::from(LAG_RATE), length, deadline, best: None, unclean: None }
    }

    /// The next trial; `None` when there is no more.
    pub(super) fn next(&self, now: Instant) -> Option<Shape<'static>> {
        let (rate, again) = self.search.next().filter(|_| now < self.deadline)?;
        let part = if again { "rate search, second try" } else { "rate search" };
        let (asked, rate) = (Asked::SinkSimple, Some(rate));
        Some(Shape { asked, clients: LAG_CLIENTS, rate, part, length: self.length })
    }

    /// What a trial gave.
    pub(super) fn saw(&mut self, run: Run) {
        let clean = is_clean(&run);
        self.search.saw(clean);
        let rate = run.offered_rate;
        if clean {
            // An unlucky try of a rate that is clean after all says nothing.
            self.unclean = self.unclean.take().filter(|unclean| unclean.offered_rate > rate);
            if self.best.as_ref().is_none_or(|best| rate > best.offered_rate) {
                self.best = Some(run);
            }
        } else if self.unclean.as_ref().is_none_or(|unclean| rate <= unclean.offered_rate) {
            self.unclean = Some(run);
        }
    }

    pub(super) fn into_limit(self, cores: u32) -> Limit {
        let rate = self.best.as_ref().and_then(|run| run.offered_rate);
        let limited_by = match &self.unclean {
            Some(run) => limited_by(run, cores),
            None => "nothing that was found: the time was over first".to_owned(),
        };
        Limit {
            rate,
            best: self.best,
            next: self.unclean.as_ref().and_then(|run| run.offered_rate),
            why: self.unclean.as_ref().map(reasons).unwrap_or_default(),
            limited_by,
        }
    }
}

/// Whether the generator did what was asked of it: by the rules of all runs.
fn is_clean(run: &Run) -> bool {
    run.doubts
        .iter()
        .all(|doubt| matches!(doubt.reason, Reason::Steal | Reason::Unsteady | Reason::Throttled))
}

fn reasons(run: &Run) -> String {
    let words: Vec<_> =
        run.doubts.iter().map(|doubt| format!("{}: {}", doubt.reason.text(), doubt.detail)).collect();
    words.join("; ")
}

/// A trial in one line.
pub(super) fn words(run: &Run) -> String {
    let verdict = if is_clean(run) { "clean".to_owned() } else { reasons(run) };
    format!("{}/s: {verdict}", run.offered_rate.unwrap_or_default())
}

/// What stood in the way at an unclean rate: by who had no time left.
fn limited_by(run: &Run, cores: u32) -> String {
    let figure = |name: &str| run.figures.get(name).copied().unwrap_or(0.0);
    let thread = figure("client_busiest_thread_pct");
    let sink = if run.measured_s > 0.0 { 100.0 * figure("server_cpu_s") / run.measured_s } else { 0.0 };
    let machine = figure("cpu_busy_pct");
    let others = machine - (thread + sink) / f64::from(cores.max(1));
    if thread > FULL_PCT {
        format!("the load thread, busy {thread:.0} % of the time: more threads (-j) can do more")
    } else if sink > FULL_PCT {
        format!("the sink, busy {sink:.0} % of the time; the load thread was so {thread:.0} %")
    } else if machine > FULL_PCT && others > machine / 2.0 {
        format!("what else runs here: it takes {others:.0} % of the CPUs; calibrate again when it is over")
    } else if machine > FULL_PCT {
        format!(
            "the {cores} CPUs, which load, sink and all else here share: busy {machine:.0} % (load thread {thread:.0} %, sink {sink:.0} %)"
        )
    } else {
        format!(
            "how soon the kernel lets the load thread run: it was busy only {thread:.0} %, the sink {sink:.0} %, the CPUs {machine:.0} %"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::{Doubt, Validity};

    use super::*;
    use crate::execute::planned;
    use crate::plan::PlannedRun;

    fn run(rate: f64, reason: Option<Reason>) -> Run {
        let cell = PlannedRun {
            sequence: 0,
            round: 1,
            workload: "w".into(),
            factors: BTreeMap::new(),
            arm: None,
            position_in_pair: 1,
            seed: 1,
            clients: 1,
            threads: 1,
            rate: Some(rate),
            beside: false,
        };
        let mut run = planned(&cell, "rate", 0.0, 1);
        run.measured_s = 1.0;
        run.doubts.extend(reason.map(|reason| Doubt { reason, detail: "so".into() }));
        run.validity = if run.doubts.is_empty() { Validity::Valid } else { Validity::Suspect };
        run
    }

    #[test]
    fn the_last_clean_and_the_first_unclean_rate_are_told() {
        let now = Instant::now();
        let mut trials = Trials::new(Duration::from_secs(9), now);
        let mut count = 0;
        while let Some(shape) = trials.next(now) {
            let rate = shape.rate.unwrap();
            count += 1;
            // Unlucky once, at 10,000/s; steal is no fault of the generator.
            let reason = match rate {
                rate if rate > 30_000.0 => Some(Reason::ScheduleLate),
                _ if count == 2 => Some(Reason::ScheduleLate),
                _ => Some(Reason::Steal),
            };
            trials.saw(run(rate, reason));
        }
        let limit = trials.into_limit(2);
        let (rate, next) = (limit.rate.unwrap(), limit.next.unwrap());
        assert!(rate <= 30_000.0 && next > 30_000.0 && next / rate < 1.05, "{rate} {next}");
        assert_eq!(limit.why, "schedule late: so");
    }

    #[test]
    fn the_time_has_an_end() {
        let now = Instant::now();
        let trials = Trials::new(Duration::from_secs(9), now);
        assert!(trials.next(now).is_some() && trials.next(now + Duration::from_secs(14)).is_none());
        assert_eq!(trials.into_limit(2).rate, None);
    }

    #[test]
    fn who_had_no_time_left_is_named() {
        let with = |figures: &[(&str, f64)]| {
            let mut run = run(1.0, None);
            run.figures.extend(figures.iter().map(|(name, value)| ((*name).to_owned(), *value)));
            limited_by(&run, 2)
        };
        let busy = ("client_busiest_thread_pct", 95.0);
        assert!(with(&[busy, ("server_cpu_s", 1.0)]).starts_with("the load thread"));
        assert!(with(&[("server_cpu_s", 1.0), ("cpu_busy_pct", 99.0)]).starts_with("the sink"));
        let both = [("cpu_busy_pct", 99.0), ("client_busiest_thread_pct", 80.0), ("server_cpu_s", 0.8)];
        assert!(with(&both).starts_with("the 2 CPUs"));
        assert!(with(&[("cpu_busy_pct", 99.0)]).starts_with("what else runs here"));
        assert!(with(&[]).starts_with("how soon the kernel"));
    }
}
