//! Tiles: written with their run, read for a whole experiment.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Params, Row, Transaction, params};
use spec::{Error, Run, TileFigures, TileProbe, TileSample};

use super::runs::{StoredRuns, of_runs};
use super::{ExperimentId, Sqlite, Store, rows};

/// The common facts of single tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct TilesOf {
    pub workload: String,
    pub factors: BTreeMap<String, String>,
    pub arm: Option<String>,
    pub script: String,
    /// Table, function or file that makes them.
    pub layer: String,
    /// Whether they came from a cache; `None` without a cache.
    pub cached: Option<bool>,
}

/// A tile over all counted rounds of an arm: if arms are compared, rounds in which none has an invalid run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTile {
    /// Shared by the tiles of a script, of which there are many.
    pub of: Arc<TilesOf>,
    pub figures: TileFigures,
    /// Ranks it among slow tiles, µs: see [`TileFigures::rank_us`].
    pub rank_us: f64,
}

/// Number of single tiles of an experiment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TileCounts {
    /// Of each cell, arm and script.
    pub tiles: u64,
    pub places: u64,
}

pub(super) fn insert(transaction: &Transaction<'_>, id: i64, run: &Run) -> Sqlite<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO tile VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for tile in &run.tiles {
        let requests = tile.requests as i64;
        insert.execute(params![
            id,
            tile.script,
            tile.z,
            tile.x,
            tile.y,
            requests,
            tile.mean_us,
            tile.max_us,
            tile.bytes
        ])?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO tile_sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for sample in &run.tile_samples {
        let number = |count: Option<u64>| count.map(|count| count as i64);
        insert.execute(params![
            id,
            sample.script,
            sample.tiles as i64,
            sample.empty as i64,
            number(sample.features_in),
            number(sample.features_out),
            number(sample.vertices),
            sample.bytes as i64
        ])?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO tile_probe VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for TileProbe { script, tiles, mean_us, z, x, y, max_us } in &run.tile_probes {
        insert.execute(params![id, script, *tiles as i64, mean_us, z, x, y, max_us])?;
    }
    Ok(())
}

/// As [`tiles_of`] and [`figures`] read them.
const COLUMNS: &str =
    "workload, factors, arm, script, layer, cached, position, z, x, y, requests, mean_us, max_us, bytes";

impl Store {
    /// All tiles of an experiment, by cell, arm, script and place.
    pub fn tiles(&self, id: ExperimentId) -> Result<Vec<StoredTile>, Error> {
        let all = format!(
            "SELECT {COLUMNS}, mean_us FROM v_tile WHERE experiment_id = ?1 ORDER BY workload, factors, arm, script, z, x, y"
        );
        self.tiles_by(&all, [id.0])
    }

    /// The slowest of each cell and arm, at most this many, by cell, arm and then [rank](TileFigures::rank_us);
    /// and after them the one with the longest mean, if few requests keep it from its place.
    pub fn slowest_tiles(&self, id: ExperimentId, most: usize) -> Result<Vec<StoredTile>, Error> {
        let ranked = format!(
            "WITH own AS (
                 SELECT *, sum(mean_us * requests) OVER zoom / sum(requests) OVER zoom AS zoom_us
                 FROM v_tile WHERE experiment_id = ?1 WINDOW zoom AS (PARTITION BY workload, factors, arm, script)
             ), judged AS (
                 SELECT *, CASE WHEN requests >= ?2 THEN mean_us ELSE min(mean_us, zoom_us) END AS rank_us FROM own
             ), ranked AS (
                 SELECT *, row_number() OVER (PARTITION BY workload, factors, arm ORDER BY rank_us DESC, z, x, y, script) AS rank,
                        row_number() OVER (PARTITION BY workload, factors, arm ORDER BY mean_us DESC, z, x, y, script) AS longest
                 FROM judged
             )
             SELECT {COLUMNS}, rank_us FROM ranked WHERE rank <= ?3 OR longest = 1 ORDER BY workload, factors, arm, rank"
        );
        let often = TileFigures::OFTEN as i64;
        self.tiles_by(&ranked, params![id.0, often, most as i64])
    }

    /// The number of tiles, without reading them one by one.
    pub fn tile_counts(&self, id: ExperimentId) -> Result<TileCounts, Error> {
        let counts =
            "SELECT count(*), count(DISTINCT z || '/' || x || '/' || y) FROM v_tile WHERE experiment_id = ?1";
        let count = |row: &Row<'_>, at: usize| row.get::<_, i64>(at).map(|count| count as u64);
        let found = self
            .rows(counts, [id.0], |row| Ok(TileCounts { tiles: count(row, 0)?, places: count(row, 1)? }))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// The single tiles of one run.
    pub(super) fn tiles_of_run(&self, run: i64) -> Result<Vec<TileFigures>, Error> {
        let columns = ["NULL"; 6].join(", ");
        let own = format!(
            "SELECT {columns}, script, z, x, y, requests, mean_us, max_us, bytes FROM tile WHERE run_id = ?1"
        );
        self.rows(&own, [run], figures)
    }

    fn tiles_by(&self, query: &str, values: impl Params) -> Result<Vec<StoredTile>, Error> {
        let mut last: Option<Arc<TilesOf>> = None;
        self.rows(query, values, |row| {
            let of = tiles_of(row)?;
            let of = last.take().filter(|last| **last == of).unwrap_or_else(|| Arc::new(of));
            last = Some(Arc::clone(&of));
            Ok(StoredTile { of, figures: figures(row)?, rank_us: row.get(14)? })
        })
    }

    pub(super) fn fill_tile_samples(&self, found: &mut StoredRuns, id: ExperimentId) -> Result<(), Error> {
        let samples = of_runs(
            "script, tiles, empty, features_in, features_out, vertices, bytes",
            "tile_sample",
            "run_id, script",
        );
        self.fill_with(found, id, &samples, sample, |run, sample| run.tile_samples.push(sample))?;
        let probes = of_runs("script, tiles, mean_us, z, x, y, max_us", "tile_probe", "run_id, script");
        self.fill_with(found, id, &probes, probe, |run, probe| run.tile_probes.push(probe))
    }
}

fn tiles_of(row: &Row<'_>) -> Sqlite<TilesOf> {
    Ok(TilesOf {
        workload: row.get(0)?,
        factors: rows::json(row, 1)?,
        arm: row.get(2)?,
        script: row.get(3)?,
        layer: row.get::<_, Option<_>>(4)?.unwrap_or_default(),
        cached: row.get(5)?,
    })
}

fn figures(row: &Row<'_>) -> Sqlite<TileFigures> {
    Ok(TileFigures {
        script: row.get(6)?,
        z: row.get(7)?,
        x: row.get(8)?,
        y: row.get(9)?,
        requests: row.get::<_, i64>(10)? as u64,
        mean_us: row.get(11)?,
        max_us: row.get(12)?,
        bytes: row.get(13)?,
    })
}

fn sample(row: &Row<'_>) -> Sqlite<TileSample> {
    let number = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(|count| count as u64));
    Ok(TileSample {
        script: row.get(0)?,
        tiles: row.get::<_, i64>(1)? as u64,
        empty: row.get::<_, i64>(2)? as u64,
        features_in: number(3)?,
        features_out: number(4)?,
        vertices: number(5)?,
        bytes: row.get::<_, i64>(6)? as u64,
    })
}

