//! The Hausdorff distance of two shapes: the greatest distance of any vertex of one to the nearest segment of
//! the other, both ways.
//!
//! Most vertices are ruled out as the farthest one without checking all segments (Taha & Hanbury 2015, DOI
//! 10.1109/TPAMI.2015.2408351): the search for the nearest segment starts at the previous vertex's segment,
//! and ends at the first one that is near enough.

use super::shape::Shape;

/// Largest overestimate of the distance, as a share of the tolerance. It bounds the number of vertices for
/// which all segments are checked.
const STEP: f64 = 1.0 / 256.0;

/// Remaining work, in distances between a vertex and a segment (or equivalent work).
#[derive(Debug)]
pub(super) struct DistanceBudget {
    left: u64,
    pub(super) gave_up: bool,
}

impl DistanceBudget {
    pub(super) fn new(most: u64) -> Self {
        Self { left: most, gave_up: false }
    }

    /// Spends this much work; `None` once there is not enough left.
    pub(super) fn spend(&mut self, amount: usize) -> Option<()> {
        match self.left.checked_sub(amount as u64) {
            Some(left) if !self.gave_up => self.left = left,
            _ => self.gave_up = true,
        }
        (!self.gave_up).then_some(())
    }
}

/// Distance of two shapes in pixels, if it is within the tolerance; never underestimated.
pub(super) fn within(one: &Shape, other: &Shape, tolerance: f64, work: &mut DistanceBudget) -> Option<f64> {
    if one.points.is_empty() || other.points.is_empty() {
        return None;
    }
    let there = one_way(one, other, DistanceBounds::default(), tolerance, work)?;
    one_way(other, one, there, tolerance, work).map(|known| known.at_most)
}

/// Bounds of the greatest distance so far.
#[derive(Clone, Copy, Default)]
struct DistanceBounds {
    at_least: f64,
    at_most: f64,
}

fn one_way(
    from: &Shape,
    to: &Shape,
    mut known: DistanceBounds,
    tolerance: f64,
    work: &mut DistanceBudget,
) -> Option<DistanceBounds> {
    let mut hint = 0;
    for &point in &from.points {
        let enough = (known.at_least + tolerance * STEP).min(tolerance);
        let near = nearest(to, point, hint, enough * enough);
        work.spend(near.looked_at)?;
        hint = near.number;
        let distance = near.squared.sqrt();
        if distance > enough {
            known.at_least = distance;
        }
        known.at_most = known.at_most.max(distance);
        if known.at_least > tolerance + 1e-9 {
            return None;
        }
    }
    Some(known)
}

struct Near {
    number: usize,
    squared: f64,
    looked_at: usize,
}

/// The nearest segment, or the first from the hint outwards that is near enough.
fn nearest(to: &Shape, point: [f64; 2], hint: usize, enough: f64) -> Near {
    let count = to.points.len();
    let mut best = Near { number: hint, squared: f64::INFINITY, looked_at: 0 };
    for step in 0..=count / 2 {
        for number in [(hint + step) % count, (hint + count - step) % count] {
            let squared = to.distance_squared(point, number);
            best.looked_at += 1;
            if squared < best.squared {
                (best.number, best.squared) = (number, squared);
            }
            if squared <= enough {
                return best;
            }
        }
    }
    best
}
