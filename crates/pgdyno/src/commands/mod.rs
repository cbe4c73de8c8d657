//! The list of commands. Each command and its arguments are in a separate file.

mod allowed;
mod bench;
mod by_hand;
mod by_zoom;
mod calibrate;
mod carry_out;
mod compare;
mod completion;
mod doctor;
mod export;
mod gate;
mod help;
mod import;
mod jobs;
mod ladder;
mod limit;
mod man;
mod merge;
mod needs;
mod osm;
mod part;
pub(crate) mod pgbench;
mod probe;
mod report;
mod run;
mod signals;
mod sources;
mod sql;
mod table;
mod target;
mod tiles;
mod typed;

use std::ffi::OsString;
use std::process::ExitCode;

use ::report::ReportData;
use clap::{CommandFactory, FromArgMatches};
use lab::experiment::ExperimentFile;
use results::comparison::Comparison;
use results::data::Wanted;
use results::{ExperimentId, LongTable, Store};
use server::settings::journal;

use server::home::Home;

use crate::exit::ExitResult;
use crate::options::{OutputFormat, Selection};
pub(crate) use typed::warn_of_passwords;

/// Measure PostgreSQL and PostGIS under a known load, and compare: what is faster, by how much, how sure
#[derive(Debug, clap::Parser)]
#[command(name = "pgdyno", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "What is installed here, and what is missing: pgdyno doctor\nExit codes: docs/reference/exit-codes.md"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run an experiment file: prepare, measure, compare, report
    Run(run::Args),
    /// Run pgbench scripts, or compare two ways to run them (--against)
    Bench(Box<bench::Args>),
    /// Raise clients or rate step by step, and show where latency breaks
    Ladder(Box<ladder::Args>),
    /// Find the highest rate at which a promise holds
    Limit(Box<limit::Args>),
    /// Request map tiles: how fast at each zoom, and which query is faster
    Tiles(Box<tiles::Args>),
    /// Behave as pgbench, option for option, with percentiles
    #[command(disable_help_flag = true)]
    Pgbench(Pgbench),
    /// Judge a change in CI: base against new, with an exit code, a summary and a history
    Gate(Box<gate::Args>),
    /// Print stored results as tables
    Table(table::Args),
    /// Compare the arms of stored experiments
    Compare(compare::Args),
    /// Write the HTML report of an experiment
    Report(report::Args),
    /// Write the files of a stored experiment, or its tiles for a map
    #[command(subcommand)]
    Export(export::ExportCommand),
    /// Query the results file in SQL (read only)
    Sql(sql::Args),
    /// Read results of pgbench and logs of osm2pgsql into the results file
    Import(import::Args),
    /// Merge results files of several hosts, parts of an experiment, or months
    Merge(merge::Args),
    /// Measure what this host can do as a load generator
    Calibrate(calibrate::Args),
    /// Measure a server's CPU, memory and disk with SQL alone
    Probe(Box<probe::Args>),
    /// Get, make and load OpenStreetMap data
    #[command(subcommand)]
    Osm(osm::OsmCommand),
    /// Make, start, stop and remove private PostgreSQL servers
    #[command(subcommand)]
    Target(target::TargetCommand),
    /// Show what is installed here, and what works on a server
    Doctor(doctor::Args),
    /// Print completions for a shell
    Completion(completion::Args),
    /// Print a manual page, or write all of them
    Man(man::Args),
}

/// `pgdyno pgbench`: its arguments are pgbench's own.
#[derive(Debug, clap::Args)]
struct Pgbench {
    /// pgbench's options and the name of a database, or a connection string
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|DBNAME")]
    arguments: Vec<std::ffi::OsString>,
}

/// Parses the arguments of the process.
///
/// # Errors
/// clap's, for help, version and wrong usage.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    parse_from(std::env::args_os())
}

