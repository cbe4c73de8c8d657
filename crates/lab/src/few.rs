//! Whether runs have enough transactions to be judged: reported before the first run if the rate is known,
//! else after it.

use spec::plan::{Plan, PlannedLoad, PlannedRun};
use spec::{Reason, Run, count, figures};
use stats::TooFew;

use crate::validity::FEW;

/// Target, as a multiple of the required transactions: speed varies from run to run.
const AMPLE: f64 = 1.5;

/// Lines on a plan with known rates: which offer too few transactions for the p99 that is compared.
pub(crate) fn planned(plan: &Plan) -> Vec<String> {
    let measure = &plan.content.measure;
    if plan.content.compare.is_none() || measure.load != PlannedLoad::Rate || measure.search.is_some() {
        return Vec::new();
    }
    let of = |run: &PlannedRun| {
        let rate = run.rate.filter(|_| !run.is_job() && !run.beside)?;
        let few = for_p99((rate * measure.duration_s) as u64)?;
        let what = format!("{} at {rate}/s", run.workload);
        Some(told(&what, &few.to_string(), longer(few.needed, few.count)))
    };
    let mut lines: Vec<String> = plan.runs.iter().filter_map(of).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// A note on a finished run with too few transactions to be judged.
pub(crate) fn seen(run: &Run, compares: bool) -> Option<String> {
    let done = run.count(figures::OK) + run.count(figures::LATE);
    if run.doubts.iter().any(|doubt| doubt.reason == Reason::TooShort) {
        let why = format!("{} in a run, at least {FEW} are needed", count(done, "transaction"));
        return Some(told(&run.workload, &why, longer(FEW, done)));
    }
    // Response times decide where a schedule or think times set the throughput.
    let few = for_p99(run.response().count()).filter(|_| compares && run.is_paced() && !run.is_sliced())?;
    Some(told(&run.workload, &few.to_string(), longer(few.needed, few.count)))
}

fn for_p99(count: u64) -> Option<TooFew> {
    TooFew::of(0.99, count)
}

fn longer(needed: u64, count: u64) -> f64 {
    AMPLE * needed as f64 / count.max(1) as f64
}

fn told(what: &str, why: &str, times: f64) -> String {
    let times = times.ceil();
    format!("{what}: {why}; runs {times} times as long would have enough (-T, or duration in a file)")
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, RunKey, RunKind};

    use super::*;

    fn run(ok: u64) -> Run {
        let key = RunKey { workload: "slow".into(), factors: [].into(), arm: None, round: 1 };
        Run { counts: [(figures::OK, ok)].into(), ..Run::new(RunKind::Client, key) }
    }

    /// It was not reported before all rounds were measured.
    #[test]
    fn runs_that_are_too_short_are_told_after_the_first() {
        assert_eq!(seen(&run(4), true), None, "what counts is the verdict of the run");
        let doubt = Doubt { reason: Reason::TooShort, detail: String::new() };
        let short = Run { doubts: vec![doubt], ..run(4) };
        let wanted = "slow: 4 transactions in a run, at least 30 are needed; runs 12 times as long would have enough \
                      (-T, or duration in a file)";
        assert_eq!(seen(&short, false).as_deref(), Some(wanted));
    }

    #[test]
    fn open_loads_need_enough_for_the_p99_that_is_compared() {
        let mut open = Run { load: spec::OfferedLoad::Rate, ..run(100) };
        assert!(seen(&open, true).unwrap().starts_with("slow: too few for p99: 0 of at least 1,000"));
        assert_eq!(seen(&open, false), None);
        open.load = spec::OfferedLoad::Closed;
        assert_eq!(seen(&open, true), None);
    }
}