fn probe(row: &Row<'_>) -> Sqlite<TileProbe> {
    Ok(TileProbe {
        script: row.get(0)?,
        tiles: row.get::<_, i64>(1)? as u64,
        mean_us: row.get(2)?,
        z: row.get(3)?,
        x: row.get(4)?,
        y: row.get(5)?,
        max_us: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use spec::{MapPart, ScriptRecord, Validity};

    use super::*;
    use crate::fixture::{experiment, finished, host, run, target};

    /// A run with requests for these columns of z3: number of requests, each of this many µs.
    fn asked(arm: &str, round: u32, tiles: &[(u32, u64, f64)]) -> Run {
        let tile = |(x, requests, mean_us): &(u32, u64, f64)| TileFigures {
            script: 0,
            z: 3,
            x: *x,
            y: 1,
            requests: *requests,
            mean_us: *mean_us,
            max_us: 2.0 * mean_us,
            bytes: 100.0,
        };
        let tiles = tiles.iter().map(tile).collect();
        let mut run = Run { tiles, ..run("map", 4, Some(arm), round, 100.0) };
        let part = Some(MapPart { layer: "roads".into(), zoom: Some(3), cached: None });
        run.scripts =
            run.scripts.into_iter().map(|script| ScriptRecord { part: part.clone(), ..script }).collect();
        run
    }

    fn stored(runs: Vec<Run>) -> (tempfile::TempDir, Store, ExperimentId) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        let (id, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
        for run in runs {
            store.store(id, &[finished(run)]).unwrap();
        }
        (folder, store, id)
    }

    fn counts(tiles: &[StoredTile]) -> Vec<(Option<&str>, u32, u64)> {
        tiles.iter().map(|tile| (tile.of.arm.as_deref(), tile.figures.x, tile.figures.requests)).collect()
    }

    /// Regression: round 2 of A counted, although B has no counterpart: maps of A and B were of different
    /// rounds.
    #[test]
    fn an_invalid_run_takes_its_pair_of_single_tiles_out() {
        let mut runs = vec![asked("A", 1, &[(1, 4, 10.0)]), asked("B", 1, &[(1, 4, 20.0)])];
        runs.extend([asked("A", 2, &[(1, 4, 90.0)]), asked("B", 2, &[(1, 4, 99.0)])]);
        runs[3].validity = Validity::Invalid;
        // A round that is not yet a pair.
        runs.push(asked("A", 3, &[(1, 4, 50.0)]));
        let (_folder, store, id) = stored(runs);
        let tiles = store.tiles(id).unwrap();
        assert_eq!(counts(&tiles), [(Some("A"), 1, 4), (Some("B"), 1, 4)]);
        assert_eq!((tiles[0].figures.mean_us, tiles[1].figures.mean_us), (10.0, 20.0));
        assert_eq!((tiles[0].of.layer.as_str(), tiles[0].of.script.as_str()), ("roads", "one.sql"));
    }

    #[test]
    fn an_arm_of_which_nothing_counts_takes_nothing_out() {
        let mut broken = asked("B", 1, &[(1, 4, 20.0)]);
        broken.validity = Validity::Invalid;
        let (_folder, store, id) = stored(vec![asked("A", 1, &[(1, 4, 10.0)]), broken]);
        assert_eq!(counts(&store.tiles(id).unwrap()), [(Some("A"), 1, 4)]);
    }

    /// Regression: a zoom of 5 s had one request for each tile, and none of them was among the slowest.
    #[test]
    fn tiles_with_few_requests_rank_with_their_zoom() {
        let fast = [(1, 3, 10.0), (2, 1, 500.0), (3, 5, 30.0), (4, 9, 20.0), (5, 1, 25.0)];
        let slow = [(6, 1, 900.0), (7, 2, 700.0)];
        let mut run = asked("A", 1, &fast);
        let of_fast = run.tiles.len();
        run.tiles.extend(asked("A", 1, &slow).tiles);
        let other = ScriptRecord { name: "z3, slow".into(), ..run.scripts[0].clone() };
        run.scripts.push(other);
        run.tiles[of_fast..].iter_mut().for_each(|tile| tile.script = 1);
        let (_folder, store, id) = stored(vec![run, asked("B", 1, &[(1, 1, 5.0), (2, 2, 7.0)])]);
        let slowest = store.slowest_tiles(id, 3).unwrap();
        let [a, b] = ["A", "B"].map(Some);
        // The fast zoom takes 885 / 19 on average, which ranks its stalled tile.
        assert_eq!(counts(&slowest), [(a, 6, 1), (a, 7, 2), (a, 2, 1), (b, 2, 2), (b, 1, 1)]);
        assert!((slowest[2].rank_us - 885.0 / 19.0).abs() < 1e-6, "{:?}", slowest[2]);
        assert!(Arc::ptr_eq(&slowest[0].of, &slowest[1].of));
        // Out of its place, the longest is still there.
        let first = store.slowest_tiles(id, 1).unwrap();
        assert_eq!(counts(&first), [(a, 6, 1), (b, 2, 2)]);
        assert_eq!(store.tile_counts(id).unwrap(), TileCounts { tiles: 9, places: 7 });
        assert_eq!(store.tile_counts(ExperimentId(9)).unwrap(), TileCounts::default());
    }

    #[test]
    fn a_stalled_request_stands_below_the_slow_tiles() {
        let own = [(1, 30, 10.0), (2, 1, 500.0), (3, 40, 80.0), (4, 9, 70.0)];
        let (_folder, store, id) = stored(vec![asked("A", 1, &own), asked("B", 1, &own)]);
        let slowest = store.slowest_tiles(id, 2).unwrap();
        let a = counts(&slowest).into_iter().filter(|tile| tile.0 == Some("A"));
        assert_eq!(a.map(|tile| tile.1).collect::<Vec<_>>(), [3, 4, 2]);
    }
}
