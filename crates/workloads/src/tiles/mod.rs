//! Map tiles: Mapbox vector tiles made by PostGIS, picked as a map's users would.
//!
//! Each layer (a table, a function, a user's query) at each zoom counts as a separate script. A transaction
//! is one tile, or all tiles of a view. Its rows are its tiles that are not empty, its bytes their length.

mod atlas;
mod cache;
mod client;
mod explain;
mod fetch;
mod fetched;
mod guard;
mod layer;
mod options;
mod pick;
mod picker;
mod samples;
mod source;
#[cfg(test)]
mod tests;
mod validate;
mod via;
mod web;
mod workload;
mod zooms;

pub use options::{TilesOptions, Variant};
pub use picker::{Picker, Sessions};
pub use source::LayerSource;
pub use tile::Tile;
pub use via::Via;
pub use workload::Tiles;
pub use zooms::Zooms;
