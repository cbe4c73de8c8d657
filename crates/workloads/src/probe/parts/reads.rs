//! How fast pages are read: from shared_buffers, and from beyond, which is the operating system's cache or the disk.
//!
//! The pages hold one row each, so that it is pages that cost and not rows, of bytes that do not compress. They are written
//! by `CREATE TABLE AS` and frozen by `VACUUM`, which both go through a small ring of buffers: most pages are never in shared_buffers
//! before they are read, however large those are. The first half is scanned piece by piece, each piece once; from the
//! second half single pages are fetched in no order, each once. What was read a moment ago is read again for the cached figures.

use std::time::Duration;

use protocol::postgres::sql::{Sql, long};
use serde_json::Value;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::facts::mb;
use crate::probe::figures::Figure;
use crate::probe::options::INDEX_BYTES;
use crate::probe::record::Found;
use crate::probe::shots::{LAST, Query};

/// Bytes that are written to see how long all will take.
const PILOT_BYTES: u64 = 8 << 20;
/// The ring that `CREATE TABLE AS` writes through; what it wrote last is in shared_buffers.
const RING_BYTES: u64 = 16 << 20;
/// A piece of a scan.
const PIECE_BYTES: u64 = 4 << 20;
/// Pages of one random shot.
const PAGES: u64 = 64;
/// Nothing but looking up pages by their place.
const SETTINGS: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_tidscan = on; ";
/// More of the pages must come from where the figure says.
const MOSTLY: f64 = 0.9;

/// Where the pages of a scratch table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    block_bytes: u64,
    blocks: u64,
    /// Pages of a piece.
    piece: u64,
    /// Pieces that are scanned, from the first page on; one more, the last, is only explained.
    pieces: u64,
    /// First of the pages that are fetched one by one, and how many there are.
    random: (u64, u64),
}

impl Layout {
    fn of(bytes: u64, block_bytes: u64) -> Self {
        let blocks = bytes / block_bytes;
        // What the ring left is at the end.
        let cold = blocks - (RING_BYTES / block_bytes).min(blocks / 4);
        let piece = (PIECE_BYTES / block_bytes).min(cold / 16).max(1);
        let pieces = cold / 2 / piece - 1;
        let first = (pieces + 1) * piece;
        Self { block_bytes, blocks, piece, pieces, random: (first, cold - first) }
    }
}

/// Cached and beyond, sequential and random.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let all = [list::READ_CACHED, list::READ_BEYOND, list::RANDOM_CACHED, list::RANDOM_BEYOND];
    let late = |work: &Work<'_>| all.iter().map(|figure| work.too_late(figure)).collect();
    let Some(time) = work.time_to_write(0.2) else { return Ok(late(work)) };
    let Some((layout, cut)) = fill(work, time)? else { return Ok(late(work)) };
    let beyond = work.origin(&layout, layout.pieces, cut.as_deref())?;
    let read_beyond = scan(work, &layout, list::READ_BEYOND, &beyond)?;
    // The first look brings back what a small server has given up.
    work.origin(&layout, 0, None)?;
    let cached = work.origin(&layout, 0, cut.as_deref())?;
    let read_cached = scan(work, &layout, list::READ_CACHED, &cached)?;
    let random_cached = fetch(work, &layout, list::RANDOM_CACHED, &cached)?;
    let random_beyond = fetch(work, &layout, list::RANDOM_BEYOND, &beyond)?;
    Ok(vec![read_cached, read_beyond, random_cached, random_beyond])
}

/// Writes the pages, as many as fit into the space and the time; says so where the latter was less.
fn fill(work: &mut Work<'_>, time: Duration) -> Result<Option<(Layout, Option<String>)>, WorkloadError> {
    let wanted = work.options.space_bytes - INDEX_BYTES;
    let start = work.now_us();
    write(work, PILOT_BYTES, time)?;
    let took_us = (work.now_us() - start).max(1) as f64;
    let drop = format!("DROP TABLE {}", work.scratch.table("pages"));
    work.session.ask("", &drop, time).map_err(WorkloadError::sql("dropping scratch data"))?;
    let Some(left) = time.checked_sub(Duration::from_micros(work.now_us() - start)) else { return Ok(None) };
    // What is written later goes to a disk that is busy with what was before.
    let possible = PILOT_BYTES as f64 / took_us * left.as_micros() as f64 * 0.6;
    let bytes = wanted.min(possible as u64) >> 20 << 20;
    if bytes < PILOT_BYTES {
        return Ok(None);
    }
    write(work, bytes, time)?;
    let cut = (bytes < wanted).then(|| format!("time to write {} of {} only", mb(bytes), mb(wanted)));
    Ok(Some((Layout::of(bytes, work.server.block_bytes), cut)))
}

