//! Land use and water between the settlements, in quarters of 4 x 4 patches: fields, woods, lakes with islands.

use super::areas::multipolygon;
use super::grid::PATCHES;
use super::ground::Point;
use super::names;
use super::net::Net;
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::shape::{self, Frame};
use super::site::Site;

/// Patches along a side of a quarter.
const QUARTER: i32 = 4;
/// Metres between the corners of a quarter and what is in it: lanes sway that far.
const MARGIN: f64 = 14.0;

#[derive(Debug, Clone, Copy)]
enum Use {
    Fields,
    Wood,
    Lake,
    Open,
    Nothing,
}

const COUNTRY: [(u32, Use); 5] =
    [(34, Use::Fields), (22, Use::Wood), (5, Use::Lake), (12, Use::Open), (16, Use::Nothing)];

pub(super) fn draw(site: &Site, net: &Net, piece: &mut Piece) {
    for j in (0..PATCHES).step_by(QUARTER as usize) {
        for i in (0..PATCHES).step_by(QUARTER as usize) {
            if piece.has_room() {
                let mut draws = site.draws(Layer::Quarter, i, j);
                draw_quarter(site, net, piece, &mut draws, (i, j));
            }
        }
    }
}

fn draw_quarter(site: &Site, net: &Net, piece: &mut Piece, draws: &mut Draws, (i, j): (i32, i32)) {
    let frame = frame(site, (i, j));
    let patches = || (0..QUARTER * QUARTER).map(|at| (i + at % QUARTER, j + at / QUARTER));
    let urban = patches().filter(|(i, j)| site.is_urban(*i, *j)).count();
    if urban > 9 {
        if draws.chance(0.6) {
            built_up(site, piece, draws, &frame, (i, j));
        }
        return;
    }
    if urban > 0 {
        return;
    }
    let within = |line: Option<i32>, from: i32| line.is_some_and(|line| line > from && line < from + QUARTER);
    let is_quiet = !within(site.river, j)
        && !within(site.railway, i)
        && patches().all(|(x, y)| !net.is_crossed((x, y)) && (x == i || y == j || !net.is_visited((x, y))));
    match draws.weighted(&COUNTRY) {
        Use::Fields => fields(piece, draws, &frame),
        Use::Wood => wood(piece, draws, &frame),
        Use::Lake if is_quiet => lake(piece, draws, &frame),
        Use::Open | Use::Lake => open(piece, draws, &frame),
        Use::Nothing => {}
    }
}

fn frame(site: &Site, (i, j): (i32, i32)) -> Frame {
    let [a, b, c, d] =
        [(i, j), (i + QUARTER, j), (i + QUARTER, j + QUARTER), (i, j + QUARTER)].map(|at| site.vertex(at));
    let (west, east) = (a.x.max(d.x), b.x.min(c.x));
    let (south, north) = (a.y.max(b.y), c.y.min(d.y));
    let half = ((east - west) / 2.0 - MARGIN, (north - south) / 2.0 - MARGIN);
    Frame::new(Point::new((west + east) / 2.0, (south + north) / 2.0), half, 0.0)
}

fn built_up(site: &Site, piece: &mut Piece, draws: &mut Draws, frame: &Frame, (i, j): (i32, i32)) {
    const USES: [(u32, &str); 4] =
        [(70, "residential"), (10, "commercial"), (10, "retail"), (10, "industrial")];
    let per_side = 1 + draws.long_tailed(1.5, 20.0) as usize;
    let ring = shape::field(draws, frame, per_side, 20.0);
    let what = if site.level(i, j).density < 0.5 { "residential" } else { draws.weighted(&USES) };
    piece.ring(&ring, &[("landuse", what)]);
}

/// Points of an outline: half have less than 10, one in a hundred more than 300.
fn outline(draws: &mut Draws) -> usize {
    6 + draws.long_tailed(7.0, 1400.0) as usize
}

/// One field or several side by side.
fn fields(piece: &mut Piece, draws: &mut Draws, frame: &Frame) {
    let (columns, rows) = (1 + draws.below(3), 1 + draws.below(3));
    let (x, y) = (frame.half.0 / f64::from(columns), frame.half.1 / f64::from(rows));
    for column in 0..columns {
        for row in 0..rows {
            if draws.chance(0.3) {
                continue;
            }
            let along = |at: u32, half: f64, all: f64| half * f64::from(2 * at + 1) - all;
            let middle = (along(column, x, frame.half.0), along(row, y, frame.half.1));
            let part = frame.part(middle.0, middle.1, (x - 2.0, y - 2.0));
            let per_side = outline(draws).min(400) / 4;
            let ring = shape::field(draws, &part, per_side.max(1), 0.2 * x.min(y));
            let tag = draws.weighted(&[
                (60, ("landuse", "farmland")),
                (20, ("landuse", "meadow")),
                (12, ("landuse", "orchard")),
                (8, ("landuse", "vineyard")),
            ]);
            piece.ring(&ring, &[tag]);
        }
    }
}

/// A wood; a large one has clearings.
fn wood(piece: &mut Piece, draws: &mut Draws, frame: &Frame) {
    let tag = draws.pick(&[("landuse", "forest"), ("natural", "wood")]);
    let name = names::nature(draws, "Wood");
    with_holes(piece, draws, frame, &[tag, ("name", &name)], &[("landuse", "meadow")]);
}

/// A lake; a large one has islands.
fn lake(piece: &mut Piece, draws: &mut Draws, frame: &Frame) {
    let share = draws.between(0.3, 1.0);
    let frame = frame.part(0.0, 0.0, (frame.half.0 * share, frame.half.1 * draws.between(0.3, 1.0)));
    let name = names::nature(draws, "Lake");
    let tags = [("natural", "water"), ("water", "lake"), ("name", name.as_str())];
    with_holes(piece, draws, &frame, &tags, &[("place", "islet")]);
}

/// Scrub, heath, wetland.
fn open(piece: &mut Piece, draws: &mut Draws, frame: &Frame) {
    let count = outline(draws);
    let fray = draws.between(0.1, 0.3);
    let ring = shape::star(draws, frame, count, fray).points;
    piece.ring(&ring, &[("natural", draws.pick(&["scrub", "heath", "wetland", "grassland"]))]);
}

fn with_holes(
    piece: &mut Piece,
    draws: &mut Draws,
    frame: &Frame,
    tags: &[(&'static str, &str)],
    hole_tags: &[(&'static str, &str)],
) {
    let count = outline(draws);
    let fray = draws.between(0.1, 0.3);
    let star = shape::star(draws, frame, count, fray);
    if count < 24 {
        piece.ring(&star.points, tags);
        return;
    }
    let holes = 1 + draws.below(4) as usize;
    let holes = shape::holes(draws, frame, &star, holes);
    multipolygon(piece, &star.points, &holes, tags, hole_tags);
}
