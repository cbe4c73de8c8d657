//! Whether the load generator ended a search: then the server can take at least the result, and perhaps
//! more.

use spec::figures::{self, Figure};
use spec::{AskedLimit, Doubt, Reason, Run, Term};

use super::tried::{are_decisive, kept};

/// From this share on the CPUs of the generator's host have no time left, percent: busy, or taken by the
/// hypervisor.
const HOST_BUSY_PCT: f64 = 95.0;
/// A generator that takes this share of them, percent, takes what a server on the same host lacks: several
/// times the usual width of a limit.
const TAKEN_PCT: f64 = 10.0;

/// What the generator lacked at the lowest rate that does not keep the promise.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorLimit {
    pub rate_per_s: f64,
    /// Trials there that broke the promise and showed the lack.
    pub trials: usize,
    pub broken: usize,
    /// Whether these do not count, since the generator stalled in each.
    pub uncounted: bool,
    pub detail: String,
}

impl GeneratorLimit {
    /// Of an arm's trials at this rate: the counted ones, and the ones in which the generator stalled. `None` unless
    /// most of the broken ones show it.
    pub(super) fn at(asked: &AskedLimit, trials: &[&Run], stalled: &[&Run], rate: f64) -> Option<Self> {
        let there = |run: &&&Run| run.tried_level() == Some(rate);
        let counted = trials.iter().filter(there);
        let broken = counted.clone().filter(|run| !kept(run));
        let stalled_there = stalled.iter().filter(there);
        let stalled = stalled_there.clone().count();
        if are_decisive(stalled, broken.clone().count()) {
            let reason = |run: &&Run| {
                run.doubts.iter().find(|doubt| doubt.reason == Reason::GeneratorStalled).cloned()
            };
            let doubt = stalled_there.clone().find_map(reason)?;
            let all = counted.count() + stalled;
            let detail = doubt.to_string();
            return Some(Self { rate_per_s: rate, trials: stalled, broken: all, uncounted: true, detail });
        }
        let seen: Vec<Option<String>> = broken.map(|run| lacked(asked, run)).collect();
        let trials = seen.iter().flatten().count();
        let detail = seen.iter().flatten().next()?.clone();
        (2 * trials > seen.len()).then_some(Self {
            rate_per_s: rate,
            trials,
            broken: seen.len(),
            uncounted: false,
            detail,
        })
    }
}

/// What the generator lacked in a run that broke the promise, as text; `None` if nothing.
fn lacked(asked: &AskedLimit, run: &Run) -> Option<String> {
    let broken: Vec<&Term> = asked.broken(run).into_iter().map(|(term, _)| term).collect();
    let by_lag = || broken.iter().all(|term| term.is_broken_by_lag(run));
    let doubt = run.generators_doubt(by_lag);
    doubt.map(Doubt::to_string).or_else(|| host_shared(run))
}

/// Whether the generator took CPU time of a host that had no more left.
fn host_shared(run: &Run) -> Option<String> {
    let figure = |of: Figure| run.figures.get(of);
    let busy = figure(figures::CPU_BUSY_PCT)? + figure(figures::STEAL_PCT).unwrap_or_default();
    let taken = figure(figures::CLIENT_CPU_PCT)?;
    (busy >= HOST_BUSY_PCT && taken >= TAKEN_PCT).then(|| {
        format!(
            "the CPUs of this host had no time left for {busy:.0} % of the run, and the load generator took {taken:.0} % of it; run it on another host"
        )
    })
}
