//! `pgdyno compare`: changes between arms, or between two experiments, with interval and verdict.

use std::path::{Path, PathBuf};

use report::{Block, Conclusion, ReportData, tables};
use results::Store;
use results::answer::{Answer, Verdicts};
use results::comparison::{Comparison, MeasuredExperiment, Metric};
use results::data::Wanted;

use super::report as page;
use super::{chosen, load, loaded, print, print_answer, print_blocks, print_compared, print_conclusion};
use crate::exit::{self, BAD_INPUT, CommandFailure, ExitResult, USAGE};
use crate::options::{FormatOption, OutputFormat, Selection};
use crate::print::{data, talk, warning};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ComparedFigure {
    /// Throughput, transactions per second
    Tps,
    /// Median response time
    P50,
    /// 95th percentile of response time
    P95,
    /// 99th percentile of response time
    P99,
    /// Server CPU per transaction, of a server on this machine
    Cpu,
}

/// `pgdyno compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Two experiments by number or name, or two results files (their newest experiments, or --experiment): the second
    /// is compared with the first. One: its arms, or without arms the mean, interval, range and outliers of its runs
    /// [default: the newest experiment]
    #[arg(value_name = "EXPERIMENT|FILE", num_args = 0..=2)]
    which: Vec<String>,
    /// Metric to compare [default: the experiment's, or p99 where schedules set the throughput of every cell]
    #[arg(long, short = 'm', value_enum)]
    metric: Option<ComparedFigure>,
    /// The arm that the others are compared with [default: the base of the experiment]
    #[arg(long, value_name = "ARM")]
    base: Option<String>,
    /// Also write the HTML report of two experiments to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Also print the details of the answer
    #[arg(long, short = 'v')]
    verbose: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    format: FormatOption,
}

impl ComparedFigure {
    fn metric(self) -> Metric {
        match self {
            Self::Tps => Metric::Tps,
            Self::P50 => Metric::P50,
            Self::P95 => Metric::P95,
            Self::P99 => Metric::P99,
            Self::Cpu => Metric::Cpu,
        }
    }
}

impl Args {
    /// Whether the whole answer of one experiment is asked for, as at the end of its run.
    fn is_whole(&self) -> bool {
        self.metric.is_none() && self.base.is_none() && self.which.len() < 2
    }

    /// What the answer and the tables are made of; a report shows everything.
    fn wanted(&self) -> Wanted {
        match (&self.report, self.metric) {
            (Some(_), _) => Wanted::ALL,
            (None, Some(ComparedFigure::P50 | ComparedFigure::P95 | ComparedFigure::P99)) => Wanted::FIGURES,
            (None, _) => Wanted::ANSWER,
        }
    }
}

pub(crate) fn run(args: &Args) -> ExitResult {
    if let Some(path) = &args.report {
        page::check_writable(path)?;
    }
    let found = match &args.which[..] {
        [base, new] => apart(args, [base, new])?,
        [one] => only(args, one)?,
        _ => load(&args.selection, args.wanted())?,
    };
    let found = match &args.base {
        Some(base) => against(found, base)?,
        None => found,
    };
    let of = |metric| Comparison::of(&found.experiment, &found.runs, metric);
    let comparison = match args.metric {
        None => found.compared().cloned().or_else(|| of(Metric::Tps)),
        Some(figure) => of(figure.metric()),
    };
    let Some(comparison) = comparison else { return repeats(&found, args) };
    let metric = comparison.metric;
    if !found.experiment.is_interleaved() {
        let what = report::control(&comparison).unwrap_or_else(|| match comparison.by_sets {
            true => "so the error is the spread between the sets of a level".to_owned(),
            false => "so drift and change cannot be told apart".to_owned(),
        });
        warning(&format!("not interleaved: the arms were measured at different times, {what}"));
    }
    if metric == Metric::Tps && comparison.has_scheduled() {
        warning(
            "where a schedule or think times set the throughput, no figure averages over it; \
             try the same with --metric p99",
        );
    }
    if metric == Metric::Tps && found.runs.iter().any(|run| run.commands_per_s().is_some()) {
        talk("throughput is in commands per second where a transaction is a pipeline of several commands");
    }
    let format = args.format.format;
    if args.is_whole() && format.is_for_people() {
        let tables = tables::compared_for_people(&found, &comparison);
        print_answer(&found, tables, args.verbose, format)?;
        talk(&called(&found));
    } else {
        if format.is_for_people() {
            print_conclusion(&Conclusion::of_comparison(&found, &comparison), format)?;
            data("\n")?;
            talk(&called(&found));
        }
        print_compared(&found, &comparison, format)?;
    }
    let exit = exit::of_judgement(match args.is_whole() {
        true => Answer::of(&found).judgement,
        false => Verdicts::of(&comparison, &found.experiment, &found.runs).judgement,
    });
    if let Some(path) = &args.report {
        // Two experiments have no single tiles.
        let found = match found.stored {
            Some(_) => found.with_tiles(&Store::open_read_only(&args.selection.results.path())?)?,
            None => found,
        };
        page::write(path, &found)?;
        talk(&format!("report:  {}", path.display()));
    }
    Ok(exit)
}

