//! One line of a list: a tile, and how often it was requested.

use super::path::ended;
use crate::{Tile, TileError};

/// Most requests for a tile, so that sums of all lines fit.
const MOST_REQUESTS: u64 = 1 << 40;

/// Why a line is not an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error(transparent)]
    Tile(#[from] TileError),
    #[error("\"{0}\" is not a number of requests (a whole number up to 2^40)")]
    Requests(String),
}

/// `z/x/y`, `z/x/y N` as published, or `N z/x/y` as `uniq -c` writes it; also three or four numbers separated
/// by blanks or commas. The row may have an ending such as `.pbf`.
pub(super) fn entry(line: &str) -> Result<(Tile, u64), EntryError> {
    let words: Vec<&str> = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
    let is_tile = |word: &str| word.matches('/').count() >= 2;
    match words[..] {
        [place] => Ok((tile(place)?, 1)),
        [place, count] | [count, place] if is_tile(place) && !is_tile(count) => {
            Ok((tile(place)?, requests(count)?))
        }
        [z, x, y, count] => Ok((tile(&format!("{z}/{x}/{y}"))?, requests(count)?)),
        _ => Ok((line.parse()?, 1)),
    }
}

/// Whether a line is an entry, or would be one with other numbers.
pub(super) fn is_entry(line: &str) -> bool {
    let only_numbers = line.bytes().all(|byte| byte.is_ascii_digit() || b"/, \t-".contains(&byte));
    let would_be = |error| !matches!(error, EntryError::Tile(TileError::NoTile(_)));
    only_numbers || entry(line).map_or_else(would_be, |_| true)
}

fn tile(written: &str) -> Result<Tile, TileError> {
    match written.rsplit_once('/').and_then(|(front, last)| Some(format!("{front}/{}", ended(last)?))) {
        Some(plain) => plain.parse().map_err(|error| match error {
            TileError::NoTile(_) => TileError::NoTile(written.to_owned()),
            outside => outside,
        }),
        None => written.parse(),
    }
}

fn requests(written: &str) -> Result<u64, EntryError> {
    let number = written.parse().ok().filter(|number| *number <= MOST_REQUESTS);
    number.ok_or_else(|| EntryError::Requests(written.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_are_published() {
        let tile = Tile { z: 14, x: 8851, y: 6439 };
        for (line, often) in [
            ("14/8851/6439", 1),
            ("14/8851/6439 120", 120),
            ("14/8851/6439.pbf", 1),
            ("/14/8851/6439@2x.png\t7", 7),
            ("    33 14/8851/6439.mvt", 33),
            ("14,8851,6439,5", 5),
            ("14 8851 6439", 1),
            ("14/8851/6439 0", 0),
        ] {
            assert_eq!(entry(line), Ok((tile, often)), "{line}");
            assert!(is_entry(line), "{line}");
        }
        for (line, wanted) in [
            ("14/8851/6439 many", "\"many\" is not a number of requests"),
            ("14/8851/6439 1.5", "\"1.5\" is not a number of requests"),
            ("14/8851/6439 99999999999999999999", "is not a number of requests"),
            ("14/8851/a.pbf", "\"14/8851/a.pbf\" is not a tile"),
            ("2/8/1.png 5", "tile 2/8/1 is outside the world"),
            ("14/8851 6439 1 1", "is not a tile"),
        ] {
            let error = entry(line).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error} for {line}");
        }
        assert!(is_entry("2/8/1.png 5") && !is_entry("GET /14/8851/6439 HTTP/1.1"));
    }
}
