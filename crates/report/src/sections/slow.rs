//! Where on the map tiles are slow.

use std::collections::BTreeMap;

use ::tile::Tile;
use maud::{Markup, html};
use results::StoredTile;
use serde::Serialize;

use super::View;
use crate::data::ReportData;
use crate::heat::{Heat, LATITUDE, LONGITUDE, degrees};
use crate::numbers;
use crate::places::{self, Figures};
use crate::sheet::{Cell, Sheet};

/// Maps on a page, at most.
const MOST_MAPS: usize = 24;

/// Fewer places of a zoom are not worth a map.
const FEWEST: usize = 8;

/// Slowest tiles that are listed.
const SLOWEST: usize = 10;

#[derive(Debug, Serialize)]
pub(super) struct Slow {
    groups: Vec<Group>,
    /// Maps that are not drawn.
    more: usize,
}

/// Tiles that are one question: of a workload, or of a layer of it.
#[derive(Debug, Serialize)]
struct Group {
    heading: String,
    /// By zoom.
    heats: Vec<Heat>,
    /// Zooms that have no map.
    bare: Vec<u8>,
    slowest: Sheet,
}

impl View for Slow {
    fn of(data: &ReportData) -> Option<Self> {
        if data.tiles.is_empty() {
            return None;
        }
        let mut groups = Vec::new();
        for workload in workloads(&data.tiles) {
            let tiles: Vec<&StoredTile> =
                data.tiles.iter().filter(|tile| tile.workload == workload).collect();
            let by_layer = places::by_layer(&tiles);
            let mut layers: BTreeMap<&str, Vec<&StoredTile>> = BTreeMap::new();
            for tile in tiles {
                let layer = if by_layer { tile.part.layer.as_str() } else { "" };
                layers.entry(layer).or_default().push(tile);
            }
            groups.extend(layers.into_iter().map(|(layer, tiles)| Group::of(workload, layer, &tiles, data)));
        }
        let more = limited(&mut groups);
        Some(Self { groups, more })
    }

    fn draw(&self) -> Markup {
        html! {
            p {
                "Each tile that was asked for at its place, by its mean time over all requests of the measured parts. "
                "Maps beside each other have the same colours, each zoom has its own. An arm that did less in its time was asked for fewer tiles."
            }
            @for group in &self.groups { (group.draw()) }
            @if self.more > 0 {
                p { (numbers::counted(self.more, "map")) " of less time not drawn here; all tiles are in the view v_tile of the results file." }
            }
        }
    }
}

