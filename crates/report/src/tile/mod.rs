//! Vector tiles as pictures: SVG of bounded size, simplified to what can be seen.

mod decode;
mod draw;

use record::Artifact;

use crate::markup::Markup;
use crate::numbers;

/// Media type of Mapbox vector tiles.
pub const MEDIA_TYPE: &str = "application/vnd.mapbox-vector-tile";

/// What must stand with every picture of OpenStreetMap data.
pub const ATTRIBUTION: &str = "© OpenStreetMap contributors";

/// Writes a tile as a figure: picture, place, bytes and features; the reason instead, where it cannot be drawn.
pub(crate) fn write(artifact: &Artifact, out: &mut Markup) {
    let size = numbers::bytes(artifact.bytes.len() as u64);
    out.tag("figure").class("tile").with(|out| match decode::decode(&artifact.bytes) {
        Ok(layers) => {
            let features = layers.iter().map(|layer| layer.features.len()).sum::<usize>();
            let caption = format!(
                "{}: {size}, {}",
                place(&artifact.name),
                numbers::counted(features, "feature", "features")
            );
            picture(&layers, &caption, out);
            out.tag("figcaption").with(|out| {
                out.tag("strong").text(&caption);
                if !artifact.caption.is_empty() {
                    out.text(". ").text(&artifact.caption);
                }
                out.tag("br").empty();
                out.tag("small").text(ATTRIBUTION);
            });
        }
        Err(broken) => out.tag("figcaption").with(|out| {
            out.tag("strong").text(place(&artifact.name));
            out.text(format_args!(": not available: {broken} ({size})"));
        }),
    });
}

fn picture(layers: &[decode::Layer], caption: &str, out: &mut Markup) {
    let view = format!("0 0 {0} {0}", draw::GRID);
    out.tag("svg").attr("viewBox", view).attr("role", "img").with(|out| {
        out.tag("title").text(caption);
        out.tag("desc").text(format_args!("A picture of the map tile. {ATTRIBUTION}."));
        draw::draw(layers, out);
    });
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
        let mut out = Markup::new();
        write(&artifact(bytes), &mut out);
        out.into_string()
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
