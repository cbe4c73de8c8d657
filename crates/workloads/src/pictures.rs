//! Tiles that are pictures: their formats and sizes, and the differences between two arms.

use std::collections::BTreeSet;

use spec::PictureDifference;
use tile::picture;

/// With fewer other pixels, two pictures count as the same: renderers differ a little in labels and edges.
const SAME_SHARE: f64 = 0.01;

/// The formats and sizes of pictures among bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PictureKinds {
    pictures: u64,
    blank: u64,
    formats: BTreeSet<&'static str>,
    sizes: BTreeSet<(u32, u32)>,
}

impl PictureKinds {
    /// Adds a body. Other bodies than pictures are ignored.
    pub(crate) fn add(&mut self, body: &[u8]) {
        let Ok(picture) = picture::decode(body) else { return };
        self.pictures += 1;
        self.blank += u64::from(picture.is_blank());
        self.formats.insert(picture.format.name());
        self.sizes.insert((picture.width, picture.height));
    }

    /// `pictures: PNG, 256 x 256 pixels; 2 of 24 have one colour`; `None` without a picture.
    pub(crate) fn words(&self) -> Option<String> {
        let formats: Vec<&str> = self.formats.iter().copied().collect();
        let sizes: Vec<String> =
            self.sizes.iter().map(|(width, height)| format!("{width} x {height}")).collect();
        let blank = match self.blank {
            0 => String::new(),
            blank => format!("; {blank} of {} have one colour", self.pictures),
        };
        let kinds = format!("pictures: {}, {} pixels{blank}", formats.join(" and "), sizes.join(" and "));
        (self.pictures > 0).then_some(kinds)
    }
}

/// How two tiles differ of which one or both are pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TwoPictures {
    /// The share of pixels that differ.
    Pixels(f64),
    OtherSize,
    /// The other is a vector tile, or empty.
    OnlyOne,
}

/// Compares two tiles; `None` if neither is a picture.
pub(crate) fn compare(own: &[u8], base: &[u8]) -> Option<TwoPictures> {
    match (picture::decode(own), picture::decode(base)) {
        (Err(_), Err(_)) => None,
        (Ok(own), Ok(base)) => {
            Some(own.other_pixels(&base).map_or(TwoPictures::OtherSize, TwoPictures::Pixels))
        }
        _ => Some(TwoPictures::OnlyOne),
    }
}

impl TwoPictures {
    /// Adds it to the sum over a sample; returns how much they differ, 0 for the same picture.
    pub(crate) fn add_to(self, sum: &mut PictureDifference) -> u64 {
        match self {
            Self::Pixels(share) if share < SAME_SHARE => 0,
            Self::Pixels(share) => {
                sum.pixels += 1;
                sum.most_share = sum.most_share.max(share);
                (share * 1e6) as u64
            }
            Self::OtherSize => {
                sum.sizes += 1;
                u64::MAX - 1
            }
            Self::OnlyOne => {
                sum.only_one += 1;
                u64::MAX
            }
        }
    }
}
