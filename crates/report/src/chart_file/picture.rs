//! A chart as PNG. Text is drawn with a bundled font, since the machine may have none; with the machine's
//! fonts if that lacks a letter.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Group, Node, Options, Tree, fontdb};

use super::ChartFile;

const PLAIN: &[u8] = include_bytes!("font/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("font/DejaVuSans-Bold.ttf");
const FAMILY: &str = "DejaVu Sans";
/// Dots per unit of the drawing: sharp on screens of phones too.
const DOTS: f32 = 2.0;

/// A chart drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub png: Vec<u8>,
    /// Letters that no font has; each is drawn as an empty box.
    pub missing: String,
}

/// Why a chart cannot be drawn as PNG.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("the chart cannot be read as SVG: {0}")]
    Svg(String),
    /// Too large, or out of memory.
    #[error("the picture of {width} x {height} dots cannot be made")]
    Size { width: u32, height: u32 },
    #[error("the picture cannot be written as PNG: {0}")]
    Png(String),
}

impl ChartFile {
    /// The chart as PNG, on white, two dots per unit.
    ///
    /// # Errors
    /// [`PictureError`]; none is expected for a chart of this crate.
    pub fn picture(&self) -> Result<Picture, PictureError> {
        let own = self.tree(false)?;
        let tree = if missing_characters(&own).is_empty() { own } else { self.tree(true)? };
        let size = tree.size().to_int_size().scale_by(DOTS);
        let (width, height) = size.map_or((0, 0), |size| (size.width(), size.height()));
        let mut dots = Pixmap::new(width, height).ok_or(PictureError::Size { width, height })?;
        resvg::render(&tree, Transform::from_scale(DOTS, DOTS), &mut dots.as_mut());
        let png = dots.encode_png().map_err(|error| PictureError::Png(error.to_string()))?;
        Ok(Picture { png, missing: missing_characters(&tree) })
    }

    /// Parses the SVG and lays out its text. `system` adds the machine's fonts, which is slow.
    fn tree(&self, system: bool) -> Result<Tree, PictureError> {
        let mut fonts = fontdb::Database::new();
        for font in [PLAIN, BOLD] {
            fonts.load_font_source(fontdb::Source::Binary(Arc::new(font)));
        }
        if system {
            fonts.load_system_fonts();
        }
        fonts.set_sans_serif_family(FAMILY);
        let options =
            Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Options::default() };
        Tree::from_str(&self.svg, &options).map_err(|error| PictureError::Svg(error.to_string()))
    }
}

fn missing_characters(tree: &Tree) -> String {
    fn look(group: &Group, found: &mut String) {
        for node in group.children() {
            match node {
                Node::Group(deeper) => look(deeper, found),
                Node::Text(text) => {
                    let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                    for glyph in glyphs.filter(|glyph| glyph.id.0 == 0) {
                        found.extend(glyph.text.chars().filter(|c| !found.contains(*c)).collect::<Vec<_>>());
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = String::new();
    look(tree.root(), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(words: &str) -> ChartFile {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\"><rect width=\"200\" height=\"40\" \
             fill=\"#fff\"/><text x=\"5\" y=\"25\" font-family=\"No Such Font, sans-serif\" font-size=\"13\">{words}</text></svg>"
        );
        ChartFile { name: "a".into(), title: "a".into(), svg }
    }

    #[test]
    fn words_are_drawn_whatever_fonts_the_machine_has() {
        let words = "p99 76.9 µs ± ≤ → −1 % [−2, +3] ▲▼■●◆ © ÄßŁ Ωμ Жи · … ✓";
        let [with, without] = [words, ""].map(|words| alone(words).picture().expect("a picture"));
        assert_eq!(with.missing, "");
        assert!(with.png.starts_with(b"\x89PNG") && with.png.len() > 2 * without.png.len());
    }

    #[test]
    fn what_no_font_has_is_told() {
        // A code point for private use, which no usual font has.
        assert_eq!(alone("a\u{f8ffe}b").picture().expect("a picture").missing, "\u{f8ffe}");
    }
}
