//! Tagged nodes: shops and inns, benches with trees beside them, trees along streets, stops, hydrants.

use super::block_site::BlockSite;
use super::ground::Point;
use super::names;
use super::piece::Piece;
use super::rng::Draws;
use super::shape::Frame;
use super::trig::turned;

const BUSINESSES: [(u32, (&str, &str)); 18] = [
    (14, ("amenity", "restaurant")),
    (9, ("amenity", "cafe")),
    (6, ("amenity", "fast_food")),
    (6, ("amenity", "bar")),
    (5, ("amenity", "bank")),
    (4, ("amenity", "pharmacy")),
    (3, ("amenity", "fuel")),
    (10, ("shop", "convenience")),
    (8, ("shop", "clothes")),
    (7, ("shop", "hairdresser")),
    (5, ("shop", "bakery")),
    (5, ("shop", "supermarket")),
    (4, ("shop", "books")),
    (5, ("tourism", "hotel")),
    (4, ("tourism", "attraction")),
    (2, ("tourism", "museum")),
    (3, ("office", "company")),
    (3, ("amenity", "place_of_worship")),
];
const FURNITURE: [(u32, (&str, &str)); 10] = [
    (22, ("highway", "bus_stop")),
    (14, ("highway", "street_lamp")),
    (14, ("highway", "turning_circle")),
    (10, ("barrier", "gate")),
    (8, ("amenity", "post_box")),
    (8, ("amenity", "waste_basket")),
    (8, ("amenity", "bicycle_parking")),
    (6, ("barrier", "bollard")),
    (5, ("amenity", "telephone")),
    (5, ("historic", "memorial")),
];

/// A shop, an inn, an office.
pub(super) fn business(piece: &mut Piece, draws: &mut Draws, at: Point) {
    let name = names::shop(draws);
    let at = at.moved(draws.between(-2.0, 2.0), draws.between(-2.0, 2.0));
    piece.node(at, &[draws.weighted(&BUSINESSES), ("name", &name)]);
}

/// Benches along a path, most of them with a tree 5 to 20 m away.
pub(super) fn benches(piece: &mut Piece, draws: &mut Draws, frame: &Frame, path: &[Point]) {
    for _ in 0..draws.long_tailed(1.5, 12.0) as u32 {
        let bench = draws.pick(path).towards(frame.middle, 0.08, 0.0);
        piece.node(bench, &[("amenity", "bench"), ("backrest", draws.pick(&["yes", "no"]))]);
        for _ in 0..draws.below(4) {
            let (cos, sin) = turned(draws.share());
            let away = draws.between(5.0, 20.0);
            tree(piece, draws, bench.moved(away * cos, away * sin));
        }
    }
}

/// Up to so many trees anywhere in a frame, few more often than many.
pub(super) fn trees(piece: &mut Piece, draws: &mut Draws, frame: &Frame, most: u32) {
    let (x, y) = frame.half;
    for _ in 0..draws.long_tailed(2.0, most.into()) as u32 {
        let at = frame.at(draws.between(-x, x), draws.between(-y, y));
        tree(piece, draws, at);
    }
}

fn tree(piece: &mut Piece, draws: &mut Draws, at: Point) {
    let genus = names::genus(draws);
    piece.node(at, &[("natural", "tree"), ("genus", genus)]);
}

/// What stands along the streets of a block: more in the middle of a settlement, and where it is mapped well.
pub(super) fn along_streets(block: &BlockSite<'_>, piece: &mut Piece, draws: &mut Draws) {
    let (x, y) = block.frame.half;
    if draws.chance(0.12 + 0.3 * block.level.mapped * block.level.density) {
        for _ in 0..draws.long_tailed(1.2, 8.0) as u32 {
            let side = if draws.chance(0.5) { -1.0 } else { 1.0 };
            let at = block.frame.at(draws.between(-x, x), side * (y + 3.0));
            piece.node(at, &[draws.weighted(&FURNITURE)]);
        }
    }
    if !block.is_mapped {
        return;
    }
    if draws.chance(0.1) {
        let count = 3 + draws.below(10);
        for at in 0..count {
            let along = -x + 2.0 * x * f64::from(at) / f64::from(count);
            tree(piece, draws, block.frame.at(along, y + 3.0));
        }
    }
    if draws.chance(block.level.density * 0.7) {
        for _ in 0..draws.long_tailed(1.5, 15.0) as u32 {
            let at = block.frame.at(draws.between(-x, x), -y);
            business(piece, draws, at);
        }
    }
}
