//! Where on the map tiles are slow.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::tile::Tile;
use maud::Render;
use results::{CellValue, StoredTile, Table, comparison};
use spec::TileFigures;

use crate::block::Block;
use crate::heat::{Heat, LATITUDE, LONGITUDE, degrees};
use crate::numbers;
use crate::places::{self, PlaceFigures};
use crate::zooms::void_quads;
use results::ReportData;
use results::data::cell_text;

/// Maps on a page, at most.
const MOST_MAPS: usize = 24;

/// Fewer places of a zoom are not worth a map.
const FEWEST: usize = 8;

const SLOWEST: usize = 10;

/// Groups shown unfolded; the rest is folded.
const OPEN: usize = 4;

/// Tiles of one question: of a cell, or of a layer of it.
struct SlowTiles {
    heading: String,
    heats: Vec<Heat>,
    /// Zooms without a map.
    bare: Vec<u8>,
    slowest: Table,
}

const HOW: &str = "Each tile that was asked for at its place, by its mean time over all requests of the measured parts; of arms that are \
    compared over the rounds that all of them have. Maps beside each other have the same colours, each zoom has its own. An arm that did \
    less in its time was asked for fewer tiles.";

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    if data.tiles.is_empty() {
        return Vec::new();
    }
    let mut groups = Vec::new();
    for (cell, tiles) in by_cell(&data.tiles) {
        let by_layer = places::by_layer(&tiles);
        let mut layers: BTreeMap<&str, Vec<&StoredTile>> = BTreeMap::new();
        for tile in tiles {
            let layer = if by_layer { tile.of.layer.as_str() } else { "" };
            layers.entry(layer).or_default().push(tile);
        }
        let label = cell_text(&cell);
        groups.extend(layers.into_iter().map(|(layer, tiles)| SlowTiles::of(&label, layer, &tiles, data)));
    }
    let more = limited(&mut groups);
    let folded = groups.split_off(groups.len().min(OPEN));
    let summary = format!("Tiles of {} more", folded.len());
    let folded = Block::details(summary, folded.into_iter().flat_map(SlowTiles::blocks).collect());
    let more = (more > 0).then(|| {
        let maps = numbers::counted(more, "map");
        Block::text(format!(
            "{maps} of less time not drawn here; all tiles are in the view v_tile of the results file."
        ))
    });
    let head = [Block::text(HOW)].into_iter().chain(void_quads(data).map(Block::remark));
    head.chain(groups.into_iter().flat_map(SlowTiles::blocks)).chain(folded).chain(more).collect()
}

fn by_cell(tiles: &[StoredTile]) -> BTreeMap<comparison::Cell, Vec<&StoredTile>> {
    let mut cells: BTreeMap<_, Vec<&StoredTile>> = BTreeMap::new();
    for of_script in tiles.chunk_by(|one, next| Arc::ptr_eq(&one.of, &next.of)) {
        cells.entry(places::cell(&of_script[0].of)).or_default().extend(of_script);
    }
    cells
}

