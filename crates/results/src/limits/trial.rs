//! Which trials count, and what each says.

use std::collections::BTreeMap;

use record::{PROMISE_KEPT, Reason, Run};
use stats::Trial;

/// A bad trial under a throttled or stolen processor does not count, but so often at a rate.
const REPEATS: usize = 2;

/// Those that count.
pub(super) fn counted<'r>(trials: &[&'r Run]) -> Vec<&'r Run> {
    let mut disturbed: BTreeMap<u64, usize> = BTreeMap::new();
    let counts = |run: &&&'r Run| {
        let Some(trial) = trial(run) else { return false };
        if trial.good || !is_disturbed(run) {
            return true;
        }
        let before = disturbed.entry(trial.rate.to_bits()).or_default();
        *before += 1;
        *before > REPEATS
    };
    trials.iter().filter(counts).copied().collect()
}

/// What a run says of its rate; `None` where it cannot be believed.
pub(super) fn trial(run: &Run) -> Option<Trial> {
    let kept = run.figures.get(PROMISE_KEPT)?;
    Some(Trial { rate: run.offered_rate?, good: *kept > 0.5 })
}

/// Whether a trial kept the promise.
pub(super) fn kept(run: &Run) -> bool {
    trial(run).is_some_and(|trial| trial.good)
}

fn is_disturbed(run: &Run) -> bool {
    run.doubts.iter().any(|doubt| matches!(doubt.reason, Reason::Throttled | Reason::Steal))
}
