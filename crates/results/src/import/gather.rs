//! All files of one command: reports and logs read, and matched if they belong to the same run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use spec::{Class, Error};

use super::aggregate::{self, AggregateLog};
use super::found::{self, FoundRun, Parts};
use super::json;
use super::lines::Lines;
use super::log::{self, TransactionLog};
use super::matching::{Distances, Log, aggregates_misfit, distance, misfit, nearest, undecided};
use super::osm2pgsql;
use super::report;
use super::report::model::ParsedReport;
use super::sniff::FileKind;
use super::source::{ImportFile, Input};
use super::{Hints, ImportOptions, ImportProgress, names, numbers};
use crate::import::error::of_file;

/// The runs in all files of one command.
#[derive(Debug)]
pub struct FoundRuns {
    /// Runs: first the ones with a report in the order of the reports, then logs alone by time, pgdyno's
    /// JSON, loads.
    pub runs: Vec<FoundRun>,
    pub rows: u64,
    /// Aggregated logs of other runs than those reported, with the reasons; they are left out.
    pub refused: Vec<String>,
}

struct Reported {
    file: PathBuf,
    among: usize,
    changed_us: i64,
    report: ParsedReport,
}

/// Reads files: reports, logs, or both. `show` receives lines and bytes of logs read so far.
///
/// # Errors
/// The first thing that cannot be parsed, with its place.
pub fn read(
    files: &[PathBuf],
    options: &ImportOptions,
    show: &mut dyn FnMut(u64, u64),
) -> Result<FoundRuns, Error> {
    let mut sources = once_each(files).map(ImportFile::look).collect::<Result<Vec<_>, _>>()?;
    let mut progress = ImportProgress::new(show);
    let (reports, mut loads) = reports(&mut sources, &mut progress)?;
    let json = json(&mut sources)?;
    loads.extend(self::loads(&mut sources, &mut progress)?);
    let numbers = numbers(&mut sources, &mut progress)?;
    let mut gathered = Gathered {
        options,
        matched: reports.iter().map(|_| false).collect(),
        reports,
        aggregates: Vec::new(),
        refused: Vec::new(),
        with: Vec::new(),
    };
    for run in log_files(&sources) {
        gathered.log(&run, &mut sources, &mut progress)?;
        progress.done();
    }
    gathered.aggregates()?;
    let (rows, refused) = (progress.rows, std::mem::take(&mut gathered.refused));
    let runs = without_copies(gathered.finish().into_iter().chain(json).chain(loads).chain(numbers));
    Ok(FoundRuns { runs, rows, refused })
}

/// Files without duplicates: overlapping patterns are a common mistake.
fn once_each(files: &[PathBuf]) -> impl Iterator<Item = &Path> {
    let mut seen = BTreeSet::new();
    files
        .iter()
        .map(PathBuf::as_path)
        .filter(move |file| seen.insert(std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf())))
}

/// Reports; and the loads in files whose beginning does not show that they are logs of osm2pgsql.
fn reports(
    sources: &mut [ImportFile],
    progress: &mut ImportProgress<'_>,
) -> Result<(Vec<Reported>, Vec<FoundRun>), Error> {
    let (mut found, mut loads) = (Vec::new(), Vec::new());
    for source in sources.iter_mut().filter(|source| source.kind == FileKind::Report) {
        let Some(input) = source.open()? else { continue };
        let all = match report::read(&source.path, &mut Lines::new(input)) {
            Ok(all) => all,
            Err(none) => {
                let Some(again) = source.open()? else { return Err(none) };
                let read = osm2pgsql::read(&source.path, again, source.changed_us, progress);
                loads.extend(read.map_err(|_| none)?);
                continue;
            }
        };
        let among = all.len();
        found.extend(all.into_iter().map(|report| Reported {
            file: source.path.clone(),
            among,
            changed_us: source.changed_us,
            report,
        }));
    }
    Ok((found, loads))
}

fn numbers(sources: &mut [ImportFile], progress: &mut ImportProgress<'_>) -> Result<Vec<FoundRun>, Error> {
    let mut found = Vec::new();
    for source in sources.iter_mut() {
        let FileKind::Numbers(tool) = source.kind else { continue };
        let Some(input) = source.open()? else { continue };
        found.extend(numbers::read(tool, &source.path, input, source.changed_us, progress)?);
    }
    Ok(found)
}

fn json(sources: &mut [ImportFile]) -> Result<Vec<FoundRun>, Error> {
    let mut found = Vec::new();
    for source in sources.iter_mut().filter(|source| source.kind == FileKind::Json) {
        let Some(input) = source.open()? else { continue };
        found.extend(json::read(&source.path, input, source.changed_us)?);
    }
    Ok(found)
}

