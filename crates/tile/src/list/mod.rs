//! Lists of tiles: one `z/x/y` per line, or the tiles in a web server's log.
//!
//! Every line of a list must be a tile. Other lines of a log are skipped and counted. The file is streamed;
//! of a line, at most the length of a request is read, and the number of tiles is bounded.

mod lines;
mod path;
mod request;

use std::io::BufRead;

use serde::Serialize;

use crate::{Tile, TileError};
use lines::{Lines, shown};
use path::Named;

/// Most tiles kept of a list.
pub const MOST_TILES: usize = 10_000_000;
/// Lines that decide whether it is a list or a log.
const LOOKED_AT: usize = 20;

/// The tiles of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TileList {
    /// In file order, with repetitions.
    pub tiles: Vec<Tile>,
    pub form: Form,
    /// Lines of a log without a tile; each reason once, in the order of [`SkipReason`].
    pub passed_over: Vec<PassedOver>,
    /// There were more than [`MOST_TILES`]; the rest was not read.
    pub full: bool,
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
    Line { line: u64, error: TileError },
    #[error("compressed with gzip; unpack it first")]
    Compressed,
    #[error("names no tile; write one z/x/y a line, or give a web server's access log with paths like /14/8851/6439.pbf{}", example(.0))]
    Empty(Option<Box<PassedOver>>),
}

fn example(passed: &Option<Box<PassedOver>>) -> String {
    passed
        .as_ref()
        .map_or_else(String::new, |passed| format!(" (line {} is \"{}\")", passed.first, passed.example))
}

/// Reads a list or a log: whichever most of its first lines are.
///
/// # Errors
/// [`ListError`]: a read error, a line of a list that is not a tile, or no tile at all.
pub fn read(reader: impl BufRead) -> Result<TileList, ListError> {
    read_at_most(reader, MOST_TILES)
}

fn read_at_most(reader: impl BufRead, most: usize) -> Result<TileList, ListError> {
    let mut lines = Lines::new(reader);
    let mut first = Vec::new();
    while first.len() < LOOKED_AT
        && let Some(line) = lines.next()?
    {
        first.push(line);
    }
    if first.first().is_some_and(|(_, line)| line.starts_with('\u{1f}')) {
        return Err(ListError::Compressed);
    }
    let bare = first.iter().filter(|(_, line)| is_bare(line)).count();
    let form = if 2 * bare > first.len() { Form::List } else { Form::Log };
    let mut list = TileList { tiles: Vec::new(), form, passed_over: Vec::new(), full: false };
    let mut first = first.into_iter();
    while let Some((number, line)) = first.next().map_or_else(|| lines.next(), |line| Ok(Some(line)))? {
        if let Some(tile) = list.tile(number, &line)? {
            if list.tiles.len() == most {
                list.full = true;
                break;
            }
            list.tiles.push(tile);
        }
    }
    list.passed_over.sort_by_key(|passed| passed.reason as u8);
    if list.tiles.is_empty() {
        return Err(ListError::Empty(list.passed_over.into_iter().next().map(Box::new)));
    }
    Ok(list)
}

/// Whether a line has only numbers and separators.
fn is_bare(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_digit() || b"/, \t-".contains(&byte))
}

impl TileList {
    fn tile(&mut self, number: u64, line: &str) -> Result<Option<Tile>, ListError> {
        match self.form {
            Form::List => match line.parse() {
                Ok(tile) => Ok(Some(tile)),
                Err(TileError::NoTile(text)) => {
                    Err(ListError::Line { line: number, error: TileError::NoTile(shown(&text)) })
                }
                Err(error) => Err(ListError::Line { line: number, error }),
            },
            Form::Log => Ok(match of_log(line) {
                Ok(tile) => Some(tile),
                Err(reason) => {
                    self.pass_over(reason, number, line);
                    None
                }
            }),
        }
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

fn of_log(line: &str) -> Result<Tile, SkipReason> {
    let request = request::request(line);
    let tile = match request.named {
        Named::Tile(tile) => tile,
        Named::OffMap => return Err(SkipReason::OffMap),
        Named::Nothing => return Err(SkipReason::NoTile),
    };
    if request.method.is_some_and(|method| !method.eq_ignore_ascii_case("GET")) {
        return Err(SkipReason::Method);
    }
    if request.status.is_some_and(|status| ![200, 204, 206, 304].contains(&status)) {
        return Err(SkipReason::Status);
    }
    Ok(tile)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(list: &TileList) -> Vec<String> {
        list.tiles.iter().map(Tile::to_string).collect()
    }

    #[test]
    fn a_list_is_read_strictly() {
        let list = read(&b"\xef\xbb\xbf# seen\r\n14/8851/6439\r\n\n/3/1/2\n14/8851/6439"[..]).unwrap();
        assert_eq!(written(&list), ["14/8851/6439", "3/1/2", "14/8851/6439"]);
        assert_eq!((list.form, list.full, list.passed_over.len()), (Form::List, false, 0));
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
        assert_eq!(written(&list), ["14/8851/6439", "2/1/0", "14/8851/6439"]);
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
        assert!(matches!(read(&[0x1f, 0x8b, 8, 0, 0][..]), Err(ListError::Compressed)));
    }

    #[test]
    fn tiles_are_bounded() {
        let text = "1/0/0\n1/0/1\n1/1/1\n";
        let list = read_at_most(text.as_bytes(), 2).unwrap();
        assert_eq!((list.tiles.len(), list.full), (2, true));
        assert!(!read_at_most(text.as_bytes(), 3).unwrap().full);
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
            proptest::prop_assert_eq!(&read(text.as_bytes()).unwrap().tiles, &tiles);
            let log: String = tiles.iter().map(|tile| format!("GET /t/{tile}.pbf 200\n")).collect();
            proptest::prop_assert_eq!(&read(log.as_bytes()).unwrap().tiles, &tiles);
        }
    }
}
