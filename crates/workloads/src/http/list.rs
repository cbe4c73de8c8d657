//! The list of tiles: one `z/x/y` a line.

use std::path::Path;

use tile::Tile;

use crate::error::WorkloadError;

/// Highest zoom whose numbers are believed.
const HIGHEST: u8 = 30;

/// Reads a list; empty lines and those that begin with `#` name none.
pub(super) fn read(path: &Path) -> Result<Vec<Tile>, WorkloadError> {
    let wrong = |problem: String| WorkloadError::File { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut tiles = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if !line.is_empty() && !line.starts_with('#') {
            let tile = tile(line).ok_or_else(|| {
                wrong(format!(
                    "line {number}: {line:?} is no tile such as 14/8851/6439 (zoom 0 to {HIGHEST})"
                ))
            })?;
            tiles.push(tile);
        }
    }
    if tiles.is_empty() {
        return Err(wrong("names no tile; write one z/x/y a line".to_owned()));
    }
    Ok(tiles)
}

fn tile(text: &str) -> Option<Tile> {
    let mut parts = text.split('/');
    let mut next = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    let z: u8 = next()?.parse().ok().filter(|z| *z <= HIGHEST)?;
    let mut place = || next()?.parse::<u32>().ok().filter(|place| *place < 1 << z);
    let (x, y) = (place()?, place()?);
    parts.next().is_none().then_some(Tile { z, x, y })
}

#[cfg(test)]
mod tests {

    #[test]
    fn lists_are_read_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            super::read(&path).map_err(|error| error.to_string())
        };
        let tiles = [(14, 8851, 6439), (0, 0, 0)].map(tile::Tile::from);
        assert_eq!(read("# mine\n\n14/8851/6439\r\n 0/0/0 \n").unwrap(), tiles);
        for (text, wanted) in [
            ("", "names no tile"),
            ("1/0/0\n1/2/0", "line 2: \"1/2/0\" is no tile"),
            ("31/0/0", "is no tile"),
            ("1/0", "is no tile"),
            ("1/0/0/0", "is no tile"),
            ("+1/0/0", "is no tile"),
        ] {
            assert!(read(text).unwrap_err().contains(wanted), "{text}");
        }
    }
}
