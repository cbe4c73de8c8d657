//! Mapbox vector tiles (specification 2.1): decoded, measured and compared.
//!
//! Decoding takes one pass and memory in proportion to the tile's bytes, and never panics, since a tile of a
//! server under test is untrusted. (Tests compare with the `mvt-reader` crate, whose memory can grow with the
//! square.) The caller decompresses.

mod columns;
mod compare;
mod decode;
#[cfg(test)]
mod encode;
mod measure;
mod signature;
mod wire;

pub use columns::{TileBytes, columns};
pub use compare::{
    Difference, Incomparable, LayerDifference, TOLERANCE_PX, TileDifference, compare, compare_within,
};
pub use decode::{AttributeValue, Feature, GeometryKind, Layer, decode, decode_with_attributes};
pub use measure::{MeasuredLayer, TileContents, measure};

/// Media type of Mapbox vector tiles.
pub const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

/// Why bytes are not a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("the tile ends in the middle of a field")]
    Truncated,
    #[error("not a vector tile (unknown wire type {0})")]
    WireType(u8),
    #[error("unknown drawing command {0}")]
    Command(u32),
    #[error("compressed (this begins like {0}), not a plain vector tile")]
    Compressed(&'static str),
    #[error("not a vector tile: this begins like {0}")]
    Other(&'static str),
    #[error("not a vector tile: no layer in it")]
    NoLayer,
}
