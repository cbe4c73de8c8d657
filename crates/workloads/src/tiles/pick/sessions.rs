//! Users who look at a map: each begins at a random feature, then pans and zooms. Generated once, as plain
//! data.
//!
//! A view asks for the tiles that no earlier view of its session showed, since browsers cache them.

use std::collections::HashSet;

use protocol::postgres::sql::Sql;
use script::Random;
use spec::Error;
use tile::Tile;

use super::super::layer::{Style, TileLayer};
use super::super::options::TilesOptions;
use super::super::picker::Sessions;
use super::{data, no_feature_table};

/// Percent of moves that zoom in, and then out; the others pan.
const ZOOM_IN: u64 = 25;
const ZOOM_OUT: u64 = 15;
/// Moves without a new tile before the session starts elsewhere.
const TRIES: usize = 20;

/// The sessions of a layer.
pub(super) fn made_up(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    options: &TilesOptions,
    sessions: Sessions,
    style: Style,
    seed: u64,
) -> Result<Vec<Vec<Vec<Tile>>>, Error> {
    let feature_table = layer.feature_tables.first().ok_or_else(|| no_feature_table(layer))?;
    let [low, high] = options.zooms.ends();
    let within = data::within(feature_table, options.bounds);
    let features = data::Features { feature_table, within: &within, limit: sessions.count.into(), seed };
    let starts = features.points(sql, &[layer.size_filter(feature_table, high, style)])?.swap_remove(0);
    let mut random = Random::new(seed);
    let walks = starts.into_iter().map(|start| walk(start, [low, high], sessions, &mut random));
    // A session that begins beyond the edge of the map sees nothing.
    Ok(walks.filter(|views| !views.is_empty()).collect())
}

fn walk(start: (f64, f64), [low, high]: [u8; 2], sessions: Sessions, random: &mut Random) -> Vec<Vec<Tile>> {
    let [width, height] = sessions.viewport.map(f64::from);
    // Users start at an overview or at a link to a place.
    let mut z = low + random.up_to(u64::from(high - low)) as u8;
    let (mut x, mut y) = start;
    let mut seen = HashSet::new();
    let mut views = Vec::new();
    let mut tries = 0;
    while views.len() < usize::from(sessions.views) && tries < TRIES {
        let tiles: Vec<Tile> = tile::viewport(z, [x, y], sessions.viewport);
        let new: Vec<Tile> = tiles.into_iter().filter(|tile| seen.insert(*tile)).collect();
        if new.is_empty() {
            tries += 1;
        } else {
            views.push(new);
            tries = 0;
        }
        match random.up_to(99) {
            dice if dice < ZOOM_IN && z < high => z += 1,
            dice if dice < ZOOM_IN + ZOOM_OUT && z > low => z -= 1,
            _ => {
                // Half a window in one of eight directions.
                let angle = random.up_to(7) as f64 * std::f64::consts::FRAC_PI_4;
                let pixel = tile::side_m(z) / tile::PIXELS;
                x += angle.cos() * width / 2.0 * pixel;
                y += angle.sin() * height / 2.0 * pixel;
            }
        }
    }
    views
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_repeatable_and_asks_for_no_tile_twice() {
        let sessions = Sessions { views: 8, ..Sessions::default() };
        let of = |seed| walk((1_615_757.9, 4_289_470.9), [12, 16], sessions, &mut Random::new(seed));
        let views = of(1);
        assert_eq!(views, of(1));
        assert_ne!(views, of(2));
        assert_eq!(views.len(), 8);
        // 1024 by 768 pixels touch 5 by 4 tiles at most.
        assert!((12..=20).contains(&views[0].len()), "{}", views[0].len());
        assert!(views.iter().all(|view| view.iter().all(|tile| tile.z == view[0].z)));
        let all: Vec<Tile> = views.into_iter().flatten().collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn the_whole_world_is_soon_seen() {
        let views = walk((0.0, 0.0), [0, 0], Sessions::default(), &mut Random::new(3));
        assert_eq!(views, [[Tile { z: 0, x: 0, y: 0 }]]);
    }
}
