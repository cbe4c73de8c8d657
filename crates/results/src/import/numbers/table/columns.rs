//! What the columns of a table are, and how their cells are read.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::cells::Row;
use crate::import::labels::REPEATS;

/// What a figure is, and by what its values are multiplied to be per second, or seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FigureUnit {
    Rate(f64),
    Time(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Column {
    Factor,
    Repeat,
    Figure(FigureUnit),
    /// Of numbers that are not compared.
    OtherFigure,
    Started,
}

/// What a column is, by its name and its cells.
pub(super) fn column(name: &str, at: usize, rows: &[Row]) -> Column {
    let lower = name.to_lowercase();
    let filled = || rows.iter().map(|(_, cells)| cells[at].as_str()).filter(|cell| !is_missing(cell));
    let are_numbers = filled().next().is_some() && filled().all(|cell| number(cell).is_some());
    if filled().next().is_some() && filled().all(|cell| clock(cell).is_some()) {
        return Column::Figure(FigureUnit::Time(1.0));
    }
    if REPEATS.contains(&lower.as_str()) && filled().all(|cell| repeat(cell).is_some()) {
        return Column::Repeat;
    }
    let some_are_numbers = filled().any(|cell| number(cell).is_some());
    if let Some(unit) = known_figure(name).filter(|_| some_are_numbers) {
        return Column::Figure(unit);
    }
    if are_numbers && is_further_figure(&lower) {
        return Column::OtherFigure;
    }
    if !are_numbers {
        let is_time = filled().next().is_some() && filled().all(|cell| time_us(cell).is_some());
        return if is_time { Column::Started } else { Column::Factor };
    }
    // Measured numbers have a fraction, levels of a factor rarely; numbers that repeat are levels.
    let is_measured = filled().any(|cell| cell.contains(['.', ','])) && are_different(filled());
    if is_measured { Column::OtherFigure } else { Column::Factor }
}

fn are_different<'a>(cells: impl Iterator<Item = &'a str>) -> bool {
    let all: Vec<&str> = cells.collect();
    let distinct: std::collections::BTreeSet<&&str> = all.iter().collect();
    all.len() > 1 && distinct.len() * 2 > all.len()
}

/// Units by the last part of a name: `load_s`, `p95 (ms)`, `orders_per_min`.
pub(super) fn unit_of(text: &str) -> Option<FigureUnit> {
    Some(match text {
        "us" | "usec" | "µs" => FigureUnit::Time(1e-6),
        "ms" | "msec" | "milliseconds" => FigureUnit::Time(1e-3),
        "s" | "sec" | "secs" | "seconds" => FigureUnit::Time(1.0),
        "min" | "minutes" => FigureUnit::Time(60.0),
        "h" | "hours" => FigureUnit::Time(3600.0),
        "tps" | "qps" | "rps" | "ops" | "iops" => FigureUnit::Rate(1.0),
        "ktps" | "kqps" | "krps" | "kops" | "kiops" => FigureUnit::Rate(1000.0),
        "tpm" | "tpmc" | "nopm" => FigureUnit::Rate(1.0 / 60.0),
        "per_s" | "per_second" | "/s" => FigureUnit::Rate(1.0),
        "per_min" | "per_minute" | "/min" => FigureUnit::Rate(1.0 / 60.0),
        "per_h" | "per_hour" | "/h" => FigureUnit::Rate(1.0 / 3600.0),
        _ => return None,
    })
}

/// The unit of a figure, by its column's name.
pub(super) fn known_figure(name: &str) -> Option<FigureUnit> {
    let name = name.to_lowercase().replace(['(', ')', '[', ']'], " ");
    let words: Vec<&str> = name.split([' ', '_', '-', '.']).filter(|word| !word.is_empty()).collect();
    let known = match *words.first()? {
        "throughput" | "durchsatz" | "débit" | "rate" | "score" => Some(FigureUnit::Rate(1.0)),
        // `ms per tile`
        unit if words.get(1) == Some(&"per") => unit_of(unit),
        word => unit_of(word).filter(|unit| matches!(unit, FigureUnit::Rate(_))),
    };
    let last = *words.last()?;
    let ending = match words.len().checked_sub(2).map(|at| words[at]) {
        Some("per") => unit_of(&format!("per_{last}")),
        _ if last.ends_with("/s") || last.ends_with("/sec") => Some(FigureUnit::Rate(1.0)),
        _ if last.ends_with("/min") => Some(FigureUnit::Rate(1.0 / 60.0)),
        Some(_) => unit_of(last),
        None => unit_of(last).filter(|_| last.len() > 1),
    };
    let times = || {
        matches!(
            *words.first()?,
            "latency"
                | "time"
                | "duration"
                | "elapsed"
                | "runtime"
                | "took"
                | "latenz"
                | "zeit"
                | "dauer"
                | "laufzeit"
        )
        .then_some(FigureUnit::Time(1.0))
    };
    // A unit in the name says more than its first word: `throughput per_min`.
    ending.or(known).or_else(times)
}

