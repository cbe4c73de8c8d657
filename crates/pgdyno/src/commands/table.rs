//! `pgdyno table`: stored results as rows and columns.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use protocol::nearest;
use report::{Block, ReportData, tables};
use results::cross::{CrossRequest, Statistic, UnknownName};
use results::data::{UNREADABLE_PLAN, Wanted};
use results::{Distributions, RunParts, Store, Table};
use spec::{Validity, written};

use super::{chosen, load, print, print_blocks};
use crate::exit::{CommandFailure, ExitResult, INPUT_OUTPUT, INTERNAL, SAME_OR_BETTER, USAGE};
use crate::options::{OutputFormat, Selection};
use crate::print::{talk, warning};

/// What `pgdyno table` prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum TableKind {
    /// One line per run, in the order they ran
    Runs,
    /// One line per cell and arm: mean, maximum, percentiles
    #[default]
    Cells,
    /// One line per cell, arm and script, where a workload has several scripts
    Scripts,
    /// One line per cell, arm, layer and zoom of tiles: shares of tiles and time, times, content, change
    Tiles,
    /// Single tiles with requests, time and size; in format text the slowest ones
    Tile,
    /// Clients by arms, per workload, with percent change
    Crosstab,
    /// Any factor by any factor, with any figure and statistic: --rows, --columns, --value, --statistic, --change
    Cross,
    /// Limits that were searched, with the term that broke first above them
    Limits,
    /// Steps of ladders of rates or clients: where quality breaks
    Ladder,
    /// Users: sessions and transactions per hour and day, session times, active users, think times
    Users,
    /// Throughput by clients: the universal scalability law with its intervals
    Scaling,
    /// Jobs: time, stages, CPU, WAL, disk and sizes, with intervals
    Jobs,
    /// Parts of the time of explained statements (planning, index scans, joins, …) per cell and arm
    Plans,
    /// Lag of replicas in each run: write, flush and replay, maximum and at the end
    Lag,
    /// Phases of loads
    Phases,
    /// Sizes of tables and indexes
    Sizes,
    /// Effect of each setting, alone and together with the others, where an arm is taken apart
    Settings,
    /// Other figures of each arm, the largest difference first
    Differences,
    /// All figures and counters of each run, one per line, with unit and better direction
    Figures,
    /// Changes with the age of sessions: each tested figure at the beginning and at the end of a session
    Aging,
    /// Decisions about the experiment and their reasons: copies, slices, placement, driver, seed, omissions
    Decisions,
    /// Differences of the arms' answers from the base: rows, and relative errors of numbers
    Answers,
    /// Costs of machines per month and per million transactions, if the experiment has a price list
    Costs,
    /// The experiments in the file
    Experiments,
}

const NO_TILE: &str = "no tiles: no workload asked for any (tiles = …), no round has a valid run of every arm, or an earlier pgdyno measured it, \
    which kept no single ones";

impl TableKind {
    /// What the table is made of. A file may have thousands of runs, so the usual tables read nothing else.
    fn wanted(self) -> Wanted {
        let of_runs = |distributions| Wanted::Runs(RunParts { distributions, ..RunParts::NONE });
        match self {
            Self::Figures => of_runs(Distributions::None),
            Self::Runs | Self::Scripts => of_runs(Distributions::Responses),
            Self::Cells | Self::Crosstab | Self::Cross => of_runs(Distributions::OfFigures),
            _ => Wanted::FIGURES,
        }
    }

