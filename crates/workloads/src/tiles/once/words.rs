//! What is done, what failed, and what the rest would take, in words.

use super::area::Area;
use super::progress::{Progress, ZoomProgress};

/// Failed tiles that are named in a sentence.
const NAMED: usize = 5;
/// Tiles of a zoom from which its time says something about others.
const ENOUGH: u64 = 5;
/// Zooms beyond the last one that are estimated.
const BEYOND: u8 = 2;

/// Seconds that something may take, from a lower to a higher estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    low_s: f64,
    high_s: f64,
}

/// `1200 of 5461 tiles are done in 34 s, 12.1 MB`, with the connections where there were several numbers of them.
pub(super) fn done(progress: &Progress, area: &Area) -> String {
    let bytes = progress.zooms.iter().map(|zoom| zoom.bytes).sum();
    let over = over(progress).map(|over| format!(" {over}")).unwrap_or_default();
    format!(
        "{} of {} are done in {}{over}, {}",
        progress.done(),
        spec::count(area.count(), "tile"),
        time(progress.elapsed_us() as f64 / 1e6),
        spec::bytes(bytes)
    )
}

/// `over 1 connection (54 tiles) and 8 connections (169 tiles)`; `None` with one at all times.
pub(super) fn over(progress: &Progress) -> Option<String> {
    let used: Vec<(&u32, &u64)> = progress.connections.iter().filter(|(_, tiles)| **tiles > 0).collect();
    let connections = |count: &u32| spec::count(u64::from(*count), "connection");
    match used[..] {
        [] | [(1, _)] => None,
        [(count, _)] => Some(format!("over {}", connections(count))),
        _ => {
            let each = used
                .into_iter()
                .map(|(count, tiles)| format!("{} ({})", connections(count), spec::count(*tiles, "tile")));
            Some(format!("over {}", each.collect::<Vec<_>>().join(" and ")))
        }
    }
}

/// `z12: 2048 tiles in 12 s, 3.4 MB, 12 empty`, for each zoom that was begun.
pub(super) fn by_zoom(progress: &Progress) -> Vec<String> {
    let begun = progress.zooms.iter().filter(|zoom| zoom.done() > 0);
    let words = |zoom: &ZoomProgress| {
        let also =
            |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
        format!(
            "z{}: {} in {}, {}{}{}",
            zoom.z,
            spec::count(zoom.tiles, "tile"),
            time(zoom.elapsed_us as f64 / 1e6),
            spec::bytes(zoom.bytes),
            also(zoom.empty, "empty"),
            also(zoom.failed, "failed")
        )
    };
    begun.map(words).collect()
}

/// `3 tiles failed: 12/1/2 (ERROR: …), …`; `None` if all came.
pub(super) fn failed(progress: &Progress) -> Option<String> {
    let count = progress.count_failed();
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (tile, why) in progress.failed.iter().take(NAMED) {
        let why = why.lines().next().unwrap_or_default();
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, tiles)) => tiles.push(tile.to_string()),
            None => reasons.push((why, vec![tile.to_string()])),
        }
    }
    let named = reasons.iter().map(|(why, tiles)| format!("{} ({why})", tiles.join(", ")));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = count.saturating_sub(progress.failed.len().min(NAMED) as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (count > 0).then(|| format!("{} failed: {named}{more}", spec::count(count, "tile")))
}

/// All failed tiles, one a line, for a file.
pub(super) fn failed_list(progress: &Progress) -> String {
    progress.failed.iter().map(|(tile, why)| format!("{tile}\t{}\n", why.replace('\n', " "))).collect()
}

/// `slowest tiles: 0/0/0 (4.1 s), …`.
pub(super) fn slowest(progress: &Progress) -> Option<String> {
    let named: Vec<String> =
        progress.slowest.iter().map(|(tile, us)| format!("{tile} ({})", time(*us as f64 / 1e6))).collect();
    (!named.is_empty()).then(|| format!("slowest tiles: {}", named.join(", ")))
}

