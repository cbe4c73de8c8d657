//! Tiles from web servers: the same list, asked for by URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::atlas::Atlas;
use super::layer::Layer;
use super::pick::Picked;
use super::via::Via;
use crate::error::WorkloadError;
use crate::http::{Options, Requests, Web};
use crate::place::HttpPlace;

/// The server of each layer, by what it is shown as.
pub(super) type Webs = BTreeMap<String, Web>;

/// A server by its URL, in which `{layer}` stands for a layer.
pub(super) fn of_url(url: &str, layer: &str) -> Result<Web, WorkloadError> {
    let layer = protocol::percent_encoded(layer.as_bytes());
    Web::new(&Options::new(&url.replace("{layer}", &layer)))
}

/// The server of each layer. `tile_server` gives the place of one of the target's.
pub(super) fn of_layers(
    via: &Via,
    layers: &[(Layer, Picked)],
    tile_server: impl Fn(&str) -> Result<HttpPlace, WorkloadError>,
) -> Result<Webs, WorkloadError> {
    let mut webs = Webs::new();
    for (layer, _) in layers {
        let web = match (via, via.tile_server(), layer.grounds.first()) {
            (Via::Http(url), ..) => of_url(url, layer.shown.trim_end_matches("()"))?,
            (_, Some(name), Some(ground)) => {
                Web::new(&Options::new(&tile_server(name)?.tiles_of(&ground.schema, &ground.name)))?
            }
            _ => return Err(WorkloadError::NoServer { kind: "web" }),
        };
        webs.insert(layer.shown.clone(), web);
    }
    Ok(webs)
}

/// The requests for all tiles of an atlas.
pub(super) fn requests(atlas: &Atlas, layers: &[(Layer, Picked)], webs: &Webs) -> Arc<Requests> {
    let mut requests = Requests::new();
    for (number, weight, picks) in atlas.groups() {
        let Some(web) = layers.get(number).and_then(|(layer, _)| webs.get(&layer.shown)) else { continue };
        requests.weighted_group(weight);
        for pick in picks {
            let path = web.url().path(pick.tile.z, pick.tile.x, pick.tile.y);
            requests.add(pick.script, pick.item, |out| web.write(&path, out));
        }
    }
    Arc::new(requests)
}