fn parse_from(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let (mut definition, args) = help::asked(help::arranged(Cli::command()), args.into_iter().collect());
    let matches =
        definition.try_get_matches_from_mut(&args).map_err(|error| needs::explained(&args, error))?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    if let (Command::Bench(bench), Some(given)) = (&mut cli.command, matches.subcommand_matches("bench")) {
        bench.scripts.put_in_order(given);
        bench.given = definition
            .find_subcommand("bench")
            .map(|definition| bench::Given::of(definition, given))
            .unwrap_or_default();
    }
    if let (Command::Ladder(ladder), Some(given)) = (&mut cli.command, matches.subcommand_matches("ladder")) {
        ladder.made.scripts.put_in_order(given);
    }
    if let (Command::Limit(limit), Some(given)) = (&mut cli.command, matches.subcommand_matches("limit")) {
        limit.made.scripts.put_in_order(given);
    }
    Ok(cli)
}

/// The whole program for documentation, with the drop-in's options; not for parsing.
fn described() -> clap::Command {
    let program = help::arranged(Cli::command());
    let place = program.get_subcommands().position(|command| command.get_name() == "pgbench");
    let words = |command: &clap::Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    program.mut_subcommand("pgbench", |command| {
        pgbench::described(&words(&command)).display_order(place.unwrap_or_default())
    })
}