    fn why_empty(self, data: &ReportData) -> Option<&'static str> {
        match self {
            Self::Plans => Some(
                "no plans: nothing was explained (pgbench scripts and tiles of experiments are, after the first round's runs)",
            ),
            Self::Settings => Some("no settings: no arm was taken apart (compare.take_apart = \"ARM\")"),
            Self::Answers if data.has_same_answers() => {
                Some("no differences: all answers that were compared are the same")
            }
            Self::Answers => {
                Some("no answers: they are compared where arms ask by other texts, or other data")
            }
            Self::Jobs | Self::Phases => {
                Some("no jobs: nothing was loaded or prepared now (what was there already took no time)")
            }
            Self::Lag => {
                Some("no lag: no run had replicas (--replicas 1, or replicas = 1 in [target] of a file)")
            }
            Self::Sizes => Some("no sizes: no run recorded tables"),
            Self::Aging => Some(
                "nothing was tested for the age of sessions: that takes two arms, closed load and four slices or seconds a round",
            ),
            Self::Differences => Some("no differences: no other figures, or fewer than two arms"),
            Self::Ladder => Some("no ladder: nothing was asked at several rates or numbers of clients"),
            Self::Scaling => Some("no scaling: it takes three numbers of clients at least"),
            Self::Users => Some("no users: no load was of users (--users, load.users)"),
            Self::Scripts => Some("no scripts: no workload has several"),
            Self::Tiles => Some("no tiles: no workload asked for any (tiles = …)"),
            Self::Tile => Some(NO_TILE),
            Self::Decisions if data.experiment.plan.is_unreadable() => None,
            Self::Decisions => Some("no decisions: it is a single run, or was imported"),
            Self::Costs => Some(
                "no costs: the experiment has no price list ([prices] in its file), or no rate was measured",
            ),
            Self::Runs
            | Self::Cells
            | Self::Crosstab
            | Self::Cross
            | Self::Limits
            | Self::Figures
            | Self::Experiments => None,
        }
    }
}

/// What `pgdyno table cross` shows.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of cross")]
struct CrossArgs {
    /// Factor down: a factor of the experiment, workload, round or set [default: the compared factor, else workload]
    #[arg(long, value_name = "FACTOR")]
    rows: Option<String>,
    /// Factor across [default: clients, if it varies]
    #[arg(long, value_name = "FACTOR")]
    columns: Option<String>,
    /// Figure: tps, time (of jobs), a percentile of response times such as p99, or a name from table figures [default:
    /// tps]
    #[arg(long, value_name = "FIGURE")]
    value: Option<String>,
    /// Over the runs of a cell: mean, median, min, max, share (of the column, in percent), count, or a percentile such
    /// as p90 [default: mean]
    #[arg(long, value_name = "STATISTIC", value_parser = Statistic::read)]
    statistic: Option<Statistic>,
    /// Show the change in percent from this row, by column, with its median; or from this column
    #[arg(long, value_name = "LEVEL")]
    change: Option<String>,
}

impl CrossArgs {
    fn is_given(&self) -> bool {
        let texts = [&self.rows, &self.columns, &self.value, &self.change];
        texts.iter().any(|text| text.is_some()) || self.statistic.is_some()
    }

    fn request(&self, data: &ReportData) -> CrossRequest {
        let compared = data.experiment.compare_factor.clone();
        let rows = self.rows.clone().or(compared).unwrap_or_else(|| "workload".to_owned());
        let clients: BTreeSet<u32> = data.measured_runs().map(|run| run.clients).collect();
        let usual = (clients.len() > 1 && rows != "clients").then(|| "clients".to_owned());
        CrossRequest {
            columns: self.columns.clone().or(usual),
            value: self.value.clone().unwrap_or_else(|| "tps".to_owned()),
            statistic: self.statistic.unwrap_or(Statistic::Mean),
            change: self.change.clone(),
            rows,
        }
    }
}

fn crossed(args: &CrossArgs, data: &ReportData) -> anyhow::Result<Table> {
    tables::cross(data, &args.request(data)).map_err(|UnknownName { what, name, known }| {
        let known = known.iter().map(String::as_str);
        let near = nearest(&name, known.clone())
            .filter(|_| !name.is_empty())
            .map(|near| format!("did you mean {near}? "));
        let all = known.collect::<Vec<_>>().join(", ");
        let hint = format!("{}known here: {all}", near.unwrap_or_default());
        CommandFailure::with_code(USAGE, what, Some(hint))
    })
}

