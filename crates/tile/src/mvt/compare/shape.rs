//! A geometry in pixels, prepared for comparison.

use std::hash::{Hash, Hasher};

use crate::PIXELS;
use crate::mvt::GeometryKind;

/// Points, lines or rings in pixels of 256 per tile, for any extent. Shapes are equal if they have the same
/// points in the same order.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) kind: GeometryKind,
    pub(super) points: Vec<[f64; 2]>,
    /// For each point the end of its segment; itself at the end of a line, and for a single point.
    next: Vec<u32>,
    /// West, north, east and south of all points.
    pub(super) edges: [f64; 4],
}

impl Shape {
    pub(super) fn new(kind: GeometryKind, parts: &[Vec<(i32, i32)>], extent: u32) -> Self {
        let scale = PIXELS / f64::from(extent.max(1));
        let mut shape = Self { kind, points: Vec::new(), next: Vec::new(), edges: [f64::NAN; 4] };
        for part in parts {
            let start = shape.points.len() as u32;
            shape.points.extend(part.iter().map(|&(x, y)| [f64::from(x) * scale, f64::from(y) * scale]));
            let end = shape.points.len() as u32;
            shape.next.extend(start + 1..end);
            if end > start {
                shape.next.push(if kind == GeometryKind::Polygon { start } else { end - 1 });
            }
        }
        for &[x, y] in &shape.points {
            // `min` and `max` ignore a missing (NaN) operand.
            let [west, north, east, south] = shape.edges;
            shape.edges = [west.min(x), north.min(y), east.max(x), south.max(y)];
        }
        shape
    }

    /// Squared distance from a point to the segment that begins at point `number`.
    pub(super) fn distance_squared(&self, [x, y]: [f64; 2], number: usize) -> f64 {
        let ([ax, ay], [bx, by]) = (self.points[number], self.points[self.next[number] as usize]);
        let (dx, dy) = (bx - ax, by - ay);
        let length = dx * dx + dy * dy;
        let along =
            if length > 0.0 { (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0) } else { 0.0 };
        let (east, south) = (ax + along * dx - x, ay + along * dy - y);
        east * east + south * south
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, &self.next, &self.points) == (other.kind, &other.next, &other.points)
    }
}

/// Points are finite.
impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.points.len()).hash(state);
        // No point is at minus zero, so equal points have equal bits.
        self.points.iter().flatten().for_each(|place| place.to_bits().hash(state));
    }
}
