//! Map tiles: Mapbox vector tiles made by PostGIS, picked as a map's users would.
//!
//! Each layer (a table, a function, a user's query) at each zoom counts as a separate script. A transaction
//! is one tile, or all tiles of a view. Its rows are its tiles that are not empty, its bytes their length.

mod alone;
mod atlas;
mod by_layer;
mod cache;
mod client;
mod content;
mod explain;
mod fetch;
mod fetched;
mod grids;
mod guard;
mod layer;
mod once;
mod options;
mod parts;
mod pick;
mod picker;
mod piped;
mod reference;
mod samples;
mod source;
#[cfg(test)]
mod tests;
mod validate;
mod via;
mod web;
#[cfg(test)]
mod web_tests;
mod workload;
mod zooms;

pub use once::{Once, OnceOptions};
pub use options::{TilesOptions, Variant};
pub use picker::{Picker, Sessions};
pub use piped::piped_list;
pub use source::LayerSource;
pub use tile::Tile;
pub use via::Via;
pub use workload::Tiles;
pub use zooms::Zooms;
