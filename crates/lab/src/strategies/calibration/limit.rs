//! The highest rate at which the schedule is kept, the thread has time left and no queue grows: by the rules
//! of all runs, and as well as this host can, whose CPUs may wake up later than the rules allow.

use std::time::Duration;

use spec::{Doubt, Reason, Run, figures};

use super::bottleneck::limited_by;
use crate::plan::calibration::{AROUND_TRIAL, LAG_RATE};
use crate::strategies::search::Search;
use crate::validity::{HOST_FACTOR, LAG_US};

/// The limit of this host.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The run of the highest rate that was clean by the rules of all runs.
    pub clean: Option<Run>,
    /// Why there is none, as text; empty when there is one.
    pub no_clean: String,
    /// The run of the highest rate that was kept as well as the host can: clean, or late only within
    /// [`Self::allowed_us`].
    pub kept: Option<Run>,
    /// How late 1 % of the arrivals may start there, µs: [`HOST_FACTOR`] times their lag with nothing to do.
    /// If the rules allow more, they apply.
    pub allowed_us: f64,
    /// Lowest higher rate that was not kept; `None` when the time ended before one was found.
    pub next: Option<f64>,
    pub why: String,
    pub limited_by: String,
}

/// The trials, one after another, until both rates are found or the time is over.
pub(super) struct Trials {
    search: Search,
    /// Whether the kept rate is found, and `search` continues for the clean one.
    for_clean: bool,
    /// Start lag of 1 % of the arrivals with nothing to do, µs.
    idle_us: f64,
    left: Duration,
    kept: Found,
    clean: Found,
}

#[derive(Default)]
struct Found {
    best: Option<Run>,
    bad: Vec<Run>,
}

impl Found {
    fn saw(&mut self, run: &Run, good: bool) {
        if !good {
            self.bad.push(run.clone());
        } else if self.best.as_ref().is_none_or(|best| run.offered_rate > best.offered_rate) {
            self.best = Some(run.clone());
        }
        // A failed try of a rate that later proves good means nothing.
        let best = self.best.as_ref().and_then(|best| best.offered_rate);
        self.bad.retain(|bad| bad.offered_rate > best);
    }

    fn bad(&self) -> Option<&Run> {
        let rate = |run: &Run| run.offered_rate.unwrap_or_default();
        self.bad.iter().rev().min_by(|a, b| rate(a).total_cmp(&rate(b)))
    }

    fn search(&self) -> Search {
        let rate = |run: &Run| run.offered_rate;
        Search::between(self.best.as_ref().and_then(rate), self.bad().and_then(rate))
    }
}

impl Trials {
    /// Trials that take about `time`; with nothing to do, 1 % of the arrivals start `idle_us` late.
    pub(super) fn new(idle_us: f64, time: Duration) -> Self {
        // Retries, and the second rate, may need more than planned; at most half as much again.
        let left = time.mul_f64(1.5);
        let (kept, clean) = Default::default();
        Self { search: Search::from(LAG_RATE), for_clean: false, idle_us, left, kept, clean }
    }

    /// Rate of the next trial, and whether it was tried before; `None` at the end.
    pub(super) fn next(&self) -> Option<(f64, bool)> {
        self.search.next().filter(|_| !self.left.is_zero())
    }

    pub(super) fn saw(&mut self, run: &Run) {
        self.left = self.left.saturating_sub(Duration::from_secs_f64(run.measured_s) + AROUND_TRIAL);
        // A run with a stalled generator does not count for its rate.
        if run.doubts.iter().any(|doubt| doubt.reason == Reason::GeneratorStalled) {
            return;
        }
        let (clean, kept) = (is_clean(run), self.is_kept(run));
        self.clean.saw(run, clean);
        self.kept.saw(run, kept);
        self.search.saw(if self.for_clean { clean } else { kept });
        if !self.for_clean && self.search.next().is_none() && !self.is_hopeless() {
            self.for_clean = true;
            self.search = self.clean.search();
        }
    }