/// Words of columns that are measured, too, and never set: a level of them would tell runs of one cell apart.
fn is_further_figure(name: &str) -> bool {
    const WORDS: [&str; 36] = [
        "error",
        "errors",
        "failure",
        "failures",
        "failed",
        "fails",
        "timeouts",
        "retries",
        "request",
        "requests",
        "queries",
        "transactions",
        "txns",
        "calls",
        "hits",
        "misses",
        "ok",
        "count",
        "total",
        "sum",
        "price",
        "cost",
        "costs",
        "usd",
        "eur",
        "gbp",
        "dollars",
        "euro",
        "stddev",
        "mean",
        "median",
        "avg",
        "average",
        "fehler",
        "preis",
        "kosten",
    ];
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    name.contains(['%', '$', '€', '£']) || words.any(|word| WORDS.contains(&word) || is_percentile(word))
}

/// `p95`, `p999`.
fn is_percentile(word: &str) -> bool {
    word.strip_prefix('p')
        .is_some_and(|digits| digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a cell says that there is no value.
pub(super) fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 22] = [
        "",
        "-",
        "--",
        "–",
        "—",
        ".",
        "?",
        "n/a",
        "na",
        "#n/a",
        "#value!",
        "#div/0!",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "timeout",
        "timed out",
        "failed",
        "error",
        "skipped",
    ];
    WORDS.contains(&cell.trim().to_lowercase().as_str())
}

/// `1234.5`, `1,234.5`, `1234,5`, `1 234`.
pub(super) fn number(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|c| !matches!(c, ' ' | '\u{a0}' | '_')).collect();
    let plain = match (text.rfind(','), text.rfind('.')) {
        (Some(comma), Some(point)) if comma < point => text.replace(',', ""),
        (Some(_), Some(_)) => text.replace('.', "").replace(',', "."),
        (Some(comma), None) if text.len() - comma == 4 && text.matches(',').count() > 1 => {
            text.replace(',', "")
        }
        (Some(comma), None) if text.len() - comma == 4 && comma <= 3 && !text.starts_with('0') => {
            text.replace(',', "")
        }
        (Some(_), None) => text.replace(',', "."),
        _ => text,
    };
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

pub(super) fn repeat(text: &str) -> Option<u32> {
    text.trim_start_matches('#').parse().ok().filter(|round| *round > 0)
}

/// A date with a time, taken as UTC where it has no zone.
pub(super) fn time_us(text: &str) -> Option<i64> {
    let zoned = text.parse::<jiff::Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    Some(zoned.or_else(civil)?.as_microsecond())
}

/// A number, or the seconds of a time: `1:35:20`, `58:03`.
pub(super) fn value(text: &str) -> Option<f64> {
    number(text).or_else(|| clock(text))
}

/// Seconds of `h:mm:ss` or `mm:ss`, with a fraction or without.
fn clock(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (first, rest) = parts.split_first().filter(|(_, rest)| (1..=2).contains(&rest.len()))?;
    let is_part = |part: &&str| {
        let whole = part.split(['.', ',']).next().unwrap_or_default();
        whole.len() == 2 && whole.bytes().all(|byte| byte.is_ascii_digit())
    };
    let are_parts =
        rest.iter().all(is_part) && !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = |sum: f64, part: &&str| {
        Some(sum * 60.0 + part.replace(',', ".").parse::<f64>().ok().filter(|part| *part < 60.0)?)
    };
    let first: f64 = first.parse().ok().filter(|_| are_parts)?;
    rest.iter().try_fold(first, seconds)
}
