//! Outlines that are simple by the way they are made. Each point is named once; rings run counterclockwise.

use super::ground::Point;
use super::rng::Draws;
use super::trig::turned;

/// A rectangle turned around its middle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub middle: Point,
    /// Half of its sides in metres.
    pub half: (f64, f64),
    cos: f64,
    sin: f64,
}

impl Frame {
    pub(super) fn new(middle: Point, half: (f64, f64), turns: f64) -> Self {
        let (cos, sin) = turned(turns);
        Self { middle, half, cos, sin }
    }

    /// A point by its metres from the middle, along the frame's own axes.
    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        self.middle.moved(x * self.cos - y * self.sin, x * self.sin + y * self.cos)
    }

    /// A rectangle within, turned alike: middle and half sides in the frame's own metres.
    pub(super) fn part(&self, x: f64, y: f64, half: (f64, f64)) -> Self {
        Self { middle: self.at(x, y), half, ..*self }
    }

    pub(super) fn corners(&self) -> [Point; 4] {
        let (x, y) = self.half;
        [self.at(-x, -y), self.at(x, -y), self.at(x, y), self.at(-x, y)]
    }
}

/// A ring around a middle that every ray from there leaves once, and how far it is clear.
pub(super) struct Star {
    pub points: Vec<Point>,
    /// Share of the frame's half sides within which nothing of the ring lies.
    pub clear: f64,
}

/// A frayed outline of `count` points that fills a frame: fractal, of finer and finer steps.
pub(super) fn star(draws: &mut Draws, frame: &Frame, count: usize, fray: f64) -> Star {
    let mut radii = vec![1.0; count];
    let (mut knots, mut height) = (4, fray);
    while knots <= count {
        let values: Vec<f64> = (0..knots).map(|_| draws.between(-height, height)).collect();
        for (at, radius) in radii.iter_mut().enumerate() {
            let along = at as f64 * knots as f64 / count as f64;
            let (knot, share) = (along as usize, along - along.floor());
            *radius += values[knot] * (1.0 - share) + values[(knot + 1) % knots] * share;
        }
        knots *= 2;
        height *= 0.5;
    }
    let largest = radii.iter().copied().fold(0.0, f64::max);
    let mut clear = 1.0_f64;
    let start = draws.share();
    let points = radii
        .iter()
        .enumerate()
        .map(|(at, radius)| {
            // Angles go up whatever is drawn: steps of 0.7 to 1.3.
            let (cos, sin) = turned((at as f64 + draws.between(-0.15, 0.15)) / count as f64 + start);
            // Half way from a circle to the frame.
            let reach = radius / largest * (0.5 + 0.5 / cos.abs().max(sin.abs()));
            clear = clear.min(reach);
            frame.at(reach * cos * frame.half.0, reach * sin * frame.half.1)
        })
        .collect();
    // Between two points a ring is nearer than at both: by the cosine of half the angle between them.
    let (chord, _) = turned(0.65 / count as f64);
    Star { points, clear: clear * chord.max(0.0) }
}

/// Holes within a star, `count` of at most 4, that touch neither it nor each other.
pub(super) fn holes(draws: &mut Draws, frame: &Frame, star: &Star, count: usize) -> Vec<Vec<Point>> {
    let start = draws.share();
    (0..count)
        .map(|at| {
            let (cos, sin) = turned(start + at as f64 / count as f64);
            let (away, size) = (0.5 * star.clear, draws.between(0.08, 0.22) * star.clear);
            let half = (size * frame.half.0, size * frame.half.1);
            let hole = frame.part(away * cos * frame.half.0, away * sin * frame.half.1, half);
            // Not so many that they come to lie on each other, in a small one.
            let points = draws.long_tailed(5.0, 60.0).min(half.0.min(half.1) * 3.0).max(5.0) as usize;
            self::star(draws, &hole, points, 0.2).points
        })
        .collect()
}

/// A rectangle whose sides are cut into parts, the cuts moved by at most `sway` metres: a field.
pub(super) fn field(draws: &mut Draws, frame: &Frame, per_side: usize, sway: f64) -> Vec<Point> {
    let mut points = Vec::with_capacity(4 * per_side);
    let corners = frame.corners();
    for side in 0..4 {
        let (from, to) = (corners[side], corners[(side + 1) % 4]);
        points.push(from);
        for cut in 1..per_side {
            // Inwards, so that neighbours are not crossed; and less near a corner, where the other side comes near.
            let share = (cut as f64 + draws.between(-0.3, 0.3)) / per_side as f64;
            let sway = sway.min(0.4 * share.min(1.0 - share) * from.distance(to));
            points.push(from.towards(to, share, draws.between(0.0, sway)));
        }
    }
    points
}

/// A house: a straight front and behind it as many steps as asked for, each of another depth than the one before; with
/// a corner cut off if asked for. It has `2 + 2 * steps` points, or one more.
pub(super) fn house(draws: &mut Draws, frame: &Frame, steps: usize, cut_corner: bool) -> Vec<Point> {
    let (x, y) = frame.half;
    let mut points = Vec::with_capacity(3 + 2 * steps);
    let bevel = 0.3 * x.min(y) / steps as f64;
    if cut_corner {
        points.extend([frame.at(-x, -y + bevel), frame.at(-x + bevel, -y)]);
    } else {
        points.push(frame.at(-x, -y));
    }
    points.push(frame.at(x, -y));
    let mut is_deep = draws.chance(0.5);
    let mut right = x;
    for step in (0..steps).rev() {
        let depth = if is_deep || steps == 1 { y } else { y * draws.between(0.0, 0.7) };
        let left = if step == 0 {
            -x
        } else {
            -x + 2.0 * x * (step as f64 + draws.between(-0.3, 0.3)) / steps as f64
        };
        points.extend([frame.at(right, depth), frame.at(left, depth)]);
        right = left;
        is_deep = !is_deep;
    }
    points
}

/// A round thing: a silo, a pond, a fountain.
pub(super) fn round(frame: &Frame, count: usize) -> Vec<Point> {
    (0..count)
        .map(|at| {
            let (cos, sin) = turned(at as f64 / count as f64);
            frame.at(frame.half.0 * cos, frame.half.1 * sin)
        })
        .collect()
}

/// Points of a line between two others, swaying aside by at most some metres; the ends are left out.
pub(super) fn between(draws: &mut Draws, from: Point, to: Point, count: usize, sway: f64) -> Vec<Point> {
    let mut aside = 0.0;
    (1..=count)
        .map(|at| {
            let share = at as f64 / (count + 1) as f64;
            aside = 0.6 * aside + 0.5 * draws.between(-sway, sway);
            // Tied to both ends.
            from.towards(to, share, aside.clamp(-sway, sway) * (4.0 * share * (1.0 - share)).sqrt())
        })
        .collect()
}
