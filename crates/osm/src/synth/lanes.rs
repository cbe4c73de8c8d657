//! Ways within a block: a lane between its rows of houses, drives and footpaths from the street, fences.

use super::block_site::BlockSite;
use super::ground::Point;
use super::net::Net;
use super::piece::Piece;
use super::rng::Draws;
use super::shape;

const LANES: [(u32, &str); 4] = [(55, "service"), (20, "footway"), (15, "path"), (10, "residential")];
const DRIVES: [(u32, &str); 3] = [(60, "service"), (30, "footway"), (10, "steps")];

/// Drives and footpaths from the street to where the plots begin, and a fence along it.
pub(super) fn from_street(block: &BlockSite<'_>, net: &Net, piece: &mut Piece, draws: &mut Draws) {
    let (x, y) = block.frame.half;
    for _ in 0..draws.long_tailed(0.65, 6.0) as u32 {
        let along = draws.between(-x, x);
        let end = block.frame.at(along, if draws.chance(0.5) { -y } else { y });
        let Some((joint, joint_at)) = net.joint(block.site, piece, block.patch, end) else { continue };
        let mut nodes = vec![joint];
        // Most have a bend.
        let count = draws.long_tailed(1.1, 10.0) as usize;
        let bends = shape::between(draws, joint_at, end, count, 1.5);
        nodes.extend(bends.into_iter().map(|at| piece.node(at, &[])));
        nodes.push(piece.node(end, &[]));
        let class = draws.weighted(&DRIVES);
        let mut tags = vec![("highway", class)];
        if class == "service" {
            tags.push(("service", "driveway"));
        }
        piece.way(&nodes, &tags);
    }
    if draws.chance(0.35) {
        let ends = [block.frame.at(-x, -y - 1.5), block.frame.at(x * draws.between(-0.5, 1.0), -y - 1.5)];
        piece.line(&ends, &[("barrier", draws.pick(&["fence", "hedge", "wall"]))]);
    }
}

/// A lane into every second block between its rows of houses, and out again on the other side or not.
pub(super) fn between_rows(block: &BlockSite<'_>, net: &Net, piece: &mut Piece, draws: &mut Draws) {
    if !draws.chance(0.5) {
        return;
    }
    let (x, _) = block.frame.half;
    let side = if draws.chance(0.5) { -1.0 } else { 1.0 };
    let start = block.frame.at(side * x, 0.0);
    let Some((joint, _)) = net.joint(block.site, piece, block.patch, start) else { return };
    let is_through = draws.chance(0.4);
    let end = block.frame.at(-side * x * if is_through { 1.0 } else { draws.between(-0.5, 0.9) }, 0.0);
    let count = draws.long_tailed(3.0, 40.0) as usize;
    let between: Vec<Point> = shape::between(draws, start, end, count, 3.0);
    let mut nodes = vec![joint, piece.node(start, &[])];
    nodes.extend(between.into_iter().map(|at| piece.node(at, &[])));
    nodes.push(piece.node(end, &[]));
    if is_through {
        nodes.extend(net.joint(block.site, piece, block.patch, end).map(|(joint, _)| joint));
    }
    piece.way(&nodes, &[("highway", draws.weighted(&LANES))]);
}
