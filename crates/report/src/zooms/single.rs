//! Single tiles, over all rounds of an arm.

use results::{CellValue, StoredTile, Table, TileCounts};
use spec::TileFigures;

use crate::numbers::{count, counted, latency_us, real_cell};
use crate::places;
use results::data::levels;

/// Tiles shown to people, of all.
pub const MOST_TILES: usize = 20;
/// The same for an arm of a cell, below other figures.
pub const MOST_OF_ARM: usize = 5;

/// One line per workload, cell, arm and tile: number of requests, mean and longest time, mean length.
#[must_use]
pub fn tile(tiles: &[StoredTile]) -> Table {
    let figures = ["requests", "mean_us", "max_us", "tile_bytes"];
    filled(tiles, &["z", "x", "y"], figures, |own| vec![u64::from(own.z).into(), own.x.into(), own.y.into()])
}

/// The same for people: `14/8851/6439`.
fn in_words(tiles: &[StoredTile]) -> Table {
    let figures = ["requests", "mean_us", "max_us", "size_bytes"];
    filled(tiles, &["tile"], figures, |own| vec![format!("{}/{}/{}", own.z, own.x, own.y).into()])
}

fn filled(
    tiles: &[StoredTile],
    place_names: &[&str],
    figures: [&str; 4],
    place: fn(&TileFigures) -> Vec<CellValue>,
) -> Table {
    let of = ["workload", "cell", "arm", "layer", "cached"];
    let mut table = Table::new([&of[..], place_names, &figures[..]].concat());
    table.optional(["arm", "cached"]);
    for StoredTile { of, figures: own, .. } in tiles {
        let of: [CellValue; 5] = [
            of.workload.as_str().into(),
            // Clients are a number, other levels are unchanged.
            levels(&places::cell(of)).into(),
            of.arm.clone().into(),
            of.layer.as_str().into(),
            of.cached.map(|cached| if cached { "yes" } else { "no" }).into(),
        ];
        let times = [own.mean_us, own.max_us, own.bytes].map(|figure| real_cell(Some(figure)));
        table.push(of.into_iter().chain(place(own)).chain([own.requests.into()]).chain(times));
    }
    table
}

/// The slowest of `tiles`, which are the slowest of each arm, at most [`MOST_TILES`]; and a remark on the
/// others.
#[must_use]
pub fn slowest_tiles(mut tiles: Vec<StoredTile>, all: &TileCounts) -> (Table, Option<String>) {
    tiles.sort_by(|one, other| other.rank_us.total_cmp(&one.rank_us));
    let single = single_request(&tiles).map(|said| format!(" {said}"));
    tiles.truncate(MOST_TILES);
    let said = format!(
        "The slowest on average; {} in all, which --format csv and --format json have.{}",
        counted(all.tiles as usize, "tile"),
        single.clone().unwrap_or_default()
    );
    (in_words(&tiles), (all.tiles > tiles.len() as u64 || single.is_some()).then_some(said))
}

/// The slowest of each arm of each cell, the base's first, and remarks on them.
#[must_use]
pub fn slowest_of_arms(
    mut tiles: Vec<StoredTile>,
    base: Option<&str>,
    all: &TileCounts,
) -> (Table, Vec<String>) {
    // They are in the order of cells, and each arm's stay in theirs.
    let cell = |tile: &StoredTile| (tile.of.workload.clone(), tile.of.factors.clone());
    for of_cell in tiles.chunk_by_mut(|one, next| cell(one) == cell(next)) {
        of_cell.sort_by_key(|tile| tile.of.arm.as_deref() != base);
    }
    let places = format!(
        "{} different tiles were asked for; all of them: pgdyno sql 'select * from v_tile'",
        count(all.places)
    );
    let said = [Some(places), single_request(&tiles)];
    (in_words(&tiles), said.into_iter().flatten().collect())
}

