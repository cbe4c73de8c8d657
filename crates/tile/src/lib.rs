//! Map tiles without a database or a server: the web map's grid, and vector tiles read, measured and compared.
//!
//! Bytes in, plain data out: nothing here waits or knows where a tile comes from. All that is read is foreign (a tile server
//! under test, somebody's log): nothing panics, and memory stays in proportion to what was given.

mod grid;
pub mod list;
pub mod mvt;

pub use grid::{HALF_WORLD_M, MOST_ZOOM, PIXELS, Tile, TileError, area_m2, side_m, viewport};
