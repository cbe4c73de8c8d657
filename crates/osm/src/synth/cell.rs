//! Draws a cell: a settlement with streets, buildings and points, and the country around it.
//!
//! Settlements are a hierarchical Thomas process on the grid: each cell has one; one of a county's nine is a
//! town, and one of a state's nine towns is a city. Urban land thins out with the distance from each. Lines
//! run along a lattice of patches (24 x 24 in a cell), areas fill boxes between them. Positions are in
//! patches from the cell's south-western corner.

use super::grid::{GridCell, PATCHES};
use super::piece::{MapPiece, Tags};
use super::rng::{Draws, StreamKey};
use crate::extract::ObjectKind;

/// Cells that a city can reach.
const REACH: i32 = 3;
/// Patches along a side of a box of land use between settlements.
const QUARTER: i32 = 4;
/// A ring with more corners consists of several ways.
const LONG_RING: usize = 120;

type Point = (f64, f64);

/// Draws all objects of cell number `index`, independent of other cells.
///
/// Mandatory objects come first: land use and blocks end where the cell's ids do.
pub(super) fn draw(seed: u64, index: u64) -> MapPiece {
    let cell = GridCell::nth(index);
    let mut land = Land {
        seed,
        cell,
        draws: Draws::new(seed, StreamKey::Cell, index),
        piece: MapPiece::new(seed, cell),
        settlement: Settlement::of(seed, cell),
        row: Through::of(seed, StreamKey::Row, cell.y),
        column: Through::of(seed, StreamKey::Column, cell.x),
        levels: Vec::new(),
    };
    land.levels = land.levels();
    land.boundaries();
    land.places();
    land.water_and_rails();
    land.roads();
    for line in 1..PATCHES {
        land.streets(line, true);
        land.streets(line, false);
    }
    for (i, j) in (0..PATCHES * PATCHES).map(|at| (at % PATCHES, at / PATCHES)) {
        if i % QUARTER == 0 && j % QUARTER == 0 {
            land.quarter((i, j));
        }
    }
    for (i, j) in (0..PATCHES * PATCHES).map(|at| (at % PATCHES, at / PATCHES)) {
        land.block((i, j));
    }
    land.piece
}

/// What runs straight through a row or a column of cells, by the number of its lattice line.
struct Through {
    /// Odd, so that nothing else uses it.
    road: i32,
    /// A river in a row, a railway in a column. Even, and between the quarters' sides.
    other: Option<i32>,
}

impl Through {
    fn of(seed: u64, layer: StreamKey, at: i32) -> Self {
        let mut draws = Draws::new(seed, layer, at as u64);
        let road = 5 + 2 * draws.below(7) as i32;
        let other = QUARTER * draws.below((PATCHES / QUARTER) as u32) as i32 + 2;
        Self { road, other: draws.chance(0.4).then_some(other) }
    }
}

#[derive(Clone)]
struct Settlement {
    kind: &'static str,
    name: String,
    /// In patches.
    radius: f64,
    /// Share of its buildings and shops that are mapped, 0 to 1: most settlements are mapped little, a few
    /// wholly.
    mapped: f64,
}

impl Settlement {
    fn of(seed: u64, cell: GridCell) -> Self {
        let index = cell.index();
        let mut draws = Draws::new(seed, StreamKey::Settlement, index);
        let (name, share, little) = (name(&mut draws), draws.share(), draws.share());
        let mostly_little = 0.02 + 0.9 * little * little * little;
        let (kind, radius, mapped) = match (index % 81, index % 9) {
            (40, _) => ("city", 33.0, 0.5),
            (_, 4) => ("town", 11.0 + 5.0 * share, 0.2 + 0.4 * little),
            _ if draws.chance(0.3) => ("hamlet", 1.1 + 0.7 * share, mostly_little),
            // Many small ones and few large ones.
            _ => ("village", 3.1 / (1.0 - 0.8 * share * share), mostly_little),
        };
        Self { kind, name, radius, mapped }
    }
}

/// How urban a patch is.
#[derive(Clone, Copy)]
struct Urbanity {
    /// 1 in the middle of a settlement, 0 at its edge and below that outside.
    density: f64,
    /// As in [`Settlement`].
    mapped: f64,
}

