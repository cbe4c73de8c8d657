//! Logs of osm2pgsql, from 0.80 to 2.x: each load in them as the run of a job.
//!
//! [`osm::log`] parses osm2pgsql's lines; this module handles the bytes around it: progress displays, the
//! command line before a log, the output of `time`, what other programs put before its lines, several loads in a file. A log of hundreds of megabytes
//! (a planet's, or one with all statements) is read as a stream.

mod command;
mod docker;
mod ended;

mod open;
mod pieces;
mod prefix;
mod reader;
mod resources;
mod run;
mod stamp;
mod stream;
mod words;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use spec::Error;

use self::pieces::Pieces;
use self::reader::Reader;
use super::ImportProgress;
use super::found::FoundRun;
use crate::import::error::{at, of_file, unreadable};

pub(super) fn is_log(head: &[u8]) -> bool {
    let mut pieces = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    pieces.any(|piece| {
        let text = String::from_utf8_lossy(piece);
        words::is_of_osm2pgsql(&text)
    })
}

/// All loads in a log.
///
/// # Errors
/// When it cannot be read, or has no load.
pub(super) fn read(
    path: &Path,
    input: impl Read,
    changed_us: i64,
    progress: &mut ImportProgress<'_>,
) -> Result<Vec<FoundRun>, Error> {
    let mut pieces = Pieces::new(input);
    let (mut reader, mut shown) = (Reader::default(), 0);
    while let Some((line, piece)) = pieces.next().map_err(|error| unreadable(path, error))? {
        reader.take(line, &String::from_utf8_lossy(piece)).map_err(|what| at(path, line, what))?;
        if pieces.bytes() - shown > SHOWN_EVERY {
            shown = pieces.bytes();
            progress.show(0, shown);
        }
    }
    progress.show(0, pieces.bytes());
    progress.done();
    let loads = reader.finish().map_err(|what| of_file(path, what))?;
    if loads.is_empty() {
        return Err(of_file(path, "it names a version of osm2pgsql, and no load follows")
            .with_hint("give what osm2pgsql writes on standard error while it loads"));
    }
    let among = loads.len();
    let containers: BTreeSet<&Option<String>> = loads.iter().map(|load| &load.container).collect();
    let several_containers = containers.len() > 1;
    let of = |load| run::of(load, path, run::Among { loads: among, several_containers }, changed_us);
    Ok(loads.into_iter().map(of).collect())
}

const SHOWN_EVERY: u64 = 1 << 20;

#[cfg(test)]
mod tests;
