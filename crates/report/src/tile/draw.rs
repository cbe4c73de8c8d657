//! Layers to SVG paths on a grid of half pixels, coarser if the picture would become too large.

use std::collections::BTreeSet;
use std::fmt::Write;

use ::tile::mvt::{Feature, GeometryKind, Layer};

pub(super) const GRID: i32 = 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SizeLimit {
    /// Most bytes of all paths together.
    pub(crate) bytes: usize,
    /// Smallest feature drawn, in units of the grid, if that fits.
    pub(crate) finest: f64,
}

const COARSEST: f64 = 256.0;
/// Factor from one attempt to the next, coarser one.
const COARSER: f64 = 1.25;

/// Polygons from this share of the tile's area on are ground: painted one by one, so that overlaps are
/// visible.
const GROUND_SHARE: f64 = 0.002;

#[derive(Default)]
struct Paths {
    ground: Vec<(f64, String)>,
    polygons: Path,
    lines: Path,
    points: Path,
    /// Occupied points, in steps of the detail.
    dotted: BTreeSet<(i32, i32)>,
}

impl Paths {
    fn bytes(&self) -> usize {
        let ground: usize = self.ground.iter().map(|(_, path)| path.len() + 30).sum();
        ground + self.polygons.text.len() + self.lines.text.len() + self.points.text.len()
    }

