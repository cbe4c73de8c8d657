//! Tiles that came as pictures: shown as they are, within the page.

use ::tile::picture;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use spec::Artifact;

/// Longest picture on a page, bytes: a page has up to two dozen.
const MOST_BYTES: usize = 256 << 10;

/// A picture in the page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raster {
    /// Its bytes as a `data:` URL.
    pub(super) url: String,
    /// `256 x 256 pixels, PNG`.
    pub(super) words: String,
}

impl Raster {
    /// `None` if the bytes do not begin like a picture.
    ///
    /// # Errors
    /// Why it is not shown.
    pub(super) fn of(artifact: &Artifact) -> Option<Result<Self, String>> {
        let format = picture::Format::of(&artifact.bytes)?;
        Some(match picture::decode(&artifact.bytes) {
            Err(broken) => Err(broken.to_string()),
            Ok(_) if artifact.bytes.len() > MOST_BYTES => Err("it is too large for a page".to_owned()),
            Ok(picture) => Ok(Self {
                url: format!(
                    "data:{};base64,{}",
                    format.media_type(),
                    BASE64_STANDARD.encode(&artifact.bytes)
                ),
                words: format!("{} x {} pixels, {}", picture.width, picture.height, format.name()),
            }),
        })
    }
}
