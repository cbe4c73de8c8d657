//! Blocks that are not built up: parks, parking, schools, sports grounds, gardens.

use super::block_site::BlockSite;
use super::buildings;
use super::ground::Point;
use super::names;
use super::net::Net;
use super::piece::Piece;
use super::points;
use super::rng::Draws;
use super::shape::{self, Frame};

/// Lawn, paths to the street, a pond or a playground, benches below trees.
pub(super) fn park(block: &BlockSite<'_>, net: &Net, piece: &mut Piece, draws: &mut Draws) {
    let corners = 4 + draws.long_tailed(3.0, 60.0) as usize;
    let park = shape::star(draws, &block.frame, corners.max(6), 0.08);
    let name = names::nature(draws, "Park");
    piece.ring(&park.points, &[("leisure", "park"), ("name", &name)]);
    let (x, y) = block.frame.half;
    // A path around, and ways to it.
    let path = block.frame.part(0.0, 0.0, (x * 0.5 * park.clear, y * 0.5 * park.clear));
    let bends = 16 + draws.long_tailed(4.0, 50.0) as usize;
    let points = shape::star(draws, &path, bends, 0.1).points;
    let mut nodes: Vec<i64> = points.iter().map(|at| piece.node(*at, &[])).collect();
    nodes.push(nodes[0]);
    piece.way(&nodes, &[("highway", "footway"), ("surface", "gravel")]);
    for side in 0..1 + draws.below(4) as usize {
        let at = side * points.len() / 4;
        if let Some((joint, _)) = net.joint(block.site, piece, block.patch, points[at]) {
            piece.way(&[joint, nodes[at]], &[("highway", "footway")]);
        }
    }
    let middle = path.part(0.0, 0.0, (path.half.0 * 0.4, path.half.1 * 0.4));
    if draws.chance(0.3) {
        let pond = shape::star(draws, &middle, 12, 0.15).points;
        piece.ring(&pond, &[("natural", "water"), ("water", "pond")]);
    } else if draws.chance(0.5) {
        piece.ring(&middle.corners(), &[("leisure", "playground")]);
    }
    if block.is_mapped {
        points::benches(piece, draws, &path, &points);
        points::trees(piece, draws, &block.frame, 25);
    }
}

/// A place to park with aisles, joined to the street.
pub(super) fn parking(block: &BlockSite<'_>, net: &Net, piece: &mut Piece, draws: &mut Draws) {
    let (x, y) = block.frame.half;
    let (x, y) = (x * draws.between(0.4, 0.9), y * draws.between(0.4, 0.9));
    let frame = block.frame.part(0.0, 0.0, (x, y));
    let per_side = 1 + draws.below(3) as usize;
    let ring = shape::field(draws, &frame, per_side, 2.0);
    piece.ring(&ring, &[("amenity", "parking"), ("access", draws.pick(&["yes", "customers", "private"]))]);
    let aisles = 1 + draws.below(4);
    let spine: Vec<Point> = (0..aisles)
        .map(|at| frame.at(0.0, y * (1.6 * (f64::from(at) + 0.5) / f64::from(aisles) - 0.8)))
        .collect();
    let nodes: Vec<i64> = spine.iter().map(|at| piece.node(*at, &[])).collect();
    for (at, node) in nodes.iter().enumerate() {
        let along = y * (1.6 * (at as f64 + 0.5) / f64::from(aisles) - 0.8);
        let ends = [frame.at(-0.8 * x, along), frame.at(0.8 * x, along)].map(|end| piece.node(end, &[]));
        let tags = [("highway", "service"), ("service", "parking_aisle")];
        piece.way(&[ends[0], *node, ends[1]], &tags);
    }
    if let Some((joint, _)) = net.joint(block.site, piece, block.patch, frame.at(0.0, -y)) {
        let way: Vec<i64> = std::iter::once(joint).chain(nodes).collect();
        piece.way(&way, &[("highway", "service")]);
    }
}

/// A ground with a house, a pitch and a yard.
pub(super) fn school(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    let name = names::street(draws) + " School";
    let (x, y) = block.frame.half;
    let ring = shape::field(draws, &block.frame, 2, 3.0);
    let kind = draws.pick(&["school", "kindergarten", "hospital", "college"]);
    piece.ring(&ring, &[("amenity", kind), ("name", &name)]);
    buildings::one(piece, draws, &block.frame.part(-x / 3.0, 0.0, (x / 3.0, y / 2.0)), "school");
    pitch(piece, draws, &block.frame.part(x / 2.0, 0.0, (x / 4.0, y / 2.0)));
}

/// Pitches beside each other.
pub(super) fn sports(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    let (x, y) = block.frame.half;
    piece.ring(&block.frame.corners(), &[("leisure", "sports_centre")]);
    let count = 1 + draws.below(4);
    for at in 0..count {
        let half = (x / f64::from(count) - 2.0, y * 0.7);
        let along = -x + x / f64::from(count) * f64::from(2 * at + 1);
        pitch(piece, draws, &block.frame.part(along, 0.0, half));
    }
}

fn pitch(piece: &mut Piece, draws: &mut Draws, frame: &Frame) {
    let sport = draws.pick(&["soccer", "tennis", "basketball", "baseball"]);
    piece.ring(&frame.corners(), &[("leisure", "pitch"), ("sport", sport)]);
}

/// Plots with hedges, pools and glasshouses.
pub(super) fn gardens(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    if !block.is_mapped && !draws.chance(0.15) {
        return;
    }
    let (x, y) = block.frame.half;
    let count = 2 + draws.below(5);
    for at in 0..count {
        let along = -x + x / f64::from(count) * f64::from(2 * at + 1);
        let plot = block.frame.part(along, 0.0, (x / f64::from(count) - 0.7, y * draws.between(0.5, 0.95)));
        let per_side = 1 + draws.below(2) as usize;
        let ring = shape::field(draws, &plot, per_side, 0.5);
        let tag = draws.pick(&[("leisure", "garden"), ("landuse", "allotments"), ("landuse", "grass")]);
        piece.ring(&ring, &[tag]);
        if draws.chance(0.35) {
            let pool = plot.part(0.0, plot.half.1 / 3.0, (plot.half.0.min(5.0) * 0.6, 4.0));
            piece.ring(&pool.corners(), &[("leisure", "swimming_pool")]);
        }
        if draws.chance(0.4) {
            let ends = [plot.at(-plot.half.0, -plot.half.1 - 1.0), plot.at(plot.half.0, -plot.half.1 - 1.0)];
            piece.line(&ends, &[("barrier", draws.pick(&["hedge", "fence", "wall"]))]);
        }
    }
}
