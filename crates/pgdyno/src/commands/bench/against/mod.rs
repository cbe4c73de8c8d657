//! `pgdyno bench … --against 'KIND: WHAT'`: what `bench` would run compared with the same thing changed. The arguments
//! become an experiment file; what is run is the plan of that file, whether it is saved or not.

mod base;
mod file;
mod kind;
mod saved;
#[cfg(test)]
mod tests;
mod told;
mod toml_text;

use std::path::{Path, PathBuf};

use lab::experiment::ExperimentFile;
use protocol::postgres::conninfo::sql_may_hold_password;

use self::base::Folder;
use self::file::Written;
use self::kind::Change;
use super::args::Script;
use super::{BenchArgs, check_bounds, source, steps};
use crate::commands::run::How;
use crate::exit::{Failure, Outcome, USAGE};
use crate::print::warning;
use crate::secrets::is_telling_text;

/// First line of what is saved.
const SAVED_BY: &str = "Made by pgdyno bench --against; docs/experiment.md explains every key.";

/// What messages call the file that stands nowhere.
const NOWHERE: &str = "--against";

pub(super) fn run(args: &BenchArgs) -> Outcome {
    let own = &args.against;
    let [change] = &own.against[..] else {
        let hint = "one now and the other later; or --save FILE, and give the file further levels";
        return Err(usage("--against stands once: a comparison has two sides", hint));
    };
    has_only_what_can_be_compared(args)?;
    let results = args.output.results.path().display().to_string();
    match own.managed {
        // Its tables are made with the options of -i.
        Some(_) => args.given.is_ours(&results)?,
        None => args.given.check(false, &results)?,
    }
    check_bounds(args)?;
    steps(args)?;
    let change = Change::parse(change).map_err(|why| {
        let (why, hint) = why.split_once('\n').unwrap_or((&why, ""));
        usage(why, hint)
    })?;
    for script in &args.scripts.in_order {
        source(script)?;
    }
    own.save.as_deref().map_or(Ok(()), saved::check_name)?;
    let how = How {
        name: NOWHERE.to_owned(),
        dry_run: own.dry_run,
        again: own.again,
        same: own.same,
        rounds: None,
        report: own.report.as_deref(),
        pg_bin: None,
        output: &args.output,
    };
    how.can_report()?;
    if own.save.is_some() && has_secret_beside_servers(args, &change) {
        let hint = "leave --save out; what is run then keeps no such text";
        return Err(usage(
            "settings, SQL or variables given here may hold a password, which no file is to hold",
            hint,
        ));
    }
    let written = file::written(args, &change, &Folder::of(own.save.as_deref()))?;
    let file = read(&written, own.save.as_deref())?;
    if let Some(path) = &own.save {
        saved::save(&written.text, path, own.dry_run)?;
    }
    if written.left_out {
        let what = if own.save.is_some() { "the same command and its file" } else { "the same command" };
        warning(&format!(
            "the password that was given is used now and kept nowhere: give it by ~/.pgpass or PGPASSWORD, and {what} can do \
             without it"
        ));
    }
    how.carry_out(&file).map_err(told::in_words_of_bench)
}

/// Options of `bench` that mean nothing where two sides are compared.
fn has_only_what_can_be_compared(args: &BenchArgs) -> anyhow::Result<()> {
    let of_input =
        |script: &Script| matches!(script, Script::File(name) if name == "-" || name.starts_with("-@"));
    let refused = [
        (args.tables.initialize, "-i", "--managed makes pgbench's tables by itself, at scale -s"),
        (args.load.transactions.is_some(), "-t", "rounds have a length: -T SECONDS, shared by both sides"),
        (args.conduct.progress.is_some(), "-P", "runs are shown as they end"),
        (
            args.scripts.in_order.iter().any(of_input),
            "-f -",
            "write the script into a file: both sides read it, every round",
        ),
        (args.conduct.report_per_command, "-r", "without --against it tells the latency of each statement"),
        (args.conduct.driver != Default::default(), "--driver", "leave it out: both sides have the same"),
    ];
    if let Some(odd) = args.against.rounds.filter(|rounds| rounds % 2 == 1) {
        let what = format!(
            "--rounds {odd}: an odd number cannot be balanced, the base goes first in every other round"
        );
        return Err(usage(&what, &format!("--rounds {}", odd + 1)));
    }
    match refused.into_iter().find(|(given, ..)| *given) {
        Some((_, option, hint)) => Err(usage(&format!("{option} cannot be had with --against"), hint)),
        None => Ok(()),
    }
}

/// Whether something that the file has as it is may hold a password; connection strings are written without theirs.
fn has_secret_beside_servers(args: &BenchArgs, change: &Change) -> bool {
    let undo = args.against.undo.iter().map(String::as_str);
    let sql = undo.chain(match change {
        Change::Sql(sql) => Some(sql.as_str()),
        _ => None,
    });
    let settings = match change {
        Change::Settings(settings) => settings.as_slice(),
        _ => &[],
    };
    let given = settings.iter().map(|(_, value)| value).chain(&args.scripts.define);
    sql.into_iter().any(sql_may_hold_password) || given.into_iter().any(|text| is_telling_text(text))
}

/// Reads what was written, as `pgdyno run` would.
fn read(written: &Written, saved: Option<&Path>) -> anyhow::Result<ExperimentFile> {
    let path = saved.map_or_else(|| PathBuf::from(NOWHERE), Path::to_owned);
    let read = ExperimentFile::of_text(&path, &written.text);
    let mut file = read.map_err(|found| told::problems(&written.text, &found))?;
    if saved.is_none() {
        file.call(&written.name);
        file.without_lines();
    }
    file.log_in_by(&written.logins);
    Ok(file)
}

fn usage(what: &str, hint: &str) -> anyhow::Error {
    Failure::with_code(USAGE, what, (!hint.is_empty()).then(|| hint.to_owned()))
}
