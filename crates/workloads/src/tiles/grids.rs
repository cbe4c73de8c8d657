//! Other ways to count columns and rows, tried where the requested tiles are empty.

use tile::Tile;

use super::fetch::Fetch;
use super::fetched::{FetchedTile, has_contents};
use super::layer::TileLayer;

/// Tiles that are tried in each way.
const TRIED: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grid {
    /// Zoom, row, column, as in OGC's and WMTS' paths.
    Swapped,
    /// Rows from the south, as in TMS and MBTiles.
    Flipped,
}

impl Grid {
    const ALL: [Self; 2] = [Self::Swapped, Self::Flipped];

    fn other(self, Tile { z, x, y }: Tile) -> Tile {
        match self {
            Self::Swapped => Tile { z, x: y, y: x },
            Self::Flipped => Tile { z, x, y: ((1_u64 << z) - 1 - u64::from(y)) as u32 },
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Swapped => {
                "rows and columns are swapped (z/row/column, as in OGC's paths): the list, the function or the URL has them in this order"
            }
            Self::Flipped => {
                "y is flipped (rows counted from the south, as in TMS): the list, the function or the server counts them so"
            }
        }
    }
}

/// The cause, if these tiles are empty and most tiles of another grid at the same numbers are not. A server may have
/// no such tiles.
pub(super) fn cause(from: &mut dyn Fetch, layer: &TileLayer, tiles: &[Tile]) -> Option<&'static str> {
    for grid in Grid::ALL {
        let others = tiles.iter().map(|tile| (*tile, grid.other(*tile))).filter(|(own, other)| own != other);
        let others: Vec<Tile> = others.map(|(_, other)| other).take(TRIED).collect();
        let mut full = 0;
        for other in &others {
            let fetched_tile = FetchedTile::fetch(from, layer, *other);
            full += usize::from(fetched_tile.is_ok_and(|tile| has_contents(&tile.bytes) == Some(true)));
        }
        if full > 0 && 2 * full >= others.len() {
            return Some(grid.words());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use spec::Error;

    use super::*;

    /// Has features in these tiles only.
    struct Full(Vec<Tile>);

    impl Fetch for Full {
        fn tile(&mut self, _layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error> {
            // One layer "a" of one point.
            const TILE: &[u8] = b"\x1a\x11\x0a\x01a\x12\x07\x18\x01\x22\x03\x09\x00\x00\x28\x80\x20\x78\x02";
            match self.0.contains(&tile) {
                true => Ok(TILE.to_vec()),
                false => Err(Error::new(spec::Class::Guard, "404")),
            }
        }

        fn not_a_tile(&self, _layer: &TileLayer, _tile: (Tile, &[u8]), broken: &str) -> Error {
            unreachable!("{broken}")
        }
    }

    #[test]
    fn the_grid_that_has_tiles_is_named() {
        let asked = [(8851, 6439), (8852, 6438), (8850, 6440)].map(|(x, y)| Tile { z: 14, x, y });
        let layer = TileLayer::default();
        let found = |full: Vec<Tile>| cause(&mut Full(full), &layer, &asked);
        let swapped = asked.map(|Tile { z, x, y }| Tile { z, x: y, y: x }).to_vec();
        assert!(found(swapped.clone()).unwrap().starts_with("rows and columns are swapped"));
        let flipped = [(8851, 9944), (8852, 9945)].map(|(x, y)| Tile { z: 14, x, y }).to_vec();
        assert!(found(flipped).unwrap().starts_with("y is flipped"));
        // One of three may be chance.
        assert_eq!(found(swapped[..1].to_vec()), None);
        assert_eq!(found(Vec::new()), None);
        // A tile that is its own counterpart shows nothing.
        let middle = [Tile { z: 3, x: 2, y: 2 }];
        assert_eq!(cause(&mut Full(middle.to_vec()), &layer, &middle), None);
    }
}