/// `the other 4261 tiles would take 2 to 5 min`; `None` if nothing is left.
pub(super) fn rest(progress: &Progress, area: &Area) -> Option<String> {
    let left = area.count().saturating_sub(progress.done());
    (left > 0).then(|| {
        let takes = match estimate(progress, area) {
            Some(range) => format!("would take {}", range.words()),
            None => "would take a time that is not known: too few tiles are done".to_owned(),
        };
        format!("the other {} {takes}", spec::count(left, "tile"))
    })
}

/// What further zooms of a finished pyramid would take: `z11 (4096 tiles) would take 20 to 41 s, …`.
pub(super) fn beyond(progress: &Progress, area: &Area) -> Option<String> {
    let last = area.zooms.last().filter(|_| area.is_pyramid)?;
    let of_last = per_tile_s(progress.zooms.last()?)?;
    let shrinks = shrinking(progress);
    let further = (1..=BEYOND).filter(|more| last.z() + more <= tile::MOST_ZOOM).map(|more| {
        let tiles = last.count().saturating_mul(4_u64.pow(more.into()));
        let high_s = tiles as f64 * of_last;
        let low_s = high_s * shrinks.powi(more.into());
        let range = Range { low_s, high_s };
        format!("z{} ({}) would take {}", last.z() + more, spec::count(tiles, "tile"), range.words())
    });
    let further: Vec<String> = further.collect();
    (!further.is_empty()).then(|| further.join(", "))
}

/// Of all remaining tiles: a zoom that was begun takes per tile what its others took; later zooms at most as long as
/// the last one, and as much less as zooms before it.
fn estimate(progress: &Progress, area: &Area) -> Option<Range> {
    let known = progress.zooms.iter().rev().find_map(per_tile_s)?;
    let shrinks = shrinking(progress);
    let mut range = Range { low_s: 0.0, high_s: 0.0 };
    let mut later = 0;
    for (zoom, own) in area.zooms.iter().zip(&progress.zooms) {
        let left = zoom.count().saturating_sub(own.done()) as f64;
        if left == 0.0 {
            continue;
        }
        let (low, high) = match per_tile_s(own) {
            Some(each) => (each, each),
            None => {
                later += 1;
                (known * shrinks.powi(later), known)
            }
        };
        range.low_s += left * low;
        range.high_s += left * high;
    }
    // Tiles are not alike: places with much in them may still come.
    Some(Range { low_s: range.low_s * 0.7, high_s: range.high_s * 1.3 })
}

/// Time of a tile with all connections at work, s; `None` where most failed, since an error may come at once.
fn per_tile_s(zoom: &ZoomProgress) -> Option<f64> {
    let is_known = zoom.done() >= ENOUGH && zoom.failed < zoom.tiles && zoom.elapsed_us > 0;
    is_known.then(|| zoom.elapsed_us as f64 / 1e6 / zoom.done() as f64)
}

/// How much shorter a tile of the next zoom takes, 0.25..=1: as of the last two zooms.
fn shrinking(progress: &Progress) -> f64 {
    let known: Vec<f64> = progress.zooms.iter().filter_map(per_tile_s).collect();
    match known[..] {
        [.., before, last] if before > 0.0 => (last / before).clamp(0.25, 1.0),
        _ => 0.25,
    }
}

impl Range {
    /// `20 to 41 s`, or `about 3 min`.
    fn words(self) -> String {
        let [low, high] = [self.low_s, self.high_s].map(time);
        if low == high { format!("about {high}") } else { format!("{low} to {high}") }
    }
}

