//! Sample tiles, stored for the report's pictures.

use std::collections::BTreeSet;

use spec::{Artifact, Error};
use tile::Tile;
use tile::picture::Format;

use super::fetch::Fetch;
use super::fetched::{FetchedTile, looked_at};
use super::layer::TileLayer;
use super::pick::Picked;
use crate::check_time::CheckTime;

/// Number of pictures.
const SAMPLES: usize = 4;
/// Tiles tried for each of them; the first with contents is taken.
const CANDIDATES: usize = 8;

/// Four tiles from the lowest zoom to the highest, each with all layers; for random boxes, some of each
/// table.
pub(super) fn samples(
    from: &mut dyn Fetch,
    layers: &[(TileLayer, Picked)],
    time: CheckTime<'_>,
) -> Result<Vec<Artifact>, Error> {
    let Some((_, picked)) = layers.first() else { return Ok(Vec::new()) };
    let mut artifacts = Vec::new();
    // Tiles of low zooms may take all the time.
    for candidates in candidates(picked).into_iter().rev() {
        let Some(zoom) = candidates.first().map(|tile| tile.z) else { continue };
        for tile in candidates {
            let Some(found) = looked_at(of_place(from, layers, tile))? else {
                time.not_looked(format!("the picture of z{zoom}"));
                break;
            };
            if !found.is_empty() {
                artifacts.splice(..0, found);
                break;
            }
        }
    }
    artifacts.extend(looked_at(boxes(from, layers))?.unwrap_or_default());
    Ok(artifacts)
}

/// For each sample some different tiles of one zoom, zooms spread from low to high.
fn candidates(picked: &Picked) -> Vec<Vec<Tile>> {
    let tiles: Vec<Tile> = picked.tiles().collect::<BTreeSet<_>>().into_iter().collect();
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
        let mut chosen: Vec<Tile> = free.into_iter().step_by(step).take(CANDIDATES).collect();
        taken.extend(&chosen);
        // Dense places first, by the list alone: it is the same for all arms, and so are the pictures'
        // places.
        chosen.sort_by_key(|tile| std::cmp::Reverse(picked.requests_of(*tile)));
        if !chosen.is_empty() {
            samples.push(chosen);
        }
    }
    samples
}

/// A tile with all layers: vector tiles are joined by concatenation, pictures stand alone.
fn of_place(
    from: &mut dyn Fetch,
    layers: &[(TileLayer, Picked)],
    tile: Tile,
) -> Result<Vec<Artifact>, Error> {
    let (mut joined, mut names, mut artifacts) = (Vec::new(), Vec::new(), Vec::new());
    for (layer, _) in layers {
        let bytes = FetchedTile::fetch(from, layer, tile)?.bytes;
        match Format::of(&bytes) {
            Some(format) => artifacts.push(artifact(&layer.shown, format.media_type(), (tile, bytes))),
            None => {
                joined.extend(bytes);
                names.push(layer.shown.as_str());
            }
        }
    }
    if !joined.is_empty() {
        artifacts.insert(0, artifact(&names.join(", "), MEDIA_TYPE, (tile, joined)));
    }
    Ok(artifacts)
}

fn artifact(layers: &str, media_type: &str, (tile, bytes): (Tile, Vec<u8>)) -> Artifact {
    let size = bytes.len();
    Artifact {
        name: format!("tile/{tile}"),
        media_type: media_type.to_owned(),
        caption: format!("{layers} at {tile}, {size} bytes"),
        bytes,
    }
}

const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

/// For random boxes, the fullest of some per table: the server draws each box again.
fn boxes(from: &mut dyn Fetch, layers: &[(TileLayer, Picked)]) -> Result<Vec<Artifact>, Error> {
    let anywhere = Tile { z: 0, x: 0, y: 0 };
    let mut artifacts = Vec::new();
    for (layer, _) in layers.iter().filter(|(layer, _)| layer.is_historic()) {
        let mut fullest = Vec::new();
        for _ in 0..CANDIDATES {
            let bytes = FetchedTile::fetch(from, layer, anywhere)?.bytes;
            if bytes.len() > fullest.len() {
                fullest = bytes;
            }
        }
        let caption = format!("{}, a random box, {} bytes", layer.shown, fullest.len());
        let name = format!("box/{}", layer.shown);
        let media_type = MEDIA_TYPE.to_owned();
        artifacts.extend((!fullest.is_empty()).then_some(Artifact {
            name,
            media_type,
            caption,
            bytes: fullest,
        }));
    }
    Ok(artifacts)
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
            let picked = Picked { table: "t".into(), zooms, ..Picked::default() };
            let found: Vec<u8> = candidates(&picked).iter().map(|tiles| tiles[0].z).collect();
            assert_eq!(found, wanted);
        }
    }
}
