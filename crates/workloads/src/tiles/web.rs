//! Tiles from web servers: the same list, requested by URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use spec::Error;
use tile::Tile;

use super::atlas::{Atlas, Pick};
use super::layer::TileLayer;
use super::options::TilesOptions;
use super::pick::Picked;
use super::via::Via;
use crate::error;
use crate::http::{HttpOptions, Request, Requests, Web};
use crate::place::HttpPlace;

/// The server of each layer, by its shown name.
pub(super) type Webs = BTreeMap<String, Web>;

/// The server of each layer. `tile_server` gives the place of one of the target's.
pub(super) fn of_layers(
    options: &TilesOptions,
    layers: &[(TileLayer, Picked)],
    tile_server: impl Fn(&str) -> Result<HttpPlace, Error>,
) -> Result<Webs, Error> {
    let web =
        |(layer, _): &(TileLayer, Picked)| Ok((layer.shown.clone(), of_layer(options, layer, &tile_server)?));
    layers.iter().map(web).collect()
}

/// The server of one layer.
pub(super) fn of_layer(
    TilesOptions { via, empty_status, .. }: &TilesOptions,
    layer: &TileLayer,
    tile_server: impl Fn(&str) -> Result<HttpPlace, Error>,
) -> Result<Web, Error> {
    let url = match (via, via.tile_server(), layer.feature_tables.first()) {
        (Via::Http(url), ..) => {
            let layer = layer.shown.trim_end_matches("()");
            url.replace("{layer}", &protocol::percent_encoded(layer.as_bytes()))
        }
        (_, Some(name), Some(feature_table)) => {
            tile_server(name)?.tiles_of(&feature_table.schema, &feature_table.name)
        }
        _ => return Err(error::no_server("web")),
    };
    Web::new(&HttpOptions { empty_status: empty_status.clone(), ..HttpOptions::new(&url) })
}

pub(super) fn requests(atlas: &Atlas, layers: &[(TileLayer, Picked)], webs: &Webs) -> Arc<Requests> {
    let mut requests = Requests::new();
    // The same tile is in many sessions, and prepared once.
    let mut known: BTreeMap<(u16, Tile), Request> = BTreeMap::new();
    let mut request = |requests: &mut Requests, pick: &Pick| {
        let (layer, _) = layers.get(usize::from(pick.layer))?;
        let web = webs.get(&layer.shown)?;
        let written = known.entry((pick.layer, pick.tile)).or_insert_with(|| {
            let path = web.url().path(pick.tile.z, pick.tile.x, pick.tile.y);
            requests.written(pick.script, pick.item, |out| web.write(&path, out))
        });
        Some(written.clone())
    };
    for (weight, picks) in atlas.groups() {
        requests.weighted_group(weight);
        for (often, pick) in picks.weighted() {
            if let Some(request) = request(&mut requests, pick) {
                requests.push(request, often);
            }
        }
    }
    for session in atlas.views.sessions() {
        let mut views: Vec<Vec<Request>> = Vec::new();
        for view in session {
            views.push(view.iter().filter_map(|pick| request(&mut requests, pick)).collect());
        }
        requests.session(views);
    }
    Arc::new(requests)
}
