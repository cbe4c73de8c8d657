//! Whether slices are possible, wherever arms run.

use spec::plan::{CACHE, Content, PlannedLoad, Slices};

use crate::factors::PLACEMENT;
use crate::measure::SHORTEST;

pub(super) fn may_be_sliced(content: &Content) -> bool {
    why_never(content).is_none()
}

pub(super) fn why_never(content: &Content) -> Option<String> {
    let measure = &content.measure;
    if measure.slices == Some(Slices::Never) {
        return Some("slices = false".to_owned());
    }
    match &measure.load {
        _ if measure.search.is_some() => Some("a limit is looked for in uncut trials".to_owned()),
        _ if content.factors.contains_key("rate") => Some("arrivals on a schedule cannot be held".to_owned()),
        PlannedLoad::Rate => Some("arrivals on a schedule cannot be held".to_owned()),
        PlannedLoad::Users(_) => Some("users pause by themselves".to_owned()),
        PlannedLoad::Closed if measure.promise_s.is_some() => {
            Some("a promise is judged in uncut runs: a slice empties the queues".to_owned())
        }
        PlannedLoad::Closed if content.factors.contains_key(CACHE) => {
            Some("the server is restarted before each run".to_owned())
        }
        PlannedLoad::Closed if content.varies_storage() => {
            Some("the server of each storage works alone, and is restarted before each run".to_owned())
        }
        PlannedLoad::Closed if content.has_replicas() => {
            Some("replicas go on with what one arm wrote while the other works".to_owned())
        }
        PlannedLoad::Closed if content.compared() == PLACEMENT => {
            Some("the placement is what is compared, and slices need the same for all arms".to_owned())
        }
        PlannedLoad::Closed if measure.duration_s < 2.0 * least_slice_s(content) => {
            Some("runs are shorter than two slices".to_owned())
        }
        PlannedLoad::Closed => None,
    }
}

/// The requested length of a slice, or the minimum, seconds.
fn least_slice_s(content: &Content) -> f64 {
    match content.measure.slices {
        Some(Slices::Length(length_s)) => length_s,
        _ => SHORTEST.as_secs_f64(),
    }
}
