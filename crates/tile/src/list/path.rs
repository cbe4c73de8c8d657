//! The tile in a path: `z/x/y`, or a request to a WMTS in either of its styles.

use crate::{MOST_ZOOM, Tile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Tile(Tile),
    /// In a path of a WMTS, which has the row before the column.
    RowFirst(Tile),
    /// Three numbers like a tile's, but outside every map.
    OffMap,
    Nothing,
}

/// The tile that the parameters of a WMTS name; otherwise the last three whole numbers of the path that make
/// one. The last number may have an ending like `.pbf` or `@2x.png`.
pub(super) fn named(address: &str) -> Named {
    let address = address.split('#').next().unwrap_or_default();
    let (path, query) = address.split_once('?').unwrap_or((address, address));
    of_parameters(query).unwrap_or_else(|| of_path(path))
}

fn of_path(path: &str) -> Named {
    // Text before the first slash is not part of a path: `11/23/26` is a day.
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut found = Named::Nothing;
    for (at, window) in parts.windows(3).enumerate().rev() {
        let [z, second, third] = [zoom(window[0]), whole_number(window[1]), ended(window[2])];
        let (Some(z), Some(second), Some(third)) = (z, second, third) else { continue };
        let is_row_first = is_row_first(&parts[..at], window[0]);
        let (x, y) = if is_row_first { (third, second) } else { (second, third) };
        match (placed(z, x, y), is_row_first) {
            (Some(Named::Tile(tile)), true) => return Named::RowFirst(tile),
            (Some(Named::Tile(tile)), false) => return Named::Tile(tile),
            (Some(off), _) => found = off,
            (None, _) => {}
        }
    }
    found
}

/// The tile, or off the map; `None` if there is no such zoom.
fn placed(z: u64, x: u64, y: u64) -> Option<Named> {
    let zoom = u8::try_from(z).ok().filter(|zoom| *zoom <= MOST_ZOOM)?;
    let is_on_map = x.max(y) < 1 << zoom;
    Some(if is_on_map { Named::Tile(Tile { z: zoom, x: x as u32, y: y as u32 }) } else { Named::OffMap })
}

/// `TILEMATRIX=EPSG:3857:14&TILEROW=6439&TILECOL=8851`, in any order and case.
fn of_parameters(query: &str) -> Option<Named> {
    let value = |wanted: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| value).next()
    };
    placed(zoom(value("tilematrix")?)?, whole_number(value("tilecol")?)?, whole_number(value("tilerow")?)?)
}

/// A zoom, or the name of a tile matrix that ends with it: `EPSG:3857:14`.
fn zoom(part: &str) -> Option<u64> {
    let colon = [":", "%3A", "%3a"].into_iter().filter_map(|colon| Some(part.rfind(colon)? + colon.len()));
    whole_number(&part[colon.max().unwrap_or(0)..])
}

/// As the standard of WMTS and the servers of ArcGIS have it: `wmts/…/{TileMatrix}/{TileRow}/{TileCol}`.
fn is_row_first(before: &[&str], matrix: &str) -> bool {
    let is = |part: &&str, name: &str| part.eq_ignore_ascii_case(name);
    let of_arcgis = matches!(before, [.., server, tile] if is(server, "MapServer") && is(tile, "tile"));
    of_arcgis || before.iter().any(|part| is(part, "wmts")) || whole_number(matrix).is_none()
}

/// A whole number; saturates.
fn whole_number(part: &str) -> Option<u64> {
    let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| part.parse().unwrap_or(u64::MAX))
}

/// A whole number, optionally with an ending.
pub(super) fn ended(part: &str) -> Option<u64> {
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
        let wmts = [
            "/gwc/service/wmts/rest/roads/EPSG:900913/EPSG:900913:14/6439/8851?format=image/png",
            "/wmts/1.0.0/roads/default/GoogleMapsCompatible/14/6439/8851.png",
            "/WMTS/roads/default/WebMercatorQuad/14/6439/8851.mvt",
            "/rest/services/roads/MapServer/tile/14/6439/8851",
            "/cached/EPSG%3A3857%3A14/6439/8851.pbf",
        ];
        for path in wmts {
            assert_eq!(named(path), Named::RowFirst(Tile { z: 14, x: 8851, y: 6439 }), "{path}");
        }
        let parameters = [
            "/wmts?SERVICE=WMTS&REQUEST=GetTile&LAYER=roads&TILEMATRIXSET=g&TILEMATRIX=14&TILEROW=6439&TILECOL=8851",
            "https://tile.example/1/0/0?tilecol=8851&tilerow=6439&TileMatrix=EPSG%3A3857%3A14&request=GetTile#a",
            "service=WMTS&TILECOL=8851&TILEROW=6439&TILEMATRIX=14",
        ];
        for path in parameters {
            assert_eq!(named(path), Named::Tile(Tile { z: 14, x: 8851, y: 6439 }), "{path}");
        }
        assert_eq!(named("/wmts?TILEMATRIX=2&TILEROW=1&TILECOL=4"), Named::OffMap);
        // Without a column there is no tile, and the host's name is not a segment.
        assert_eq!(named("/wmts?TILEMATRIX=2&TILEROW=1"), Named::Nothing);
        let host = "https://wmts.example/14/8851/6439.jpeg";
        assert_eq!(named(host), Named::Tile(Tile { z: 14, x: 8851, y: 6439 }));
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
