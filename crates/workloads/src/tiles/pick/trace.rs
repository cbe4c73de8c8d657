//! Lists of tiles that were asked for elsewhere.

use std::path::Path;

use crate::error::WorkloadError;
use tile::Tile;

/// A list of tiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::tiles) struct Trace {
    /// As they come, with repetitions.
    pub(in crate::tiles) tiles: Vec<Tile>,
    /// The file as it was read; of a log only what was made of it.
    pub(in crate::tiles) text: String,
    /// What the user should know of it.
    pub(in crate::tiles) remarks: Vec<String>,
}

/// Reads a list of tiles: one `z/x/y` a line; empty lines and those that begin with `#` are passed over.
pub(in crate::tiles) fn read(path: &Path) -> Result<Trace, WorkloadError> {
    let wrong = |problem: String| WorkloadError::File { path: path.to_owned(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut tiles = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            tiles.push(line.parse().map_err(|error| wrong(format!("line {number}: {error}")))?);
        }
    }
    if tiles.is_empty() {
        return Err(wrong("names no tile; write one z/x/y a line".to_owned()));
    }
    Ok(Trace { tiles, text, remarks: Vec::new() })
}