    pub(super) fn words(&self, run: &Run) -> String {
        let verdict = match (is_clean(run), self.is_kept(run)) {
            (true, _) => "clean".to_owned(),
            (false, true) => format!("as well as this host can; {}", reasons(run)),
            (false, false) => reasons(run),
        };
        format!("{}/s: {verdict}", run.offered_rate.unwrap_or_default())
    }

    pub(super) fn into_limit(self, cores: u32) -> Limit {
        let bad = self.kept.bad();
        let limited_by = match bad {
            Some(run) => limited_by(run, cores),
            None => "nothing that was found: the time was over first".to_owned(),
        };
        Limit {
            next: bad.and_then(|run| run.offered_rate),
            why: bad.map(reasons).unwrap_or_default(),
            no_clean: self.no_clean(),
            allowed_us: self.allowed_us(),
            clean: self.clean.best,
            kept: self.kept.best,
            limited_by,
        }
    }

    fn allowed_us(&self) -> f64 {
        self.idle_us * HOST_FACTOR
    }

    /// Whether the host, with nothing to do, cannot meet the requirement of a clean run under load, and never
    /// did.
    fn is_hopeless(&self) -> bool {
        self.clean.best.is_none() && self.idle_us > LAG_US
    }

    fn no_clean(&self) -> String {
        match self.clean.bad() {
            _ if self.clean.best.is_some() => String::new(),
            _ if self.is_hopeless() => format!(
                "this host wakes up too late for it: with nothing to do, 1 % of the arrivals start more than {:.2} ms late ({LAG_US:.0} µs are in order)",
                self.idle_us / 1e3
            ),
            Some(run) => format!("at {}/s {}", run.offered_rate.unwrap_or_default(), reasons(run)),
            None => "the time was over first".to_owned(),
        }
    }

    /// Whether the generator did what this host allows.
    fn is_kept(&self, run: &Run) -> bool {
        let lag_us = run.figures.get(figures::START_LAG_P99_US).unwrap_or(f64::INFINITY);
        run.doubts.iter().all(|doubt| match doubt.reason {
            Reason::ScheduleLate => lag_us <= self.allowed_us(),
            reason => is_the_hosts(reason),
        })
    }
}

/// Whether the generator did what was requested: by the rules of all runs.
fn is_clean(run: &Run) -> bool {
    run.doubts.iter().all(|doubt| is_the_hosts(doubt.reason))
}

/// Whether a doubt is unrelated to the generator.
fn is_the_hosts(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Steal | Reason::Unsteady | Reason::Throttled | Reason::OtherPrograms | Reason::OtherPgdyno
    )
}

