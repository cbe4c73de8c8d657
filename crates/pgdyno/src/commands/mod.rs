//! One file per command; this one only chooses.

mod bench;
mod calibrate;
mod compare;
mod import;
mod osm;
pub(crate) mod pgbench;
mod report;
mod run;
mod signals;
mod sql;
mod table;
mod target;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use ::report::ReportData;
use ::target::settings::journal;
use results::Store;

use crate::cli::{Cli, Command, Format, Results, Selection};
use crate::exit::Outcome;

/// Runs the command.
pub(crate) fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Pgbench(args) => Ok(pgbench::main("pgdyno pgbench".to_owned(), &args.arguments)),
        Command::Table(args) => table::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Sql(args) => sql::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Osm(args) => osm::run(&args),
        Command::Target(args) => target::run(&args),
    }
}

/// The hidden other lives of the program: watching over a child, watching over changed settings, being a sink. `None`
/// when none is asked for.
pub(crate) fn other_life() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let life = args.next()?;
    let rest: Vec<OsString> = args.collect();
    let code = if life == ::target::child::WATCHDOG_ARGUMENT {
        ::target::child::watchdog_main(&rest)
    } else if life == journal::GUARD_ARGUMENT {
        journal::guard_main(&rest)
    } else if life == ::target::sink::SINK_ARGUMENT {
        ::target::sink::sink_main(&rest)
    } else {
        return None;
    };
    Some(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn results_path(results: &Results) -> PathBuf {
    ::target::home::results_path(results.results.as_deref())
}

/// Loads the experiment that was asked for.
fn load(selection: &Selection) -> anyhow::Result<ReportData> {
    let store = Store::open_read_only(&results_path(&selection.results))?;
    let id = store.find(selection.experiment.as_deref())?;
    Ok(ReportData::load(&store, id)?)
}

fn print(table: &results::Table, format: Format) -> anyhow::Result<()> {
    print_with(::report::format::print, table, format)
}

/// Prints a table whose columns the user named.
fn print_as_named(table: &results::Table, format: Format) -> anyhow::Result<()> {
    print_with(::report::format::print_as_named, table, format)
}

fn print_with(
    text_of: fn(&results::Table, ::report::Format) -> String,
    table: &results::Table,
    format: Format,
) -> anyhow::Result<()> {
    // Data is data; only before a person's eyes a cell must stay within its line.
    let text = match format {
        Format::Csv if crate::print::data_is_read() => text_of(&on_lines(table), of(format)),
        _ => text_of(table, of(format)),
    };
    Ok(crate::print::data(&text)?)
}

fn of(format: Format) -> ::report::Format {
    match format {
        Format::Text => ::report::Format::Text,
        Format::Json => ::report::Format::Json,
        Format::Csv => ::report::Format::Csv,
        Format::Md => ::report::Format::Md,
    }
}

/// The same table with the line breaks of its texts escaped.
fn on_lines(table: &results::Table) -> results::Table {
    let text = |text: &String| ::report::visible::line(text).into_owned();
    let cell = |value: &results::Value| match value {
        results::Value::Text(own) => results::Value::Text(text(own)),
        other => other.clone(),
    };
    results::Table {
        columns: table.columns.iter().map(text).collect(),
        rows: table.rows.iter().map(|row| row.iter().map(cell).collect()).collect(),
        ..results::Table::default()
    }
}