fn loads(sources: &mut [ImportFile], progress: &mut ImportProgress<'_>) -> Result<Vec<FoundRun>, Error> {
    let mut found = Vec::new();
    for source in sources.iter_mut().filter(|source| source.kind == FileKind::OsmLoad) {
        let Some(input) = source.open()? else { continue };
        found.extend(osm2pgsql::read(&source.path, input, source.changed_us, progress)?);
    }
    Ok(found)
}

fn log_files(sources: &[ImportFile]) -> Vec<Vec<PathBuf>> {
    let logs: Vec<PathBuf> = sources
        .iter()
        .filter(|source| {
            matches!(source.kind, FileKind::Transactions | FileKind::Aggregates | FileKind::Empty)
        })
        .map(|source| source.path.clone())
        .collect();
    names::by_run(&logs, Path::is_file)
}

struct Gathered<'a> {
    options: &'a ImportOptions,
    reports: Vec<Reported>,
    matched: Vec<bool>,
    /// Aggregated logs with their files: which belongs to which report is known when all are read.
    aggregates: Vec<(Vec<PathBuf>, AggregateLog)>,
    refused: Vec<String>,
    /// Runs, with the number of their report.
    with: Vec<(Option<usize>, FoundRun)>,
}

impl Gathered<'_> {
    fn log(
        &mut self,
        files: &[PathBuf],
        sources: &mut Vec<ImportFile>,
        progress: &mut ImportProgress<'_>,
    ) -> Result<(), Error> {
        // First read with the options of the next report without a log; if it matches another report, read
        // again with that one's.
        let likely = self.matched.iter().position(|matched| !matched);
        let hints = self.options.hints(likely.map(|at| &self.reports[at].report));
        let mut log = match read_log(files, sources, &hints, progress)? {
            Log::Transactions(log) => log,
            Log::Aggregates(log) => {
                self.aggregates.push((files.to_vec(), log));
                return Ok(());
            }
        };
        let mut chosen = None;
        if likely.is_some() {
            let fits = |at: &usize| !self.matched[*at] && misfit(&self.reports[*at].report, &log).is_none();
            // The nearest one, since samples fit several reports.
            let got = log.counts().scaled(log.share).processed();
            let apart = |at: &usize| self.reports[*at].report.succeeded().abs_diff(got);
            chosen = (0..self.reports.len()).filter(fits).min_by_key(apart);
            let Some(at) = chosen else { return Err(self.fits_none(files, likely, &log)) };
            let right = &self.reports[at].report;
            let its_hints = self.options.hints(Some(right));
            if its_hints != hints {
                log = match read_log(files, sources, &its_hints, progress)? {
                    Log::Transactions(log) => log,
                    Log::Aggregates(_) => log,
                };
            }
        }
        self.push(chosen, files, Log::Transactions(log));
        Ok(())
    }

    fn push(&mut self, chosen: Option<usize>, files: &[PathBuf], log: Log) {
        chosen.into_iter().for_each(|at| self.matched[at] = true);
        let reported = chosen.map(|at| &self.reports[at]);
        let parts = Parts {
            report: reported.map(|reported| &reported.report),
            report_place: reported.map(Reported::place),
            changed_us: 0,
            log: Some(log),
            files,
            options: self.options,
        };
        self.with.push((chosen, found::run(parts)));
    }

    /// Gives each report the aggregated log that is nearest to it. With reports, the other logs are refused; if
    /// none is of a report, or nothing decides which is, that is an error.
    fn aggregates(&mut self) -> Result<(), Error> {
        let mut logs: Vec<_> = std::mem::take(&mut self.aggregates).into_iter().map(Some).collect();
        let mut distances = Distances::new();
        for (at, reported) in self.reports.iter().enumerate().filter(|(at, _)| !self.matched[*at]) {
            for (number, (_, log)) in logs.iter().flatten().enumerate() {
                let fits = aggregates_misfit(&reported.report, log).is_none();
                distances.extend(fits.then(|| ((at, number), distance(&reported.report, log))));
            }
        }
        let chosen = nearest(&distances);
        if let Some((reports, numbers)) = undecided(&chosen, &distances) {
            let places: Vec<String> = reports.iter().map(|at| self.reports[*at].place()).collect();
            let files = numbers.iter().filter_map(|number| logs[*number].as_ref()?.0.first());
            let files: Vec<String> = files.map(|file| file.display().to_string()).collect();
            let what = format!(
                "{} may belong to {}: transactions, time and latency do not decide it",
                files.join(" and "),
                places.join(" and ")
            );
            let hint = "import each report with its log in a separate command, with the same --name";
            return Err(Error::new(Class::BadInput, what).with_hint(hint));
        }
        let found_one = !chosen.is_empty();
        for (at, number) in chosen {
            let Some((files, log)) = logs[number].take() else { continue };
            self.push(Some(at), &files, Log::Aggregates(log));
        }
        for (files, log) in logs.into_iter().flatten() {
            match self.refusal(&files, &log) {
                Some(why) => self.refused.push(why),
                None => self.push(None, &files, Log::Aggregates(log)),
            }
        }
        if self.refused.is_empty() || found_one {
            return Ok(());
        }
        let hint = "import reports and logs of different runs one by one";
        Err(Error::new(Class::BadInput, self.refused.join("\n")).with_hint(hint))
    }

    /// Why an aggregated log belongs to none of the reports; `None` if there are none.
    fn refusal(&self, files: &[PathBuf], log: &AggregateLog) -> Option<String> {
        let apart = |reported: &&Reported| reported.report.succeeded().abs_diff(log.total().counts.ok);
        let reported = self.reports.iter().min_by_key(apart)?;
        let misfit = aggregates_misfit(&reported.report, log);
        let why = misfit.unwrap_or_else(|| "another log is nearer to it".to_owned());
        let file = files.first().map(|file| file.display().to_string()).unwrap_or_default();
        Some(format!("{file}: not the log of {}: {why}", reported.place()))
    }

    fn fits_none(&self, files: &[PathBuf], likely: Option<usize>, log: &TransactionLog) -> Error {
        let file = files.first().cloned().unwrap_or_default();
        let why = likely
            .and_then(|at| Some((self.reports[at].place(), misfit(&self.reports[at].report, log)?)))
            .map(|(place, why)| format!("not the log of {place}: {why}"))
            .unwrap_or_default();
        of_file(&file, why).with_hint("import reports and logs of different runs one by one")
    }

    fn finish(mut self) -> Vec<FoundRun> {
        for (at, reported) in self.reports.iter().enumerate().filter(|(at, _)| !self.matched[*at]) {
            let parts = Parts {
                report: Some(&reported.report),
                report_place: Some(reported.place()),
                changed_us: reported.changed_us,
                log: None,
                files: &[],
                options: self.options,
            };
            self.with.push((Some(at), found::run(parts)));
        }
        // Logs alone come last, by time.
        self.with.sort_by(|(a, run), (b, other)| {
            let place = |report: &Option<usize>| report.unwrap_or(usize::MAX);
            place(a).cmp(&place(b)).then_with(|| match (a, b) {
                (None, None) => run.run().started_at.cmp(&other.run().started_at),
                _ => std::cmp::Ordering::Equal,
            })
        });
        self.with.into_iter().map(|(_, run)| run).collect()
    }
}

