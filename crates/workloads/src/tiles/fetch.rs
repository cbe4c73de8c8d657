//! Fetches single tiles outside the timed part, as the clients do.

use std::collections::BTreeMap;

use protocol::http::HttpConnection;
use protocol::limits;
use protocol::postgres::sql::{Sql, SqlError, long};
use spec::Error;
use tile::Tile;

use super::layer::{Style, TileLayer};
use crate::check_time::CheckTime;
use crate::error;
use crate::explain::{TIMED_OUT, statement_timeout};
use crate::http::Web;
use crate::http::body::BodyKind;
use crate::http::delay::delay_words;

/// Attached to the error of a tile that a check leaves out: its time was used up, or the tile is longer than an answer
/// may be. Runs only count the bytes of such tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotLookedAt;

pub(super) trait Fetch {
    /// Called before a tile, outside of the time that it takes.
    fn begin(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Called after a tile; `failed` if it did not come.
    fn end(&mut self, _failed: bool) -> Result<(), Error> {
        Ok(())
    }

    /// The bytes of a tile, decompressed; none for an empty one.
    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error>;

    /// Rows that are made into features of a tile; `None` if unknown.
    fn features_in(&mut self, _layer: &TileLayer, _tile: Tile) -> Result<Option<u64>, Error> {
        Ok(None)
    }

    /// The error for bytes that are not a tile.
    fn not_a_tile(&self, layer: &TileLayer, tile: (Tile, &[u8]), broken: &str) -> Error;

    /// What users should know about the way, after some tiles were fetched.
    fn warnings(&mut self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

pub(super) struct FromDatabase<'a> {
    pub(super) sql: &'a mut dyn Sql,
    pub(super) style: Style,
    /// No tile takes longer; `None` without a limit.
    pub(super) time: Option<CheckTime<'a>>,
}

impl FromDatabase<'_> {
    /// What a statement failed with: the server ended it where the time was used up.
    fn failed(&self, doing: String, error: SqlError) -> Error {
        let is_cut =
            error.sqlstate.as_deref() == Some(TIMED_OUT) && self.time.is_some_and(|time| time.is_over());
        let error = error::sql_error(doing)(error);
        if is_cut { error.attach(NotLookedAt) } else { error }
    }
}

impl Fetch for FromDatabase<'_> {
    /// A transaction whose statements end with the time.
    fn begin(&mut self) -> Result<(), Error> {
        let Some(time) = self.time else { return Ok(()) };
        let Some(left_ms) = time.left_ms() else {
            return Err(error::missing_error("the time for checks is used up", MORE_TIME).attach(NotLookedAt));
        };
        let begin = format!("BEGIN; {}", statement_timeout(left_ms, true));
        self.sql.execute(&begin).map_err(error::sql_error("beginning a transaction"))
    }

    fn end(&mut self, failed: bool) -> Result<(), Error> {
        if self.time.is_none() {
            return Ok(());
        }
        let end = if failed { "ROLLBACK" } else { "COMMIT" };
        self.sql.execute(end).map_err(error::sql_error("ending a transaction"))
    }

    fn tile(&mut self, layer: &TileLayer, tile: Tile) -> Result<Vec<u8>, Error> {
        let rows = long(self.sql)
            .rows(&in_hex(&layer.literal(tile, self.style)))
            .map_err(|error| self.failed(format!("making tile {tile} of {}", layer.shown), error))?;
        if rows.len() > 1 {
            return Err(error::missing_error(
                format!("{} returned {} rows for tile {tile}", layer.shown, rows.len()),
                "a tile is one row; let ST_AsMVT aggregate all features of it",
            ));
        }
        of_hex(rows).map_err(|why| {
            error::missing_error(format!("tile {tile} of {}: {why}", layer.shown), RAISE).attach(NotLookedAt)
        })
    }

    fn not_a_tile(&self, layer: &TileLayer, (tile, _): (Tile, &[u8]), broken: &str) -> Error {
        error::missing_error(
            format!("the answer of {} for {tile} is not a vector tile: {broken}", layer.shown),
            "select what ST_AsMVT gives",
        )
    }

    /// A function's work is unknown.
    fn features_in(&mut self, layer: &TileLayer, tile: Tile) -> Result<Option<u64>, Error> {
        let query = format!("EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) {}", layer.literal(tile, self.style));
        let lines = long(self.sql)
            .rows(&query)
            .map_err(|error| self.failed(format!("explaining tile {tile} of {}", layer.shown), error))?;
        let lines: Vec<String> = lines.into_iter().flatten().flatten().collect();
        let plan = crate::explain::read(&lines.join("\n")).ok();
        Ok(plan.and_then(|plan| plan.rows_into("st_asmvt")).map(|rows| rows.round() as u64))
    }
}

const MORE_TIME: &str = "measure.check_time raises it";

pub(super) struct FromWeb<'a> {
    pub(super) time: Option<CheckTime<'a>>,
    /// By the shown name of the layer.
    webs: &'a BTreeMap<String, Web>,
    control: Box<dyn HttpConnection + 'a>,
    /// Paths of the first layer that were fetched, at most [`REPEATED`].
    paths: Vec<String>,
}

