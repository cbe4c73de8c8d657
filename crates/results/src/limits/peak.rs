//! Why a closed load did far more than the found limit.

use spec::{AskedLimit, Run, figures};

/// A peak of at most this many times the upper bound needs no explanation: most limits are somewhat below
/// it.
const FAR: f64 = 1.5;

/// A peak far above a limit, with its explanation.
#[derive(Debug, Clone, PartialEq)]
pub struct FarPeak {
    pub times: f64,
    pub why: WhyFar,
}

/// Why clients that wait for each answer do far more than the limit.
#[derive(Debug, Clone, PartialEq)]
pub enum WhyFar {
    /// At that speed they did not keep the promise either.
    BrokenThere {
        term: String,
        bad_pct: f64,
    },
    /// Random arrivals come in bursts, in which the queue is long enough to break the promise.
    Bursts,
    Unknown,
}

impl FarPeak {
    /// Of the run at full speed, under a limit with this upper bound, per second; `None` if the peak is not
    /// far above it.
    #[must_use]
    pub fn of(asked: &AskedLimit, peak: &Run, upper: f64) -> Option<Self> {
        let per_s = peak.figures.get(figures::PEAK_PER_S)?;
        let times = per_s / upper;
        if times <= FAR {
            return None;
        }
        let broken = asked.broken(peak);
        let worst = broken.iter().max_by(|(_, a), (_, b)| a.bad_share().total_cmp(&b.bad_share()));
        let why = match worst {
            Some((term, kept)) => {
                WhyFar::BrokenThere { term: term.written.clone(), bad_pct: 100.0 * kept.bad_share() }
            }
            None if bursts_explain(asked, peak, per_s, upper) => WhyFar::Bursts,
            None => WhyFar::Unknown,
        };
        Some(Self { times, why })
    }
}

/// Whether the waits of random arrivals at this rate can break the promise: in a queue before a server that
/// does `peak` a second, the positive waits are about exponential, with the mean (1 + cv²) / 2 / (peak −
/// rate) (Kingman's approximation, where every arrival waits).
fn bursts_explain(asked: &AskedLimit, run: &Run, peak: f64, rate: f64) -> bool {
    let mut service = stats::Histogram::new();
    run.scripts.iter().for_each(|script| service.add(&script.response));
    let (Some(mean), Some(stddev)) = (service.mean_ns(), service.stddev_ns()) else { return false };
    let spread = (1.0 + (stddev / mean).powi(2)) / 2.0;
    asked.promise.iter().any(|term| {
        let mut own = stats::Histogram::new();
        let scripts = run.scripts.iter().filter(|script| term.is_of(&script.name));
        scripts.for_each(|script| own.add(&script.response));
        let took_s = own.quantile_ns(1.0 - term.share).unwrap_or_default() as f64 / 1e9;
        let waits_s = spread / (peak - rate) * (1.0 / term.share).ln();
        took_s + waits_s > term.within_us as f64 / 1e6
    })
}
