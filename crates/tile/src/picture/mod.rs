//! Tiles that are pictures: decoded to pixels, and compared.
//!
//! Left out: animation (the first frame counts), colour profiles, and everything about how a picture was
//! compressed.

mod decode;

pub use decode::{BrokenPicture, decode};

/// Longest side of a picture, pixels. Tiles for fine screens have 512 or 1024.
pub const MOST_SIDE: u32 = 4096;

/// How far a channel of a pixel may be from another picture's, of 255: compression with losses changes edges.
const TOLERANCE: u8 = 32;

/// The format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    Png,
    Jpeg,
    Webp,
}

impl Format {
    const ALL: [Self; 3] = [Self::Png, Self::Jpeg, Self::Webp];

    /// By the first bytes; `None` if it is none of these formats.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    /// Whether a content type, with or without parameters, names a format.
    #[must_use]
    pub fn is_named_by(content_type: &str) -> bool {
        let plain = content_type.split(';').next().unwrap_or_default().trim();
        Self::ALL.iter().any(|format| plain.eq_ignore_ascii_case(format.media_type()))
    }

    /// `image/png`.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }

    /// `PNG`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Webp => "WebP",
        }
    }
}

/// A decoded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub format: Format,
    /// At most [`MOST_SIDE`].
    pub width: u32,
    /// At most [`MOST_SIDE`].
    pub height: u32,
    /// Red, green, blue and alpha, row by row; colours are multiplied by alpha.
    pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// Whether all of it has one colour, or is transparent: there is nothing to see.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.pixels.windows(2).all(|two| two[0] == two[1])
    }

    /// The share of pixels with another colour than in a picture of the same size; `None` for another size.
    #[must_use]
    pub fn other_pixels(&self, other: &Self) -> Option<f64> {
        if (self.width, self.height) != (other.width, other.height) {
            return None;
        }
        let is_other = |(own, its): &(&[u8; 4], &[u8; 4])| {
            own.iter().zip(*its).any(|(own, its)| own.abs_diff(*its) > TOLERANCE)
        };
        let differ = self.pixels.iter().zip(&other.pixels).filter(is_other).count();
        Some(differ as f64 / self.pixels.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(pixels: &[[u8; 4]]) -> Picture {
        Picture { format: Format::Png, width: pixels.len() as u32, height: 1, pixels: pixels.to_vec() }
    }

    #[test]
    fn formats_are_known_by_their_first_bytes_and_their_content_types() {
        assert_eq!(Format::of(b"\x89PNG\r\n\x1a\n\0"), Some(Format::Png));
        assert_eq!(Format::of(&[0xff, 0xd8, 0xff, 0xe0]), Some(Format::Jpeg));
        assert_eq!(Format::of(b"RIFF\x10\0\0\0WEBPVP8 "), Some(Format::Webp));
        assert_eq!([&b""[..], b"\x1a\x10", b"<html>", b"RIFF"].map(Format::of), [None; 4]);
        assert!(Format::is_named_by("Image/PNG; q=1") && !Format::is_named_by("image/svg+xml"));
    }

    #[test]
    fn a_picture_of_one_colour_has_nothing_to_see() {
        let [sea, land] = [[170, 211, 223, 255], [242, 239, 233, 255]];
        assert!(picture(&[sea, sea, sea]).is_blank() && picture(&[]).is_blank());
        assert!(!picture(&[sea, sea, land]).is_blank());
    }

    #[test]
    fn small_losses_are_no_other_pixels() {
        let one = picture(&[[100, 100, 100, 255]; 8]);
        let mut other = one.clone();
        other.pixels[0] = [132, 68, 100, 255];
        assert_eq!(one.other_pixels(&other), Some(0.0));
        other.pixels[1] = [133, 100, 100, 255];
        other.pixels[2] = [0, 0, 0, 0];
        assert_eq!(one.other_pixels(&other), Some(0.25));
        assert_eq!(one.other_pixels(&picture(&[[100, 100, 100, 255]; 9])), None);
    }
}