/// Keeps the maps with the most time; returns how many are left out.
fn limited(groups: &mut [SlowTiles]) -> usize {
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

impl SlowTiles {
    fn of(cell: &str, layer: &str, tiles: &[&StoredTile], data: &ReportData) -> Self {
        let mut arms = data.arms();
        if tiles.iter().any(|tile| tile.of.arm.is_none()) && !arms.contains(&None) {
            arms.push(None);
        }
        let mut zooms: BTreeMap<u8, Vec<&StoredTile>> = BTreeMap::new();
        for tile in tiles {
            zooms.entry(tile.figures.z).or_default().push(tile);
        }
        let count = |tiles: &[&StoredTile]| places::added(tiles.iter().copied(), places::tile_of).len();
        let most = zooms.values().map(|tiles| count(tiles)).max().unwrap_or(0);
        let (drawn, bare): (Vec<_>, Vec<_>) =
            zooms.into_iter().partition(|(_, tiles)| count(tiles) >= FEWEST.min(most));
        Self {
            heading: if layer.is_empty() { cell.to_owned() } else { format!("{cell}, {layer}") },
            heats: drawn.iter().filter_map(|(_, tiles)| Heat::of(tiles, &arms)).collect(),
            bare: bare.into_iter().map(|(zoom, _)| zoom).collect(),
            slowest: slowest(tiles, &arms),
        }
    }

    fn blocks(self) -> Vec<Block> {
        let maps = self.heats.iter().map(|heat| Block::Picture(heat.render()));
        let bare = (!self.bare.is_empty()).then(|| Block::remark(bare(&self.bare)));
        let head = [Block::Heading(self.heading)];
        head.into_iter().chain(maps).chain(bare).chain([self.slowest.into()]).collect()
    }
}

fn bare(zooms: &[u8]) -> String {
    let names: Vec<String> = zooms.iter().map(|zoom| format!("z{zoom}")).collect();
    format!("No map of {}: fewer than {FEWEST} tiles.", names.join(", "))
}

/// The slowest tiles of any arm, with all arms.
fn slowest(tiles: &[&StoredTile], arms: &[Option<&str>]) -> Table {
    let by_arm = places::added(tiles.iter().copied(), |tile| (places::tile_of(tile), tile.of.arm.as_deref()));
    let all = places::added(tiles.iter().copied(), places::tile_of);
    let zooms = places::added(tiles.iter().copied(), |tile| (tile.figures.z, tile.of.arm.as_deref()));
    let mean = |tile: Tile, arm: Option<&str>| by_arm.get(&(tile, arm)).map(PlaceFigures::mean_us);
    let rank = |tile: Tile, arm: Option<&str>| {
        let own = by_arm.get(&(tile, arm))?;
        let zoom = zooms.get(&(tile.z, arm)).map_or(own.mean_us(), PlaceFigures::mean_us);
        Some(if own.requests >= TileFigures::OFTEN { own.mean_us() } else { own.mean_us().min(zoom) })
    };
    let worst = |tile: Tile| arms.iter().filter_map(|arm| rank(tile, *arm)).max_by(f64::total_cmp);
    let mut order: Vec<(f64, &Tile, &PlaceFigures)> =
        all.iter().filter_map(|(tile, figures)| Some((worst(*tile)?, tile, figures))).collect();
    order.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let caption = caption(order.len());
    let means = arms.iter().map(|arm| arm.map_or_else(|| "Mean".to_owned(), |arm| format!("Mean, {arm}")));
    let mut sheet = Table::captioned(caption)
        .text(["Tile", "Place"])
        .numbers(means)
        .numbers(["Longest", "Size", "Requests"]);
    for (_, tile, figures) in order.into_iter().take(SLOWEST) {
        let [latitude, longitude] = middle(*tile);
        let place = format!("{}, {}", degrees(latitude, LATITUDE), degrees(longitude, LONGITUDE));
        let mean =
            |arm: &Option<&str>| mean(*tile, *arm).map_or_else(String::new, numbers::latency_us).into();
        let means: Vec<CellValue> = arms.iter().map(mean).collect();
        let head = [CellValue::linked(format!("z{tile}"), address(*tile)), place.into()];
        let tail = [
            numbers::latency_us(figures.max_us).into(),
            numbers::bytes(figures.bytes() as u64).into(),
            numbers::count(figures.requests).into(),
        ];
        sheet.push(head.into_iter().chain(means).chain(tail));
    }
    sheet
}

fn caption(tiles: usize) -> String {
    let which = match tiles {
        0..=SLOWEST => "All tiles, slowest first".to_owned(),
        many => format!("The {SLOWEST} slowest of {} tiles", numbers::count(many as u64)),
    };
    let times = TileFigures::OFTEN;
    format!(
        "{which}; a tile with fewer than {times} requests ranks no higher than its zoom on average. A link leads to the place on \
         openstreetmap.org."
    )
}

fn middle(tile: Tile) -> [f64; 2] {
    let [west, south, east, north] = tile.bounds_degrees();
    [f64::midpoint(south, north), f64::midpoint(west, east)]
}

/// Address of the place on a map site, which shows zoom 19 at most.
fn address(tile: Tile) -> String {
    let [latitude, longitude] = middle(tile);
    format!("https://www.openstreetmap.org/#map={}/{latitude:.5}/{longitude:.5}", tile.z.min(19))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explained::tests::data;
    use crate::places::tests::stored;

    fn with(tiles: Vec<StoredTile>) -> ReportData {
        let mut shown = data(Vec::new());
        shown.tiles = tiles;
        shown
    }

    fn page(data: &ReportData) -> String {
        crate::format::page(&blocks(data))
    }

    /// Regression: one client and ten shared a map with the mean of both.
    #[test]
    fn each_cell_has_maps_of_its_own() {
        let cell = |clients: &str, mean_us: f64| {
            let mut tile = stored("a", "roads", (14, 1, 2), mean_us);
            let mut of = (*tile.of).clone();
            of.factors.insert("clients".into(), clients.into());
            tile.of = Arc::new(of);
            tile
        };
        let found = page(&with(vec![cell("10", 1000.0), cell("1", 100.0)]));
        let [one, ten] = ["map, 1 client, roads", "map, 10 clients, roads"];
        assert!(found.find(one).expect(one) < found.find(ten).expect(ten), "{found}");
        assert!(found.contains("mean 100 µs") && found.contains("mean 1.00 ms"), "{found}");
        let many = (1..=9).map(|clients| cell(&clients.to_string(), 100.0)).collect();
        assert!(page(&with(many)).contains("Tiles of 5 more"));
    }

    /// Regression: a tile that was requested once, during a stall of the machine, was the slowest; and then a
    /// zoom with one request for each tile was left out, though nothing took longer.
    #[test]
    fn tiles_with_few_requests_rank_with_their_zoom() {
        let tile = |z: u8, x: u32, requests: u64, mean_us: f64| {
            let mut tile = stored("a", "roads", (z, x, 2), mean_us);
            tile.figures.requests = requests;
            tile
        };
        let tiles = vec![
            tile(14, 1, 1, 9000.0),
            tile(14, 2, 300, 100.0),
            tile(14, 3, 400, 200.0),
            tile(5, 4, 1, 70_000.0),
            tile(5, 5, 2, 60_000.0),
        ];
        let found = page(&with(tiles));
        let listed = found.split_once("All tiles, slowest first").expect("the list").1;
        let place = |tile: &str| listed.find(&format!(">z{tile}/2<")).expect(tile);
        let order = ["5/4", "5/5", "14/3", "14/1", "14/2"].map(place);
        assert!(order.is_sorted(), "{listed}");
    }
}
