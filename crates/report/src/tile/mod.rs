//! Tiles as pictures: vector tiles as SVG of bounded size, simplified to visible detail; tiles that are pictures
//! as they came.
//!
//! A tile of a server under test may be broken, and must neither fail a report nor cost more than its size;
//! the error replaces the picture.

mod draw;
mod raster;
mod sample;

use ::tile::mvt;
use ::tile::picture::Format;

pub(crate) use draw::SizeLimit;
pub(crate) use sample::{DrawnSample, SizeLimits};

pub use mvt::MEDIA_TYPE;

/// Required with every picture of OpenStreetMap data.
pub(crate) const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// Whether stored bytes of this media type are tiles to show.
pub(crate) fn is_shown(media_type: &str) -> bool {
    media_type == MEDIA_TYPE || Format::is_named_by(media_type)
}

/// `tile/14/8851/6439` as `z14/8851/6439`; any other name unchanged.
pub(crate) fn tile_name(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(4, '/').collect();
    match parts.as_slice() {
        [y, x, z, ..] if [x, y, z].iter().all(|part| part.parse::<u32>().is_ok()) => format!("z{z}/{x}/{y}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_names() {
        assert_eq!(tile_name("tile/14/8851/6439"), "z14/8851/6439");
        assert_eq!(tile_name("polygons/tile/1/2/3"), "z1/2/3");
        assert_eq!(tile_name("a tile"), "a tile");
    }
}