    fn of(layer: &Layer, detail: f64) -> Self {
        let mut paths = Self::default();
        for feature in &layer.features {
            add(&mut paths, feature, layer.extent, detail);
        }
        paths
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct DrawnPath {
    pub(super) class: &'static str,
    /// Index of its layer.
    pub(super) layer: usize,
    pub(super) outline: String,
}

/// All layers, with the finest detail that fits. Later paths cover earlier ones: ground, large below small,
/// then areas, ways and points of all layers.
pub(super) fn draw(layers: &[Layer], limit: SizeLimit) -> Vec<DrawnPath> {
    let drawn = |detail| layers.iter().map(|layer| Paths::of(layer, detail)).collect::<Vec<_>>();
    let mut detail = limit.finest;
    let mut paths = drawn(detail);
    while paths.iter().map(Paths::bytes).sum::<usize>() > limit.bytes && detail < COARSEST {
        detail *= COARSER;
        paths = drawn(detail);
    }
    let mut painted = ground(&mut paths);
    for (class, path) in PAINTS {
        painted.extend(paths.iter_mut().enumerate().map(|(layer, paths)| {
            let outline = std::mem::take(&mut path(paths).text);
            DrawnPath { class, layer, outline }
        }));
    }
    // A tile of only long outlines may exceed the limit at any detail: then parts are left out.
    let mut left = limit.bytes;
    for path in &mut painted {
        if path.outline.len() > left {
            let end = path.outline.as_bytes()[..left].iter().rposition(|letter| *letter == b'm');
            path.outline.truncate(end.unwrap_or(0));
        }
        left -= path.outline.len();
    }
    painted.retain(|path| !path.outline.is_empty());
    painted
}

type OfKind = fn(&mut Paths) -> &mut Path;

/// Drawn over the ground, in this order.
const PAINTS: [(&str, OfKind); 3] = [
    ("area", |paths| &mut paths.polygons),
    ("way", |paths| &mut paths.lines),
    ("point", |paths| &mut paths.points),
];

fn ground(paths: &mut [Paths]) -> Vec<DrawnPath> {
    let mut ground: Vec<(f64, DrawnPath)> = Vec::new();
    for (layer, paths) in paths.iter_mut().enumerate() {
        let painted = |outline| DrawnPath { class: "ground", layer, outline };
        ground.extend(paths.ground.drain(..).map(|(area, outline)| (area, painted(outline))));
    }
    ground.sort_by(|a, b| b.0.total_cmp(&a.0));
    ground.into_iter().map(|(_, painted)| painted).collect()
}

fn add(paths: &mut Paths, feature: &Feature, extent: u32, detail: f64) {
    let scaled = || feature.parts.iter().map(|part| simplified(part, extent, detail));
    match feature.kind {
        GeometryKind::Point => {
            let step = |number: i32| (f64::from(number) / detail) as i32;
            for point in scaled().flatten().filter(|point| inside(*point)) {
                if paths.dotted.insert((step(point.0), step(point.1))) {
                    paths.points.dot(point);
                }
            }
        }
        GeometryKind::Line => {
            for line in scaled().filter(|line| line.len() > 1 && seen(line)) {
                paths.lines.add(&line, false);
            }
        }
        GeometryKind::Polygon => {
            let rings: Vec<_> = scaled().filter(|ring| ring.len() > 2 && seen(ring)).collect();
            let largest = rings.iter().map(|ring| area(ring)).fold(0.0, f64::max);
            let mut own = Path::default();
            let is_ground = largest > GROUND_SHARE * f64::from(GRID * GRID);
            let path = if is_ground { &mut own } else { &mut paths.polygons };
            for ring in rings.iter().filter(|ring| area(ring) >= detail * detail) {
                path.add(ring, true);
            }
            if is_ground && !own.text.is_empty() {
                paths.ground.push((largest, own.text));
            }
        }
    }
}

/// Scales to the grid and drops points nearer than `detail` to the one before.
fn simplified(part: &[(i32, i32)], extent: u32, detail: f64) -> Vec<(i32, i32)> {
    let scale = f64::from(GRID) / f64::from(extent);
    let mut kept: Vec<(i32, i32)> = Vec::with_capacity(part.len());
    for (position, &(x, y)) in part.iter().enumerate() {
        // Clamps distant points near the tile, which keeps differences small.
        let place =
            |v: i32| (f64::from(v) * scale).round().clamp(-f64::from(GRID), 2.0 * f64::from(GRID)) as i32;
        let point = (place(x), place(y));
        let near = kept
            .last()
            .is_some_and(|last| f64::from((point.0 - last.0).abs().max((point.1 - last.1).abs())) < detail);
        if !near {
            kept.push(point);
        } else if position + 1 == part.len() && kept.len() > 1 {
            // A line keeps its end, so that ways still meet.
            if let Some(last) = kept.last_mut() {
                *last = point;
            }
        }
    }
    kept
}

fn inside((x, y): (i32, i32)) -> bool {
    (0..=GRID).contains(&x) && (0..=GRID).contains(&y)
}

/// Whether the box around the points touches the picture.
fn seen(points: &[(i32, i32)]) -> bool {
    let overlaps = |of: fn(&(i32, i32)) -> i32| {
        let low = points.iter().map(of).min().unwrap_or(0);
        let high = points.iter().map(of).max().unwrap_or(0);
        high >= 0 && low <= GRID
    };
    overlaps(|point| point.0) && overlaps(|point| point.1)
}

/// Area of a ring, by the shoelace formula.
fn area(ring: &[(i32, i32)]) -> f64 {
    let next = ring.iter().cycle().skip(1);
    let doubled: f64 = ring
        .iter()
        .zip(next)
        .map(|(a, b)| f64::from(a.0) * f64::from(b.1) - f64::from(b.0) * f64::from(a.1))
        .sum();
    doubled.abs() / 2.0
}

/// An SVG path in short form: relative steps, no optional letter or blank.
#[derive(Default)]
struct Path {
    text: String,
    at: (i32, i32),
}

impl Path {
    fn add(&mut self, points: &[(i32, i32)], close: bool) {
        let Some((&first, rest)) = points.split_first() else { return };
        self.text.push('m');
        self.move_to(first, true);
        self.text.push('l');
        for (position, &point) in rest.iter().enumerate() {
            self.move_to(point, position == 0);
        }
        if close {
            self.text.push('z');
            self.at = first;
        }
    }

    fn dot(&mut self, point: (i32, i32)) {
        self.text.push('m');
        self.move_to(point, true);
        self.text.push_str("h0");
    }

    fn move_to(&mut self, to: (i32, i32), after_letter: bool) {
        let (x, y) = (to.0 - self.at.0, to.1 - self.at.1);
        // A minus sign separates numbers without a blank.
        let blank = |number: i32| if number < 0 { "" } else { " " };
        let _ = write!(self.text, "{}{x}{}{y}", if after_letter { "" } else { blank(x) }, blank(y));
        self.at = to;
    }
}
