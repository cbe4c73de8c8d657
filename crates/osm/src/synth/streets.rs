//! Streets of settlements along the lattice, and lanes through the country between the quarters of the land.

use super::grid::PATCHES;
use super::names;
use super::net::{Bends, Net, Vertex};
use super::piece::Piece;
use super::rng::{Draws, Layer};
use super::site::Site;

/// Lattice lines between the quarters that land use comes in.
const QUARTER: i32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Nothing,
    Street,
    Lane,
}

/// Draws all of a cell, row by row and column by column.
pub(super) fn draw(site: &Site, net: &mut Net, piece: &mut Piece) {
    for line in 1..PATCHES {
        for is_row in [true, false] {
            // A river or a railway is there.
            if (if is_row { site.river } else { site.railway }) == Some(line) {
                continue;
            }
            let layer = if is_row { Layer::Row } else { Layer::Column };
            let mut draws = site.draws(layer, if is_row { 0 } else { line }, if is_row { line } else { 0 });
            draw_line(site, net, piece, &mut draws, line, is_row);
        }
    }
    lights(site, net, piece);
}

fn draw_line(site: &Site, net: &mut Net, piece: &mut Piece, draws: &mut Draws, line: i32, is_row: bool) {
    let vertex = |along: i32| if is_row { (along, line) } else { (line, along) };
    let uses: Vec<Use> =
        (0..PATCHES).map(|along| use_of(site, net, draws, vertex(along), vertex(along + 1))).collect();
    let (mut at, mut name) = (0, names::street(draws));
    while at < PATCHES {
        let what = uses[at as usize];
        let most = if what == Use::Street { 1 + draws.long_tailed(1.0, 6.0) as i32 } else { 4 };
        let mut end = at + 1;
        while end < PATCHES && end - at < most && uses[end as usize] == what {
            end += 1;
        }
        let path: Vec<Vertex> = (at..=end).map(vertex).collect();
        match what {
            Use::Nothing => {}
            Use::Street => {
                let density = site.level(path[0].0, path[0].1).density;
                street(site, net, piece, draws, &path, density, &name);
            }
            Use::Lane => lane(site, net, piece, draws, &path),
        }
        if what != Use::Street || draws.chance(0.2) {
            name = names::street(draws);
        }
        at = end;
    }
}

/// What is to run from a vertex to the next one of a row or a column.
fn use_of(site: &Site, net: &Net, draws: &mut Draws, from: Vertex, to: Vertex) -> Use {
    let drawn = draws.share();
    let aside = if from.1 == to.1 { (from.0, from.1 - 1) } else { (from.0 - 1, from.1) };
    let is_urban = site.is_urban(from.0, from.1) || site.is_urban(aside.0, aside.1);
    let is_between_quarters = (if from.1 == to.1 { from.1 } else { from.0 }) % QUARTER == 0;
    // The whole side of a quarter or none of it.
    let quarter = (from.0.div_euclid(QUARTER), from.1.div_euclid(QUARTER));
    if net.has_street(from, to) {
        Use::Nothing
    } else if is_urban {
        if drawn < 0.93 { Use::Street } else { Use::Nothing }
    } else if is_between_quarters
        && site.draws(Layer::Lane, quarter.0 * 2 + i32::from(from.1 == to.1), quarter.1).chance(0.22)
    {
        Use::Lane
    } else {
        Use::Nothing
    }
}

fn street(
    site: &Site,
    net: &mut Net,
    piece: &mut Piece,
    draws: &mut Draws,
    path: &[Vertex],
    density: f64,
    name: &str,
) {
    const OUTER: [(u32, &str); 6] = [
        (66, "residential"),
        (15, "unclassified"),
        (9, "living_street"),
        (6, "tertiary"),
        (3, "secondary"),
        (1, "primary"),
    ];
    const INNER: [(u32, &str); 4] =
        [(60, "residential"), (15, "pedestrian"), (15, "tertiary"), (10, "secondary")];
    const SURFACES: [&str; 3] = ["asphalt", "paved", "cobblestone"];
    let class = draws.weighted(if density > 0.75 { INNER.as_slice() } else { &OUTER });
    let mut tags = vec![("highway", class), ("name", name)];
    if draws.chance(0.25) {
        tags.push(("surface", draws.pick(&SURFACES)));
    }
    if draws.chance(0.15) {
        tags.push(("oneway", "yes"));
    }
    net.street(site, piece, draws, path, Bends { scale: 1.7, most: 10.0, sway: 6.0 }, &tags);
}

fn lane(site: &Site, net: &mut Net, piece: &mut Piece, draws: &mut Draws, path: &[Vertex]) {
    const CLASSES: [(u32, &str); 4] = [(45, "track"), (25, "unclassified"), (20, "path"), (10, "service")];
    const GRADES: [&str; 4] = ["grade1", "grade2", "grade3", "grade4"];
    let class = draws.weighted(&CLASSES);
    let mut tags = vec![("highway", class)];
    if class == "track" {
        tags.push(("tracktype", draws.pick(&GRADES)));
    }
    net.street(site, piece, draws, path, Bends { scale: 5.0, most: 20.0, sway: 10.0 }, &tags);
}

/// Traffic lights and crossings where streets meet in the middle of a settlement.
fn lights(site: &Site, net: &Net, piece: &mut Piece) {
    const SIGNS: [(u32, &str); 4] =
        [(50, "crossing"), (30, "traffic_signals"), (15, "stop"), (5, "mini_roundabout")];
    for j in 1..PATCHES {
        for i in 1..PATCHES {
            let level = site.level(i, j);
            let mut draws = site.draws(Layer::Light, i, j);
            if net.is_visited((i, j)) && draws.chance(level.density * level.mapped) {
                piece.tag_vertex((i, j), &[("highway", draws.weighted(&SIGNS))]);
            }
        }
    }
}
