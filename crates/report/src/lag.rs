//! How far replicas were behind their primary in each run: the greatest lag, and the one at the end.

use results::comparison::Cell;
use results::data::levels;
use results::{CellValue, ReportData, Table};
use spec::figures::{self, Figure};
use spec::{Run, RunEvent, bytes};

use crate::block::Block;
use crate::numbers::latency_us;
use crate::sections::runs::{number, validity};

/// The steps in which a replica takes over WAL: bytes and time, each the greatest and at the end.
const STEPS: [(&str, [Figure; 4]); 3] = [
    (
        "write",
        [
            figures::WRITE_LAG_MAX_BYTES,
            figures::WRITE_LAG_END_BYTES,
            figures::WRITE_LAG_MAX_MS,
            figures::WRITE_LAG_END_MS,
        ],
    ),
    (
        "flush",
        [
            figures::FLUSH_LAG_MAX_BYTES,
            figures::FLUSH_LAG_END_BYTES,
            figures::FLUSH_LAG_MAX_MS,
            figures::FLUSH_LAG_END_MS,
        ],
    ),
    (
        "replay",
        [
            figures::REPLAY_LAG_MAX_BYTES,
            figures::REPLAY_LAG_END_BYTES,
            figures::REPLAY_LAG_MAX_MS,
            figures::REPLAY_LAG_END_MS,
        ],
    ),
];

/// A line for each run with replicas and each step; figures that are not known are empty.
#[must_use]
pub fn lag(data: &ReportData) -> Table {
    let mut table = Table::new([
        "run",
        "round",
        "workload",
        "cell",
        "arm",
        "step",
        "lag_max_bytes",
        "lag_end_bytes",
        "lag_max_ms",
        "lag_end_ms",
        "validity",
    ]);
    for run in with_replicas(data) {
        for (step, of) in STEPS {
            let head = [
                number(run),
                run.round.into(),
                run.workload.clone().into(),
                levels(&Cell::of(run)).into(),
                run.arm.clone().into(),
                step.into(),
            ];
            let values = of.map(|of| CellValue::from(run.figures.get(of)));
            table.push(head.into_iter().chain(values).chain([validity(data, run).into()]));
        }
    }
    table
}

/// The same as text.
pub(crate) fn blocks(data: &ReportData) -> Vec<Block> {
    let table = lag(data);
    if table.rows.is_empty() {
        return Vec::new();
    }
    let how = "How far the slowest replica was behind its primary: WAL that was written there and not yet written, flushed or \
               replayed by the replica. A reader of the replica sees what was replayed. The looks are once a second.";
    let shown = |run: &Run| {
        let of = |figure: Figure, words: fn(f64) -> String| {
            run.figures.get(figure).map_or_else(|| "-".to_owned(), words)
        };
        let cells = STEPS.iter().flat_map(move |(_, [max_bytes, end_bytes, max_ms, end_ms])| {
            let both = |size, time| {
                format!("{}, {}", of(size, |size| bytes(size as u64)), of(time, |ms| latency_us(ms * 1e3)))
            };
            [both(*max_bytes, *max_ms), both(*end_bytes, *end_ms)]
        });
        cells.map(CellValue::from).collect::<Vec<_>>()
    };
    let mut words = Table::new([
        "run",
        "workload",
        "cell",
        "arm",
        "write, most",
        "at the end",
        "flush, most",
        "at the end",
        "replay, most",
        "at the end",
        "validity",
    ]);
    for run in with_replicas(data) {
        let head =
            [number(run), run.workload.clone().into(), levels(&Cell::of(run)).into(), run.arm.clone().into()];
        words.push(head.into_iter().chain(shown(run)).chain([validity(data, run).into()]));
    }
    vec![Block::text(how), words.into()]
}

/// The lag of one run as lines: `replay lag: at most 57.3 kB, 17.4 ms; at the end 0 bytes, 0.25 ms`.
#[must_use]
pub fn lag_words(run: &Run) -> Vec<String> {
    let line = |(step, [max_bytes, end_bytes, max_ms, end_ms]): &(&str, [Figure; 4])| {
        let size = |of: Figure| run.figures.get(of).map(|size| bytes(size as u64));
        let time = |of: Figure| {
            let ms = run.figures.get(of);
            ms.map_or_else(|| "time not known".to_owned(), |ms| latency_us(ms * 1e3))
        };
        let (most, end) = (size(*max_bytes)?, size(*end_bytes)?);
        let (most_ms, end_ms) = (time(*max_ms), time(*end_ms));
        Some(format!("{step} lag: at most {most}, {most_ms}; at the end {end}, {end_ms}"))
    };
    STEPS.iter().filter_map(line).collect()
}

fn with_replicas(data: &ReportData) -> impl Iterator<Item = &Run> {
    let has = |run: &&Run| run.events.iter().any(|event| event.kind == RunEvent::REPLICA);
    data.runs.iter().filter(has)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use spec::{RunKey, RunKind};

    use super::*;

    #[test]
    fn lag_is_told_with_its_greatest_and_its_last_value() {
        let key = RunKey { workload: "w".into(), factors: BTreeMap::new(), arm: None, round: 1 };
        let mut run = Run::new(RunKind::Client, key);
        assert!(lag_words(&run).is_empty());
        run.figures.set(figures::REPLAY_LAG_MAX_BYTES, 58_664.0);
        run.figures.set(figures::REPLAY_LAG_END_BYTES, 0.0);
        run.figures.set(figures::REPLAY_LAG_END_MS, 0.25);
        let wanted = "replay lag: at most 57.3 kB, time not known; at the end 0 bytes, 250 µs";
        assert_eq!(lag_words(&run), [wanted]);
    }
}
