//! Map tiles: Mapbox vector tiles made by PostGIS, picked as a map's users would.
//!
//! Each table is a layer, counted as a script of its own; a transaction is one tile. Its rows are 1 when the tile holds
//! something and 0 when it is empty, its bytes are the tile's length: `rows / ok` is the share of tiles that are not empty.

mod check;
mod client;
mod grid;
mod guard;
mod options;
mod prepare;
mod query;
mod samples;
#[cfg(test)]
mod tests;
mod workload;

pub use grid::Tile;
pub use options::{Options, Picker, Variant};
pub use workload::Tiles;
