//! `pgdyno man`: manual pages, generated from the definitions of the arguments.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use spec::written;

use crate::exit::{CommandFailure, ExitResult, INPUT_OUTPUT, SAME_OR_BETTER, USAGE};
use crate::print::{data, talk};

/// `pgdyno man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To read one:   pgdyno man bench | man -l -
To keep all:   pgdyno man --to ~/.local/share/man/man1    (make install does the like)")]
pub(crate) struct Args {
    /// Command, such as bench or target start [default: the program itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write all pages into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    to: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let all = commands();
    match &args.to {
        Some(folder) => write(&all, folder)?,
        None => {
            let name = std::iter::once("pgdyno").chain(args.command.iter().map(String::as_str));
            let name = name.collect::<Vec<_>>().join("-");
            let found = all.iter().find(|command| display(command) == name).ok_or_else(|| {
                // Do not quote the input: it may be a password.
                CommandFailure::with_code(
                    USAGE,
                    "there is no such command",
                    Some("pgdyno --help names them".into()),
                )
            })?;
            data(&page(found))?;
        }
    }
    Ok(SAME_OR_BETTER)
}

fn write(all: &[Command], folder: &Path) -> anyhow::Result<()> {
    let failed = |path: &Path, error: &std::io::Error| {
        let what = format!("{} cannot be written: {error}", path.display());
        CommandFailure::with_code(INPUT_OUTPUT, what, Some("name a folder you may write to".into()))
    };
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    for command in all {
        let path = folder.join(format!("{}.1", display(command)));
        written::replace(&path, page(command).as_bytes()).map_err(|error| failed(&path, &error))?;
    }
    talk(&format!("{} man pages: {}", all.len(), folder.display()));
    Ok(())
}

/// The program and all its subcommands, each with its full name.
fn commands() -> Vec<Command> {
    fn gather(command: &Command, found: &mut Vec<Command>) {
        found.push(command.clone());
        for deeper in command.get_subcommands().filter(|deeper| !deeper.is_hide_set()) {
            gather(deeper, found);
        }
    }
    let mut program = super::described().disable_help_subcommand(true);
    program.build();
    let mut found = Vec::new();
    gather(&program, &mut found);
    found
}

fn display(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> String {
    let mut page = Vec::new();
    render(command, &mut page).expect("memory takes all of it");
    String::from_utf8(page).expect("made of our own words")
}

fn render(command: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let source = concat!("pgdyno ", env!("CARGO_PKG_VERSION"));
    // The text after the help gets its own headings here.
    let bare = command.clone().after_help(None::<&str>).after_long_help(None::<&str>);
    let man = Man::new(bare).source(source).manual("pgdyno");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(page)?;
    }
    if command.get_subcommands().any(|deeper| !deeper.is_hide_set()) {
        man.render_subcommands_section(page)?;
    }
    let mut rest = Roff::default();
    if let Some(notes) = command.get_after_help() {
        rest.control("SH", ["NOTES"]);
        rest.control("nf", []);
        for line in notes.to_string().lines() {
            rest.text([roman(line)]);
        }
        rest.control("fi", []);
    }
    exit_status(&mut rest, display(command));
    see_also(&mut rest, display(command));
    rest.to_writer(page)
}

/// Exit codes, shortened from docs/reference/exit-codes.md.
const EXITS: [(&str, &str); 14] = [
    ("0", "done; where something was compared, no arm is slower than the base"),
    ("1", "an arm is slower than the base"),
    ("2", "inconclusive: more rounds are needed"),
    ("3", "invalid: nothing can be said"),
    ("64", "wrong usage: an option or argument"),
    ("65", "bad input: an experiment file, a script, an extract, a results file"),
    ("66", "the server cannot be reached, or went away"),
    ("67", "the server refused"),
    ("68", "something is missing: PostGIS, a table, a program, a permission"),
    ("69", "a guard failed: a script does nothing, settings were not taken, a change could not be undone"),
    ("70", "a mistake in pgdyno itself"),
    ("71", "a program that pgdyno started failed"),
    ("74", "reading or writing failed"),
    ("75", "stopped by Ctrl-C or a signal; finished runs are kept"),
];

const PGBENCH_EXITS: [(&str, &str); 4] = [
    ("0", "done; failed transactions are part of the report"),
    ("1", "it did not start: options, scripts, connection, initialization"),
    ("2", "a client was aborted while running; the report is of what was done"),
    ("130", "Ctrl-C or SIGTERM; the report is of what was done"),
];

fn exit_status(page: &mut Roff, name: &str) {
    page.control("SH", ["EXIT STATUS"]);
    let codes = if name == "pgdyno-pgbench" { &PGBENCH_EXITS[..] } else { &EXITS[..] };
    for (code, meaning) in codes {
        page.control("TP", ["6"]);
        page.text([bold(*code)]);
        page.text([roman(*meaning)]);
    }
}

fn see_also(page: &mut Roff, name: &str) {
    let others: &[&str] = match name {
        "pgdyno" => &["pgdyno-run(1)", "pgdyno-bench(1)", "pgdyno-pgbench(1)", "psql(1)", "pgbench(1)"],
        "pgdyno-pgbench" => &["pgdyno(1)", "pgdyno-bench(1)", "pgbench(1)"],
        _ => &["pgdyno(1)"],
    };
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(others.join(", "))]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> String {
        let all = commands();
        page(all.iter().find(|command| display(command) == name).unwrap_or_else(|| panic!("{name}")))
    }

    #[test]
    fn exits_are_those_of_the_program() {
        let source = include_str!("../exit.rs");
        let codes: Vec<&str> = source
            .lines()
            .filter_map(|line| Some(line.split_once(": u8 = ")?.1.trim_end_matches(';')))
            .collect();
        assert_eq!(EXITS.map(|(code, _)| code).as_slice(), codes);
    }

    #[test]
    fn a_page_has_its_command_its_options_and_what_its_end_means() {
        let bench = of("pgdyno-bench");
        for words in
            [".TH pgdyno-bench 1", "\\-\\-may\\-be\\-empty", "CONNECTION", "EXIT STATUS", "pgdyno(1)"]
        {
            assert!(bench.contains(words), "{words}:\n{bench}");
        }
        let start = of("pgdyno-target-start");
        assert!(start.contains("pgdyno target start"), "{start}");
        // clap does not parse the drop-in's options, but the page must describe them.
        let pgbench = of("pgdyno-pgbench");
        for words in ["\\-\\-aggregate\\-interval", "INITIALIZATION OPTIONS", "130"] {
            assert!(pgbench.contains(words), "{words}:\n{pgbench}");
        }
        assert!(!of("pgdyno").contains("pgdyno\\-help"));
    }
}
