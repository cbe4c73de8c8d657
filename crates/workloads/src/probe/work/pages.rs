//! The pages for measuring reads, and where they come from: shared_buffers, or beyond, which is the operating
//! system's cache or the disk.
//!
//! The pages hold one row each, so that the cost is per page and not per row, of incompressible bytes. They
//! are written by `CREATE TABLE AS` and frozen by `VACUUM`, which both use a small ring of buffers: most
//! pages are never in shared_buffers before they are read, however large those are. The first half is scanned
//! piece by piece, each piece once; from the second half single pages are fetched in random order, each once.
//! The first piece is read before the cached figures.

use std::time::Duration;

use protocol::postgres::sql::{Sql, long};
use serde_json::Value;
use spec::Error;
use spec::figures::Unit;

use super::{ProbeSetup, ProbeWork};
use crate::error;
use crate::probe::facts::mb;
use crate::probe::figures::{Data, ProbeFigure, Values, fill};
use crate::probe::shots::reason;

/// Scratch data of the index build: subtracted from the space for pages.
const INDEX_BYTES: u64 = 24 << 20;
/// Share of the whole time for writing.
const SHARE: f64 = 0.2;
/// Bytes written first, to estimate the time of all.
const PILOT_BYTES: u64 = 8 << 20;
/// The ring that `CREATE TABLE AS` writes through; its last pages are in shared_buffers.
const RING_BYTES: u64 = 16 << 20;
const PIECE_BYTES: u64 = 4 << 20;
/// Pages of one random shot, as in its SQL files.
const AT_ONCE: u64 = 64;
/// Number of the last shot of cached reads: more than any server does in the time.
const LAST: u64 = 9999;
/// Bytes of a page in addition to its filler.
const AROUND_BYTES: u64 = 192;
/// At least this share of the pages must come from the figure's source.
const MOSTLY: f64 = 0.9;

/// Pages that were written.
#[derive(Debug, Clone)]
pub(in crate::probe) struct Pages {
    layout: Layout,
    /// Of a piece that nobody had read.
    beyond: Origin,
    /// Why they are fewer than requested.
    cut: Option<String>,
}

/// How a figure reads them, or why it cannot; the first call writes them.
///
/// # Errors
/// The probe must end, or the server does not report where pages come from.
pub(super) fn setup(
    work: &mut ProbeWork<'_>,
    figure: &ProbeFigure,
) -> Result<Result<ProbeSetup, String>, Error> {
    let pages = match work.pages.take() {
        Some(pages) => pages,
        None => match write_all(work) {
            Ok(pages) => pages.ok_or_else(|| work.no_time()),
            Err(error) if work.ends_probe(&error) => return Err(error),
            Err(error) => Err(reason(&error)),
        },
    };
    work.pages = Some(pages.clone());
    let pages = match pages {
        Ok(pages) => pages,
        Err(why) => return Ok(Err(why)),
    };
    let is_beyond = figure.data == Data::PagesBeyond;
    let origin = if is_beyond {
        pages.beyond
    } else {
        // The first read brings back what a small server has evicted.
        work.origin(&pages.layout, 0)?;
        work.origin(&pages.layout, 0)?
    };
    let mut detail = match origin.detail(is_beyond) {
        Ok(detail) => detail,
        Err(why) => return Ok(Err(why)),
    };
    // Once is enough.
    if is_beyond && figure.row.unit != Unit::Microseconds {
        detail += &format!(
            "; {}",
            sizes(
                pages.layout.blocks * pages.layout.block_bytes,
                work.server.shared_buffers_bytes,
                work.host.memory_bytes
            )
        );
    }
    let cut = pages.cut.filter(|_| is_beyond);
    Ok(Ok(ProbeSetup { values: pages.layout.values(is_beyond), backends: None, detail, cut }))
}

