//! Tokens of configurations of renderers and tile servers, such as `!BBOX!` of tegola and `!pixel_width!` of
//! Mapnik, in any case.

use protocol::nearest;

/// Metres of a pixel on a display, by OGC's definition of the scale.
const DISPLAY_PIXEL_M: f64 = 0.00028;

/// Tokens that a server replaces by names of its configuration.
const OF_CONFIGURATION: [&str; 3] = ["id_field", "geom_field", "geom_type"];

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// The tile's box in the projection of the tables.
    Box,
    /// Column or row: 1 or 2.
    Place(usize),
    OfZoom(OfZoom),
}

/// A number that depends on the zoom alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfZoom {
    Zoom,
    /// Side of a pixel in metres, of 256 a tile.
    PixelSide,
    ScaleDenominator,
}

const KNOWN: [(&str, Token); 8] = [
    ("bbox", Token::Box),
    ("zoom", Token::OfZoom(OfZoom::Zoom)),
    ("z", Token::OfZoom(OfZoom::Zoom)),
    ("x", Token::Place(1)),
    ("y", Token::Place(2)),
    ("pixel_width", Token::OfZoom(OfZoom::PixelSide)),
    ("pixel_height", Token::OfZoom(OfZoom::PixelSide)),
    ("scale_denominator", Token::OfZoom(OfZoom::ScaleDenominator)),
];

impl Token {
    /// Of this name, without exclamation marks.
    ///
    /// # Errors
    /// In words, with the names that are known.
    pub(super) fn of(name: &str) -> Result<Self, String> {
        let lower = name.to_ascii_lowercase();
        if let Some((_, token)) = KNOWN.iter().find(|(known, _)| *known == lower) {
            return Ok(*token);
        }
        if OF_CONFIGURATION.contains(&lower.as_str()) {
            return Err(format!(
                "!{name}! is filled in from the configuration of a tile server; write the column's name or kind itself"
            ));
        }
        let names = KNOWN.map(|(known, _)| known);
        let hint = match nearest(&lower, names) {
            Some(right) => format!("did you mean !{right}!?"),
            None => format!("there are !{}!", names.join("!, !")),
        };
        Err(format!("unknown token !{name}!; {hint}"))
    }
}

impl OfZoom {
    /// Written as a number.
    pub(super) fn at(self, z: u8) -> String {
        let pixel_m = tile::side_m(z) / tile::PIXELS;
        match self {
            Self::Zoom => z.to_string(),
            Self::PixelSide => pixel_m.to_string(),
            Self::ScaleDenominator => (pixel_m / DISPLAY_PIXEL_M).to_string(),
        }
    }
}

/// The name of the token at the beginning of a text, if there is one.
pub(super) fn written(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('!')?.split_once('!')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_name.then_some(name)
}