/// Most requests that are repeated to see how the server answers.
const REPEATED: usize = 6;

impl<'a> FromWeb<'a> {
    pub(super) fn new(
        webs: &'a BTreeMap<String, Web>,
        control: Box<dyn HttpConnection + 'a>,
        time: Option<CheckTime<'a>>,
    ) -> Self {
        Self { time, webs, control, paths: Vec::new() }
    }

    fn web(&self, layer: &TileLayer) -> Result<&'a Web, Error> {
        self.webs.get(&layer.shown).ok_or_else(|| error::no_server("web"))
    }
}

impl Fetch for FromWeb<'_> {
    /// A tile that was asked for is waited for.
    fn begin(&mut self) -> Result<(), Error> {
        match self.time.is_some_and(|time| time.is_over()) {
            true => {
                Err(error::missing_error("the time for checks is used up", MORE_TIME).attach(NotLookedAt))
            }
            false => Ok(()),
        }
    }

    fn tile(&mut self, layer: &TileLayer, Tile { z, x, y }: Tile) -> Result<Vec<u8>, Error> {
        let web = self.web(layer)?;
        let path = web.url().path(z, x, y);
        let body = web.ask(&path, &mut *self.control)?.body;
        if self.paths.len() < REPEATED && self.webs.keys().next() == Some(&layer.shown) {
            self.paths.push(path);
        }
        Ok(body)
    }

    fn not_a_tile(&self, layer: &TileLayer, (Tile { z, x, y }, bytes): (Tile, &[u8]), broken: &str) -> Error {
        let asked = self
            .web(layer)
            .map(|web| format!("GET {} of {}", web.url().path(z, x, y), web.url().authority()));
        let kind = BodyKind::of(bytes);
        error::missing_error(
            format!(
                "{} returned {}, and neither a vector tile nor a PNG, JPEG or WebP picture: {broken}",
                asked.unwrap_or_else(|error| error.to_string()),
                kind.words()
            ),
            match kind {
                BodyKind::Gzip => "let the server send Content-Encoding: gzip, or compress tiles once",
                _ => {
                    "look at it with curl -i: is it the path of tiles, and which format does the server send there?"
                }
            },
        )
    }

    fn warnings(&mut self) -> Result<Vec<String>, Error> {
        let Some(web) = self.webs.values().next() else { return Ok(Vec::new()) };
        let delayed = delay_words(web, &std::mem::take(&mut self.paths), &mut *self.control)?;
        Ok(delayed.into_iter().collect())
    }
}

/// Control connections take text, and end at an answer that is longer than [`limits::max_answer`]. Without the OFFSET the
/// server would carry out a function three times, once for each use of its tile.
pub(super) fn in_hex(statement: &str) -> String {
    let longest = limits::max_answer() / 2 - MARGIN;
    format!(
        "SELECT CASE WHEN length(answer.tile) <= {longest} THEN encode(answer.tile, 'hex') END, length(answer.tile) \
         FROM (SELECT made.tile FROM ({statement}) AS made (tile) OFFSET 0) AS answer"
    )
}

/// Bytes of an answer around its text.
const MARGIN: usize = 1024;

const RAISE: &str = "PGDYNO_MAX_ANSWER raises the limit";

/// The tile in the first row of such an answer; why not, if it is too long.
pub(super) fn of_hex(rows: Vec<Vec<Option<String>>>) -> Result<Vec<u8>, String> {
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter();
    match (row.next().flatten(), row.next().flatten()) {
        (Some(hex), _) => Ok(from_hex(hex.as_bytes())),
        (None, None) => Ok(Vec::new()),
        (None, Some(length)) => {
            let bytes = length.parse().map_or(length, spec::bytes);
            Err(format!(
                "it has {bytes}, and the limit is {}",
                spec::bytes((limits::max_answer() / 2) as u64)
            ))
        }
    }
}

fn from_hex(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).wrapping_sub(b'a') + 10,
    };
    text.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connection ended at it, and so did the whole pass.
    #[test]
    fn a_tile_that_is_too_long_is_no_end_of_the_connection() {
        let row = |hex: Option<&str>, length: Option<&str>| {
            vec![vec![hex.map(str::to_owned), length.map(str::to_owned)]]
        };
        assert_eq!(of_hex(row(Some("1a"), Some("1"))), Ok(vec![0x1a]));
        assert_eq!(of_hex(row(None, None)), Ok(Vec::new()));
        assert_eq!(of_hex(Vec::new()), Ok(Vec::new()));
        let why = of_hex(row(None, Some("314572800"))).unwrap_err();
        assert!(why.starts_with("it has 300 MB, and the limit is "), "{why}");
    }

    #[test]
    fn hex_is_read() {
        assert_eq!(from_hex(b"1a00ffC3"), [0x1a, 0, 0xff, 0xc3]);
        assert!(from_hex(b"").is_empty());
    }
}
