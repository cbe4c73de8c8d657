//! Between which rates, or numbers of users, a limit is searched.

use spec::{AskedLimit, Profile};
use stats::LimitRange;

/// Without the user's bounds: shares of the peak between which the limit is searched.
const LOWEST: f64 = 0.01;
const HIGHEST: f64 = 1.2;
/// The first highest number of users, as a multiple of the first one tried.
const ABOVE_FIRST: f64 = 4.0;
/// Least arrivals of a trial at the lowest rate, on average, if that follows from the peak. If a promise allows fewer
/// bad ones than one in ten, as many as one bad one may be of.
const LEAST_ARRIVALS: f64 = 10.0;

/// Range of the search, from a peak and how long it was measured.
pub(super) fn range(asked: &AskedLimit, peak: f64, measured_s: Option<f64>) -> Option<LimitRange> {
    let shares = asked.promise.iter().map(|term| 1.0 / term.share);
    let least_arrivals = shares.fold(LEAST_ARRIVALS, f64::max);
    let some_arrivals =
        measured_s.filter(|seconds| *seconds > 0.0).map_or(0.0, |seconds| least_arrivals / seconds);
    let rounded = |rate: f64| format!("{rate:.3e}").parse().unwrap_or(rate);
    let lowest = asked.lowest.unwrap_or_else(|| rounded((LOWEST * peak).max(some_arrivals)));
    let highest = asked.highest.unwrap_or_else(|| rounded(HIGHEST * peak));
    // A single bound of the user may be outside the range that follows from the peak.
    let lowest = if asked.lowest.is_none() { lowest.min(highest / 4.0) } else { lowest };
    let highest = if asked.highest.is_none() { highest.max(4.0 * lowest) } else { highest };
    let [least, most] = Profile::BOUNDS;
    let (lowest, highest) = (lowest.clamp(least, most), highest.clamp(least, most));
    Some(LimitRange { lowest, highest }).filter(|range| range.lowest < range.highest)
}

/// Range of a search for users. It does not depend on what a server accepts, so that it is the same when its runs are
/// read again.
pub(super) fn of_users(asked: &AskedLimit) -> Option<LimitRange> {
    let lowest = asked.lowest.unwrap_or(1.0).max(1.0);
    let first = f64::from(asked.users.unwrap_or(1)).max(lowest);
    let highest = asked.highest.unwrap_or(ABOVE_FIRST * first);
    Some(LimitRange { lowest, highest }).filter(|range| range.lowest < range.highest)
}
