//! Per-transaction logs of pgbench (`pgbench -l`): all threads' files of one run, read in parallel.

mod clients;
pub(super) mod row;
mod rows;
mod spans;
mod tally;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use spec::{Counts, Error, SeriesPoint, count};

pub(super) use tally::{Tally, stored};

use self::clients::SeenClients;
use self::row::{LogRow, LoggedOutcome};
use self::rows::Rows;
use self::spans::Spans;
use super::{Hints, ImportProgress};
use crate::import::error::of_file;
use crate::spool::Spooled;

/// Meaning of the columns after the sixth (0 or 1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) lag: Option<usize>,
    pub(super) retries: Option<usize>,
}

#[derive(Debug)]
pub(super) struct TransactionLog {
    pub(super) scripts: BTreeMap<u16, Tally>,
    /// Per second and script, script being the position in `scripts`.
    pub(super) series: Vec<SeriesPoint>,
    pub(super) seconds: Vec<Spooled>,
    /// First intended start and last end, µs since 1970.
    pub(super) time_us: (i64, i64),
    pub(super) clients: u32,
    pub(super) threads: u32,
    /// Whether transactions were on a schedule (`-R`).
    pub(super) throttled: bool,
    /// Share of the transactions that was logged, 0..=1.
    pub(super) share: f64,
    pub(super) sha256: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl TransactionLog {
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.scripts.values().for_each(|tally| counts.add(&tally.counts));
        counts
    }
}

/// Reads all files of one run.
///
/// # Errors
/// The first invalid line, with its place; missing rows without a sampling option.
pub(super) fn read<R: Read>(
    files: Vec<(PathBuf, R)>,
    hints: &Hints,
    progress: &mut ImportProgress<'_>,
) -> Result<TransactionLog, Error> {
    let mut files =
        files.into_iter().map(|(file, input)| Rows::open(file, input)).collect::<Result<Vec<_>, Error>>()?;
    let columns = columns(&files, hints)?;
    let Some(origin) = files.iter().filter_map(|file| file.current.as_ref()).map(start_us).min() else {
        let file = files.first().map(|file| file.file.clone()).unwrap_or_default();
        return Err(of_file(&file, "no transaction in it"));
    };
    let mut gathered = Gathered {
        columns,
        limit_us: hints.latency_limit_ms.map(|ms| ms * 1000.0),
        scripts: BTreeMap::new(),
        spans: Spans::new(origin),
        clients: SeenClients::default(),
        time_us: (i64::MAX, i64::MIN),
        rows: 0,
        set_back: 0,
    };
    // All files up to the end of the second of the earliest one, then the next second.
    while let Some(earliest) = files.iter().filter_map(|file| Some(file.current.as_ref()?.end_us)).min() {
        let until = gathered.spans.end_of(earliest);
        for file in &mut files {
            while let Some(row) = file.current.filter(|row| row.end_us < until) {
                gathered.add(&row);
                file.advance()?;
            }
        }
        progress.show(gathered.rows, files.iter().map(Rows::bytes).sum());
    }
    gathered.finish(&files, hints)
}

/// Start of a transaction's time: its intended start.
fn start_us(row: &LogRow) -> i64 {
    match row.outcome {
        LoggedOutcome::Done(us) => row.end_us.saturating_sub(i64::try_from(us).unwrap_or(i64::MAX)),
        _ => row.end_us,
    }
}

/// Meaning of the columns after the sixth. A single one is lag (`-R`) or retries (`--max-tries`). Without
/// options the values decide: most transactions need no retry, while a lag of 0 µs is rare.
fn columns<R: Read>(files: &[Rows<R>], hints: &Hints) -> Result<Columns, Error> {
    let mut seen = files.iter().filter_map(|file| Some((file.columns()?, &file.file)));
    let Some((count, first)) = seen.next() else { return Ok(Columns::default()) };
    if let Some((other, file)) = seen.find(|(other, _)| *other != count) {
        let what = format!(
            "{} columns, where {} has {}: not of the same run",
            other + 6,
            first.display(),
            count + 6
        );
        return Err(of_file(file, what));
    }
    let lag = Columns { lag: Some(0), retries: None };
    let retries = Columns { lag: None, retries: Some(0) };
    Ok(match count {
        0 => Columns::default(),
        1 if hints.throttled == Some(true) => lag,
        1 if hints.throttled == Some(false) || hints.retries == Some(true) => retries,
        1 => {
            let values: Vec<i64> = files.iter().flat_map(Rows::first).map(|row| row.more[0]).collect();
            let zeros = values.iter().filter(|value| **value == 0).count();
            if zeros * 2 >= values.len() { retries } else { lag }
        }
        _ => Columns { lag: Some(0), retries: Some(1) },
    })
}

