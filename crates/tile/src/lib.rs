//! Map tiles without a database or a server: the web map's grid, and vector tiles decoded, measured and
//! compared.
//!
//! Bytes in, plain data out: the crate does no I/O. All input is untrusted (a tile server under test, a web
//! server's log): nothing panics, and memory stays in proportion to the input.

mod grid;
pub mod list;
pub mod mvt;

pub use grid::{HALF_WORLD_M, MOST_ZOOM, PIXELS, Tile, TileError, area_m2, side_m, viewport};
