//! Sample tiles, kept for the report's pictures.

use super::check::Layer;
use super::grid::Tile;
use super::prepare::Picked;
use super::query::{Style, literal};
use crate::error::WorkloadError;
use protocol::postgres::sql::{Sql, long};
use record::Artifact;

/// Pictures wanted.
const SAMPLES: usize = 4;
/// Tiles looked at for each of them; the fullest is taken.
const CANDIDATES: usize = 8;

/// Four tiles from the lowest zoom to the highest, each with all layers.
pub(super) fn samples(
    sql: &mut dyn Sql,
    layers: &[(Layer, Picked)],
    style: Style,
) -> Result<Vec<Artifact>, WorkloadError> {
    let Some((_, picked)) = layers.first() else { return Ok(Vec::new()) };
    let mut artifacts = Vec::new();
    for candidates in candidates(picked) {
        let mut best: Option<(Tile, Vec<u8>)> = None;
        for tile in candidates {
            let bytes = make(sql, layers, tile, style)?;
            if best.as_ref().is_none_or(|(_, fullest)| bytes.len() > fullest.len()) {
                best = Some((tile, bytes));
            }
        }
        artifacts.extend(best.filter(|(_, bytes)| !bytes.is_empty()).map(|best| artifact(layers, best)));
    }
    Ok(artifacts)
}

/// For each sample some different tiles of one zoom, zooms spread from low to high.
fn candidates(picked: &Picked) -> Vec<Vec<Tile>> {
    let mut tiles: Vec<Tile> = picked.zooms.iter().flatten().copied().collect();
    tiles.sort_unstable();
    tiles.dedup();
    let mut zooms: Vec<u8> = tiles.iter().map(|tile| tile.z).collect();
    zooms.dedup();
    let last = zooms.len().saturating_sub(1);
    let wanted = SAMPLES.min(tiles.len());
    let mut taken: Vec<Tile> = Vec::new();
    let mut samples = Vec::new();
    for number in 0..wanted {
        let zoom = zooms[(number * last).div_ceil((SAMPLES - 1).max(1)).min(last)];
        let free: Vec<Tile> =
            tiles.iter().filter(|tile| tile.z == zoom && !taken.contains(tile)).copied().collect();
        let step = (free.len() / CANDIDATES).max(1);
        let chosen: Vec<Tile> = free.into_iter().step_by(step).take(CANDIDATES).collect();
        taken.extend(&chosen);
        if !chosen.is_empty() {
            samples.push(chosen);
        }
    }
    samples
}

/// A tile with all layers; layers of a vector tile are joined by joining their bytes.
fn make(
    sql: &mut dyn Sql,
    layers: &[(Layer, Picked)],
    tile: Tile,
    style: Style,
) -> Result<Vec<u8>, WorkloadError> {
    let mut bytes = Vec::new();
    for (layer, _) in layers {
        let query = format!("SELECT encode(({}), 'hex')", literal(layer, tile, style));
        let hex = long(sql)
            .scalar(&query)
            .map_err(WorkloadError::sql(format!("making tile {tile} of {}", layer.shown)))?;
        bytes.extend(from_hex(&hex.unwrap_or_default()));
    }
    Ok(bytes)
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

fn artifact(layers: &[(Layer, Picked)], (tile, bytes): (Tile, Vec<u8>)) -> Artifact {
    let tables: Vec<_> = layers.iter().map(|(layer, _)| layer.shown.as_str()).collect();
    let size = bytes.len();
    Artifact {
        name: format!("tile/{tile}"),
        media_type: "application/vnd.mapbox-vector-tile".to_owned(),
        caption: format!("{} at {tile}, {size} bytes", tables.join(", ")),
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_different_samples_over_the_zooms() {
        let zoom = |z: u8, count: u32| (0..count).map(|x| Tile { z, x, y: 1 }).collect::<Vec<_>>();
        let cases: [(Vec<Vec<Tile>>, &[u8]); 4] = [
            ((12..=16).map(|z| zoom(z, 40)).collect(), &[12, 14, 15, 16]),
            (vec![zoom(14, 40)], &[14, 14, 14, 14]),
            (vec![zoom(12, 1), zoom(16, 1)], &[12, 16]),
            (Vec::new(), &[]),
        ];
        for (zooms, wanted) in cases {
            let picked = Picked { table: "t".into(), zooms };
            let found: Vec<u8> = candidates(&picked).iter().map(|tiles| tiles[0].z).collect();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn hex_is_read() {
        assert_eq!(from_hex("1a00ff"), [0x1a, 0, 0xff]);
        assert_eq!(from_hex(""), [0_u8; 0]);
    }
}
