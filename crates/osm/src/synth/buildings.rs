//! Buildings, in two rows along the streets of a block with a lane between, or around a courtyard.

use super::areas::multipolygon;
use super::block_site::BlockSite;
use super::piece::Piece;
use super::points;
use super::rng::Draws;
use super::shape::{self, Frame};

const HOUSES: [(u32, &str); 6] =
    [(40, "yes"), (30, "house"), (15, "detached"), (8, "residential"), (4, "garage"), (3, "shed")];
const TERRACES: [(u32, &str); 5] =
    [(45, "yes"), (25, "apartments"), (15, "terrace"), (10, "retail"), (5, "commercial")];
const HALLS: [(u32, &str); 4] = [(30, "industrial"), (30, "warehouse"), (25, "retail"), (15, "yes")];
/// Half of the lane between two rows, in metres.
const LANE: f64 = 6.0;

/// Houses on plots of their own.
pub(super) fn houses(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    if !block.is_mapped {
        return;
    }
    rows(block, draws, 20.0, |draws, plot| {
        if !draws.chance(0.85) {
            return;
        }
        let half =
            (plot.half.0 * draws.between(0.5, 0.85), plot.half.1.min(11.0) * draws.between(0.45, 0.95));
        let (x, y) = (plot.half.0 - half.0 - 1.0, plot.half.1 - half.1 - 1.0);
        let frame = plot.part(draws.between(-x, x), draws.between(-y, y), half);
        house(piece, draws, &frame, draws_steps, &HOUSES);
    });
}

/// Houses wall to wall, or nearly.
pub(super) fn terrace(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    if !block.is_mapped {
        return;
    }
    rows(block, draws, 17.0, |draws, plot| {
        let half = (plot.half.0 - 0.4, plot.half.1.min(13.0) * draws.between(0.6, 0.9));
        let frame = plot.part(0.0, half.1 - plot.half.1 + 0.5, half);
        house(piece, draws, &frame, draws_steps, &TERRACES);
        if draws.chance(0.3) {
            points::business(piece, draws, frame.middle);
        }
    });
}

/// A house around a yard, the yard left out.
pub(super) fn courtyard(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    if !block.is_mapped {
        return;
    }
    let (x, y) = block.frame.half;
    let frame = block.frame.part(0.0, 0.0, (x * draws.between(0.7, 0.95), y * draws.between(0.7, 0.95)));
    let yard = frame.part(0.0, 0.0, (frame.half.0 - 13.0, frame.half.1 - 13.0));
    if yard.half.0 < 5.0 || yard.half.1 < 5.0 {
        return;
    }
    let (count, sway) = (1 + draws.below(5) as usize, 4.0);
    let outer = shape::field(draws, &frame, count, sway);
    let per_side = 1 + draws.below(3) as usize;
    let inner = shape::field(draws, &yard, per_side, 0.0);
    multipolygon(piece, &outer, &[inner], &[("building", draws.weighted(&TERRACES))], &[]);
    for _ in 0..draws.below(4) {
        let along = draws.between(-0.6, 0.6) * x;
        points::business(piece, draws, frame.at(along, 8.0 - frame.half.1));
    }
}

/// One or two halls of many corners.
pub(super) fn hall(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    if !draws.chance(0.3 + 0.5 * block.level.mapped) {
        return;
    }
    rows(block, draws, 60.0, |draws, plot| {
        if draws.chance(0.6) {
            let frame = plot.part(0.0, 0.0, (plot.half.0 * 0.85, plot.half.1 * 0.8));
            house(piece, draws, &frame, |draws| draws.long_tailed(1.4, 30.0) as usize, &HALLS);
        }
    });
}

/// One building of a kind within a frame.
pub(super) fn one(piece: &mut Piece, draws: &mut Draws, frame: &Frame, kind: &'static str) {
    house(piece, draws, frame, draws_steps, &[(1, kind)]);
}

/// How many steps the back of a house has: most none, few many.
fn draws_steps(draws: &mut Draws) -> usize {
    draws.long_tailed(0.52, 24.0).max(1.0) as usize
}

fn house(
    piece: &mut Piece,
    draws: &mut Draws,
    frame: &Frame,
    steps: impl Fn(&mut Draws) -> usize,
    kinds: &[(u32, &'static str)],
) {
    // A step is at least a metre wide.
    let steps = steps(draws).clamp(1, (frame.half.0 * 2.0).max(1.0) as usize);
    let points = if steps == 1 && draws.chance(0.03) {
        let radius = frame.half.0.min(frame.half.1);
        shape::round(&frame.part(0.0, 0.0, (radius, radius)), 8 + 4 * draws.below(5) as usize)
    } else {
        let is_cut = draws.chance(0.2);
        shape::house(draws, frame, steps, is_cut)
    };
    let kind = draws.weighted(kinds);
    let number = (1 + draws.below(120)).to_string();
    let levels = (1 + draws.below(5)).to_string();
    let mut tags = vec![("building", kind)];
    if draws.chance(0.3) {
        tags.push(("addr:housenumber", &number));
    }
    if draws.chance(0.2) {
        tags.push(("building:levels", &levels));
    }
    piece.ring(&points, &tags);
}

/// Plots of about some width in two rows, their fronts (the sides of smaller y) to the street.
fn rows(block: &BlockSite<'_>, draws: &mut Draws, width: f64, mut plot: impl FnMut(&mut Draws, &Frame)) {
    let (x, y) = block.frame.half;
    let count = (2.0 * x / width) as u32;
    let half = (x / f64::from(count.max(1)), (y - LANE) / 2.0);
    if half.1 < 5.0 {
        return;
    }
    for side in [-1.0, 1.0] {
        for at in 0..count {
            let along = -x + half.0 * f64::from(2 * at + 1);
            plot(draws, &block.frame.part(along, side * (LANE + half.1), half));
        }
    }
}