/// A key and its values, with repetitions for frequent ones.
type Kinds = (&'static str, &'static [&'static str]);

/// Areas that fill a box: plots in columns and rows, and in a share of them an area.
struct Cover {
    plots: (u32, u32),
    used: f64,
    /// Corners beyond three: the scale of their long tail, and most of them.
    corners: (f64, f64),
    /// Corners from which on an area has holes.
    holes: usize,
    /// In a settlement, the chance that it is drawn where little is mapped.
    unmapped: f64,
    kinds: Kinds,
}

const HOUSES: Cover = Cover {
    plots: (8, 4),
    used: 0.25,
    corners: (1.0, 48.0),
    holes: usize::MAX,
    unmapped: 0.0,
    kinds: ("building", &["yes", "yes", "yes", "house", "house", "detached", "apartments", "garage"]),
};
const COURTYARDS: Cover = Cover { plots: (1, 1), used: 1.0, corners: (4.0, 20.0), holes: 0, ..HOUSES };
const HALLS: Cover = Cover {
    plots: (2, 2),
    corners: (3.0, 60.0),
    unmapped: 0.4,
    kinds: ("building", &["industrial", "warehouse", "retail"]),
    ..HOUSES
};
const GREENS: Cover = Cover {
    plots: (2, 1),
    used: 0.6,
    corners: (1.5, 60.0),
    unmapped: 1.0,
    kinds: ("leisure", &["park", "pitch", "pitch", "garden"]),
    ..HOUSES
};
const GARDENS: Cover =
    Cover { plots: (3, 2), unmapped: 0.15, kinds: ("leisure", &["garden", "swimming_pool"]), ..GREENS };
const AMENITIES: Cover = Cover { used: 0.4, kinds: ("amenity", &["parking", "parking", "school"]), ..GREENS };
const NOTHING: Cover = Cover { used: 0.0, ..HOUSES };

/// Contents of blocks, by density.
const OUTER: &[&Cover] =
    &[&HOUSES, &HOUSES, &HOUSES, &HOUSES, &HALLS, &GREENS, &AMENITIES, &GARDENS, &NOTHING, &NOTHING];
const MIDDLE: &[&Cover] =
    &[&HOUSES, &HOUSES, &HOUSES, &HOUSES, &HOUSES, &GREENS, &AMENITIES, &GARDENS, &NOTHING];
const INNER: &[&Cover] =
    &[&HOUSES, &HOUSES, &HOUSES, &HOUSES, &COURTYARDS, &HALLS, &GREENS, &AMENITIES, &AMENITIES];

const FIELDS: Cover = Cover {
    plots: (2, 2),
    used: 0.7,
    corners: (6.0, 400.0),
    kinds: ("landuse", &["farmland", "farmland", "farmland", "meadow", "orchard", "vineyard"]),
    ..HOUSES
};
const WOODS: Cover = Cover {
    plots: (1, 1),
    used: 1.0,
    corners: (8.0, 1400.0),
    holes: 24,
    kinds: ("landuse", &["forest"]),
    ..HOUSES
};
const LAKES: Cover = Cover { kinds: ("natural", &["water"]), ..WOODS };
const OPEN: Cover = Cover { holes: usize::MAX, kinds: ("natural", &["scrub", "heath", "wetland"]), ..WOODS };
/// Land use between the settlements.
const COUNTRY: &[&Cover] = &[
    &FIELDS, &FIELDS, &FIELDS, &FIELDS, &FIELDS, &WOODS, &WOODS, &WOODS, &WOODS, &LAKES, &OPEN, &OPEN, &OPEN,
    &NOTHING, &NOTHING, &NOTHING,
];
const BUILT_UP: Cover = Cover {
    used: 0.6,
    kinds: ("landuse", &["residential", "residential", "residential", "commercial", "industrial"]),
    ..OPEN
};

/// In addition to residential ones.
const STREETS: &[&str] = &["unclassified", "unclassified", "living_street", "tertiary", "secondary"];
const LANES: &[&str] = &["track", "track", "unclassified", "path", "service"];
const ROADS: &[&str] = &["primary", "secondary", "secondary", "tertiary", "tertiary", "tertiary"];
/// From a street into a block.
const DRIVES: &[&str] = &["service", "service", "footway", "path"];
const FURNITURE: &[Kinds] = &[
    ("highway", &["bus_stop", "bus_stop", "street_lamp", "crossing", "traffic_signals"]),
    ("amenity", &["post_box", "bicycle_parking", "waste_basket"]),
    ("barrier", &["gate", "bollard"]),
];
const BUSINESSES: &[Kinds] = &[
    ("amenity", &["restaurant", "restaurant", "cafe", "bank", "pharmacy"]),
    ("shop", &["convenience", "clothes", "bakery", "supermarket"]),
    ("tourism", &["hotel", "attraction", "museum"]),
];

/// A name, some with letters that are not ASCII or characters that need escaping.
fn name(draws: &mut Draws) -> String {
    const STARTS: [&str; 12] =
        ["Al", "Ber", "Cor", "\"Zur ", "El", "Grün", "O'", "Mar", "Ober", "Sankt ", "Zür", "Éta"];
    const MIDDLES: [&str; 6] = ["", "an", "be", "en", "la", "ste"];
    const ENDS: [&str; 12] =
        ["bach", "berg", "brück", "dorf", "feld", "heim", "ingen", "mont", "mühle", "ton", "val", "wald"];
    [draws.pick(&STARTS), draws.pick(&MIDDLES), draws.pick(&ENDS)].concat()
}

struct Land {
    seed: u64,
    cell: GridCell,
    draws: Draws,
    piece: MapPiece,
    settlement: Settlement,
    row: Through,
    column: Through,
    /// Of patches, row by row.
    levels: Vec<Urbanity>,
}

impl Land {
    /// Each patch takes its level from the densest settlement there. Edges are irregular.
    fn levels(&mut self) -> Vec<Urbanity> {
        let reach = || -REACH..=REACH;
        let around = reach().flat_map(|x| reach().map(move |y| (x, y)));
        let near: Vec<(Point, Settlement)> = around
            .map(|(x, y)| {
                let cell = self.cell.at_offset(x, y);
                let hub = (
                    f64::from(x * PATCHES + Through::of(self.seed, StreamKey::Column, cell.x).road),
                    f64::from(y * PATCHES + Through::of(self.seed, StreamKey::Row, cell.y).road),
                );
                (hub, Settlement::of(self.seed, cell))
            })
            .filter(|((x, y), settlement)| {
                let outside = |at: f64| at - at.clamp(0.0, f64::from(PATCHES));
                outside(*x).abs().max(outside(*y).abs()) < settlement.radius * 1.2
            })
            .collect();
        let mut levels = Vec::new();
        for (i, j) in (0..PATCHES * PATCHES).map(|at| (at % PATCHES, at / PATCHES)) {
            let mut level = Urbanity { density: -1.0, mapped: 0.0 };
            for ((x, y), settlement) in &near {
                let (x, y) = (x - f64::from(i) - 0.5, y - f64::from(j) - 0.5);
                let density = 1.0 - (x * x + y * y).sqrt() / settlement.radius;
                if density > level.density {
                    level = Urbanity { density, mapped: settlement.mapped };
                }
            }
            level.density += self.draws.between(-0.16, 0.16);
            levels.push(level);
        }
        levels
    }

    fn level(&self, (i, j): (i32, i32)) -> Urbanity {
        self.levels[(j * PATCHES + i) as usize]
    }

    fn is_urban(&self, patch: (i32, i32)) -> bool {
        self.level(patch).density > 0.0
    }

    /// The sides that belong to this cell, used by both neighbours, and the areas that it completes. A
    /// county's relation comes with the last of its cells, and so does a state's.
    fn boundaries(&mut self) {
        let index = self.cell.index();
        for (side, neighbour) in sides(self.cell) {
            if index > neighbour.index() {
                continue;
            }
            let vertices = (0..=PATCHES).map(|along| match side {
                0 => (along, 0),
                1 => (PATCHES, along),
                2 => (PATCHES - along, PATCHES),
                _ => (0, PATCHES - along),
            });
            let nodes = vertices.map(|at| self.piece.vertex(at)).collect();
            let is_within = |cells: u64| index / cells == neighbour.index() / cells;
            let level = if !is_within(81) {
                "4"
            } else if !is_within(9) {
                "6"
            } else {
                "8"
            };
            let tags = [("boundary", "administrative"), ("admin_level", level)];
            self.piece.side_way(side, nodes, &tags);
        }
        for (cells, level) in [(1, "8"), (9, "6"), (81, "4")] {
            if index % cells == cells - 1 {
                self.boundary(index / cells, cells, level);
            }
        }
    }

    /// The relation of area number `area` with this many cells.
    fn boundary(&mut self, area: u64, cells: u64, level: &'static str) {
        // The administrative centre.
        let seat = GridCell::nth(area * cells + cells / 2);
        let mut members = vec![(ObjectKind::Nodes, MapPiece::place_id(seat), "admin_centre")];
        for cell in (area * cells..(area + 1) * cells).map(GridCell::nth) {
            for (side, neighbour) in sides(cell) {
                if neighbour.index() / cells == area {
                    continue;
                }
                let way = if cell.index() < neighbour.index() {
                    MapPiece::side_id(cell, side)
                } else {
                    MapPiece::side_id(neighbour, (side + 2) % 4)
                };
                members.push((ObjectKind::Ways, way, "outer"));
            }
        }
        let name = Settlement::of(self.seed, seat).name;
        let tags =
            [("type", "boundary"), ("boundary", "administrative"), ("admin_level", level), ("name", &name)];
        self.piece.relation(&members, &tags);
    }

    /// Nodes of the settlement and of farms.
    fn places(&mut self) {
        let Settlement { kind, name: settlement, radius, .. } = self.settlement.clone();
        let population = (radius * radius * self.draws.between(50.0, 150.0)) as u32;
        let hub = (f64::from(self.column.road) + 0.1, f64::from(self.row.road) + 0.1);
        let tags = [("place", kind), ("name", &settlement), ("population", &population.to_string())];
        self.piece.place_node(hub, &tags);
        for (x, y) in (0..9).map(|at| (4.1 + 8.0 * f64::from(at % 3), 4.1 + 8.0 * f64::from(at / 3))) {
            if self.draws.chance(0.15) {
                let name = name(&mut self.draws);
                self.piece.node((x, y), &[("place", "isolated_dwelling"), ("name", &name)]);
            }
        }
    }

    fn water_and_rails(&mut self) {
        if let Some(row) = self.row.other {
            let name = name(&mut Draws::new(self.seed, StreamKey::Row, self.cell.y as u64));
            for at in (0..PATCHES).step_by(6) {
                let river = (at..=at + 6).map(|i| (i, row));
                self.line(river, (5.0, 40.0), &[("waterway", "river"), ("name", &name)]);
                if self.draws.chance(0.5) && self.column.other != Some(at + 2) {
                    let length = 1 + self.draws.below(8) as i32;
                    let stream = (row..=(row + length).min(PATCHES)).rev().map(|j| (at + 2, j));
                    self.line(stream, (12.0, 40.0), &[("waterway", "stream")]);
                }
            }
        }
        if let Some(column) = self.column.other {
            for half in [0..=PATCHES / 2, PATCHES / 2..=PATCHES] {
                let tags = [("railway", "rail"), ("gauge", "1435")];
                self.line(half.map(|j| (column, j)), (1.5, 3.0), &tags);
            }
            let station = (f64::from(column) + 0.05, f64::from(self.row.road));
            let name = self.settlement.name.clone();
            self.piece.node(station, &[("railway", "station"), ("name", &name)]);
        }
        if self.draws.chance(0.1) {
            let row = f64::from(QUARTER * self.draws.below((PATCHES / QUARTER) as u32) as i32 + 2) + 0.2;
            let towers = (1..PATCHES).map(|i| self.piece.node((f64::from(i), row), &[("power", "tower")]));
            let towers = towers.collect();
            self.piece.way(towers, &[("power", "line"), ("voltage", "110000")]);
        }
    }

    /// A road through the row and one through the column, which meet in the settlement; cut into ways, as in
    /// real data where a limit or a name changes. Some of the cuts have turn restrictions. Motorways run
    /// through the middles of states.
    fn roads(&mut self) {
        let mut bus_route = Vec::new();
        for is_row in [true, false] {
            let class = match (is_row, self.cell.x.rem_euclid(9), self.cell.y.rem_euclid(9)) {
                (true, _, 0) => "motorway",
                (false, 0, _) => "trunk",
                _ => self.draws.pick(ROADS),
            };
            let line = if is_row { self.row.road } else { self.column.road };
            let reference = format!("{}{}", &class[..1], 1 + self.draws.below(899));
            let name = name(&mut self.draws);
            let (mut at, mut before) = (0, None);
            while at < PATCHES {
                let end = (at + 1 + self.draws.below(5) as i32).min(PATCHES);
                let path = (at..=end).map(|along| lattice(line, along, is_row));
                let limit = self.draws.pick(&["50", "60", "80", "100"]);
                let tags = [("highway", class), ("ref", &reference), ("name", &name), ("maxspeed", limit)];
                let way = self.line(path, (3.0, 14.0), &tags);
                if let Some(before) = before.filter(|_| self.draws.chance(0.4)) {
                    let via = self.piece.vertex(lattice(line, at, is_row));
                    let members = [
                        (ObjectKind::Ways, before, "from"),
                        (ObjectKind::Nodes, via, "via"),
                        (ObjectKind::Ways, way, "to"),
                    ];
                    self.piece.relation(&members, &[("type", "restriction"), ("restriction", "no_u_turn")]);
                }
                bus_route.push((ObjectKind::Ways, way, ""));
                before = Some(way);
                at = end;
            }
        }
        if self.settlement.radius > 3.5 {
            let number = (self.cell.index() % 97 + 1).to_string();
            self.piece.relation(&bus_route, &[("type", "route"), ("route", "bus"), ("ref", &number)]);
        }
    }

    /// Streets of settlements along a line of the lattice, or perhaps lanes through the country between
    /// quarters.
    fn streets(&mut self, line: i32, is_row: bool) {
        let through = if is_row { &self.row } else { &self.column };
        if line == through.road || Some(line) == through.other {
            return;
        }
        let has_lanes = line % QUARTER == 0 && self.draws.chance(0.22);
        let is_urban = |land: &Self, along| {
            [line, line - 1].into_iter().any(|line| land.is_urban(lattice(line, along, is_row)))
        };
        let (mut at, mut street) = (0, name(&mut self.draws));
        while at < PATCHES {
            let is_street = is_urban(self, at);
            let most = if is_street { 1 + self.draws.long_tailed(1.0, 6.0) as i32 } else { QUARTER };
            let mut end = at + 1;
            while end < PATCHES && end - at < most && is_urban(self, end) == is_street {
                end += 1;
            }
            let path = (at..=end).map(|along| lattice(line, along, is_row));
            if is_street && self.draws.chance(0.95) {
                let class = if self.draws.chance(0.6) { "residential" } else { self.draws.pick(STREETS) };
                let mut tags = vec![("highway", class), ("name", &*street)];
                if self.draws.chance(0.3) {
                    tags.push(("surface", self.draws.pick(&["asphalt", "paved", "cobblestone"])));
                }
                self.line(path, (1.3, 10.0), &tags);
            } else if !is_street && has_lanes {
                let class = self.draws.pick(LANES);
                self.line(path, (5.0, 20.0), &[("highway", class)]);
            }
            if self.draws.chance(0.2) {
                street = name(&mut self.draws);
            }
            at = end;
        }
    }

    /// A way along vertices of the lattice, each a neighbour of the one before. `bends` are nodes in between:
    /// above `bends.0 * k` once in k, at most `bends.1`.
    fn line(&mut self, path: impl Iterator<Item = (i32, i32)>, bends: (f64, f64), tags: &Tags<'_>) -> i64 {
        let (mut nodes, mut before) = (Vec::new(), None);
        for at in path {
            if let Some(from) = before {
                let count = self.draws.long_tailed(bends.0, bends.0 + bends.1) - bends.0;
                let float = |(i, j)| (f64::from(i), f64::from(j));
                self.bends(&mut nodes, float(from), float(at), count as u32);
            }
            nodes.push(self.piece.vertex(at));
            before = Some(at);
        }
        self.piece.way(nodes, tags)
    }

    /// Nodes of a line between two places, off the straight line by at most a twentieth of its length.
    fn bends(&mut self, nodes: &mut Vec<i64>, from: Point, to: Point, count: u32) {
        let (x, y) = (to.0 - from.0, to.1 - from.1);
        let mut aside = 0.0;
        for bend in 1..=count {
            let share = f64::from(bend) / f64::from(count + 1);
            aside = 0.6 * aside + self.draws.between(-0.02, 0.02);
            let at = (from.0 + share * x - aside * y, from.1 + share * y + aside * x);
            let side = f64::from(PATCHES);
            nodes.push(self.piece.node((at.0.clamp(0.0, side), at.1.clamp(0.0, side)), &[]));
        }
    }

    /// Land use of 4 x 4 patches.
    fn quarter(&mut self, corner: (i32, i32)) {
        let patches = (0..QUARTER * QUARTER).map(|at| (corner.0 + at % QUARTER, corner.1 + at / QUARTER));
        let cover = match patches.filter(|patch| self.is_urban(*patch)).count() {
            0 => self.draws.pick(COUNTRY),
            1..10 => &NOTHING,
            _ => &BUILT_UP,
        };
        self.cover(cover, corner, QUARTER);
    }

    /// What lies between the streets around a patch of a settlement. The middle of a settlement is mapped
    /// first.
    fn block(&mut self, patch: (i32, i32)) {
        let Urbanity { density, mapped } = self.level(patch);
        if density <= 0.0 || !self.piece.has_room() {
            return;
        }
        let is_mapped = self.draws.chance(mapped * (0.6 + 0.6 * density));
        let cover = self.draws.pick(match density {
            ..0.3 => OUTER,
            ..0.75 => MIDDLE,
            _ => INNER,
        });
        if is_mapped || self.draws.chance(cover.unmapped) {
            self.cover(cover, patch, 1);
        }
        if self.piece.has_vertex(patch) {
            for _ in 0..self.draws.long_tailed(0.85, 8.0) as u32 {
                self.drive(patch);
            }
        }
        self.points(patch, density, mapped, is_mapped);
    }

    /// A way or a fence from a vertex into the patch.
    fn drive(&mut self, patch: (i32, i32)) {
        let from = (f64::from(patch.0), f64::from(patch.1));
        let to = (from.0 + self.draws.between(0.1, 0.9), from.1 + self.draws.between(0.1, 0.9));
        let mut nodes = vec![self.piece.vertex(patch)];
        let count = self.draws.long_tailed(1.4, 20.0) as u32;
        self.bends(&mut nodes, from, to, count);
        nodes.push(self.piece.node(to, &[]));
        let is_fence = self.draws.chance(0.12);
        let tag = if is_fence { ("barrier", "fence") } else { ("highway", self.draws.pick(DRIVES)) };
        self.piece.way(nodes, &[tag]);
    }

    /// Shops, benches with trees near them, and street furniture: more in the middle of a settlement, and
    /// where it is mapped well.
    fn points(&mut self, patch: (i32, i32), density: f64, mapped: f64, is_mapped: bool) {
        let within = |land: &mut Self| {
            let mut along = |side: i32| f64::from(side) + land.draws.share();
            (along(patch.0), along(patch.1))
        };
        if self.draws.chance(0.1 + 0.25 * mapped * density) {
            for _ in 0..self.draws.long_tailed(1.2, 8.0) as u32 {
                let (at, tag) = (within(self), self.one_of(FURNITURE));
                self.piece.node(at, &[tag]);
            }
        }
        if !is_mapped {
            return;
        }
        if self.draws.chance(0.25) {
            for _ in 0..self.draws.long_tailed(1.5, 15.0) as u32 {
                let (at, tag, name) = (within(self), self.one_of(BUSINESSES), name(&mut self.draws));
                self.piece.node(at, &[tag, ("name", &name)]);
            }
        }
        if self.draws.chance(0.15) {
            for _ in 0..self.draws.long_tailed(1.5, 12.0) as u32 {
                let bench = within(self);
                self.piece.node(bench, &[("amenity", "bench"), ("backrest", "yes")]);
                for _ in 0..self.draws.below(5) {
                    // Up to 14 m away.
                    let mut aside = |at: f64, side: i32| {
                        (at + self.draws.between(-0.1, 0.1)).clamp(f64::from(side), f64::from(side + 1))
                    };
                    let tree = (aside(bench.0, patch.0), aside(bench.1, patch.1));
                    self.piece.node(tree, &[("natural", "tree"), ("genus", "Tilia")]);
                }
            }
        }
    }

    fn one_of(&mut self, kinds: &[Kinds]) -> (&'static str, &'static str) {
        let (key, values) = self.draws.pick(kinds);
        (key, self.draws.pick(values))
    }

    /// Fills a square of patches, except its edge.
    fn cover(&mut self, cover: &Cover, (i, j): (i32, i32), side: i32) {
        const RIM: f64 = 0.07;
        let (columns, rows) = cover.plots;
        let length = f64::from(side) - 2.0 * RIM;
        let plot = (length / f64::from(columns), length / f64::from(rows));
        for (column, row) in (0..columns * rows).map(|at| (at % columns, at / columns)) {
            if self.piece.has_room() && self.draws.chance(cover.used) {
                let x = f64::from(i) + RIM + plot.0 * f64::from(column);
                let y = f64::from(j) + RIM + plot.1 * f64::from(row);
                let size = (plot.0 * self.draws.between(0.5, 1.0), plot.1 * self.draws.between(0.5, 1.0));
                self.area(cover, (x, y), size);
            }
        }
    }

    fn area(&mut self, cover: &Cover, at: Point, size: Point) {
        let corners = 3 + self.draws.long_tailed(cover.corners.0, cover.corners.1) as usize;
        let tag = self.one_of(&[cover.kinds]);
        let (more, inner): (_, &Tags<'_>) = match tag {
            ("building", _) => (("addr:housenumber", (1 + self.draws.below(120)).to_string()), &[]),
            ("natural", _) => (("name", name(&mut self.draws)), &[("place", "islet")]),
            _ => (("name", name(&mut self.draws)), &[("landuse", "meadow")]),
        };
        let mut tags = vec![tag];
        if self.draws.chance(0.3) {
            tags.push((more.0, &more.1));
        }
        let outer = self.ring(at, size, corners);
        if corners < cover.holes {
            self.piece.way(outer, &tags);
            return;
        }
        let mut members = Vec::new();
        for start in (0..outer.len() - 1).step_by(LONG_RING) {
            let end = (start + LONG_RING).min(outer.len() - 1);
            members.push((ObjectKind::Ways, self.piece.way(outer[start..=end].to_vec(), &[]), "outer"));
        }
        let holes = 1 + corners.ilog2().saturating_sub(4).min(3);
        let slot = size.0 / f64::from(holes);
        for hole in 0..holes {
            let at = (at.0 + slot * (f64::from(hole) + 0.2), at.1 + 0.1 * size.1);
            let corners = 4 + self.draws.long_tailed(2.0, 60.0) as usize;
            let ring = self.ring(at, (0.6 * slot, 0.3 * size.1), corners);
            members.push((ObjectKind::Ways, self.piece.way(ring, inner), "inner"));
        }
        tags.push(("type", "multipolygon"));
        self.piece.relation(&members, &tags);
    }

    /// A ring that is simple by construction: a straight side in the south, and corners in the northern half
    /// of its box, from east to west. So the southern half is free for holes. It has at least four corners.
    fn ring(&mut self, at: Point, size: Point, corners: usize) -> Vec<i64> {
        // Corners are at least three units of coordinates apart.
        let last = (corners - 3).min((size.0 * 6000.0) as usize).max(1);
        let mut nodes = vec![self.piece.node(at, &[]), self.piece.node((at.0 + size.0, at.1), &[])];
        let mut height = self.draws.between(0.6, 1.0);
        for corner in 0..=last {
            height = 0.6 * height + 0.4 * self.draws.between(0.6, 1.0);
            let share = 1.0 - corner as f64 / last as f64;
            nodes.push(self.piece.node((at.0 + size.0 * share, at.1 + size.1 * height), &[]));
        }
        nodes.push(nodes[0]);
        nodes
    }
}

/// A vertex or patch by its line and its position along the line.
fn lattice(line: i32, along: i32, is_row: bool) -> (i32, i32) {
    if is_row { (along, line) } else { (line, along) }
}

/// The sides of a cell, counterclockwise from the south, and its neighbours there.
fn sides(cell: GridCell) -> [(i64, GridCell); 4] {
    [
        (0, cell.at_offset(0, -1)),
        (1, cell.at_offset(1, 0)),
        (2, cell.at_offset(0, 1)),
        (3, cell.at_offset(-1, 0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise dense cells would lose blocks: a whole state, and cells at the edge of the largest scale.
    #[test]
    fn ids_do_not_run_out() {
        for seed in [1, 7] {
            let far = (1_249_000..1_250_000).step_by(50);
            let most = (0..81).chain(far).map(|index| draw(seed, index).ids_taken()).fold(0.0, f64::max);
            assert!((0.3..0.75).contains(&most), "{most}");
        }
    }
}
