//! What is done of all tiles, and what it took: kept to go on after an interruption.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use spec::{Class, Error};
use stats::Histogram;
use tile::Tile;

use super::area::{Area, ZoomArea};

/// Failed tiles that are listed by name.
const MOST_LISTED: usize = 10_000;
/// A century: no pass takes longer.
const LONGEST_US: u64 = 100 * 365 * 86_400 * 1_000_000;
/// Slowest tiles that are kept.
const SLOWEST: usize = 5;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// What the tiles are and how they are made, as a hash: another command must not go on with it.
    pub(super) of: String,
    pub(super) zooms: Vec<ZoomProgress>,
    /// Failed tiles with the reason, at most [`MOST_LISTED`].
    pub(super) failed: Vec<(Tile, String)>,
    /// With their times in µs, the slowest first.
    pub(super) slowest: Vec<(Tile, u64)>,
    /// Tiles by the number of connections at that time.
    pub(super) connections: BTreeMap<u32, u64>,
}

/// One zoom: `tiles = empty + filled`, and `failed` besides.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ZoomProgress {
    pub(super) z: u8,
    /// All tiles at places below are done.
    next: u64,
    /// Further places that are done.
    ahead: BTreeSet<u64>,
    /// Time from its first tile to its last, µs, without interruptions.
    pub(super) elapsed_us: u64,
    pub(super) tiles: u64,
    pub(super) empty: u64,
    pub(super) failed: u64,
    /// As received.
    pub(super) bytes: u64,
    /// From request to answer.
    #[serde(serialize_with = "written", deserialize_with = "read")]
    pub(super) service: Histogram,
}

/// One tile that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// Its place in the zoom's order; `None` for one that failed before, whose place is done.
    pub(super) at: Option<u64>,
    pub(super) tile: Tile,
    pub(super) took_us: u64,
    /// Bytes received, or why it failed.
    pub(super) result: Result<u64, String>,
}

impl Progress {
    pub(super) fn new(of: String, area: &Area) -> Self {
        let zooms = area.zooms.iter().map(|zoom| ZoomProgress { z: zoom.z(), ..ZoomProgress::default() });
        let (failed, slowest, connections) = Default::default();
        Self { of, zooms: zooms.collect(), failed, slowest, connections }
    }

    /// Whether it can be of these tiles: somebody else may have written it.
    pub(super) fn fits(&self, area: &Area) -> bool {
        self.zooms.len() == area.zooms.len()
            && self.zooms.iter().zip(&area.zooms).all(|(own, of)| {
                let is_beyond = |at: &u64| *at >= of.count() || *at < own.next;
                own.z == of.z()
                    && own.next <= of.count()
                    && !own.ahead.iter().any(is_beyond)
                    && own.tiles.checked_add(own.failed) == own.next.checked_add(own.ahead.len() as u64)
                    && own.empty <= own.tiles
                    && own.elapsed_us < LONGEST_US
            })
    }

    /// The failed tiles of a zoom that are known by name. They stay failed until they are asked for again.
    pub(super) fn failed_of(&self, z: u8) -> Vec<Tile> {
        self.failed.iter().map(|(tile, _)| *tile).filter(|tile| tile.z == z).collect()
    }

    /// Other tiles, or another query, must not be gone on with.
    pub(super) fn must_be_of(&self, new: &Self, path: &Path) -> Result<(), Error> {
        if self.of == new.of {
            return Ok(());
        }
        let what = format!("{}: was begun for other tiles, or with another query", path.display());
        let hint = "name another file, or remove this one to begin again";
        Err(Error::new(Class::BadInput, what).with_hint(hint))
    }

    pub(super) fn add(&mut self, zoom: usize, asked: &Asked) {
        let own = &mut self.zooms[zoom];
        match asked.at {
            Some(at) => own.mark(at),
            None => {
                own.failed -= 1;
                self.failed.retain(|(tile, _)| *tile != asked.tile);
            }
        }
        match &asked.result {
            Ok(bytes) => {
                own.tiles += 1;
                own.empty += u64::from(*bytes == 0);
                own.bytes += bytes;
                own.service.record(asked.took_us.saturating_mul(1000));
                let place = self.slowest.partition_point(|(_, us)| *us >= asked.took_us);
                self.slowest.insert(place, (asked.tile, asked.took_us));
                self.slowest.truncate(SLOWEST);
            }
            Err(why) => {
                own.failed += 1;
                if self.failed.len() < MOST_LISTED {
                    self.failed.push((asked.tile, why.clone()));
                }
            }
        }
    }

    /// Tiles that are done, failed ones with them.
    pub(super) fn done(&self) -> u64 {
        self.zooms.iter().map(ZoomProgress::done).sum()
    }

