//! Determines the number of backends for "all": as requested, one per CPU, or as many as compute more than
//! half of them.

use std::time::Duration;

use spec::Error;

use super::{ProbeSetup, ProbeWork};
use crate::probe::figures::ProbeFigure;
use crate::probe::record::ProbedFigure;
use crate::probe::spread::Spread;

/// If the CPUs are unknown, twice the backends must compute this much more to be worth it.
const WORTH: f64 = 1.05;
/// Most backends tried by growing.
const GROWN: u32 = 256;

/// The figure of all backends, compared with the figure of one.
pub(super) fn all(
    work: &mut ProbeWork<'_>,
    figure: &ProbeFigure,
    one: Option<&ProbedFigure>,
) -> Result<ProbedFigure, Error> {
    let one = one.and_then(ProbedFigure::spread);
    let Some(time) = work.time(figure.share) else { return Ok(work.too_late(figure)) };
    // Our own connection is one of the used ones.
    let free = work.server.free_connections.saturating_sub(1).max(1);
    let (backends, whose) = match (work.options.backends, work.host.cpus) {
        (Some(asked), _) => (asked, "as asked for"),
        (None, Some(cpus)) if cpus <= free => (cpus, "one for each CPU"),
        (None, Some(_)) => (free, "all that the server has connections for"),
        (None, None) => return grown(work, figure, one, (time, free)),
    };
    work.backends = Some(backends);
    let mut found = of(work, figure, backends, time)?;
    let gain =
        one.zip(found.spread()).map(|(one, all)| format!(": {:.2} times one", all.median / one.median));
    found.detail =
        format!("{}, {whose}{}", spec::count(backends.into(), "backend"), gain.unwrap_or_default());
    Ok(found)
}

/// Doubles the backends until that adds nothing.
fn grown(
    work: &mut ProbeWork<'_>,
    figure: &ProbeFigure,
    one: Option<Spread>,
    (time, free): (Duration, u32),
) -> Result<ProbedFigure, Error> {
    let mut best = (1, one.map_or(0.0, |one| one.median), None);
    let mut why = "more were not tried".to_owned();
    for backends in (0..).map(|power| 1 << power).take_while(|backends| *backends <= GROWN) {
        if backends > free {
            why = format!("the server has no connections for {backends}");
            break;
        }
        // A fifth of the time for each: few servers need more steps.
        let Some(step) = work.time(1.0).map(|left| left.min(time / 5)) else { break };
        let found = of(work, figure, backends, step)?;
        let Some(spread) = found.spread() else {
            if best.2.is_none() {
                return Ok(found);
            }
            why = format!("{backends} were not available");
            break;
        };
        if best.2.is_some() && spread.median < best.1 * WORTH {
            why = format!("{backends} added nothing");
            break;
        }
        best = (backends, spread.median, Some(found));
    }
    let (backends, _, found) = best;
    work.backends = Some(backends);
    let Some(found) = found else { return Ok(work.too_late(figure)) };
    let detail = format!("{}; the host's CPUs are not known, {why}", spec::count(backends.into(), "backend"));
    Ok(ProbedFigure { detail, ..found })
}

fn of(
    work: &ProbeWork<'_>,
    figure: &ProbeFigure,
    backends: u32,
    time: Duration,
) -> Result<ProbedFigure, Error> {
    let setup = ProbeSetup { backends: Some(backends), ..ProbeSetup::default() };
    work.found(figure, work.shots_of_all(figure, &setup, time), &setup)
}