/// Writes as many as fit into the space and the time; none if even the pilot took all the time.
fn write_all(work: &mut ProbeWork<'_>) -> Result<Option<Pages>, Error> {
    let Some(time) = work.time_to_write(SHARE) else { return Ok(None) };
    let wanted = work.options.space_bytes - INDEX_BYTES;
    let start = work.now_us();
    write(work, PILOT_BYTES, time)?;
    let took_us = (work.now_us() - start).max(1) as f64;
    let drop = format!("DROP TABLE {}", work.scratch.table("pages"));
    work.session.ask(&drop, time).map_err(error::sql_error("dropping scratch data"))?;
    let Some(left) = time.checked_sub(Duration::from_micros(work.now_us() - start)) else { return Ok(None) };
    // Later pages go to a disk that is busy with the first ones.
    let possible = PILOT_BYTES as f64 / took_us * left.as_micros() as f64 * 0.6;
    let bytes = wanted.min(possible as u64) >> 20 << 20;
    if bytes < PILOT_BYTES {
        return Ok(None);
    }
    write(work, bytes, time)?;
    let cut = (bytes < wanted).then(|| format!("time to write {} of {} only", mb(bytes), mb(wanted)));
    let layout = Layout::of(bytes, work.server.block_bytes);
    let beyond = work.origin(&layout, layout.pieces + 1)?;
    Ok(Some(Pages { layout, beyond, cut }))
}

/// The table of pages, read once and frozen, so that reading it later writes nothing.
fn write(work: &mut ProbeWork<'_>, bytes: u64, time: Duration) -> Result<(), Error> {
    let failed = || error::sql_error("writing scratch data");
    let (table, block) = (work.scratch.table("pages"), work.server.block_bytes);
    let values = vec![
        ("pages", table.clone()),
        ("most_bytes", (block - 32).to_string()),
        ("filler_bytes", (block - AROUND_BYTES).to_string()),
        ("blocks", (bytes / block).to_string()),
    ];
    let create = fill(include_str!("../sql/pages.sql"), &values);
    work.session.ask(&create, time * 2 + Duration::from_secs(10)).map_err(failed())?;
    long(work.session.sql()).execute(&format!("VACUUM (FREEZE) {table}")).map_err(failed())
}

/// The positions of the pages of a scratch table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    block_bytes: u64,
    blocks: u64,
    piece: u64,
    /// Scanned pieces after the first; another one, the last, is only explained.
    pieces: u64,
    /// First of the pages fetched one by one, and their number.
    random: (u64, u64),
}

impl Layout {
    fn of(bytes: u64, block_bytes: u64) -> Self {
        let blocks = bytes / block_bytes;
        // The pages left by the ring are at the end.
        let cold = blocks - (RING_BYTES / block_bytes).min(blocks / 4);
        let piece = (PIECE_BYTES / block_bytes).min(cold / 16).max(1);
        let pieces = cold / 2 / piece - 2;
        let first = (pieces + 2) * piece;
        Self { block_bytes, blocks, piece, pieces, random: (first, cold - first) }
    }

    /// The variables of SQL files: for pages that are read once, or for the first piece repeatedly.
    fn values(&self, is_beyond: bool) -> Values {
        let (first, count) = if is_beyond { self.random } else { (0, self.piece) };
        let last = |all: u64| if is_beyond { all.saturating_sub(1) } else { LAST };
        let values = [
            ("piece", self.piece),
            ("piece_bytes", self.piece * self.block_bytes),
            ("is_new", u64::from(is_beyond)),
            ("last_piece", last(self.pieces)),
            ("first", first),
            ("count", count),
            ("step", stride(count)),
            ("last_fetch", last(count / AT_ONCE)),
            ("fillers_bytes", AT_ONCE * (self.block_bytes - AROUND_BYTES)),
        ];
        values.map(|(name, value)| (name, value.to_string())).to_vec()
    }
}