    pub(super) fn elapsed_us(&self) -> u64 {
        self.zooms.iter().map(|zoom| zoom.elapsed_us).sum()
    }

    pub(super) fn count_failed(&self) -> u64 {
        self.zooms.iter().map(|zoom| zoom.failed).sum()
    }
}

impl ZoomProgress {
    pub(super) fn done(&self) -> u64 {
        self.tiles + self.failed
    }

    /// Whether tiles were not asked for yet.
    pub(super) fn is_left(&self, area: &ZoomArea) -> bool {
        self.next + (self.ahead.len() as u64) < area.count()
    }

    /// The first place that is not done.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Places beyond the first gap that are done.
    pub(super) fn ahead(&self) -> &BTreeSet<u64> {
        &self.ahead
    }

    fn mark(&mut self, at: u64) {
        self.ahead.insert(at);
        while self.ahead.remove(&self.next) {
            self.next += 1;
        }
    }
}

fn written<S: Serializer>(histogram: &Histogram, sink: S) -> Result<S::Ok, S::Error> {
    sink.serialize_str(&histogram.to_text())
}

fn read<'de, D: Deserializer<'de>>(source: D) -> Result<Histogram, D::Error> {
    Histogram::from_text(&String::deserialize(source)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::tiles::once) fn asked(at: u64, took_us: u64, result: Result<u64, &str>) -> Asked {
        let tile = Tile { z: 3, x: (at % 8) as u32, y: (at / 8) as u32 };
        Asked { at: Some(at), tile, took_us, result: result.map_err(str::to_owned) }
    }

    #[test]
    fn tiles_may_end_in_another_order() {
        let area = Area::of_list((0..6).map(|x| Tile { z: 3, x, y: 0 }));
        let mut progress = Progress::new("a".to_owned(), &area);
        for (at, result) in [(1, Ok(10)), (3, Ok(0)), (0, Err("too large")), (2, Ok(7))] {
            progress.add(0, &asked(at, 1000 * (at + 1), result));
        }
        let zoom = &progress.zooms[0];
        assert_eq!((zoom.next(), zoom.ahead().len()), (4, 0));
        assert_eq!((zoom.tiles, zoom.empty, zoom.failed, zoom.bytes), (3, 1, 1, 17));
        assert_eq!(progress.slowest[0].1, 4000);
        assert_eq!(progress.failed, [(Tile { z: 3, x: 0, y: 0 }, "too large".to_owned())]);
        progress.add(0, &asked(5, 5, Ok(1)));
        let stored = serde_json::to_string(&progress).unwrap();
        let again: Progress = serde_json::from_str(&stored).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), stored);
        assert_eq!((again.zooms[0].next(), again.zooms[0].ahead()), (4, &BTreeSet::from([5])));
        assert_eq!(again.zooms[0].service.count(), 4);
        assert_eq!(progress.failed_of(3), [Tile { z: 3, x: 0, y: 0 }]);
        // An interruption before they are asked for again leaves them failed.
        assert!(progress.fits(&area) && progress.count_failed() == 1);
        progress.add(0, &Asked { at: None, ..asked(0, 9, Err("again")) });
        assert_eq!((progress.failed.len(), progress.count_failed(), progress.done()), (1, 1, 5));
        progress.add(0, &Asked { at: None, ..asked(0, 9, Ok(3)) });
        assert_eq!((progress.zooms[0].tiles, progress.count_failed(), progress.done()), (5, 0, 5));
        assert!(progress.fits(&area) && progress.failed_of(3).is_empty());
    }

    /// A progress without zooms ended pgdyno, and one of 10^18 tiles was believed.
    #[test]
    fn a_progress_that_cannot_be_is_refused() {
        let area = Area::of_list((0..6).map(|x| Tile { z: 3, x, y: 0 }));
        let mut good = Progress::new("a".to_owned(), &area);
        (0..3).for_each(|at| good.add(0, &asked(2 * at, 5, Ok(1))));
        assert!(good.fits(&area));
        let bad: [&dyn Fn(&mut Progress); 7] = [
            &|bad| bad.zooms.clear(),
            &|bad| bad.zooms.push(ZoomProgress::default()),
            &|bad| bad.zooms[0].z = 99,
            &|bad| bad.zooms[0].next = 1 << 60,
            &|bad| {
                bad.zooms[0].ahead.insert(1 << 40);
            },
            &|bad| bad.zooms[0].tiles = u64::MAX,
            &|bad| bad.zooms[0].elapsed_us = 1 << 63,
        ];
        for (number, change) in bad.iter().enumerate() {
            let mut changed = good.clone();
            change(&mut changed);
            assert!(!changed.fits(&area), "{number}");
        }
    }
}