/// The tile that took longest, if its few requests rank it with its zoom: `14/1/6 took 900 ms in 1 request, and
/// its zoom takes 1.20 ms on average`.
fn single_request(tiles: &[StoredTile]) -> Option<String> {
    let discounted = tiles.iter().filter(|tile| tile.rank_us < tile.figures.mean_us);
    let tile = discounted.max_by(|one, other| one.figures.mean_us.total_cmp(&other.figures.mean_us))?;
    let TileFigures { z, x, y, requests, mean_us, .. } = tile.figures;
    let average = tiles.iter().map(|tile| tile.rank_us).fold(0.0, f64::max);
    (mean_us > average).then(|| {
        format!(
            "{z}/{x}/{y} took {} in {}, and its zoom takes {} on average.",
            latency_us(mean_us),
            counted(requests as usize, "request"),
            latency_us(tile.rank_us)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::stored;

    fn asked(arm: &str, x: u32, requests: u64, mean_us: f64) -> StoredTile {
        let mut tile = stored(arm, "t", (14, x, 6), mean_us);
        tile.figures.requests = requests;
        tile.rank_us = if tile.figures.came_often() { mean_us } else { mean_us.min(200.0) };
        tile
    }

    fn places(table: &Table) -> Vec<[CellValue; 2]> {
        table.rows.iter().map(|row| [row[2].clone(), row[5].clone()]).collect()
    }

    #[test]
    fn people_see_the_slowest_and_how_many_more_there_are() {
        let tiles: Vec<StoredTile> = (0..25).map(|x| asked("", x, 3, f64::from(x % 7))).collect();
        assert_eq!(tile(&tiles).rows.len(), 25);
        let (table, said) = slowest_tiles(tiles.clone(), &TileCounts { tiles: 2500, places: 2500 });
        assert_eq!(
            (table.rows.len(), &table.rows[0][7], &table.rows[0][5]),
            (20, &CellValue::Real(6.0), &"14/6/6".into())
        );
        assert_eq!(table.rows[0][1], "clients 4".into());
        assert_eq!(
            said.unwrap(),
            "The slowest on average; 2,500 tiles in all, which --format csv and --format json have."
        );
        let three = TileCounts { tiles: 3, places: 3 };
        assert_eq!(slowest_tiles(tiles[..3].to_vec(), &three).1, None);
    }

    /// Regression: a zoom with one request for each tile was left out, though nothing took longer.
    #[test]
    fn tiles_with_few_requests_stand_where_their_zoom_does() {
        let tiles = vec![asked("a", 1, 4, 250.0), asked("a", 2, 1, 900.0), asked("a", 3, 2, 150.0)];
        let all = TileCounts { tiles: 3, places: 3 };
        let (table, said) = slowest_tiles(tiles.clone(), &all);
        let wanted = ["14/1/6", "14/2/6", "14/3/6"].map(|tile| ["a", tile].map(CellValue::from));
        assert_eq!(places(&table), wanted);
        let wanted = "14/2/6 took 900 µs in 1 request, and its zoom takes 200 µs on average.";
        assert!(said.unwrap().ends_with(wanted));
        assert_eq!(slowest_of_arms(tiles[..2].to_vec(), None, &all).1[1], wanted);
        // The zoom itself is slow: there is nothing to remark.
        assert_eq!(slowest_tiles(tiles[2..].to_vec(), &TileCounts { tiles: 1, places: 1 }).1, None);
    }

    #[test]
    fn the_slowest_of_the_base_stand_first() {
        let tiles = vec![asked("new", 1, 3, 9.0), asked("new", 2, 3, 8.0), asked("old", 3, 3, 50.0)];
        let (table, said) = slowest_of_arms(tiles, Some("old"), &TileCounts { tiles: 40, places: 1030 });
        let wanted = [["old", "14/3/6"], ["new", "14/1/6"], ["new", "14/2/6"]];
        assert_eq!(places(&table), wanted.map(|own| own.map(CellValue::from)));
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("1,030 different tiles were asked for"), "{said:?}");
    }
}
