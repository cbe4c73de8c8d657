//! Recorded tiles: a list of them, or the access log of a web server.

use std::fmt::Write;
use std::io::BufReader;
use std::path::Path;

use spec::{Error, given};
use tile::Tile;
use tile::list::{self, Form, ListError, SkipReason, TileList};

use crate::error;

/// Most tiles of a trace, taken evenly over it, since the choice is stored with each experiment.
const MOST: usize = 200_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// In order, with repetitions.
    pub(crate) tiles: Vec<Tile>,
    /// The tiles, one per line.
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
}

/// Reads a list of tiles, or a log.
pub(crate) fn read(path: &Path) -> Result<Trace, Error> {
    let list = given::open(path)
        .map_err(ListError::Read)
        .and_then(|file| list::read(BufReader::with_capacity(1 << 16, file)))
        .map_err(|error| error::file_error(path, error))?;
    let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let remarks = remarks(&list, &shown);
    let all = list.tiles.len();
    let tiles: Vec<Tile> = match all {
        ..=MOST => list.tiles,
        _ => (0..MOST).map(|at| list.tiles[at * all / MOST]).collect(),
    };
    let mut text = String::new();
    for tile in &tiles {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{tile}");
    }
    Ok(Trace { tiles, text, remarks })
}

fn remarks(list: &TileList, shown: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    let tiles = spec::count(list.tiles.len() as u64, "tile");
    if list.form == Form::Log {
        let passed = list.passed_over.iter().map(|passed| {
            let why = match passed.reason {
                SkipReason::NoTile => "name no tile",
                SkipReason::OffMap => "are off the map (column or row beyond the last of the zoom)",
                SkipReason::Method => "are no GET",
                SkipReason::Status => "were answered with an error or a redirection",
            };
            format!("{} {why} (line {}: {})", spec::count(passed.lines, "line"), passed.first, passed.example)
        });
        let passed: Vec<String> = passed.collect();
        let but = if passed.is_empty() { String::new() } else { format!("; {}", passed.join("; ")) };
        remarks.push(format!("{shown} is read as an access log: {tiles}{but}"));
    }
    if list.full {
        remarks.push(format!("{shown} is longer: only its first {tiles} are read"));
    }
    if list.tiles.len() > MOST {
        remarks.push(format!("of the {tiles} of {shown} {MOST} are taken, evenly over it"));
    }
    remarks
}
