//! Lists of tiles: one `z/x/y` per line, with the number of requests (`z/x/y N`) if it is known, or the tiles
//! in a web server's log.
//!
//! Every line of a list must be a tile. Other lines of a log are skipped and counted. The file is streamed;
//! of a line, at most the length of a request is read, and the number of different tiles is bounded.

mod entry;
mod lines;
mod path;
mod request;
mod unpack;
mod weighed;

use std::io::BufRead;

use serde::Serialize;

use crate::{Tile, TileError};
pub use entry::EntryError;
use entry::{entry, is_entry};
use lines::{Lines, shown};
use path::Named;
use weighed::Weighed;

/// Lines that decide whether it is a list or a log.
const LOOKED_AT: usize = 20;

/// The tiles of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TileList {
    /// Different tiles in the order of their first request, with the number of requests that count.
    pub tiles: Vec<(Tile, u64)>,
    /// Requests in the file.
    pub requests: u64,
    /// Each this many'th request counts; more than 1 if there are too many different tiles.
    pub every: u64,
    pub form: Form,
    /// Lines of a log whose path has the row before the column.
    pub row_first: u64,
    /// Lines of a log without a tile; each reason once, in the order of [`SkipReason`].
    pub passed_over: Vec<PassedOver>,
}

/// The form of a file of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// One tile per line.
    List,
    Log,
}

/// Why a line of a log gives no tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    NoTile,
    /// Column or row outside its zoom.
    OffMap,
    /// Not GET.
    Method,
    /// Not 200, 204, 206 or 304.
    Status,
}

/// Skipped lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    pub reason: SkipReason,
    pub lines: u64,
    /// Number of the first such line, from 1, and its first 200 characters without control characters.
    pub first: u64,
    pub example: String,
}

/// Why a file is not a list of tiles.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("line {line}: {error}")]
    Line { line: u64, error: EntryError },
    #[error("names no tile; write one z/x/y a line, or give a web server's access log with paths like /14/8851/6439.pbf{}", example(.0))]
    Empty(Option<Box<PassedOver>>),
}

fn example(passed: &Option<Box<PassedOver>>) -> String {
    passed
        .as_ref()
        .map_or_else(String::new, |passed| format!(" (line {} is \"{}\")", passed.first, passed.example))
}

/// Reads a list or a log, whichever most of its first lines are, unpacked if it is compressed with gzip. Of
/// more than `most` different tiles a share of the requests counts, in memory for these.
///
/// # Errors
/// [`ListError`]: a read error, a line of a list that is not a tile, or no tile at all.
pub fn read(reader: impl BufRead, most: usize) -> Result<TileList, ListError> {
    let mut lines = Lines::new(unpack::unpacked(reader)?);
    let mut first = Vec::new();
    while first.len() < LOOKED_AT
        && let Some(line) = lines.next()?
    {
        first.push(line);
    }
    let entries = first.iter().filter(|(_, line)| is_entry(line)).count();
    let form = if 2 * entries > first.len() { Form::List } else { Form::Log };
    let mut reading = Reading { form, weighed: Weighed::new(most), row_first: 0, passed_over: Vec::new() };
    let mut first = first.into_iter();
    while let Some((number, line)) = first.next().map_or_else(|| lines.next(), |line| Ok(Some(line)))? {
        reading.line(number, &line)?;
    }
    reading.finish()
}

/// A list that is being read.
struct Reading {
    form: Form,
    weighed: Weighed,
    row_first: u64,
    passed_over: Vec<PassedOver>,
}

