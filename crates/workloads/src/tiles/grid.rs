//! The web map's grid of tiles, which is `tile`'s.

pub use tile::Tile;
pub(super) use tile::area_m2;