struct Gathered {
    columns: Columns,
    limit_us: Option<f64>,
    scripts: BTreeMap<u16, Tally>,
    spans: Spans,
    clients: SeenClients,
    time_us: (i64, i64),
    rows: u64,
    set_back: u64,
}

impl Gathered {
    fn add(&mut self, row: &LogRow) {
        self.rows += 1;
        self.set_back += u64::from(row.clock_set_back);
        self.clients.add(row.client, row.number);
        self.time_us = (self.time_us.0.min(start_us(row)), self.time_us.1.max(row.end_us));
        let tally = self.scripts.entry(row.script).or_insert_with(|| Tally::new(self.columns));
        tally.add(row, self.columns, self.limit_us);
        self.spans.add(row, self.columns, self.limit_us);
    }

    fn finish<R: Read>(self, files: &[Rows<R>], hints: &Hints) -> Result<TransactionLog, Error> {
        let share = self.share(files, hints)?;
        let mut notes = Vec::new();
        if share < 1.0 {
            notes.push(format!(
                "a sample of about {:.3} % of the transactions was logged: counts are scaled up from it, percentiles \
                 are the sample's",
                share * 100.0
            ));
        }
        if self.set_back > 0 {
            notes.push(format!(
                "{} with a time below 0 (the clock was set back): 0 µs in all figures",
                count(self.set_back, "transaction")
            ));
        }
        for file in files.iter().filter(|file| file.cut_off) {
            notes.push(format!("{}: the last line is not whole, and was left out", file.file.display()));
        }
        let numbers: Vec<u16> = self.scripts.keys().copied().collect();
        let (series, seconds) = self.spans.finish(self.time_us.1, &numbers, share);
        Ok(TransactionLog {
            series,
            seconds,
            scripts: self.scripts,
            time_us: self.time_us,
            clients: self.clients.count(),
            threads: u32::try_from(files.len()).unwrap_or(u32::MAX),
            throttled: self.columns.lag.is_some(),
            share,
            sha256: files.iter().map(Rows::sha256).collect(),
            notes,
        })
    }

    /// Share of the transactions that was logged, from the options; a log with unexplained gaps is
    /// rejected.
    fn share<R: Read>(&self, files: &[Rows<R>], hints: &Hints) -> Result<f64, Error> {
        match (hints.sampling_rate, self.clients.missing()) {
            (Some(share), _) => Ok(share),
            (None, None) => Ok(1.0),
            (None, Some(numbered)) => {
                let file = files.first().map(|file| file.file.clone()).unwrap_or_default();
                let what =
                    format!("holds {} of the {numbered} transactions that its clients counted", self.rows);
                let share = self.rows as f64 / numbered as f64;
                Err(of_file(&file, what).with_hint(format!(
                    "if pgbench ran with --sampling-rate, say so (--sampling-rate {share:.2}?); \
                     --sampling-rate 1 takes the lines for all there is"
                )))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(pick: u8, at: usize) -> String {
        match (pick % 8, at) {
            (0, _) => "0".to_owned(),
            (1, _) => "999999999999999999".to_owned(),
            (2, 2) => "-999999999999999999".to_owned(),
            (3, 2) => "skipped".to_owned(),
            (4, 4) => "253402300799".to_owned(),
            (5, 0 | 3) => "127".to_owned(),
            (_, 4) => (1_700_000_000 + u64::from(pick)).to_string(),
            _ => pick.to_string(),
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        /// Reading any rows never panics, and loses no transaction.
        #[test]
        fn no_rows_make_it_panic(rows in proptest::collection::vec(proptest::array::uniform8(0u8..=255), 1..40)) {
            let line = |row: &[u8; 8]| -> Option<String> {
                let fields: Vec<String> = row.iter().enumerate().map(|(at, pick)| field(*pick, at)).collect();
                let line = fields.join(" ");
                LogRow::parse(line.as_bytes()).is_ok().then_some(line)
            };
            let lines: Vec<String> = rows.iter().filter_map(line).collect();
            let files = [0, 1].map(|half| {
                let text: String = lines.iter().skip(half).step_by(2).map(|line| format!("{line}\n")).collect();
                (PathBuf::from(half.to_string()), std::io::Cursor::new(text))
            });
            let hints = Hints { sampling_rate: Some(1.0), latency_limit_ms: Some(1.0), ..Hints::default() };
            if let Ok(log) = read(files.into(), &hints, &mut ImportProgress::new(&mut |_, _| {})) {
                let counts = log.counts();
                proptest::prop_assert_eq!(counts.processed() + counts.failed + counts.skipped, lines.len() as u64);
                let in_series: u64 = log.series.iter().map(|p| p.ok + p.late + p.failed + p.skipped).sum();
                proptest::prop_assert_eq!(in_series, lines.len() as u64);
                proptest::prop_assert!(log.series.len() <= 601 * log.scripts.len());
            }
        }
    }
}
