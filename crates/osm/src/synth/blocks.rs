//! What is in the blocks of a settlement, and in what share.

use super::block_site::BlockSite;
use super::buildings;
use super::greens;
use super::grid::PATCHES;
use super::ground::Point;
use super::lanes;
use super::net::{Net, Vertex};
use super::piece::Piece;
use super::points;
use super::rng::{Draws, Layer};
use super::shape::Frame;
use super::site::Site;

/// Metres between the corners of a block and what is built in it: streets sway that far.
const SETBACK: f64 = 9.0;

#[derive(Debug, Clone, Copy)]
enum Use {
    Houses,
    Terrace,
    Courtyard,
    Hall,
    Park,
    Parking,
    School,
    Sports,
    Gardens,
    Nothing,
}

const INNER: [(u32, Use); 8] = [
    (30, Use::Terrace),
    (18, Use::Houses),
    (10, Use::Courtyard),
    (8, Use::Hall),
    (12, Use::Park),
    (12, Use::Parking),
    (4, Use::School),
    (6, Use::Nothing),
];
const MIDDLE: [(u32, Use); 8] = [
    (50, Use::Houses),
    (8, Use::Terrace),
    (2, Use::Courtyard),
    (6, Use::Park),
    (7, Use::Parking),
    (3, Use::School),
    (8, Use::Gardens),
    (16, Use::Nothing),
];
const OUTER: [(u32, Use); 6] = [
    (45, Use::Houses),
    (8, Use::Hall),
    (5, Use::Sports),
    (8, Use::Gardens),
    (6, Use::Parking),
    (28, Use::Nothing),
];

/// Draws every block of a cell.
pub(super) fn draw(site: &Site, net: &Net, piece: &mut Piece) {
    for j in 0..PATCHES {
        for i in 0..PATCHES {
            if site.is_urban(i, j) && !net.is_crossed((i, j)) && piece.has_room() {
                let mut draws = site.draws(Layer::Block, i, j);
                draw_block(site, net, piece, &mut draws, (i, j));
            }
        }
    }
}

fn draw_block(site: &Site, net: &Net, piece: &mut Piece, draws: &mut Draws, patch: Vertex) {
    let level = site.level(patch.0, patch.1);
    let frame = frame(site, draws, patch);
    // The middle of a settlement is mapped first.
    let is_mapped = draws.chance(level.mapped * (0.6 + 0.6 * level.density));
    let block = BlockSite { site, patch, frame, level, is_mapped };
    let what = draws.weighted(match level.density {
        ..0.3 => &OUTER,
        ..0.75 => &MIDDLE,
        _ => INNER.as_slice(),
    });
    match what {
        Use::Houses => buildings::houses(&block, piece, draws),
        Use::Terrace => buildings::terrace(&block, piece, draws),
        Use::Courtyard => buildings::courtyard(&block, piece, draws),
        Use::Hall => buildings::hall(&block, piece, draws),
        Use::Park => greens::park(&block, net, piece, draws),
        Use::Parking => greens::parking(&block, net, piece, draws),
        Use::School => greens::school(&block, piece, draws),
        Use::Sports => greens::sports(&block, piece, draws),
        Use::Gardens => greens::gardens(&block, piece, draws),
        Use::Nothing => {}
    }
    if matches!(what, Use::Houses | Use::Terrace | Use::Hall | Use::Gardens | Use::Nothing) {
        lanes::between_rows(&block, net, piece, draws);
    }
    lanes::from_street(&block, net, piece, draws);
    points::along_streets(&block, piece, draws);
}

/// The ground of a block, slightly turned as plots are.
fn frame(site: &Site, draws: &mut Draws, (i, j): Vertex) -> Frame {
    let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|at| site.vertex(at));
    let (west, east) = (a.x.max(d.x), b.x.min(c.x));
    let (south, north) = (a.y.max(b.y), c.y.min(d.y));
    let turns = draws.between(-0.01, 0.01);
    // Corners of a turned rectangle go out by its other side's share.
    let turned_by = turns.abs() * std::f64::consts::TAU;
    let (width, height) = ((east - west) / 2.0 - SETBACK, (north - south) / 2.0 - SETBACK);
    let half = (width - turned_by * height, height - turned_by * width);
    Frame::new(Point::new((west + east) / 2.0, (south + north) / 2.0), half, turns)
}
