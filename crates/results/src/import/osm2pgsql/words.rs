//! Words by which lines of osm2pgsql are known, and where its own text begins in them.

use super::docker;
use super::prefix::own_text_at;
use super::stamp::stamped;

/// Words of osm2pgsql's first line.
const FIRST: [&str; 2] = ["osm2pgsql version ", "osm2pgsql SVN version "];

/// Words of osm2pgsql at work that no other program prints.
const AT_WORK: [&str; 30] = [
    "Setting up table: ",
    "Setting up table '",
    "Using projection SRS ",
    "Node-cache: cache=",
    "Mid: pgsql, ",
    "Mid: Ram, ",
    "Reading in file: ",
    "Processing: Node(",
    "Reading input files done in ",
    "Node stats: total(",
    "Going over pending ",
    "Reprocess marked ",
    "Clustering table '",
    "Creating geometry index on ",
    "Creating osm_id index on ",
    "Creating id index on table '",
    "Creating index on table '",
    "Analyzing table '",
    "Building index on table",
    "Left to process: ",
    "Sorting data and creating indexes for ",
    "All indexes on ",
    "Stopping table: ",
    "Stopped table: ",
    "Done postprocessing on table ",
    "All postprocessing on table ",
    "Initializing properties table ",
    "Osm2pgsql took ",
    "osm2pgsql took ",
    "Osm2pgsql failed due to ",
];

/// Words that others print, too, but not behind its time stamp.
const AT_WORK_STAMPED: [&str; 5] =
    ["Database version: ", "PostGIS version: ", "Processed ", "Going over ", "Building index"];
/// Words with which a part of its log may begin.
const OF_A_PART: [&str; 9] = [
    "There are ",
    "Processing ",
    "No marked ",
    "Entering stage ",
    "Skipping stage ",
    "Creating i",
    "Starting task",
    "Done task in ",
    "Storing properties ",
];

/// Words of the lines with which versions without the first line begin.
const SET_UP: [&str; 2] = ["Using projection SRS ", "Setting up table: "];

pub(super) fn is_of_osm2pgsql(line: &str) -> bool {
    let inside = docker::line(line);
    let line = inside.as_ref().map_or(line, |(line, _)| line.as_str());
    line.split('\r').any(|piece| first_words_at(piece).is_some() || at_work_at(piece).is_some())
}

/// Where the first line begins, behind a prefix.
pub(super) fn first_words_at(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let at = own_text_at(line, &FIRST).or_else(|| stamped_text(line).map(|text| line.len() - text.len()))?;
    let words = FIRST.iter().find_map(|words| line[at..].strip_prefix(words))?;
    let (version, rest) = words.split_once(' ').unwrap_or((words, ""));
    let is_commit = || version.len() >= 7 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) || is_commit();
    (is_version && (rest.is_empty() || rest.starts_with(['(', '$']))).then_some(at)
}

pub(super) fn at_work_at(line: &str) -> Option<usize> {
    let at = own_text_at(line, &AT_WORK);
    at.or_else(|| {
        let text = stamped_text(line)?;
        let mut known = AT_WORK.iter().chain(&AT_WORK_STAMPED);
        known.any(|words| text.starts_with(words)).then(|| line.len() - text.len())
    })
}

/// Where a line begins that may be the first of a part of its log.
pub(super) fn of_a_part_at(line: &str) -> Option<usize> {
    let part = || {
        let text = stamped_text(line).filter(|text| OF_A_PART.iter().any(|words| text.starts_with(words)));
        text.map(|text| line.len() - text.len())
    };
    at_work_at(line).or_else(part)
}

/// Whether a version that prints no first line begins with this.
pub(super) fn begins_without_version(text: &str) -> bool {
    SET_UP.iter().any(|words| text.starts_with(words))
}

/// The text after the stamp of a line that begins with it.
pub(super) fn behind_stamp(line: &str) -> &str {
    line.get(STAMP..).unwrap_or_default()
}

/// The text after time stamp and thread; `None` without a stamp.
fn stamped_text(line: &str) -> Option<&str> {
    stamped(line).map(|line| behind_thread(behind_stamp(line).trim()))
}

pub(super) fn behind_thread(text: &str) -> &str {
    let thread = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let thread = thread.filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    thread.map_or(text, |(_, text)| text.trim())
}

/// Bytes of a stamp.
const STAMP: usize = "0000-00-00 00:00:00".len();