/// The table of pages, read once and frozen, so that reading it later writes nothing.
fn write(work: &mut Work<'_>, bytes: u64, time: Duration) -> Result<(), WorkloadError> {
    let failed = || WorkloadError::sql("writing scratch data");
    let table = work.scratch.table("pages");
    let block = work.server.block_bytes;
    let text = create(&table, bytes / block, block);
    work.session.ask("", &text, time * 2 + Duration::from_secs(10)).map_err(failed())?;
    long(work.session.sql()).execute(&format!("VACUUM (FREEZE) {table}")).map_err(failed())
}

/// Row `n` is alone on page `n - 1`. Its bytes are a piece of 256 kB that nothing can compress, at a place of its own.
fn create(table: &str, blocks: u64, block_bytes: u64) -> String {
    let (target, length) = (block_bytes - 32, block_bytes - 192);
    format!(
        "CREATE UNLOGGED TABLE {table} WITH (toast_tuple_target = {target}, autovacuum_enabled = off) AS \
         SELECT n AS id, substring(pool.bytes FROM 1 + (n::bigint * 7919 % (262144 - {length}))::integer FOR {length}) AS filler \
         FROM (SELECT string_agg(sha256(int4send(i)), ''::bytea) AS bytes FROM generate_series(1, 8192) AS i OFFSET 0) AS pool, \
              generate_series(1, {blocks}) AS n"
    )
}

/// Where pages come from, as one scan shows by its counters.
#[derive(Debug, Clone, PartialEq)]
struct Origin {
    hit: u64,
    read: u64,
    /// Data, shared_buffers and the host's memory, in words.
    sizes: String,
    cut: Option<String>,
}

impl Origin {
    /// The share that was not in shared_buffers.
    fn beyond(&self) -> f64 {
        self.read as f64 / (self.hit + self.read).max(1) as f64
    }

    /// What is to be said of a figure, or why it is none.
    fn of(&self, figure: &Figure) -> Result<String, String> {
        let is_beyond = figure == list::READ_BEYOND || figure == list::RANDOM_BEYOND;
        let share = if is_beyond { self.beyond() } else { 1.0 - self.beyond() };
        let place = if is_beyond { "from beyond shared_buffers" } else { "from shared_buffers" };
        let told = format!("{:.0} % of the pages {place}", share * 100.0);
        match share >= MOSTLY {
            // Once is enough.
            true if figure == list::READ_BEYOND => Ok(format!("{told}; {}", self.sizes)),
            true => Ok(told),
            false => Err(format!("only {told}")),
        }
    }
}

impl Work<'_> {
    /// Looks where the pages of a piece come from, by reading it.
    fn origin(&mut self, layout: &Layout, piece: u64, cut: Option<&str>) -> Result<Origin, WorkloadError> {
        let table = self.scratch.table("pages");
        let explain = format!(
            "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT count(*) FROM {table} WHERE {}",
            between(&piece.to_string(), layout.piece)
        );
        let failed = WorkloadError::sql("looking where pages come from");
        let sets = self.session.ask(SETTINGS, &explain, Duration::from_secs(30)).map_err(failed)?;
        let text = sets.last().and_then(|set| set.rows.first()?.first()?.clone()).unwrap_or_default();
        let plan: Value = serde_json::from_str(&text).unwrap_or_default();
        let blocks = |name: &str| plan[0]["Plan"][name].as_u64().unwrap_or(0);
        Ok(Origin {
            hit: blocks("Shared Hit Blocks"),
            read: blocks("Shared Read Blocks"),
            sizes: sizes(
                layout.blocks * layout.block_bytes,
                self.server.shared_buffers_bytes,
                self.host.memory_bytes,
            ),
            cut: cut.map(str::to_owned),
        })
    }

    /// What is to be said of a figure, and the time there is for it; or that there is none.
    fn may_read(&self, figure: &Figure, origin: &Origin) -> Result<(String, Duration), Box<Found>> {
        let detail = origin.of(figure).map_err(|why| Box::new(Found::not_available(figure, why)))?;
        Ok((detail, self.time_for(figure, 0.04)?))
    }
}

