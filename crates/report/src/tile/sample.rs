//! One tile with its picture, and each of its layers separately.

use ::tile::mvt;
use maud::{Markup, Render, html};
use spec::Artifact;

use super::draw::{self, DrawnPath};
use super::raster::Raster;
use super::{SizeLimit, tile_name};
use crate::numbers;

/// Colours of layers; more layers start over.
const COLOURS: usize = 6;

/// Layers of a tile that are drawn separately, at most.
const MOST_ALONE: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SizeLimits {
    pub(crate) whole: SizeLimit,
    pub(crate) alone: SizeLimit,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DrawnSample {
    /// Empty if nothing is compared.
    arm: String,
    /// `z14/8851/6439`; another name unchanged.
    place: String,
    bytes: u64,
    caption: String,
    /// Who must be named with it.
    source: Option<&'static str>,
    shown: Shown,
}

#[derive(Debug, Clone, PartialEq)]
enum Shown {
    Picture {
        paths: Vec<DrawnPath>,
        layers: Vec<SampleLayer>,
    },
    /// It came as a picture.
    Raster(Raster),
    /// Already drawn for this arm.
    Same(String),
    Broken(String),
}

#[derive(Debug, Clone, PartialEq)]
struct SampleLayer {
    name: String,
    features: usize,
    vertices: usize,
    /// Its index among the colours of layers, the same on the whole page.
    colour: usize,
    /// Its picture; empty for a tile's only layer.
    alone: Vec<DrawnPath>,
}

impl SampleLayer {
    fn words(&self) -> String {
        let features = numbers::counted(self.features, "feature");
        let vertices = match self.vertices {
            1 => "1 vertex".to_owned(),
            many => format!("{} vertices", numbers::count(many as u64)),
        };
        format!("{}: {features}, {vertices}", self.name)
    }
}

impl DrawnSample {
    /// Decodes and draws it; `colours` are the names of layers with a colour, to which the new ones of this
    /// tile are added.
    pub(crate) fn of(artifact: &Artifact, arm: &str, limits: SizeLimits, colours: &mut Vec<String>) -> Self {
        let shown = match (Raster::of(artifact), mvt::decode(&artifact.bytes)) {
            (Some(Ok(raster)), _) => Shown::Raster(raster),
            (None, Ok(layers)) => Shown::Picture {
                paths: draw::draw(&layers, limits.whole),
                layers: described(&layers, limits.alone, colours),
            },
            (Some(Err(broken)), _) => Shown::Broken(broken),
            (None, Err(broken)) => Shown::Broken(broken.to_string()),
        };
        Self { shown, ..Self::same(artifact, arm, "") }
    }

    pub(crate) fn same(artifact: &Artifact, arm: &str, drawn: &str) -> Self {
        Self {
            arm: arm.to_owned(),
            place: tile_name(&artifact.name),
            bytes: artifact.bytes.len() as u64,
            caption: artifact.caption.clone(),
            source: None,
            shown: Shown::Same(drawn.to_owned()),
        }
    }

    pub(crate) fn of_source(self, source: Option<&'static str>) -> Self {
        Self { source, ..self }
    }

    /// Place and size; with its content, if known.
    fn words(&self) -> String {
        let size = numbers::bytes(self.bytes);
        match &self.shown {
            Shown::Picture { layers, .. } => {
                let features = layers.iter().map(|layer| layer.features).sum();
                format!("{}: {size}, {}", self.place, numbers::counted(features, "feature"))
            }
            Shown::Raster(raster) => format!("{}: {size}, {}", self.place, raster.words),
            _ => format!("{}: {size}", self.place),
        }
    }
}

/// Contents of layers, in the order of the tile, and each separately if there are several.
fn described(layers: &[mvt::Layer], limit: SizeLimit, colours: &mut Vec<String>) -> Vec<SampleLayer> {
    let several = layers.len() > 1;
    let described = |(at, layer): (usize, &mvt::Layer)| {
        let known = colours.iter().position(|name| *name == layer.name);
        let colour = known.unwrap_or_else(|| {
            colours.push(layer.name.clone());
            colours.len() - 1
        });
        let parts = layer.features.iter().flat_map(|feature| &feature.parts);
        let is_drawn = several && at < MOST_ALONE;
        let alone = if is_drawn { draw::draw(std::slice::from_ref(layer), limit) } else { Vec::new() };
        SampleLayer {
            name: layer.name.clone(),
            features: layer.features.len(),
            vertices: parts.map(Vec::len).sum(),
            colour: colour % COLOURS,
            alone,
        }
    };
    layers.iter().enumerate().map(described).collect()
}

impl Render for DrawnSample {
    fn render(&self) -> Markup {
        html! {
            figure.tile {
                @if !self.arm.is_empty() { h4 { (self.arm) } }
                @match &self.shown {
                    Shown::Picture { paths, layers } => (self.picture(paths, layers)),
                    Shown::Raster(raster) => {
                        img src=(raster.url) alt=(self.words());
                        figcaption {
                            strong { (self.words()) }
                            @if !self.caption.is_empty() { ". " (self.caption) }
                        }
                    },
                    Shown::Same(arm) => figcaption { strong { (self.words()) } ". The same bytes as in " (arm) "." },
                    Shown::Broken(broken) => figcaption {
                        strong { (self.place) } ": not available: " (broken) " (" (numbers::bytes(self.bytes)) ")"
                    },
                }
            }
        }
    }
}

impl DrawnSample {
    fn picture(&self, paths: &[DrawnPath], layers: &[SampleLayer]) -> Markup {
        let several = layers.len() > 1;
        html! {
            (self.svg(&self.words(), paths, |path| several.then(|| layers[path.layer].colour)))
            figcaption {
                strong { (self.words()) }
                @if !self.caption.is_empty() { ". " (self.caption) }
                @if let Some(source) = self.source { br; small { (source) } }
            }
            @if several {
                ul.layers { @for layer in layers { li {
                    @if !layer.alone.is_empty() { (self.svg(&layer.words(), &layer.alone, |_| Some(layer.colour))) }
                    span { i class=(format!("c{}", layer.colour)) {} " " (layer.words()) }
                } } }
            } @else {
                @for layer in layers { p.layer { (layer.words()) } }
            }
        }
    }

    /// Paths as a picture; in the colours of their layers if `colour` has them, else by kind.
    fn svg(&self, said: &str, paths: &[DrawnPath], colour: impl Fn(&DrawnPath) -> Option<usize>) -> Markup {
        let class = |path: &DrawnPath| match colour(path) {
            Some(colour) => format!("{} c{colour}", path.class),
            None => path.class.to_owned(),
        };
        html! {
            svg viewBox=(format!("0 0 {0} {0}", draw::GRID)) role="img" {
                title { (said) }
                desc { "A picture of the map tile." @if let Some(source) = self.source { " " (source) "." } }
                @for path in paths { path class=(class(path)) d=(path.outline) {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ATTRIBUTION, MEDIA_TYPE};
    use super::*;

    const TILE: &[u8] = include_bytes!("../../tests/data/malta-14-8851-6439.mvt");
    const LIMITS: SizeLimits = SizeLimits {
        whole: SizeLimit { bytes: 72_000, finest: 2.0 },
        alone: SizeLimit { bytes: 9_000, finest: 8.0 },
    };

    fn artifact(bytes: &[u8]) -> Artifact {
        Artifact {
            name: "tile/14/8851/6439".into(),
            media_type: MEDIA_TYPE.into(),
            caption: "<b>Valletta</b>".into(),
            bytes: bytes.to_vec(),
        }
    }

    fn written(bytes: &[u8]) -> String {
        let sample = DrawnSample::of(&artifact(bytes), "", LIMITS, &mut Vec::new());
        sample.of_source(Some(ATTRIBUTION)).render().0
    }

    /// A layer of this name with a point of an extent of 4096.
    fn layer(name: &str) -> Vec<u8> {
        let feature = [0x18, 1, 0x22, 3, 9, 50, 34];
        let mut layer = vec![0x78, 2, 0x0a, name.len() as u8];
        layer.extend(name.as_bytes());
        layer.extend([0x12, feature.len() as u8]);
        layer.extend(feature);
        let mut tile = vec![0x1a, layer.len() as u8];
        tile.extend(layer);
        tile
    }

    #[test]
    fn a_large_tile_becomes_a_small_picture() {
        let picture = written(TILE);
        assert!(picture.len() < 100_000, "{} bytes", picture.len());
        assert!(picture.len() > 20_000, "detail is kept: {} bytes", picture.len());
        assert!(picture.contains("z14/8851/6439: 141 kB, 4,322 features"));
        assert!(picture.matches(ATTRIBUTION).count() >= 2, "in the caption, and in each picture");
        let elsewhere = DrawnSample::of(&artifact(TILE), "", LIMITS, &mut Vec::new()).render().0;
        assert!(!elsewhere.contains(ATTRIBUTION));
        assert!(!picture.contains("<b>"));
    }

    /// A PNG was "not available: invalid vector tile".
    #[test]
    fn a_picture_is_shown_as_it_came() {
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, 2, 3);
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header().unwrap().write_image_data(&[7; 18]).unwrap();
        let text = written(&png);
        assert!(
            text.contains("2 x 3 pixels, PNG") && text.contains("src=\"data:image/png;base64,iVBOR"),
            "{text}"
        );
        assert!(!text.contains("<svg") && !text.contains(ATTRIBUTION), "{text}");
        png.truncate(40);
        let text = written(&png);
        assert!(text.contains("not available: ") && !text.contains("<img"), "{text}");
        png.extend([0; 300 << 10]);
        assert!(!written(&png).contains("<img"));
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
    fn layers_have_colours_of_their_own_and_each_is_drawn_alone() {
        let mut colours = vec!["roads".to_owned()];
        let bytes = [layer("water"), layer("roads")].concat();
        let text = DrawnSample::of(&artifact(&bytes), "new", LIMITS, &mut colours).render().0;
        assert_eq!(colours, ["roads", "water"]);
        assert_eq!(text.matches("<svg").count(), 3, "{text}");
        for wanted in
            ["<h4>new</h4>", "point c0", "point c1", "water: 1 feature, 1 vertex", "<i class=\"c0\">"]
        {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        let one = written(&layer("roads"));
        assert!(one.contains("class=\"point\"") && one.contains("roads: 1 feature"), "{one}");
        assert_eq!(one.matches("<svg").count(), 1);
    }

    #[test]
    fn what_was_drawn_is_named_instead() {
        let text = DrawnSample::same(&artifact(TILE), "new", "old").render().0;
        assert!(text.contains("z14/8851/6439: 141 kB</strong>. The same bytes as in old."), "{text}");
    }

    #[test]
    fn pictures_have_no_more_bytes_than_room() {
        let layers = mvt::decode(TILE).expect("a tile");
        for limit in [4_000, 20_000, 72_000] {
            let painted = draw::draw(&layers, SizeLimit { bytes: limit, finest: 2.0 });
            let bytes: usize = painted.iter().map(|path| path.outline.len()).sum();
            assert!(bytes <= limit && bytes > limit / 4, "{bytes} of {limit}");
        }
    }
}
