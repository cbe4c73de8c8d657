//! Map tiles without a database or a server: the web map's grid, and tiles decoded, measured and compared, as
//! vectors or as pictures.
//!
//! Bytes in, plain data out: the crate does no I/O. All input is untrusted (a tile server under test, a web
//! server's log): nothing panics, and memory stays in proportion to the input.

mod grid;
pub mod list;
pub mod mvt;
pub mod picture;

pub use grid::{HALF_WORLD_M, MOST_ZOOM, PIXELS, Tile, TileError, area_m2, side_m, viewport};
