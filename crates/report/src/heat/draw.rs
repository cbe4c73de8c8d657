//! Maps of tiles as SVG, with their scale.

use std::fmt::Write;

use ::tile::Tile;
use maud::{Markup, Render, html};

use super::scale::STEPS;
use super::{Heat, Map, Spot};
use crate::chart::coordinate;
use crate::numbers;

/// Width of a map, and its largest height, in its units.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 260.0;
const SIDE: f64 = 28.0;
const MARGIN: f64 = 8.0;

/// Rectangles with a tooltip, at most; more are drawn as one outline per colour.
const MOST_TOLD: usize = 300;

impl Render for Heat {
    fn render(&self) -> Markup {
        html! {
            h4 { (self.heading()) }
            div.heats { @for map in &self.maps { (self.map(map)) } }
            ul.scale {
                @for (step, [low, high]) in self.scale.steps().into_iter().enumerate() {
                    li { i class=(format!("h{step}")) {} " " (range(low, high)) }
                }
            }
        }
    }
}

/// A range of times in µs: `2.1 to 4.2 ms`.
pub(crate) fn range(low: f64, high: f64) -> String {
    let (low, high) = (numbers::latency_us(low), numbers::latency_us(high));
    // A shared unit is printed once.
    let number = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => &low,
    };
    if low == high { low } else { format!("{number} to {high}") }
}

impl Heat {
    fn heading(&self) -> String {
        let [x, y] = self.first;
        let last = [x, y].map(u64::from);
        let corner = |at: usize| (last[at] + u64::from(self.size[at]) - 1) as u32;
        let first = Tile { z: self.shown_zoom, x, y }.bounds_degrees();
        let last = Tile { z: self.shown_zoom, x: corner(0), y: corner(1) }.bounds_degrees();
        let side = |low: f64, high: f64, names: [&str; 2]| {
            format!("{} to {}", degrees(low, names), degrees(high, names))
        };
        let coarser = match self.shown_zoom < self.zoom {
            true => format!(" (drawn as tiles of z{}: means over the requests in each)", self.shown_zoom),
            false => String::new(),
        };
        let [longitude, latitude] = [side(first[0], last[2], LONGITUDE), side(last[1], first[3], LATITUDE)];
        format!("z{}{coarser}: {longitude}, {latitude}", self.zoom)
    }

    fn map(&self, map: &Map) -> Markup {
        let [columns, rows] = self.size.map(f64::from);
        let side = ((WIDTH - 2.0 * MARGIN) / columns).min((HEIGHT - 2.0 * MARGIN) / rows).min(SIDE);
        let height = side * rows + 2.0 * MARGIN;
        let west = (WIDTH - side * columns) / 2.0;
        let place = format!("translate({} {}) scale({side:.3})", coordinate(west), coordinate(MARGIN));
        let said = format!(
            "{}, mean {}",
            numbers::counted(map.tiles, "tile"),
            numbers::latency_us(map.all.mean_us())
        );
        let title = if map.arm.is_empty() { said.clone() } else { format!("{}: {said}", map.arm) };
        html! {
            figure.heat {
                svg viewBox=(format!("0 0 {} {}", coordinate(WIDTH), coordinate(height))) role="img" {
                    title { "z" (self.zoom) ", " (title) }
                    desc { "Tiles at their place on the map, north at the top, coloured by their mean time." }
                    g transform=(place) { (self.spots(&map.spots)) }
                }
                figcaption { @if !map.arm.is_empty() { strong { (map.arm) } ": " } (said) }
            }
        }
    }

    fn spots(&self, spots: &[Spot]) -> Markup {
        let at = |tile: Tile| (tile.x - self.first[0], tile.y - self.first[1]);
        if spots.len() <= MOST_TOLD {
            return html! {
                @for spot in spots {
                    @let (x, y) = at(spot.tile);
                    rect x=(x) y=(y) width="1" height="1" class=(format!("h{}", spot.step)) {
                        title {
                            "z" (spot.tile) ": " (numbers::latency_us(spot.mean_us)) ", "
                            (numbers::counted(spot.requests as usize, "request"))
                        }
                    }
                }
            };
        }
        let outline = |step: usize| {
            let mut outline = String::new();
            for spot in spots.iter().filter(|spot| spot.step == step) {
                let (x, y) = at(spot.tile);
                let _ = write!(outline, "M{x} {y}h1v1h-1z");
            }
            outline
        };
        let outlines =
            (0..STEPS).map(|step| (step, outline(step))).filter(|(_, outline)| !outline.is_empty());
        html! { @for (step, outline) in outlines { path class=(format!("h{step}")) d=(outline) {} } }
    }
}

/// Suffixes of degrees below and above 0.
pub(crate) const LONGITUDE: [&str; 2] = ["W", "E"];
pub(crate) const LATITUDE: [&str; 2] = ["S", "N"];

/// `14.51° E`, three digits behind the point.
pub(crate) fn degrees(value: f64, [below, above]: [&str; 2]) -> String {
    let name = if value < 0.0 { below } else { above };
    format!("{:.3}° {name}", value.abs())
}
