//! The parts of a tile workload that are counted separately, and their names.

use spec::MapPart;

use super::atlas::zooms_in;
use super::options::{TilesOptions, Variant};
use super::picker::Picker;
use super::source::LayerSource;
use super::via::Via;
use crate::trace::Trace;

/// Separately counted parts: each layer at each zoom; for views all layers together.
pub(super) fn parts(options: &TilesOptions, trace: &Trace) -> Vec<MapPart> {
    let zooms: Vec<Option<u8>> = match &options.picker {
        _ if options.variant == Variant::Historic => vec![None],
        Picker::Trace(_) | Picker::Tiles(_) => {
            zooms_in(trace.tiles.iter().map(|(tile, _)| tile)).into_iter().map(Some).collect()
        }
        Picker::Sessions(_) => {
            let [low, high] = options.zooms.ends();
            (low..=high).map(Some).collect()
        }
        Picker::Data | Picker::Uniform => {
            options.zooms.weighted().into_iter().map(|(z, _)| Some(z)).collect()
        }
    };
    let layers = match options.picker {
        Picker::Sessions(_) => vec![joined(options)],
        _ if options.together => vec![joined(options)],
        _ => options.sources().iter().map(LayerSource::shown).collect(),
    };
    // Cached tiles come directly before the others.
    let cached: &[Option<bool>] =
        if options.via == Via::Redis { &[Some(true), Some(false)] } else { &[None] };
    let mut parts = Vec::new();
    for layer in &layers {
        for zoom in &zooms {
            parts.extend(cached.iter().map(|cached| MapPart {
                layer: layer.clone(),
                zoom: *zoom,
                cached: *cached,
            }));
        }
    }
    parts
}

/// All layers: `a + b` in one tile, `a, b` in separate ones.
pub(super) fn joined(options: &TilesOptions) -> String {
    let names: Vec<String> = options.sources().iter().map(LayerSource::shown).collect();
    names.join(if options.together { " + " } else { ", " })
}

/// The name of a script: `roads, z14`.
pub(super) fn called(part: &MapPart) -> String {
    let zoom = part.zoom.map_or_else(String::new, |zoom| format!(", z{zoom}"));
    let by = match part.cached {
        Some(true) => ", from the cache",
        Some(false) => ", from the database",
        None => "",
    };
    format!("{}{zoom}{by}", part.layer)
}