pub(crate) fn run(cli: Cli) -> ExitResult {
    if cli.command.may_make_home() {
        warn_of_shared_home();
    }
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Ladder(args) => ladder::run(&args),
        Command::Limit(args) => limit::run(&args),
        Command::Tiles(args) => tiles::run(&args),
        Command::Pgbench(args) => Ok(pgbench::main("pgdyno pgbench".to_owned(), &args.arguments)),
        Command::Gate(args) => gate::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Export(command) => export::run(&command),
        Command::Sql(args) => sql::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Osm(args) => osm::run(&args),
        Command::Target(args) => target::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completion(args) => completion::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

impl Command {
    /// Whether the command may create servers, extracts or journals.
    fn may_make_home(&self) -> bool {
        !matches!(
            self,
            Self::Table(_)
                | Self::Compare(_)
                | Self::Report(_)
                | Self::Export(_)
                | Self::Sql(_)
                | Self::Import(_)
                | Self::Merge(_)
                | Self::Pgbench(_)
                | Self::Doctor(_)
                | Self::Completion(_)
                | Self::Man(_)
        )
    }
}

/// A home in `/tmp` is risky: another user may create it first, and a cleanup may remove it.
fn warn_of_shared_home() {
    let Ok(home) = Home::locate() else { return };
    if let Some(folder) = home.is_new_in() {
        let (home, folder) = (home.folder().display(), folder.display());
        crate::print::warning(&format!(
            "pgdyno's home {home} will be made in {folder}, which every user can write to: another user can take the name \
             first, and the system may empty that folder; set PGDYNO_HOME to a folder elsewhere"
        ));
    }
}

/// Hidden subcommands: the watchdogs of a child and of changed settings, and the sink. `None` for all others.
pub(crate) fn other_life() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let life = args.next()?;
    let rest: Vec<OsString> = args.collect();
    let code = if life == server::child::WATCHDOG_ARGUMENT {
        server::child::watchdog_main(&rest)
    } else if life == journal::GUARD_ARGUMENT {
        journal::guard_main(&rest)
    } else if life == server::sink::SINK_ARGUMENT {
        server::sink::sink_main(&rest)
    } else {
        return None;
    };
    Some(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// Finds an experiment by number or name; warns if several have the name.
fn chosen(store: &Store, wanted: Option<&str>) -> anyhow::Result<ExperimentId> {
    let id = store.find(wanted)?;
    let namesakes = wanted.map_or(Ok(Vec::new()), |name| store.of_name(name))?;
    let others: Vec<String> =
        namesakes.iter().filter(|other| **other != id).map(|other| other.0.to_string()).collect();
    if !others.is_empty() {
        crate::print::talk(&format!(
            "{} is experiment {}, the newest of {} of that name; the others: {}",
            wanted.unwrap_or_default(),
            id.0,
            namesakes.len(),
            others.join(", ")
        ));
    }
    Ok(id)
}

fn load(selection: &Selection, wanted: Wanted) -> anyhow::Result<ReportData> {
    let store = Store::open_read_only(&selection.results.path())?;
    let id = chosen(&store, selection.experiment.as_deref())?;
    loaded(&store, id, wanted)
}

/// An experiment with the commands that its file names. They are parsed from the stored text, since a stored
/// list could be incomplete.
fn loaded(store: &Store, id: ExperimentId, wanted: Wanted) -> anyhow::Result<ReportData> {
    let data = ReportData::load(store, id, wanted)?;
    let text = &data.experiment.file_text;
    let commands = match text.trim().is_empty() {
        true => Ok(Vec::new()),
        false => ExperimentFile::commands_of(text).map_err(|problems| problems.lines().swap_remove(0)),
    };
    Ok(data.with_commands(commands))
}

/// Prints the comparison with the base. For people also other large differences, the number of looks, and
/// advice if inconclusive.
fn print_compared(data: &ReportData, found: &Comparison, format: OutputFormat) -> anyhow::Result<()> {
    use ::report::tables;
    if !format.is_for_people() {
        return print(tables::compared(data, found), format);
    }
    let mut blocks = tables::compared_for_people(data, found);
    blocks.extend(tables::below(data, found));
    print_blocks(&blocks, format)
}

/// Prints the answer of an experiment for people, as at the end of its run, with the ladders that have a
/// promise; then these tables, and the details of the answer if they are asked for.
fn print_answer(
    data: &ReportData,
    tables: Vec<::report::Block>,
    with_details: bool,
    format: OutputFormat,
) -> anyhow::Result<()> {
    print_conclusion(&::report::Conclusion::of(data), format)?;
    let mut blocks = ::report::tables::ladders_in_words(data, true);
    // Ladders begin with an empty line.
    let gap = if blocks.is_empty() { "\n" } else { "" };
    blocks.extend(tables);
    crate::print::data(gap)?;
    print_blocks(&blocks, format)?;
    if with_details {
        crate::print::data(&format!("\n{}", ::report::summary::below("Details:", data, of(format))))?;
    }
    Ok(())
}

/// Prints a short answer; only for people.
fn print_conclusion(of: &::report::Conclusion, format: OutputFormat) -> std::io::Result<()> {
    match format {
        OutputFormat::Text => crate::print::data(&of.text()),
        OutputFormat::Md => crate::print::data(&of.markdown()),
        OutputFormat::Json | OutputFormat::Csv | OutputFormat::CsvFormulas => Ok(()),
    }
}

fn print_blocks(blocks: &[::report::Block], format: OutputFormat) -> anyhow::Result<()> {
    Ok(crate::print::data(&::report::format::blocks(blocks, of(format)))?)
}

fn print<'t>(table: impl Into<LongTable<'t>>, format: OutputFormat) -> anyhow::Result<()> {
    let table = table.into();
    Ok(crate::print::pieces(|out| ::report::format::write(&table, of(format), out))?)
}

/// Prints a table with column names chosen by the user.
fn print_as_named(table: &results::Table, format: OutputFormat) -> anyhow::Result<()> {
    Ok(crate::print::pieces(|out| ::report::format::write_as_named(table, of(format), out))?)
}

fn of(format: OutputFormat) -> ::report::TableFormat {
    match format {
        OutputFormat::Text => ::report::TableFormat::Text,
        OutputFormat::Json => ::report::TableFormat::Json,
        OutputFormat::Csv => ::report::TableFormat::Csv,
        OutputFormat::CsvFormulas => ::report::TableFormat::CsvFormulas,
        OutputFormat::Md => ::report::TableFormat::Md,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