/// In the order of their names.
fn workloads(tiles: &[StoredTile]) -> Vec<&str> {
    let mut names: Vec<&str> = tiles.iter().map(|tile| tile.workload.as_str()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    names
}

/// Keeps the maps on which most time was spent; how many are left out.
fn limited(groups: &mut [Group]) -> usize {
    let mut times: Vec<(f64, usize)> =
        groups.iter().flat_map(|group| &group.heats).map(|heat| (heat.sum_us(), heat.maps())).collect();
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut maps = 0;
    let fits = |(_, own): &&(f64, usize)| {
        maps += own;
        maps == *own || maps <= MOST_MAPS
    };
    let Some((least, _)) = times.iter().take_while(fits).last() else { return 0 };
    let mut left_out = 0;
    for group in groups {
        let (kept, others): (Vec<Heat>, Vec<Heat>) =
            std::mem::take(&mut group.heats).into_iter().partition(|heat| heat.sum_us() >= *least);
        left_out += others.iter().map(Heat::maps).sum::<usize>();
        group.heats = kept;
    }
    left_out
}

impl Group {
    fn of(workload: &str, layer: &str, tiles: &[&StoredTile], data: &ReportData) -> Self {
        let mut arms = data.arms();
        if tiles.iter().any(|tile| tile.arm.is_none()) && !arms.contains(&None) {
            arms.push(None);
        }
        let mut zooms: BTreeMap<u8, Vec<&StoredTile>> = BTreeMap::new();
        for tile in tiles {
            zooms.entry(tile.z).or_default().push(tile);
        }
        let count = |tiles: &[&StoredTile]| places::added(tiles.iter().copied(), places::place).len();
        let most = zooms.values().map(|tiles| count(tiles)).max().unwrap_or(0);
        let (drawn, bare): (Vec<_>, Vec<_>) =
            zooms.into_iter().partition(|(_, tiles)| count(tiles) >= FEWEST.min(most));
        Self {
            heading: if layer.is_empty() { workload.to_owned() } else { format!("{workload}, {layer}") },
            heats: drawn.iter().filter_map(|(_, tiles)| Heat::of(tiles, &arms)).collect(),
            bare: bare.into_iter().map(|(zoom, _)| zoom).collect(),
            slowest: slowest(tiles, &arms),
        }
    }

    fn draw(&self) -> Markup {
        html! {
            h3 { (self.heading) }
            @for heat in &self.heats { (heat) }
            @if !self.bare.is_empty() { p.remark { (bare(&self.bare)) } }
            (self.slowest)
        }
    }
}

fn bare(zooms: &[u8]) -> String {
    let names: Vec<String> = zooms.iter().map(|zoom| format!("z{zoom}")).collect();
    format!("No map of {}: fewer than {FEWEST} tiles.", names.join(", "))
}

/// The slowest tiles of any arm, with all arms.
fn slowest(tiles: &[&StoredTile], arms: &[Option<&str>]) -> Sheet {
    let by_arm = places::added(tiles.iter().copied(), |tile| (places::place(tile), tile.arm.as_deref()));
    let all = places::added(tiles.iter().copied(), places::place);
    let mean = |tile: Tile, arm: Option<&str>| by_arm.get(&(tile, arm)).map(Figures::mean_us);
    let worst = |tile: Tile| arms.iter().filter_map(|arm| mean(tile, *arm)).fold(0.0, f64::max);
    let mut order: Vec<(&Tile, &Figures)> = all.iter().collect();
    order.sort_by(|(one, _), (other, _)| worst(**other).total_cmp(&worst(**one)));
    let caption = match order.len() {
        0..=SLOWEST => "All tiles, slowest first; a link leads to the place on openstreetmap.org.".to_owned(),
        many => format!(
            "The {SLOWEST} slowest of {} tiles; a link leads to the place on openstreetmap.org.",
            numbers::count(many as u64)
        ),
    };
    let means = arms.iter().map(|arm| arm.map_or_else(|| "Mean".to_owned(), |arm| format!("Mean, {arm}")));
    let mut sheet =
        Sheet::new(caption).text(["Tile", "Place"]).numbers(means).numbers(["Longest", "Size", "Requests"]);
    for (tile, figures) in order.into_iter().take(SLOWEST) {
        let [latitude, longitude] = middle(*tile);
        let place = format!("{}, {}", degrees(latitude, LATITUDE), degrees(longitude, LONGITUDE));
        let mean =
            |arm: &Option<&str>| mean(*tile, *arm).map_or_else(String::new, numbers::latency_us).into();
        let means: Vec<Cell> = arms.iter().map(mean).collect();
        let head = [Cell::linked(format!("z{tile}"), address(*tile)), place.into()];
        let tail = [
            numbers::latency_us(figures.max_us).into(),
            numbers::bytes(figures.bytes() as u64).into(),
            numbers::count(figures.requests).into(),
        ];
        sheet.row(head.into_iter().chain(means).chain(tail));
    }
    sheet
}

/// Latitude and longitude of its middle.
fn middle(tile: Tile) -> [f64; 2] {
    let [west, south, east, north] = tile.bounds_degrees();
    [f64::midpoint(south, north), f64::midpoint(west, east)]
}

/// Where people see the place; the site shows no more than zoom 19.
fn address(tile: Tile) -> String {
    let [latitude, longitude] = middle(tile);
    format!("https://www.openstreetmap.org/#map={}/{latitude:.5}/{longitude:.5}", tile.z.min(19))
}