/// `170 µs`, `340 ms`, `12 s`, `4 min`, `3.2 h`, `12 days`.
fn time(seconds: f64) -> String {
    match seconds {
        ..0.001 => format!("{:.0} µs", seconds * 1e6),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        ..7200.0 => format!("{:.0} min", seconds / 60.0),
        ..172_800.0 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use tile::Tile;

    use super::super::progress::tests::asked;
    use super::*;

    /// A pyramid of three zooms around one tile of z3, and what its first tiles took.
    fn begun() -> (Area, Progress) {
        let [west, south, east, north] = Tile { z: 3, x: 4, y: 2 }.bounds_m();
        let area = Area::of_box([west + 1.0, south + 1.0, east - 1.0, north - 1.0], 4..=7);
        let mut progress = Progress::new("a".to_owned(), &area);
        (0..4).for_each(|at| progress.add(0, &asked(at, 400_000, Ok(1000))));
        progress.zooms[0].elapsed_us = 1_600_000;
        (0..15).for_each(|at| progress.add(1, &asked(at, 100_000, Ok(100))));
        progress.add(1, &asked(15, 0, Err("ERROR:  too deep\nDETAIL: x")));
        progress.zooms[1].elapsed_us = 1_600_000;
        (0..8).for_each(|at| progress.add(2, &asked(at, 50_000, Ok(0))));
        progress.zooms[2].elapsed_us = 400_000;
        (area, progress)
    }

    #[test]
    fn what_is_done_is_said_by_zoom() {
        let (area, progress) = begun();
        assert_eq!(done(&progress, &area), "28 of 340 tiles are done in 3.6 s, 5.37 kB");
        assert_eq!(by_zoom(&progress)[1], "z5: 15 tiles in 1.6 s, 1.46 kB, 1 failed");
        assert_eq!(by_zoom(&progress)[2], "z6: 8 tiles in 400 ms, 0 bytes, 8 empty");
        assert_eq!(by_zoom(&progress).len(), 3);
        assert_eq!(failed(&progress).unwrap(), "1 tile failed: 3/7/1 (ERROR:  too deep)");
        assert_eq!(failed_list(&progress), "3/7/1\tERROR:  too deep DETAIL: x\n");
        assert!(slowest(&progress).unwrap().starts_with("slowest tiles: 3/0/0 (400 ms), "));
    }

    #[test]
    fn connections_are_told_where_they_are_not_one() {
        let (area, mut progress) = begun();
        progress.connections.insert(8, 28);
        assert_eq!(done(&progress, &area), "28 of 340 tiles are done in 3.6 s over 8 connections, 5.37 kB");
        progress.connections.extend([(8, 20), (1, 8)]);
        assert!(
            done(&progress, &area).contains(" over 1 connection (8 tiles) and 8 connections (20 tiles), ")
        );
    }

    /// 222 of 223 tiles failed at once, and the next zoom was estimated from that.
    #[test]
    fn nothing_is_estimated_from_errors() {
        let (area, mut progress) = begun();
        for zoom in &mut progress.zooms {
            (zoom.failed, zoom.tiles) = (zoom.done(), 0);
        }
        assert!(rest(&progress, &area).unwrap().contains("not known"));
    }

    #[test]
    fn the_rest_is_estimated_from_what_is_done() {
        let (area, progress) = begun();
        // 56 more of z6 at 50 ms, 256 of z7 at 25 to 50 ms.
        assert_eq!(rest(&progress, &area).unwrap(), "the other 312 tiles would take 6.4 s to 20 s");
        let nothing = Progress::new("a".to_owned(), &area);
        assert!(rest(&nothing, &area).unwrap().contains("not known"));
        assert!(beyond(&nothing, &area).is_none());
    }

    #[test]
    fn further_zooms_of_a_pyramid_are_estimated() {
        let [west, south, east, north] = Tile { z: 3, x: 4, y: 2 }.bounds_m();
        let area = Area::of_box([west + 1.0, south + 1.0, east - 1.0, north - 1.0], [6, 7]);
        let mut progress = Progress::new("a".to_owned(), &area);
        for (at, zoom) in area.zooms.iter().enumerate() {
            (0..zoom.count()).for_each(|place| progress.add(at, &asked(place, 10, Ok(1))));
            progress.zooms[at].elapsed_us = 2_000_000;
        }
        assert_eq!(rest(&progress, &area), None);
        let said = beyond(&progress, &area).unwrap();
        assert!(said.starts_with("z8 (1024 tiles) would take 2.0 s to 8.0 s, z9 (4096 tiles)"), "{said}");
        assert_eq!(beyond(&progress, &Area { is_pyramid: false, ..area }), None);
    }

    #[test]
    fn times_are_short() {
        for (seconds, wanted) in [
            (0.000_17, "170 µs"),
            (0.34, "340 ms"),
            (9.0, "9.0 s"),
            (61.0, "61 s"),
            (600.0, "10 min"),
            (9000.0, "2.5 h"),
            (1e6, "11.6 days"),
        ] {
            assert_eq!(time(seconds), wanted);
        }
    }
}