fn reasons(run: &Run) -> String {
    let words: Vec<_> = run.doubts.iter().map(Doubt::to_string).collect();
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, Validity};

    use super::*;
    use crate::strategies::calibration::tests;

    const TIME: Duration = Duration::from_secs(9);

    /// A run at this rate, with this lag of 1 % of its arrivals and this doubt.
    fn run(rate: f64, lag_us: f64, reason: Option<Reason>) -> Run {
        let mut run = tests::run(rate);
        run.measured_s = 0.25;
        run.figures.set(figures::START_LAG_P99_US, lag_us);
        let late = (lag_us > LAG_US).then_some(Reason::ScheduleLate);
        run.doubts.extend(late.into_iter().chain(reason).map(|reason| Doubt { reason, detail: "so".into() }));
        run.validity = if run.doubts.is_empty() { Validity::Valid } else { Validity::Suspect };
        run
    }

    /// The limit of a host with this lag at each rate and trial.
    fn limit_of(idle_us: f64, lag_us: impl Fn(f64, usize) -> f64) -> (Limit, usize) {
        let mut trials = Trials::new(idle_us, TIME);
        let mut count = 0;
        while let Some((rate, _)) = trials.next() {
            count += 1;
            assert!(count < 60, "it does not end");
            // Steal is not caused by the generator.
            trials.saw(&run(rate, lag_us(rate, count), Some(Reason::Steal)));
        }
        (trials.into_limit(2), count)
    }

    fn rate(run: &Option<Run>) -> Option<f64> {
        run.as_ref().and_then(|run| run.offered_rate)
    }

    #[test]
    fn on_a_punctual_host_both_rates_are_the_same_and_one_search_is_enough() {
        // Fails once on the way up, and once on the way back.
        let lag = |rate, count| if rate > 30_000.0 || [2, 7].contains(&count) { 500.0 } else { 60.0 };
        let (limit, count) = limit_of(40.0, lag);
        let (clean, next) = (rate(&limit.clean).unwrap(), limit.next.unwrap());
        assert!(clean <= 30_000.0 && next > 30_000.0 && next / clean < 1.05, "{clean} {next}");
        assert_eq!(rate(&limit.kept), Some(clean));
        assert!(limit.why.starts_with("schedule late: so") && limit.no_clean.is_empty(), "{limit:?}");
        assert!(count < 16, "{count} trials");
    }

    #[test]
    fn a_trial_in_which_the_generator_was_stopped_is_neither_good_nor_bad() {
        let mut trials = Trials::new(40.0, TIME);
        let (first, left) = (trials.next().unwrap().0, trials.left);
        trials.saw(&run(first, 60.0, Some(Reason::GeneratorStalled)));
        assert_eq!(trials.next().unwrap().0, first, "the same rate again");
        assert!(trials.left < left, "and it took its time");
        let limit = trials.into_limit(2);
        assert!(limit.kept.is_none() && limit.next.is_none() && limit.clean.is_none(), "{limit:?}");
    }

    #[test]
    fn what_the_host_costs_is_told_apart_from_what_the_load_costs() {
        // Never clean, because of the host; at 40,000/s the load begins to matter.
        let (limit, _) = limit_of(150.0, |rate, _| if rate > 40_000.0 { 400.0 } else { 250.0 });
        let kept = rate(&limit.kept).unwrap();
        assert!((38_000.0..=40_000.0).contains(&kept) && limit.next.unwrap() > 40_000.0, "{kept}");
        assert_eq!((rate(&limit.clean), limit.allowed_us), (None, 300.0));
        assert!(
            limit.no_clean.contains("more than 0.15 ms late (100 µs are in order)"),
            "{}",
            limit.no_clean
        );
    }

    #[test]
    fn a_host_can_be_in_order_up_to_a_lower_rate_or_only_while_it_is_busy() {
        let (limit, _) = limit_of(90.0, |rate, _| if rate > 40_000.0 { 400.0 } else { 80.0 + rate / 200.0 });
        let (clean, kept) = (rate(&limit.clean).unwrap(), rate(&limit.kept).unwrap());
        assert!((3_800.0..=4_000.0).contains(&clean), "{clean}");
        assert!((19_000.0..=20_000.0).contains(&kept), "{kept}");
        let (limit, _) =
            limit_of(150.0, |rate, _| if rate < 15_000.0 { 200.0 } else { 50.0 + rate / 1000.0 });
        let clean = rate(&limit.clean).unwrap();
        assert!((48_000.0..=50_000.0).contains(&clean), "{clean}");
    }

    #[test]
    fn a_run_that_is_more_than_late_is_not_kept() {
        let trials = Trials::new(150.0, TIME);
        assert!(trials.is_kept(&run(1.0, 250.0, None)) && !trials.is_kept(&run(1.0, 310.0, None)));
        assert!(!trials.is_kept(&run(1.0, 250.0, Some(Reason::Overloaded))));
    }

    #[test]
    fn the_time_has_an_end() {
        let mut trials = Trials::new(40.0, TIME);
        assert!(trials.next().is_some());
        trials.saw(&Run { measured_s: 14.0, ..run(LAG_RATE, 500.0, None) });
        assert!(trials.next().is_none());
        let limit = trials.into_limit(2);
        assert_eq!((rate(&limit.kept), limit.next), (None, Some(LAG_RATE)));
    }
}
