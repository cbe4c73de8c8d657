//! Different tiles with the number of their requests, in bounded memory.

use std::collections::HashMap;

use crate::Tile;

/// Most requests kept of a tile, so that sums fit.
const MOST_OF_TILE: u64 = 1 << 44;

/// Collects requests for tiles. While there are at most `most` different tiles, every request counts; beyond
/// that every second, every fourth and so on, evenly over the list.
#[derive(Debug)]
pub(super) struct Weighed {
    most: usize,
    tiles: Vec<(Tile, u64)>,
    places: HashMap<Tile, usize>,
    /// Each this many'th request counts; a power of two.
    every: u64,
    /// Requests since the last one that counted, below `every`.
    since: u64,
    requests: u64,
}

impl Weighed {
    pub(super) fn new(most: usize) -> Self {
        let (tiles, places) = Default::default();
        Self { most: most.max(1), tiles, places, every: 1, since: 0, requests: 0 }
    }

    pub(super) fn add(&mut self, tile: Tile, requests: u64) {
        self.requests = self.requests.saturating_add(requests);
        let counted = taken(&mut self.since, requests, self.every);
        if counted == 0 {
            return;
        }
        let place = *self.places.entry(tile).or_insert(self.tiles.len());
        match self.tiles.get_mut(place) {
            Some((_, known)) => *known = (*known + counted).min(MOST_OF_TILE),
            None => self.tiles.push((tile, counted)),
        }
        while self.tiles.len() > self.most {
            self.thin_out();
        }
    }

    /// Keeps every second of the requests that counted.
    fn thin_out(&mut self) {
        let mut since = 0;
        for (_, requests) in &mut self.tiles {
            *requests = taken(&mut since, *requests, 2);
        }
        self.tiles.retain(|(_, requests)| *requests > 0);
        self.places = self.tiles.iter().enumerate().map(|(place, (tile, _))| (*tile, place)).collect();
        self.since += since * self.every;
        self.every *= 2;
    }

    /// Tiles with their requests that count, in order of their first one; all requests; and which share
    /// counts: each this many'th.
    pub(super) fn finish(self) -> (Vec<(Tile, u64)>, u64, u64) {
        (self.tiles, self.requests, self.every)
    }
}

/// How many of further `requests` count if each `every`'th does.
fn taken(since: &mut u64, requests: u64, every: u64) -> u64 {
    let all = *since + requests;
    *since = all % every;
    all / every
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(x: u32) -> Tile {
        Tile { z: 20, x, y: 0 }
    }

    #[test]
    fn few_tiles_keep_every_request() {
        let mut weighed = Weighed::new(2);
        for (x, requests) in [(1, 1), (2, 999_999_999), (1, 4)] {
            weighed.add(tile(x), requests);
        }
        assert_eq!(weighed.finish(), (vec![(tile(1), 5), (tile(2), 999_999_999)], 1_000_000_004, 1));
    }

    #[test]
    fn of_many_tiles_a_share_is_kept_that_has_their_weights() {
        let mut weighed = Weighed::new(100);
        for x in 0..10_000 {
            // A tenth of the tiles has half of the requests.
            weighed.add(tile(x), if x % 10 == 0 { 9 } else { 1 });
        }
        let (tiles, requests, every) = weighed.finish();
        assert_eq!(requests, 18_000);
        assert!((50..=100).contains(&tiles.len()) && every.is_power_of_two(), "{} of {every}", tiles.len());
        let sum = |wanted: fn(u32) -> bool| -> u64 {
            tiles.iter().filter(|(tile, _)| wanted(tile.x)).map(|(_, often)| often * every).sum()
        };
        let (popular, all) = (sum(|x| x % 10 == 0) as f64, sum(|_| true) as f64);
        assert!(
            (all / 18_000.0 - 1.0).abs() < 0.05 && (0.3..0.7).contains(&(popular / all)),
            "{popular} {all}"
        );
        // The whole list is covered.
        assert!(tiles.first().unwrap().0.x < 500 && tiles.last().unwrap().0.x > 9_500);
    }
}