/// `pgdyno table`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which table
    #[arg(value_enum, default_value_t)]
    kind: TableKind,
    #[command(flatten)]
    cross: CrossArgs,
    #[command(flatten)]
    selection: Selection,
    /// How the table is written
    #[arg(long, value_enum, default_value_t = TableFormat::Text(OutputFormat::Text))]
    format: TableFormat,
    /// File to write, with --format parquet, benchstat or bencher [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableFormat {
    Text(OutputFormat),
    File(FileFormat),
}

/// A file of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FileFormat {
    /// Apache Parquet, for DuckDB and pandas: typed columns
    Parquet,
    /// Of runs: lines of Go's benchmarks, for benchstat -col /arm
    Benchstat,
    /// Of cells: JSON for bencher.dev
    Bencher,
}

impl ValueEnum for TableFormat {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<TableFormat>> = LazyLock::new(|| {
            let texts = OutputFormat::value_variants().iter().copied().map(TableFormat::Text);
            texts.chain(FileFormat::value_variants().iter().copied().map(TableFormat::File)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Text(format) => format.to_possible_value(),
            Self::File(format) => format.to_possible_value(),
        }
    }
}

pub(crate) fn run(args: &Args) -> ExitResult {
    if args.cross.is_given() && args.kind != TableKind::Cross {
        let what =
            "--rows, --columns, --value, --statistic and --change are for one kind of table".to_owned();
        return Err(CommandFailure::with_code(USAGE, what, Some("pgdyno table cross --rows …".to_owned())));
    }
    let format = match args.format {
        TableFormat::Text(format) => format,
        TableFormat::File(format) => return file(args, format),
    };
    if args.output.is_some() {
        let what = "-o is for --format parquet, benchstat and bencher".to_owned();
        return Err(CommandFailure::with_code(USAGE, what, Some("pgdyno table … > FILE".to_owned())));
    }
    if args.kind == TableKind::Experiments {
        print(&experiments(args)?, format)?;
        return Ok(SAME_OR_BETTER);
    }
    if args.kind == TableKind::Tile {
        single_tiles(args, format)?;
        return Ok(SAME_OR_BETTER);
    }
    let data = load(&args.selection, args.kind.wanted())?;
    if data.experiment.plan.is_unreadable() {
        warning(UNREADABLE_PLAN);
    }
    if format.is_for_people() && in_words(args.kind, &data, format)? {
        return Ok(SAME_OR_BETTER);
    }
    let table = match args.kind {
        TableKind::Runs => tables::runs(&data),
        TableKind::Figures => tables::figures(&data),
        TableKind::Tiles if format.is_for_people() => tables::tiles_in_words(&data).into(),
        TableKind::Cross => {
            let crossed = crossed(&args.cross, &data)?;
            if format == OutputFormat::Text {
                talk(&crossed.caption);
            }
            crossed.into()
        }
        kind => table(kind, &data).into(),
    };
    let is_empty = match args.kind {
        TableKind::Runs | TableKind::Figures => data.runs.is_empty(),
        _ => table.is_empty(),
    };
    print(table, format)?;
    if let Some(why) = args.kind.why_empty(&data).filter(|_| is_empty) {
        talk(why);
    }
    let has_percentiles =
        matches!(args.kind, TableKind::Runs | TableKind::Cells | TableKind::Scripts | TableKind::Tiles);
    let below = tables::below_percentiles(&data).filter(|_| has_percentiles && !is_empty);
    let void = tables::below_tiles(&data).into_iter().filter(|_| args.kind == TableKind::Tiles);
    if format.is_for_people() {
        print_blocks(&below.into_iter().chain(void).map(Block::remark).collect::<Vec<_>>(), format)?;
    }
    Ok(SAME_OR_BETTER)
}

/// Writes a file of another program.
fn file(args: &Args, format: FileFormat) -> ExitResult {
    let only = |kind: TableKind, name: &str| match args.kind == kind {
        true => Ok(()),
        false => {
            let what = format!("--format {name} is of one kind of table");
            let hint = format!("pgdyno table {0} --format {name}", kind_name(kind));
            Err(CommandFailure::with_code(USAGE, what, Some(hint)))
        }
    };
    let bytes = match format {
        FileFormat::Benchstat => {
            only(TableKind::Runs, "benchstat")?;
            report::benchstat(&benchmarks(args)?).into_bytes()
        }
        FileFormat::Bencher => {
            only(TableKind::Cells, "bencher")?;
            report::bencher(&benchmarks(args)?).into_bytes()
        }
        FileFormat::Parquet => {
            let table = whole(args)?;
            report::parquet(&table).map_err(|error| {
                CommandFailure::with_code(INTERNAL, error.to_string(), Some("--format csv".to_owned()))
            })?
        }
    };
    match args.output.as_deref().filter(|output| output.as_os_str() != "-") {
        None if format == FileFormat::Parquet => crate::print::bytes(&bytes)?,
        None => crate::print::data(&String::from_utf8_lossy(&bytes))?,
        Some(output) => {
            written::replace(output, &bytes).map_err(|error| {
                // The error names the file that is renamed when it is whole.
                let why = match error.kind() {
                    ErrorKind::NotFound => "there is no such folder".to_owned(),
                    _ => error.to_string(),
                };
                let what = format!("the table {} cannot be written: {why}", output.display());
                CommandFailure::with_code(INPUT_OUTPUT, what, Some("name another file with -o".to_owned()))
            })?;
            talk(&format!("table: {}", output.display()));
        }
    }
    Ok(SAME_OR_BETTER)
}

/// The experiment for a format that has no place for invalid runs.
fn benchmarks(args: &Args) -> anyhow::Result<ReportData> {
    let data = load(&args.selection, args.kind.wanted())?;
    let invalid = data.grid_runs().filter(|run| run.validity == Validity::Invalid).count();
    if invalid > 0 {
        let runs = spec::count(invalid as u64, "invalid run");
        warning(&format!("without {runs}; the reasons: pgdyno table runs"));
    }
    Ok(data)
}

fn kind_name(kind: TableKind) -> String {
    kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// A table as programs read it.
fn whole(args: &Args) -> anyhow::Result<Table> {
    match args.kind {
        TableKind::Experiments => experiments(args),
        TableKind::Tile => {
            let store = Store::open_read_only(&args.selection.results.path())?;
            let experiment = chosen(&store, args.selection.experiment.as_deref())?;
            Ok(tables::tile(&store.tiles(experiment)?))
        }
        kind => {
            let data = load(&args.selection, kind.wanted())?;
            if data.experiment.plan.is_unreadable() {
                warning(UNREADABLE_PLAN);
            }
            match kind {
                TableKind::Cross => crossed(&args.cross, &data),
                kind => Ok(table(kind, &data)),
            }
        }
    }
}

/// An experiment may have hundreds of thousands: people see the slowest.
fn single_tiles(args: &Args, format: OutputFormat) -> anyhow::Result<()> {
    let store = Store::open_read_only(&args.selection.results.path())?;
    let experiment = chosen(&store, args.selection.experiment.as_deref())?;
    if !format.is_for_people() {
        let tiles = store.tiles(experiment)?;
        if tiles.is_empty() {
            talk(NO_TILE);
        }
        return print(tables::tile(&tiles), format);
    }
    let counts = store.tile_counts(experiment)?;
    if counts.tiles == 0 {
        talk(NO_TILE);
    }
    let (table, more) = tables::slowest_tiles(store.slowest_tiles(experiment, tables::MOST_TILES)?, &counts);
    print(&table, format)?;
    let void = tables::below_tiles(&ReportData::load(&store, experiment, Wanted::FIGURES)?);
    print_blocks(&more.into_iter().chain(void).map(Block::remark).collect::<Vec<_>>(), format)
}

fn experiments(args: &Args) -> anyhow::Result<Table> {
    let store = Store::open_read_only(&args.selection.results.path())?;
    // Superseded runs were measured again, and count once.
    let list = "SELECT experiment_id AS id, name, question,
                       (SELECT count(*) FROM run r WHERE r.experiment_id = e.experiment_id AND r.set_aside IS NULL) AS runs,
                       base, substr(created_at, 1, 16) AS created_utc
                FROM v_experiment e ORDER BY experiment_id";
    Ok(store.query(list)?)
}

/// Prints the format for people if this table has a separate one; returns whether it did.
fn in_words(kind: TableKind, data: &ReportData, format: OutputFormat) -> anyhow::Result<bool> {
    let blocks = match kind {
        TableKind::Limits if tables::limits(data).is_some() => {
            let answer = report::Conclusion::of(data).text();
            crate::print::data(&format!("{answer}\nDetails:\n{}", report::summary::text(data)))?;
            return Ok(true);
        }
        TableKind::Scaling => tables::scalings_in_words(data),
        TableKind::Users => tables::users_in_words(data),
        TableKind::Ladder => tables::ladders_in_words(data, false),
        TableKind::Settings => tables::settings_in_words(data),
        TableKind::Jobs => tables::jobs_in_words(data),
        TableKind::Phases => tables::phases_in_words(data),
        TableKind::Aging => tables::aging_in_words(data),
        _ => return Ok(false),
    };
    print_blocks(&blocks, format)?;
    Ok(!blocks.is_empty())
}

fn table(kind: TableKind, data: &ReportData) -> Table {
    match kind {
        TableKind::Runs => tables::runs(data).table(),
        TableKind::Cells | TableKind::Cross | TableKind::Experiments | TableKind::Tile => tables::cells(data),
        TableKind::Scripts => tables::scripts(data),
        TableKind::Users => tables::users(data),
        TableKind::Tiles => tables::tiles(data),
        TableKind::Costs => tables::costs(data),
        TableKind::Crosstab => tables::crosstab(data),
        TableKind::Limits => tables::limits(data).unwrap_or_else(tables::no_limits),
        TableKind::Ladder => tables::ladder(data),
        TableKind::Scaling => tables::scaling(data),
        TableKind::Jobs => tables::jobs(data),
        TableKind::Plans => tables::plans(data),
        TableKind::Lag => tables::lag(data),
        TableKind::Phases => tables::phases(data),
        TableKind::Sizes => tables::sizes(data),
        TableKind::Settings => tables::settings(data),
        TableKind::Differences => tables::differences(data),
        TableKind::Figures => tables::figures(data).table(),
        TableKind::Aging => tables::aging(data),
        TableKind::Decisions => tables::decisions(data),
        TableKind::Answers => tables::answers(data),
    }
}

#[cfg(test)]
mod tests {
    use results::{ExperimentId, Finished, Spool};
    use serde_json::json;
    use spec::{
        Artifact, Phase, PhaseSource, Run, RunKey, RunKind, Sample, Scope, ScriptRecord, SeriesPoint,
    };
    use spec::{figures, users::SessionTimes};
    use stats::Histogram;

    use super::*;

    /// With something in every part of a run that is read or left out.
    fn run(arm: &str, round: u32) -> Run {
        let mut times = Histogram::new();
        (0..3_000).for_each(|at| times.record(100_000 + at * u64::from(round) * 97));
        let counts: figures::Counters =
            [(figures::DUE, 3_000), (figures::OK, 3_000), (figures::LATE, 0), (figures::FAILED, 0)].into();
        let script = |name: &str| ScriptRecord {
            name: name.to_owned(),
            text_hash: "ab".to_owned(),
            weight: 1,
            part: None,
            counts: counts.clone(),
            response: times.clone(),
            service: times.clone(),
        };
        let point = |start_s: i64| SeriesPoint {
            script: 0,
            start_us: start_s * 1_000_000,
            length_us: 1_000_000,
            ok: 1_500,
            late: 0,
            failed: 0,
            skipped: 0,
        };
        let factors =
            [("workload", "reads"), ("clients", "4")].map(|(name, level)| (name.into(), level.into()));
        let key =
            RunKey { workload: "reads".into(), factors: factors.into(), arm: Some(arm.to_owned()), round };
        Run {
            sequence: round,
            clients: 4,
            measured_s: 2.0,
            counts: counts.clone(),
            figures: [(figures::CLIENT_CPU_US_PER_TX, 7.5)].into(),
            scripts: vec![script("one.sql"), script("two.sql")],
            sessions: Some(SessionTimes { duration: times.clone(), response: times.clone() }),
            series: vec![point(0), point(1)],
            phases: vec![Phase {
                name: "node".into(),
                item: String::new(),
                start_us: 1,
                duration_us: 2,
                count: Some(3),
                source: PhaseSource::Reported,
            }],
            samples: vec![Sample {
                scope: Scope::Run,
                source: spec::BACKENDS.into(),
                name: spec::PRIVATE_BYTES.into(),
                time_us: 1,
                value: 5e6,
            }],
            artifacts: vec![Artifact {
                name: "log/1".into(),
                media_type: "text/plain".into(),
                caption: "a log".into(),
                bytes: b"text".to_vec(),
            }],
            ..Run::new(RunKind::Client, key)
        }
    }

    fn stored(path: &std::path::Path) -> (Store, ExperimentId) {
        let arms = ["a", "b"].map(|name| json!({"name": name, "settings": {}, "unsafe_settings": []}));
        let experiment = json!({
            "hash": "", "name": "made-up", "question": "?", "file_text": "", "seed": 1, "order_scheme": "pairs",
            "rounds": 4, "compare_factor": "settings", "base": "a", "arms": arms, "margin": 0.03, "created_at": "",
        });
        let host = spec::Host {
            uuid: "h".into(),
            name: "here".into(),
            cpu: "a CPU".into(),
            cores: 2,
            memory_bytes: 1 << 34,
            facts: Default::default(),
        };
        let target = spec::MeasuredTarget {
            kind: "url".into(),
            dsn_redacted: "postgres://x@localhost/y".into(),
            server_version: "15.1".into(),
            postgis_version: None,
            versions: Default::default(),
            build: None,
        };
        let mut store = Store::create_or_open(path).unwrap();
        let experiment = serde_json::from_value(experiment).unwrap();
        let (id, _) = store.begin_experiment(&experiment, &host, &target, false).unwrap();
        for (round, arm) in (1..=4).flat_map(|round| ["a", "b"].map(|arm| (round, arm))) {
            let finished = Finished { run: run(arm, round), seconds: Spool::default() };
            store.store(id, &[finished]).unwrap();
        }
        (store, id)
    }

    #[test]
    fn a_table_lacks_nothing_of_what_is_left_out_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let (store, id) = stored(&folder.path().join("results.sqlite"));
        let whole = ReportData::load(&store, id, Wanted::ALL).unwrap();
        let mut with_rows = 0;
        for kind in TableKind::value_variants().iter().copied() {
            let own = ReportData::load(&store, id, kind.wanted()).unwrap();
            let (found, wanted) = (table(kind, &own), table(kind, &whole));
            assert_eq!((found.columns, found.rows), (wanted.columns, wanted.rows.clone()), "{kind:?}");
            assert_eq!(tables::below_percentiles(&own), tables::below_percentiles(&whole), "{kind:?}");
            with_rows += usize::from(!wanted.rows.is_empty());
        }
        assert!(with_rows > 8, "{with_rows} of the tables have rows");
    }
}
