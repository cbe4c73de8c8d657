//! The tile in a path.

use crate::{MOST_ZOOM, Tile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Tile(Tile),
    /// Three numbers like a tile's, but outside every map.
    OffMap,
    Nothing,
}

/// The last three whole numbers of a path or address that make a tile; the last of them may have an ending
/// like `.pbf` or `@2x.png`.
pub(super) fn named(path: &str) -> Named {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    // Text before the first slash is not part of a path: `11/23/26` is a day.
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut found = Named::Nothing;
    for window in parts.windows(3).rev() {
        let [z, x, y] = [whole_number(window[0]), whole_number(window[1]), ended(window[2])];
        let (Some(z), Some(x), Some(y)) = (z, x, y) else { continue };
        if z > MOST_ZOOM.into() {
            continue;
        }
        if x.max(y) < 1 << z {
            return Named::Tile(Tile { z: z as u8, x: x as u32, y: y as u32 });
        }
        found = Named::OffMap;
    }
    found
}

/// A whole number; saturates.
fn whole_number(part: &str) -> Option<u64> {
    let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| part.parse().unwrap_or(u64::MAX))
}

/// A whole number, optionally with an ending.
fn ended(part: &str) -> Option<u64> {
    let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
    let (number, mut ending) = part.split_at(end);
    if let Some(scaled) = ending.strip_prefix('@') {
        ending = scaled.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').strip_prefix('x')?;
    }
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let plain =
        ending.is_empty() || ending.strip_prefix('.').is_some_and(|names| names.split('.').all(is_name));
    plain.then(|| whole_number(number)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_found_in_paths() {
        let right = [
            "/14/8851/6439",
            "/v3/14/8851/6439.pbf?token=1/2/3",
            "/3/14/8851/6439.mvt",
            "/tiles/1.0.0/osm/14/8851/6439@2x.png",
            "https://tile.example:8080/14/8851/6439.vector.pbf",
            "/tiles/14/8851/6439/",
            "/tiles/14/8851/6439/256/png",
            "/collections/public.roads/tiles/WebMercatorQuad/14/8851/6439#a",
            "/14/8851/6439@1.5x.webp",
        ];
        for path in right {
            assert_eq!(named(path), Named::Tile(Tile { z: 14, x: 8851, y: 6439 }), "{path}");
        }
        for path in ["/14/8851/16384.pbf", "/2/4/0", "/14/99999999999999999999999/1"] {
            assert_eq!(named(path), Named::OffMap, "{path}");
        }
        let nothing = [
            "",
            "/",
            "11/23/26",
            "/14/8851",
            "/style/14/8851/a.pbf",
            "/14/8851/6439.1",
            "/2026/11/23",
            "/14/-1/3",
            "/1/1/0x",
        ];
        for path in nothing {
            assert_eq!(named(path), Named::Nothing, "{path}");
        }
    }
}
