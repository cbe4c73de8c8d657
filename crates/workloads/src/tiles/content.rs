//! What the bytes of a layer's tiles are made of, in words.

use tile::mvt::{self, TileBytes};

use super::layer::TileLayer;
use crate::pictures::PictureKinds;

/// Columns that are listed by name.
const MOST: usize = 5;

/// Bytes of the tiles of one layer, over a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct LayerBytes {
    vector: TileBytes,
    pictures: PictureKinds,
}

impl LayerBytes {
    /// Adds a tile; a broken one is reported elsewhere.
    pub(super) fn add(&mut self, tile: &[u8]) {
        self.pictures.add(tile);
        if let Ok(counted) = mvt::columns(tile) {
            self.vector.add(&counted);
        }
    }

    /// `roads: its tiles are 61.0 % geometry, 20.1 % name and 2 columns more; left out: tags (…)`.
    pub(super) fn words(&self, layer: &TileLayer) -> Option<String> {
        if let Some(pictures) = self.pictures.words() {
            return Some(format!("{} has {pictures}", layer.shown));
        }
        let left_out = left_out(layer);
        if self.vector.total == 0 {
            return left_out.map(|left_out| format!("{}: {left_out}", layer.shown));
        }
        let geometry = self.share(self.vector.geometry as f64);
        let columns = match self.columns(layer) {
            columns if columns.is_empty() => ", and have no columns".to_owned(),
            columns => format!(", {}", columns.join(", ")),
        };
        let left_out = left_out.map(|left_out| format!("; {left_out}")).unwrap_or_default();
        Some(format!("{}: of its tiles' bytes, {geometry} are geometry{columns}{left_out}", layer.shown))
    }

    /// Each with its share, the largest first; keys of a column that is expanded count as its own.
    fn columns(&self, layer: &TileLayer) -> Vec<String> {
        let known = layer.columns();
        let is_own = |name: &String| known.iter().any(|columns| columns.kept.contains(name));
        let expanded: Vec<&str> =
            known.iter().flat_map(|columns| columns.expanded.iter().map(String::as_str)).collect();
        let mut found: Vec<(String, f64)> = Vec::new();
        let (mut keys, mut of_keys) = (0_u64, 0.0);
        for (name, bytes) in &self.vector.columns {
            match is_own(name) || expanded.is_empty() {
                true => found.push((name.clone(), *bytes)),
                false => {
                    keys += 1;
                    of_keys += bytes;
                }
            }
        }
        if keys > 0 {
            found.push((format!("{} ({})", expanded.join(" + "), spec::count(keys, "key")), of_keys));
        }
        // A column that is NULL in all features takes nothing.
        let is_listed = |name: &str| found.iter().any(|(known, _)| known.split(" (").next() == Some(name));
        let absent = known.iter().flat_map(|columns| &columns.kept).filter(|name| !is_listed(name));
        let absent: Vec<(String, f64)> = absent.map(|name| (name.clone(), 0.0)).collect();
        found.extend(absent);
        found.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let more = found.len().saturating_sub(MOST);
        let mut words: Vec<String> =
            found.iter().take(MOST).map(|(name, bytes)| format!("{} {name}", self.share(*bytes))).collect();
        words.extend((more > 0).then(|| format!("and {more} more")));
        words
    }

    /// `14.2 %`, of all tiles of the sample.
    fn share(&self, bytes: f64) -> String {
        format!("{:.1} %", 100.0 * bytes / self.vector.total as f64)
    }
}

/// `left out: tags, way_area (not used by styles)`.
fn left_out(layer: &TileLayer) -> Option<String> {
    let all: Vec<&(String, &str)> = layer.columns().iter().flat_map(|columns| &columns.left_out).collect();
    let mut reasons: Vec<&str> = all.iter().map(|(_, why)| *why).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let of_reason = |why: &&str| {
        let names = all.iter().filter(|(_, other)| other == why).map(|(name, _)| name.as_str());
        format!("{} ({why})", shortened(&names.collect::<Vec<_>>()))
    };
    let words: Vec<String> = reasons.iter().map(of_reason).collect();
    (!words.is_empty()).then(|| format!("left out: {}", words.join(", ")))
}

/// `a, b`, or `59 columns`: tables of osm2pgsql have one for each of many tags.
fn shortened(names: &[&str]) -> String {
    if names.len() > MOST { spec::count(names.len() as u64, "column") } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    /// Regression: the tags of osm2pgsql's tables filled half a screen.
    #[test]
    fn many_columns_are_counted() {
        assert_eq!(shortened(&["way", "z"]), "way, z");
        let tags = ["admin_level", "aerialway", "aeroway", "amenity", "area", "barrier", "bicycle"];
        assert_eq!(shortened(&tags), "7 columns");
    }
}
