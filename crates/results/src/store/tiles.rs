//! Tiles: written with their run, read for a whole experiment.

use std::collections::BTreeMap;

use record::{MapPart, Run, TileSample};
use rusqlite::{Row, Transaction, params};

use super::{ExperimentId, Sqlite, Store, rows};
use crate::error::StoreError;

/// A tile over all rounds of an arm, from runs that are not invalid.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTile {
    pub workload: String,
    /// Of its cell.
    pub factors: BTreeMap<String, String>,
    pub arm: Option<String>,
    /// Name of the script that asked for it.
    pub script: String,
    pub part: MapPart,
    pub z: u8,
    pub x: u32,
    pub y: u32,
    /// How often it came.
    pub requests: u64,
    /// Mean time until it came, µs.
    pub mean_us: f64,
    /// Longest of these, µs.
    pub max_us: f64,
    /// Mean length as it came.
    pub bytes: f64,
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
    Ok(())
}

impl Store {
    /// All tiles of an experiment, by cell, arm, script and place.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn tiles(&self, id: ExperimentId) -> Result<Vec<StoredTile>, StoreError> {
        self.rows(
            "SELECT workload, factors, arm, script, layer, z, cached, x, y, requests, mean_us, max_us, bytes FROM v_tile
             WHERE experiment_id = ?1 ORDER BY workload, factors, arm, script, z, x, y",
            [id.0],
            tile,
        )
    }

    /// Fills in what tiles of a run hold.
    pub(super) fn fill_tile_samples(&self, run: &mut Run, id: i64) -> Result<(), StoreError> {
        let samples =
            "SELECT script, tiles, empty, features_in, features_out, vertices, bytes FROM tile_sample
                       WHERE run_id = ?1 ORDER BY script";
        run.tile_samples = self.rows(samples, [id], sample)?;
        Ok(())
    }
}

fn tile(row: &Row<'_>) -> Sqlite<StoredTile> {
    let z = row.get(5)?;
    Ok(StoredTile {
        workload: row.get(0)?,
        factors: rows::json(row, 1)?,
        arm: row.get(2)?,
        script: row.get(3)?,
        part: MapPart {
            layer: row.get::<_, Option<_>>(4)?.unwrap_or_default(),
            zoom: Some(z),
            cached: row.get(6)?,
        },
        z,
        x: row.get(7)?,
        y: row.get(8)?,
        requests: row.get::<_, i64>(9)? as u64,
        mean_us: row.get(10)?,
        max_us: row.get(11)?,
        bytes: row.get(12)?,
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