fn without_copies(runs: impl Iterator<Item = FoundRun>) -> Vec<FoundRun> {
    let mut kept: Vec<FoundRun> = Vec::new();
    for run in runs {
        match kept.iter_mut().find(|other| other.hashes.iter().any(|hash| run.hashes.contains(hash))) {
            Some(other) => other.notes.push(format!("{} is the same once more, and left out", run.source)),
            None => kept.push(run),
        }
    }
    kept
}

impl Reported {
    /// `bench.txt`, or `bench.txt lines 3 to 19` if it holds several.
    fn place(&self) -> String {
        let (first, last) = self.report.lines;
        match self.among {
            1 => self.file.display().to_string(),
            _ => format!("{} lines {first} to {last}", self.file.display()),
        }
    }
}

fn read_log(
    files: &[PathBuf],
    sources: &mut Vec<ImportFile>,
    hints: &Hints,
    progress: &mut ImportProgress<'_>,
) -> Result<Log, Error> {
    let mut inputs: Vec<(PathBuf, Input)> = Vec::with_capacity(files.len());
    let mut kinds = Vec::with_capacity(files.len());
    for file in files {
        let at = match sources.iter().position(|source| source.path == *file) {
            Some(at) => at,
            None => {
                sources.push(ImportFile::look(file)?);
                sources.len() - 1
            }
        };
        let source = &mut sources[at];
        let input = source.open()?.ok_or_else(|| {
            of_file(file, "a pipe, which cannot be read twice").with_hint("save it as a file first")
        })?;
        kinds.push((source.kind, file));
        inputs.push((file.clone(), input));
    }
    match one_kind(&kinds)? {
        FileKind::Aggregates => aggregate::read(inputs, hints, progress).map(Log::Aggregates),
        _ => log::read(inputs, hints, progress).map(Log::Transactions),
    }
}

/// The kind of all files of a run; files of idle threads are empty.
fn one_kind(kinds: &[(FileKind, &PathBuf)]) -> Result<FileKind, Error> {
    let mut written = kinds.iter().filter(|(kind, _)| *kind != FileKind::Empty);
    let Some((kind, first)) = written.next() else {
        let file = kinds.first().map(|(_, file)| (*file).clone()).unwrap_or_default();
        return Err(of_file(&file, "empty"));
    };
    match written.find(|(other, _)| other != kind) {
        Some((_, file)) => {
            let what = format!("a log of another kind than {}: not of the same run", first.display());
            Err(of_file(file, what))
        }
        None => Ok(*kind),
    }
}