/// What the sizes say of where pages come from that are not in shared_buffers.
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

/// Pages of the piece with this number, an expression.
fn between(piece: &str, pages: u64) -> String {
    let place = |piece: &str| format!("('(' || ({piece}) * {pages} || ',0)')::tid");
    format!("ctid >= {} AND ctid < {}", place(piece), place(&format!("{piece} + 1")))
}

/// A piece for each shot: every one once where it comes from beyond, one again and again where it is cached.
fn scan(
    work: &mut Work<'_>,
    layout: &Layout,
    figure: &Figure,
    origin: &Origin,
) -> Result<Found, WorkloadError> {
    let is_cached = figure == list::READ_CACHED;
    let (detail, time) = match work.may_read(figure, origin) {
        Ok(both) => both,
        Err(none) => return Ok(*none),
    };
    let (piece, last) = match is_cached {
        true => ("shot * 0", LAST.to_owned()),
        false => ("shot", (layout.pieces - 1).to_string()),
    };
    let scan = format!(
        "(SELECT count(*) FROM {} WHERE {})",
        work.scratch.table("pages"),
        between(piece, layout.piece)
    );
    let gives = layout.piece.to_string();
    let query = Query {
        doing: "scanning pages",
        settings: SETTINGS,
        work: &scan,
        gives: &gives,
        from: "",
        last: &last,
        time,
    };
    // A page that is in memory already is looked at, but its bytes are not moved.
    let each = if is_cached { 1.0 } else { layout.block_bytes as f64 };
    let done = layout.piece as f64 * each;
    let found = work.shoot(figure, &query, |us| done / us * 1e6, detail)?;
    Ok(found.cut(origin.cut.clone().filter(|_| !is_cached)))
}

/// Some pages for each shot, by their place.
fn fetch(
    work: &mut Work<'_>,
    layout: &Layout,
    figure: &Figure,
    origin: &Origin,
) -> Result<Found, WorkloadError> {
    let is_cached = figure == list::RANDOM_CACHED;
    let (detail, time) = match work.may_read(figure, origin) {
        Ok(both) => both,
        Err(none) => return Ok(*none),
    };
    let (first, pages) = if is_cached { (0, layout.piece) } else { layout.random };
    let last = if is_cached { LAST.to_owned() } else { (pages / PAGES).saturating_sub(1).to_string() };
    let page = format!("{first} + (shot::bigint * {PAGES} + k) * {} % {pages}", stride(pages));
    let fetch = format!(
        "(SELECT sum((SELECT octet_length(filler) FROM {} WHERE ctid = ('(' || {page} || ',1)')::tid)) \
         FROM generate_series(0, {}) AS k)",
        work.scratch.table("pages"),
        PAGES - 1
    );
    let gives = (PAGES * (layout.block_bytes - 192)).to_string();
    let query = Query {
        doing: "fetching pages",
        settings: SETTINGS,
        work: &fetch,
        gives: &gives,
        from: "",
        last: &last,
        time,
    };
    let found = work.shoot(figure, &query, |us| us / PAGES as f64, detail)?;
    Ok(found.cut(origin.cut.clone().filter(|_| !is_cached)))
}

/// A step that leads to each of so many pages once before it comes back, far from one to the next.
fn stride(pages: u64) -> u64 {
    let golden = (pages as f64 * 0.618) as u64;
    (golden.max(1)..).find(|step| gcd(*step, pages) == 1).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
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
            assert_eq!(first, (layout.pieces + 1) * layout.piece, "one piece is only explained");
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
        let origin = |hit, read| Origin { hit, read, sizes: "sizes".into(), cut: None };
        assert_eq!(
            origin(1, 99).of(list::READ_BEYOND).unwrap(),
            "99 % of the pages from beyond shared_buffers; sizes"
        );
        assert_eq!(origin(100, 0).of(list::RANDOM_CACHED).unwrap(), "100 % of the pages from shared_buffers");
        assert_eq!(
            origin(50, 50).of(list::RANDOM_BEYOND).unwrap_err(),
            "only 50 % of the pages from beyond shared_buffers"
        );
        assert!(sizes(1, 1, None).ends_with("SQL cannot tell which"));
        assert!(sizes(1 << 30, 1 << 27, Some(1 << 34)).contains("not from the disk"));
    }
}
