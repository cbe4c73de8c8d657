//! Zooms with few requests or none: slow ones get the fewest, so they are named, with what is known of them.

use results::comparison::zooms::{FEW, Which, ZoomComparison};
use spec::TileProbe;

use super::names::{is_of, named, of_several};
use super::{ZoomFigures, ZoomsOfArm, ZoomsOfCell};
use crate::numbers::{counted, latency_ns, latency_us, range_ns};

/// A zoom is remarked if its tiles take this many times as long as tiles of the zoom that takes the time.
const LONGER: f64 = 2.0;

impl ZoomFigures {
    /// What is known of a zoom with few requests: `4.90 s to 5.10 s, 3 requests`; `None` with enough.
    pub(crate) fn few(&self) -> Option<String> {
        match (self.requests, &self.probe) {
            (FEW.., _) => None,
            (0, Some(probe)) => Some(format!("not reached; before the run {}", of_probe(probe))),
            (0, None) => Some("not reached".to_owned()),
            (requests, _) => Some(times(self.range_ns, requests)),
        }
    }

    /// The same in short, for a table that has the number of requests and their mean.
    pub(super) fn few_in_short(&self) -> Option<String> {
        match (self.requests, &self.probe, self.range_ns) {
            (FEW.., ..) => None,
            (0, Some(probe), _) => Some(format!("not reached; probe {}", latency_us(probe.mean_us))),
            (0, None, _) => Some("not reached".to_owned()),
            (1, ..) => Some("one request".to_owned()),
            (_, _, Some((least, most))) => Some(range_ns(least as f64, most as f64)),
            _ => Some("few requests".to_owned()),
        }
    }

    /// Mean time of a tile, from the probe where no request ended.
    fn slowness_ns(&self) -> f64 {
        let probed = self.probe.as_ref().map(|probe| probe.mean_us * 1e3);
        self.mean_ns.or(probed).unwrap_or(0.0)
    }
}

/// `620 ms to 660 ms, 2 requests`.
pub(super) fn times(range_ns: Option<(u64, u64)>, requests: u64) -> String {
    let requests = counted(requests as usize, "request");
    match range_ns {
        None => requests,
        Some((least, most)) => {
            let [least, most] = [least, most].map(|ns| latency_ns(ns as f64));
            if least == most {
                format!("{least}, {requests}")
            } else {
                format!("{least} to {most}, {requests}")
            }
        }
    }
}

/// `a tile took 5.08 s (2/1/1)`.
fn of_probe(probe: &TileProbe) -> String {
    let TileProbe { tiles, mean_us, z, x, y, max_us, .. } = probe;
    match tiles {
        1 => format!("a tile took {} ({z}/{x}/{y})", latency_us(*mean_us)),
        _ => format!(
            "{tiles} tiles took {} on average, {z}/{x}/{y} {}",
            latency_us(*mean_us),
            latency_us(*max_us)
        ),
    }
}

/// `z2: 620 ms to 660 ms, 2 requests, against 0.90 ms to 3.00 ms, 400 requests, with a`.
pub(super) fn ranges(of: &ZoomsOfCell, change: &ZoomComparison, base: &str) -> String {
    let [of_base, own] = [0, 1].map(|side| times(change.ranges_ns[side], change.requests[side]));
    format!("{}: {own}, against {of_base}, with {base}", named(of, change))
}

/// The same lines for the arms of one cell, without their head.
pub(crate) fn remarks(of: &ZoomsOfCell) -> Vec<String> {
    let lines = of.arms.iter().flat_map(|own| summary(std::slice::from_ref(of), own.arm.as_deref()));
    lines.map(|line| line.trim_start_matches("tiles: ").to_owned()).collect()
}

/// Zooms of an arm that no request reached, and the zoom at which few requests all took longer or shorter than
/// the base's; the worst first.
pub(super) fn summary(cells: &[ZoomsOfCell], arm: Option<&str>) -> Vec<String> {
    let own = |of: &'_ ZoomsOfCell| of.arms.iter().position(|own| own.arm.as_deref() == arm);
    let mut said: Vec<(f64, String)> = Vec::new();
    for (of, at) in cells.iter().filter_map(|of| Some((of, own(of)?))) {
        said.extend(not_reached(cells, of, &of.arms[at]));
    }
    let apart = cells.iter().flat_map(|of| of.changes.iter().map(move |change| (of, change)));
    let apart = apart.filter(|(_, change)| {
        arm.is_some_and(|arm| is_of(change, arm))
            && !change.verdict.is_change()
            && change.is_few()
            && change.is_apart()
    });
    let farthest = apart.max_by(|one, other| longest_ns(one.1).cmp(&longest_ns(other.1)));
    if let (Some((of, change)), Some(arm)) = (farthest, arm) {
        let base = of.base.as_deref().unwrap_or_default();
        let line = format!("tiles{}: {arm} at {}", of_several(cells, of), ranges(of, change, base));
        said.push((longest_ns(change) as f64, line));
    }
    said.sort_by(|one, other| other.0.total_cmp(&one.0));
    said.into_iter().map(|(_, line)| line).collect()
}

fn longest_ns(change: &ZoomComparison) -> u64 {
    change.ranges_ns.iter().flatten().map(|(_, most)| *most).max().unwrap_or(0)
}

/// One line for all zooms without a request, and the time of the slowest of them.
fn not_reached(cells: &[ZoomsOfCell], of: &ZoomsOfCell, own: &ZoomsOfArm) -> Option<(f64, String)> {
    let missing: Vec<&ZoomFigures> =
        own.whole().filter(|zoom| zoom.requests == 0 && zoom.failed == 0).collect();
    let worst = missing.iter().max_by(|one, other| one.slowness_ns().total_cmp(&other.slowness_ns()))?;
    let names: Vec<String> = missing.iter().map(|zoom| own.named(zoom)).collect();
    let probe = worst.probe.as_ref().map(|probe| format!("; before the run {}", of_probe(probe)));
    let arm = own.arm.as_ref().map(|arm| format!(" of {arm}")).unwrap_or_default();
    let line = format!(
        "tiles{}: no request{arm} for {} ended in the measured part{}",
        of_several(cells, of),
        names.join(", "),
        probe.unwrap_or_default()
    );
    Some((worst.slowness_ns(), line))
}

/// `z2 is the slowest, 5.02 s a tile (4.90 s to 5.10 s, 3 requests)`, if it is not the zoom that takes the time and its
/// tiles take far longer.
pub(super) fn slowest(own: &ZoomsOfArm, most_of_time: &ZoomFigures) -> Option<String> {
    let zoom = own.whole().max_by(|one, other| one.slowness_ns().total_cmp(&other.slowness_ns()))?;
    let far = zoom.slowness_ns() > LONGER * most_of_time.slowness_ns();
    let mean = zoom.mean_ns.filter(|_| far && zoom.place != most_of_time.place)?;
    let few = zoom.few().map(|few| format!(" ({few})")).unwrap_or_default();
    Some(format!("{} is the slowest, {} a tile{few}", own.named(zoom), latency_ns(mean)))
}

impl ZoomsOfArm {
    /// Hits and misses together.
    pub(super) fn whole(&self) -> impl Iterator<Item = &ZoomFigures> {
        self.zooms.iter().filter(|zoom| zoom.place.which == Which::All)
    }

    /// `z12`, with its layer if the arm has several.
    pub(super) fn named(&self, zoom: &ZoomFigures) -> String {
        match self.whole().all(|other| other.layer == zoom.layer) {
            true => zoom.zoom(),
            false => format!("{} of {}", zoom.zoom(), zoom.layer),
        }
    }
}
