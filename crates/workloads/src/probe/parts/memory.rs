//! How fast backends read through memory: two equal texts, larger than the processor's cache where that is known, compared
//! byte by byte (`memcmp`).

use std::time::Duration;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::facts::mb;
use crate::probe::figures::Figure;
use crate::probe::record::Found;
use crate::probe::shots::{Query, between};
use crate::probe::together;

/// PostgreSQL has no text above 1 GB.
const LONGEST_TEXT: u64 = 512 << 20;
/// Below this it is the cache next to the core that is read.
const SHORTEST_TEXT: u64 = 1 << 20;
/// The series depends on the texts, so that these are made first, and once.
const LAST: &str = "9999 + 0 * v.n";

/// One backend, then all; together they hold no more than they may.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let one = of(work, list::MEMORY_ONE, 1)?;
    let backends = work.backends.or(work.options.backends).or(work.host.cpus);
    let all = match backends {
        Some(backends) => of(work, list::MEMORY_ALL, backends)?,
        None => Found::not_available(list::MEMORY_ALL, "it is not known how many backends \"all\" are"),
    };
    Ok(vec![one, all])
}

fn of(work: &mut Work<'_>, figure: &Figure, backends: u32) -> Result<Found, WorkloadError> {
    let time = match work.time_for(figure, 0.07) {
        Ok(time) => time,
        Err(late) => return Ok(*late),
    };
    // A quarter of what the host has left: nothing of it is to be swapped out, and no cache to be emptied for it.
    let all = work.host.available_bytes.map_or(u64::MAX, |bytes| bytes / 4).min(work.options.space_bytes);
    let text = (all / 2 / u64::from(backends)).min(LONGEST_TEXT) >> 10 << 10;
    if text < SHORTEST_TEXT {
        let needed = 2 * SHORTEST_TEXT * u64::from(backends);
        let why = format!("{backends} backends need {} of memory, and may have {}", mb(needed), mb(all));
        return Ok(Found::not_available(figure, why));
    }
    let from = texts(text);
    let query = query(&from, time);
    let start = work.now_us();
    let read = 2.0 * text as f64;
    let detail = detail(text, backends, work.host.cache_bytes);
    if backends == 1 {
        let ends = work.session.shots(&query);
        return work.found(figure, ends.map(|ends| (start, between(&ends))), |us| read / us * 1e6, detail);
    }
    let ends = together::shoot(work.runtime, backends, &query, work.server.is_read_only());
    work.found(figure, ends.map(|ends| (start, together::rates(&ends))), |rate| rate * read, detail)
}

/// Two texts of so many bytes; `OFFSET 0` keeps them from being made anew for each shot.
fn texts(bytes: u64) -> String {
    let kb = bytes >> 10;
    format!(
        "(SELECT n, repeat(piece, {kb} * n) AS a, repeat(piece, {kb} * n) AS b FROM \
         (SELECT n, repeat(chr(64 + n), 1024) AS piece FROM generate_series(1, 1) AS n OFFSET 0) AS pieces \
         OFFSET 0) AS v, LATERAL "
    )
}

fn query(from: &str, time: Duration) -> Query<'_> {
    // Bytes are compared, no words.
    let work = "(v.a COLLATE \"C\" = v.b)";
    Query { doing: "reading memory", settings: "", work, gives: "t", from, last: LAST, time }
}

fn detail(text: u64, backends: u32, cache: Option<u64>) -> String {
    let each = format!("{} x {}", 2 * backends, mb(text));
    match cache {
        Some(cache) if cache >= 2 * text * u64::from(backends) => {
            format!(
                "{each}, which the processor's cache of {} holds: it is the cache that was read",
                mb(cache)
            )
        }
        _ => each,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_a_cache_holds_are_said_to_be() {
        let cases = [
            (128 << 20, 1, None, "2 x 128 MB"),
            (64 << 20, 2, Some(32 << 20), "4 x 64 MB"),
            (
                64 << 20,
                2,
                Some(300 << 20),
                "4 x 64 MB, which the processor's cache of 300 MB holds: it is the cache that was read",
            ),
        ];
        for (text, backends, cache, wanted) in cases {
            assert_eq!(detail(text, backends, cache), wanted);
        }
    }
}