impl Reading {
    fn line(&mut self, number: u64, line: &str) -> Result<(), ListError> {
        match self.form {
            Form::List => {
                let (tile, requests) =
                    entry(line).map_err(|error| ListError::Line { line: number, error: cut(error) })?;
                self.weighed.add(tile, requests);
            }
            Form::Log => match of_log(line) {
                Ok(Requested { tile, is_row_first }) => {
                    self.row_first += u64::from(is_row_first);
                    self.weighed.add(tile, 1);
                }
                Err(reason) => self.pass_over(reason, number, line),
            },
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TileList, ListError> {
        self.passed_over.sort_by_key(|passed| passed.reason as u8);
        let (tiles, requests, every) = self.weighed.finish();
        if tiles.is_empty() {
            return Err(ListError::Empty(self.passed_over.into_iter().next().map(Box::new)));
        }
        let Self { form, row_first, passed_over, .. } = self;
        Ok(TileList { tiles, requests, every, form, row_first, passed_over })
    }

    fn pass_over(&mut self, reason: SkipReason, number: u64, line: &str) {
        match self.passed_over.iter_mut().find(|passed| passed.reason == reason) {
            Some(passed) => passed.lines += 1,
            None => {
                self.passed_over.push(PassedOver { reason, lines: 1, first: number, example: shown(line) });
            }
        }
    }
}

/// An error with the beginning of a line that may be long.
fn cut(error: EntryError) -> EntryError {
    match error {
        EntryError::Tile(TileError::NoTile(text)) => TileError::NoTile(shown(&text)).into(),
        EntryError::Requests(text) => EntryError::Requests(shown(&text)),
        outside => outside,
    }
}

struct Requested {
    tile: Tile,
    is_row_first: bool,
}

fn of_log(line: &str) -> Result<Requested, SkipReason> {
    let request = request::request(line);
    let requested = match request.named {
        Named::Tile(tile) => Requested { tile, is_row_first: false },
        Named::RowFirst(tile) => Requested { tile, is_row_first: true },
        Named::OffMap => return Err(SkipReason::OffMap),
        Named::Nothing => return Err(SkipReason::NoTile),
    };
    if request.method.is_some_and(|method| !method.eq_ignore_ascii_case("GET")) {
        return Err(SkipReason::Method);
    }
    if request.status.is_some_and(|status| ![200, 204, 206, 304].contains(&status)) {
        return Err(SkipReason::Status);
    }
    Ok(requested)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1000;

    fn read(text: &[u8]) -> Result<TileList, ListError> {
        super::read(text, MOST)
    }

    fn written(list: &TileList) -> Vec<String> {
        list.tiles.iter().map(|(tile, requests)| format!("{tile} {requests}")).collect()
    }

    #[test]
    fn a_list_is_read_strictly() {
        let list = read(&b"\xef\xbb\xbf# seen\r\n14/8851/6439\r\n\n/3/1/2\n14/8851/6439"[..]).unwrap();
        assert_eq!(written(&list), ["14/8851/6439 2", "3/1/2 1"]);
        assert_eq!((list.form, list.every, list.passed_over.len()), (Form::List, 1, 0));
        let wrong = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(
            wrong("14/8851/6439\n14/99999/1\n"),
            "line 2: tile 14/99999/1 is outside the world (x and y go up to 16383)"
        );
        assert_eq!(
            wrong("# a\n1/0/0\n1/0/1\n\n1/x\u{1b}/0\n"),
            "line 5: \"1/x\\u{1b}/0\" is not a tile z/x/y (zoom 0 to 22)"
        );
        assert_eq!(wrong("1/0/-1\n"), "line 1: \"1/0/-1\" is not a tile z/x/y (zoom 0 to 22)");
        let long = wrong(&format!("1/0/0\n1/0/1\n{}\n", "a".repeat(1 << 20)));
        assert!(long.len() < 300, "{} bytes", long.len());
    }

    #[test]
    fn a_log_is_read_for_its_tiles() {
        let log = r#"a - - [x] "GET / HTTP/1.1" 200 5
a - - [x] "GET /t/14/8851/6439.pbf HTTP/1.1" 200 5
a - - [x] "GET /t/14/8851/6439.pbf HTTP/1.1" 404 5
a - - [x] "HEAD /t/14/8851/6439.pbf HTTP/1.1" 200 5
a - - [x] "GET /t/1/2/0.pbf HTTP/1.1" 200 5
a - - [x] "GET /t/2/1/0.pbf HTTP/1.1" 304 0
a - - [x] "GET /t/14/8851/6439.pbf HTTP/1.1" 204 0
a - - [x] "GET /style.json HTTP/1.1" 200 5
"#;
        let list = read(log.as_bytes()).unwrap();
        assert_eq!(written(&list), ["14/8851/6439 2", "2/1/0 1"]);
        let passed: Vec<_> =
            list.passed_over.iter().map(|each| (each.reason, each.lines, each.first)).collect();
        let wanted = [
            (SkipReason::NoTile, 2, 1),
            (SkipReason::OffMap, 1, 5),
            (SkipReason::Method, 1, 4),
            (SkipReason::Status, 1, 3),
        ];
        assert_eq!(passed, wanted);
        assert_eq!(list.passed_over[0].example, r#"a - - [x] "GET / HTTP/1.1" 200 5"#);
    }

    #[test]
    fn what_names_no_tile_says_so() {
        let error = read(&b"hello\x07\nworld\n"[..]).unwrap_err().to_string();
        assert!(
            error.starts_with("names no tile; ") && error.ends_with("(line 1 is \"hello\\u{7}\")"),
            "{error}"
        );
        assert!(read(&b""[..]).unwrap_err().to_string().starts_with("names no tile"));
        assert!(matches!(read(&[0x1f, 0x8b, 8, 0, 0][..]), Err(ListError::Read(_))));
    }

    #[test]
    fn numbers_of_requests_are_weights() {
        let list = read(b"0/0/0 1000000000\n3/1/2.pbf 7\n5/3/3 0\n3/1/2 1\n").unwrap();
        assert_eq!(written(&list), ["0/0/0 1000000000", "3/1/2 8"]);
        assert_eq!((list.requests, list.form), (1_000_000_008, Form::List));
        assert_eq!(
            read(b"0/0/0 5\n3/1/2 x\n").unwrap_err().to_string(),
            "line 2: \"x\" is not a number of requests (a whole number up to 2^40)"
        );
    }

    #[test]
    fn requests_to_a_wmts_are_counted() {
        let log = b"GET /wmts/1.0.0/a/b/c/4/3/9.png 200\nGET /wmts?TILEMATRIX=4&TILEROW=3&TILECOL=9 200\n";
        let list = read(log).unwrap();
        assert_eq!((written(&list), list.row_first), (vec!["4/9/3 2".to_owned()], 1));
    }

    #[test]
    fn different_tiles_are_bounded() {
        let text = "1/0/0\n1/0/1\n1/1/1\n";
        let list = super::read(text.as_bytes(), 2).unwrap();
        assert_eq!((list.tiles.len(), list.requests, list.every), (1, 3, 2));
        assert_eq!(super::read(text.as_bytes(), 3).unwrap().every, 1);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            let _ = read(&bytes[..]);
        }

        #[test]
        fn lists_survive_the_way(places in proptest::collection::vec((0_u32..8, 0_u32..8), 1..50)) {
            let tiles: Vec<_> = places.iter().map(|&(x, y)| Tile { z: 3, x, y }).collect();
            let text: String = tiles.iter().map(|tile| format!("{tile}\n")).collect();
            let wanted = |list: TileList| {
                let known = |tile: &Tile| list.tiles.iter().find(|(known, _)| known == tile).map_or(0, |(_, often)| *often);
                tiles.iter().all(|tile| known(tile) == tiles.iter().filter(|other| *other == tile).count() as u64)
            };
            proptest::prop_assert!(wanted(read(text.as_bytes()).unwrap()));
            let log: String = tiles.iter().map(|tile| format!("GET /t/{tile}.pbf 200\n")).collect();
            proptest::prop_assert!(wanted(read(log.as_bytes()).unwrap()));
        }
    }
}
