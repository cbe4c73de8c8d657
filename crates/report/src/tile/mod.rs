//! Vector tiles as pictures: SVG of bounded size, simplified to what can be seen.
//!
//! A tile of a server under test may be broken, and must neither fail a report nor cost it more than its size; what is wrong
//! with it stands in place of the picture.

mod draw;

use ::tile::mvt;

use maud::{Markup, Render, html};
use record::Artifact;
use serde::Serialize;

use crate::numbers;

pub use mvt::MEDIA_TYPE;

/// What must stand with every picture of OpenStreetMap data.
pub(crate) const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// A tile with its picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// `z14/8851/6439`; a name that is not of a tile as it is.
    place: String,
    bytes: u64,
    caption: String,
    /// The reason instead, where it cannot be drawn.
    picture: Result<Picture, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Picture {
    features: usize,
    paths: Vec<draw::Painted>,
}

impl Sample {
    pub(crate) fn of(artifact: &Artifact) -> Self {
        let picture = |layers: Vec<mvt::Layer>| Picture {
            features: layers.iter().map(|layer| layer.features.len()).sum(),
            paths: draw::draw(&layers),
        };
        Self {
            place: place(&artifact.name),
            bytes: artifact.bytes.len() as u64,
            caption: artifact.caption.clone(),
            picture: mvt::decode(&artifact.bytes).map(picture).map_err(|broken| broken.to_string()),
        }
    }
}

impl Render for Sample {
    fn render(&self) -> Markup {
        let size = numbers::bytes(self.bytes);
        let said = |picture: &Picture| {
            format!("{}: {size}, {}", self.place, numbers::counted(picture.features, "feature"))
        };
        html! {
            figure.tile {
                @match &self.picture {
                    Ok(picture) => {
                        @let said = said(picture);
                        svg viewBox=(format!("0 0 {0} {0}", draw::GRID)) role="img" {
                            title { (said) }
                            desc { "A picture of the map tile. " (ATTRIBUTION) "." }
                            @for path in &picture.paths { path class=(path.class) d=(path.outline) {} }
                        }
                        figcaption {
                            strong { (said) }
                            @if !self.caption.is_empty() { ". " (self.caption) }
                            br;
                            small { (ATTRIBUTION) }
                        }
                    }
                    Err(broken) => figcaption {
                        strong { (self.place) } ": not available: " (broken) " (" (size) ")"
                    },
                }
            }
        }
    }
}

/// `tile/14/8851/6439` as `z14/8851/6439`; any other name as it is.
fn place(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(4, '/').collect();
    match parts.as_slice() {
        [y, x, z, ..] if [x, y, z].iter().all(|part| part.parse::<u32>().is_ok()) => format!("z{z}/{x}/{y}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(bytes: &[u8]) -> Artifact {
        Artifact {
            name: "tile/14/8851/6439".into(),
            media_type: MEDIA_TYPE.into(),
            caption: "<b>Valletta</b>".into(),
            bytes: bytes.to_vec(),
        }
    }

    fn written(bytes: &[u8]) -> String {
        Sample::of(&artifact(bytes)).render().0
    }

    #[test]
    fn a_large_tile_becomes_a_small_picture() {
        let picture = written(include_bytes!("../../tests/data/malta-14-8851-6439.mvt"));
        assert!(picture.len() < 80_000, "{} bytes", picture.len());
        assert!(picture.len() > 20_000, "detail is kept: {} bytes", picture.len());
        assert!(picture.contains("z14/8851/6439: 141 kB, 4,322 features"));
        assert!(picture.contains(ATTRIBUTION));
        assert!(!picture.contains("<b>"));
    }

    #[test]
    fn broken_bytes_say_why() {
        for bytes in [&b"not a tile"[..], &[0x1a, 0xff, 0xff], &[0x1a, 0x02, 0x12, 0x05]] {
            let text = written(bytes);
            assert!(text.contains("not available: "), "{text}");
            assert!(!text.contains("<svg"));
        }
    }

    #[test]
    fn an_empty_tile_is_a_picture_of_nothing() {
        assert!(written(&[]).contains("0 bytes, 0 features"));
    }

    #[test]
    fn places_are_read_from_names() {
        assert_eq!(place("tile/14/8851/6439"), "z14/8851/6439");
        assert_eq!(place("polygons/tile/1/2/3"), "z1/2/3");
        assert_eq!(place("a tile"), "a tile");
    }
}