/// An experiment without arms: the repeats of each cell, with mean, interval, range and outliers.
fn repeats(found: &ReportData, args: &Args) -> ExitResult {
    let metric = args.metric.map_or(Metric::Tps, ComparedFigure::metric);
    let name = &found.experiment.name;
    if found.limits().is_some() {
        let what = format!("experiment {name} compares nothing: it searches limits and has no arms");
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some("pgdyno table limits".into())));
    }
    let spreads = tables::repeats(found, metric);
    if metric == Metric::Cpu && spreads.iter().all(|spread| spread.values.is_empty()) {
        let what = format!(
            "experiment {name} has no server CPU per transaction: its server is not on this machine, or it has only jobs"
        );
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some("pgdyno compare --metric tps".into())));
    }
    if spreads.is_empty() {
        let what = format!("experiment {name} compares nothing: it has no arms and no runs of clients");
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some("pgdyno table jobs".into())));
    }
    let format = args.format.format;
    if format.is_for_people() {
        let below = tables::below_spread(&spreads, metric).into_iter().map(Block::remark);
        let table = tables::spread_in_words(&spreads, metric).into();
        let blocks: Vec<Block> = [table].into_iter().chain(below).collect();
        if args.is_whole() {
            print_answer(found, blocks, args.verbose, format)?;
            talk(&called(found));
        } else {
            headline(found, format)?;
            print_blocks(&blocks, format)?;
        }
    } else {
        print(tables::spread(&spreads, metric), format)?;
    }
    if let Some(path) = &args.report {
        page::write(path, found)?;
        talk(&format!("report:  {}", path.display()));
    }
    let is_measured = spreads.iter().any(|spread| !spread.values.is_empty());
    Ok(if is_measured { exit::SAME_OR_BETTER } else { exit::INVALID })
}

fn against(found: ReportData, base: &str) -> anyhow::Result<ReportData> {
    let arms: Vec<&str> = found.experiment.arms.iter().map(|arm| arm.name.as_str()).collect();
    if !arms.contains(&base) {
        let what = format!("experiment {} has no arm {base:?}", found.experiment.name);
        return Err(CommandFailure::with_code(USAGE, what, Some(format!("its arms: {}", arms.join(", ")))));
    }
    Ok(found.against(base))
}

/// Text above the table: the experiment.
fn headline(found: &ReportData, format: OutputFormat) -> anyhow::Result<()> {
    let head = called(found);
    match format {
        OutputFormat::Text => data(&report::summary::paragraph(&head, &found.notes))?,
        OutputFormat::Md => data(&report::summary::markdown(&head, &found.notes))?,
        _ => {}
    }
    Ok(())
}

fn called(found: &ReportData) -> String {
    match &found.stored {
        Some((id, _)) => {
            format!("experiment {}, {}: {}", id.0, found.experiment.name, found.experiment.question)
        }
        None => format!("{}, not interleaved", found.experiment.question),
    }
}

/// One experiment of the results file, or the newest one of another file.
fn only(args: &Args, which: &str) -> anyhow::Result<ReportData> {
    let (store, id, _) = found(args, which)?;
    loaded(&store, id, args.wanted())
}

fn apart(args: &Args, which: [&String; 2]) -> anyhow::Result<ReportData> {
    let [(base, old, base_name), (new, now, new_name)] = [found(args, which[0])?, found(args, which[1])?];
    if old == now && std::fs::canonicalize(base.path()).ok() == std::fs::canonicalize(new.path()).ok() {
        let what = format!("{} and {} are one experiment", which[0], which[1]);
        let hint = "pgdyno table experiments lists those in a results file".to_owned();
        return Err(CommandFailure::with_code(BAD_INPUT, what, Some(hint)));
    }
    // Equal names would not distinguish them.
    let labels = if base_name == new_name { which.map(Clone::clone) } else { [base_name, new_name] };
    let labels = if labels[0] == labels[1] {
        [(&base, old), (&new, now)].map(|(store, id)| format!("{}:{}", store.path().display(), id.0))
    } else {
        labels
    };
    let [one, other] = labels;
    let base: MeasuredExperiment = ReportData::measured(&base, old, one)?;
    let new: MeasuredExperiment = ReportData::measured(&new, now, other)?;
    ReportData::apart(&base, &new).map_err(|error| {
        let hint =
            "only cells of the same levels are compared; pgdyno table cells -e NUMBER lists them".to_owned();
        CommandFailure::with_code(BAD_INPUT, error.to_string(), Some(hint))
    })
}

/// An experiment by number, name or file, with its label.
fn found(args: &Args, which: &str) -> anyhow::Result<(Store, results::ExperimentId, String)> {
    let path = Path::new(which);
    if is_file(path, which) {
        let store = Store::open_read_only(path)?;
        let id = chosen(&store, args.selection.experiment.as_deref())?;
        let name = path.file_name().map_or(which.to_owned(), |name| name.to_string_lossy().into_owned());
        return Ok((store, id, name));
    }
    if args.selection.experiment.is_some() {
        let what =
            format!("{which} names an experiment already; --experiment says which one of a results file");
        return Err(CommandFailure::with_code(USAGE, what, None));
    }
    let store = Store::open_read_only(&args.selection.results.path())?;
    let id = chosen(&store, Some(which))?;
    let name = if is_number(which) { format!("experiment {which}") } else { which.to_owned() };
    Ok((store, id, name))
}

/// A number is always an experiment; a name is one unless it is a file.
fn is_file(path: &Path, which: &str) -> bool {
    !is_number(which) && (path.is_file() || which.contains('/') || which.ends_with(".sqlite"))
}

fn is_number(which: &str) -> bool {
    which.bytes().all(|byte| byte.is_ascii_digit())
}
