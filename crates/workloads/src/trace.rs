//! Recorded tiles: a list of them with their numbers of requests, or the access log of a web server.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use spec::{Error, given};
use tile::Tile;
use tile::list::{self, Form, ListError, SkipReason, TileList};

use crate::error;

/// Most different tiles of a trace, since the choice is stored with each experiment.
pub(crate) const MOST: usize = 200_000;

/// Most tiles of a list that are each asked for once; a longer list is refused.
pub(crate) const MOST_ONCE: usize = 20_000_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Different tiles with their numbers of requests.
    pub(crate) tiles: Vec<(Tile, u64)>,
    /// The same as text: `z/x/y`, or `z/x/y N`.
    pub(crate) text: String,
    pub(crate) remarks: Vec<String>,
}

impl Trace {
    /// Whether tiles are requested as often as each other.
    pub(crate) fn is_even(&self) -> bool {
        self.tiles.iter().all(|(_, requests)| *requests == self.tiles[0].1)
    }

    /// `41 requests for 2 tiles`, or `2 tiles` where each is requested once.
    pub(crate) fn words(&self) -> String {
        requests_for(self.tiles.iter().map(|(_, requests)| requests).sum(), self.tiles.len() as u64)
    }

    fn of(list: TileList, shown: &str) -> Self {
        let mut text = String::new();
        for (tile, requests) in &list.tiles {
            // Writing to a text cannot fail.
            let _ = match requests {
                1 => writeln!(text, "{tile}"),
                _ => writeln!(text, "{tile} {requests}"),
            };
        }
        Self { remarks: remarks(&list, shown), tiles: list.tiles, text }
    }
}

/// Which state of a file a trace was read from: path, device, inode, length, time of change, and most tiles.
type FileState = (PathBuf, u64, u64, u64, (i64, i64), usize);

/// Traces of this process: a file may be long, and each opening of a workload needs it.
static READ: Mutex<BTreeMap<FileState, Arc<Trace>>> = Mutex::new(BTreeMap::new());

/// Reads a list of tiles, or a log; a file that is unchanged is read once.
pub(crate) fn read(path: &Path, most: usize) -> Result<Arc<Trace>, Error> {
    let of_file = |error: ListError| error::file_error(path, error);
    let file = given::open(path).map_err(|error| of_file(error.into()))?;
    let found = file.metadata().map_err(|error| of_file(error.into()))?;
    let changed = (found.mtime(), found.mtime_nsec());
    let state = (path.to_owned(), found.dev(), found.ino(), found.len(), changed, most);
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(trace) = known.get(&state) {
        return Ok(Arc::clone(trace));
    }
    let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let list = list::read(BufReader::with_capacity(1 << 16, file), most).map_err(of_file)?;
    is_whole(&list, most).map_err(|why| error::file_error(path, why))?;
    let trace = Arc::new(Trace::of(list, &shown));
    known.retain(|(other, ..), _| other != path);
    known.insert(state, Arc::clone(&trace));
    Ok(trace)
}

/// Reads what comes through a pipe of this name.
///
/// # Errors
/// In words, as for a file.
pub(crate) fn read_from(reader: impl BufRead, name: &str, most: usize) -> Result<Trace, String> {
    let list = list::read(reader, most).map_err(|error| error.to_string())?;
    is_whole(&list, most)?;
    Ok(Trace::of(list, name))
}

/// A list of which each tile is asked for once must be whole.
fn is_whole(list: &TileList, most: usize) -> Result<(), String> {
    match most == MOST_ONCE && list.every > 1 {
        true => {
            Err(format!("it names more than {most} different tiles; divide it, or give zooms and bounds"))
        }
        false => Ok(()),
    }
}

fn remarks(list: &TileList, shown: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    let tiles = requests_for(list.requests, list.tiles.len() as u64);
    match list.form {
        Form::Log => {
            let passed: Vec<String> = list.passed_over.iter().map(passed_over).collect();
            let but = if passed.is_empty() { String::new() } else { format!("; {}", passed.join("; ")) };
            remarks.push(format!("{shown} is read as an access log: {tiles}{but}"));
        }
        Form::List if list.requests > list.tiles.len() as u64 && list.every == 1 => {
            remarks.push(format!("{shown}: {tiles}, drawn by their numbers of requests"));
        }
        Form::List => {}
    }
    if list.row_first > 0 {
        remarks.push(format!(
            "{} of {shown} are WMTS paths, read with the row before the column",
            spec::count(list.row_first, "request")
        ));
    }
    if list.every > 1 {
        remarks.push(format!(
            "{shown} has {} for more than {MOST} different tiles: one of {} is taken, evenly over it, for {}",
            spec::count(list.requests, "request"),
            list.every,
            spec::count(list.tiles.len() as u64, "tile")
        ));
    }
    remarks
}

fn requests_for(requests: u64, tiles: u64) -> String {
    let words = spec::count(tiles, "tile");
    if requests > tiles { format!("{} for {words}", spec::count(requests, "request")) } else { words }
}

fn passed_over(passed: &list::PassedOver) -> String {
    let why = match passed.reason {
        SkipReason::NoTile => "name no tile",
        SkipReason::OffMap => "are off the map (column or row beyond the last of the zoom)",
        SkipReason::Method => "are not GET requests",
        SkipReason::Status => "were answered with an error or a redirection",
    };
    format!("{} {why} (line {}: {})", spec::count(passed.lines, "line"), passed.first, passed.example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        std::fs::write(&path, "5/3/3 40\n5/3/4\n").unwrap();
        let read = |path| read(path, MOST);
        let first = read(&path).unwrap();
        assert!(Arc::ptr_eq(&first, &read(&path).unwrap()));
        assert_eq!(first.text, "5/3/3 40\n5/3/4\n");
        assert_eq!(first.remarks, ["list.txt: 41 requests for 2 tiles, drawn by their numbers of requests"]);
        std::fs::write(&path, "5/3/3\n").unwrap();
        let second = read(&path).unwrap();
        assert_eq!((second.text.as_str(), second.remarks.len()), ("5/3/3\n", 0));
    }

    #[test]
    fn a_list_of_which_each_tile_is_asked_for_is_never_thinned() {
        let lines = b"9/1/1\n9/1/2\n9/1/3\n9/1/4\n9/1/5\n";
        let thinned = list::read(&lines[..], 2).unwrap();
        assert!(thinned.every > 1 && is_whole(&thinned, MOST).is_ok());
        assert!(is_whole(&thinned, MOST_ONCE).is_err());
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let trace = read_from(&b"2/1/0.pbf 3\n2/1/1\n2/1/0 2\n"[..], "-", MOST).unwrap();
        assert_eq!(trace.text, "2/1/0 5\n2/1/1\n");
        assert!(!trace.is_even());
    }
}