/// A step that visits each of this many pages once, far from one to the next.
fn stride(pages: u64) -> u64 {
    let golden = (pages as f64 * 0.618) as u64;
    (golden.max(1)..).find(|step| gcd(*step, pages) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The sources of pages, from the counters of one scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    hit: u64,
    read: u64,
}

impl Origin {
    /// The detail of a figure, or why it is not available.
    fn detail(self, is_beyond: bool) -> Result<String, String> {
        let beyond = self.read as f64 / (self.hit + self.read).max(1) as f64;
        let (share, place) = match is_beyond {
            true => (beyond, "from beyond shared_buffers"),
            false => (1.0 - beyond, "from shared_buffers"),
        };
        let detail = format!("{:.0} % of the pages {place}", share * 100.0);
        if share >= MOSTLY { Ok(detail) } else { Err(format!("only {detail}")) }
    }
}

impl ProbeWork<'_> {
    /// Determines the source of a piece's pages by reading it.
    fn origin(&mut self, layout: &Layout, piece: u64) -> Result<Origin, Error> {
        let values = vec![
            ("pages", self.scratch.table("pages")),
            ("from", (piece * layout.piece).to_string()),
            ("to", ((piece + 1) * layout.piece).to_string()),
        ];
        let explain = fill(include_str!("../sql/pages_origin.sql"), &values);
        let failed = error::sql_error("looking where pages come from");
        let sets = self.session.ask(&explain, Duration::from_secs(30)).map_err(failed)?;
        let text = sets.last().and_then(|set| set.rows.first()?.first()?.clone()).unwrap_or_default();
        let plan: Value = serde_json::from_str(&text).unwrap_or_default();
        let blocks = |name: &str| plan[0]["Plan"][name].as_u64().unwrap_or(0);
        Ok(Origin { hit: blocks("Shared Hit Blocks"), read: blocks("Shared Read Blocks") })
    }
}

/// Where pages outside shared_buffers probably come from, by the sizes.
fn sizes(data: u64, shared_buffers: u64, memory: Option<u64>) -> String {
    let (data, buffers) = (mb(data), format!("{} of shared_buffers", mb(shared_buffers)));
    match memory {
        Some(memory) => format!(
            "{data} of data, {buffers}, {} of memory: most likely from the operating system's cache, not from the disk",
            mb(memory)
        ),
        None => format!(
            "{data} of data, {buffers}: from the operating system's cache or from the disk, SQL cannot tell which"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_single_pages_lie_apart() {
        for bytes in [8 << 20, 100 << 20, 232 << 20, 1 << 40] {
            let layout = Layout::of(bytes, 8192);
            let (first, pages) = layout.random;
            assert!(layout.pieces >= 6, "{layout:?}");
            assert_eq!(
                first,
                (layout.pieces + 2) * layout.piece,
                "one piece is cached, and one is only explained"
            );
            assert!(first + pages <= layout.blocks && pages > layout.blocks / 4, "{layout:?}");
        }
    }

    #[test]
    fn every_page_comes_once() {
        for pages in [1, 2, 64, 511, 12_800] {
            let step = stride(pages);
            let seen: std::collections::BTreeSet<u64> = (0..pages).map(|k| k * step % pages).collect();
            assert_eq!(seen.len() as u64, pages);
        }
    }

    #[test]
    fn a_figure_says_where_its_pages_came_from() {
        let detail = |hit, read, is_beyond| Origin { hit, read }.detail(is_beyond);
        assert_eq!(detail(1, 99, true).unwrap(), "99 % of the pages from beyond shared_buffers");
        assert_eq!(detail(100, 0, false).unwrap(), "100 % of the pages from shared_buffers");
        assert_eq!(detail(50, 50, true).unwrap_err(), "only 50 % of the pages from beyond shared_buffers");
        assert!(sizes(1, 1, None).ends_with("SQL cannot tell which"));
        assert!(sizes(1 << 30, 1 << 27, Some(1 << 34)).contains("not from the disk"));
    }
}
