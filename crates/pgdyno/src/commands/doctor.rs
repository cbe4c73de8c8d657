//! `pgdyno doctor`: what is installed here, what a role may do on a server, and which commands work with
//! that.

use ::report::visible;
use lab::connection;
use lab::doctor::{self, Examined, NeededProgram, Part};
use results::Table;

use super::print;
use crate::exit::{ExitResult, SAME_OR_BETTER};
use crate::options::FormatOption;
use crate::print::data;

/// `pgdyno doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Servers of cloud providers: docs/how-to/clouds.md")]
pub(crate) struct Args {
    /// Server to check, too: database name, connection string or URI
    #[arg(value_name = "DBNAME|URI")]
    server: Option<String>,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let (programs, parts) = (doctor::programs(), doctor::parts());
    if args.format.format.is_for_people() {
        data(&format!("{}\n\n", answer(&programs)))?;
        print(of_programs(&programs), args.format.format)?;
        data(&advice(&programs))?;
        print(of_parts(&parts), args.format.format)?;
    }
    let examined = match &args.server {
        None => None,
        Some(server) => Some(doctor::examine(&connection::at(Some(server), None, None, None)?)?),
    };
    match (args.format.format.is_for_people(), &examined) {
        (true, Some(examined)) => {
            data(&format!("\n{}\n\n", visible::line(&examined.server)))?;
            print(of_rights(examined), args.format.format)?;
            data(&grants(examined))?;
            print(of_uses(examined), args.format.format)?;
        }
        (true, None) => data("\nA server: pgdyno doctor postgres://user@host/database\n")?,
        (false, _) => print(all(&programs, &parts, examined.as_ref()), args.format.format)?,
    }
    Ok(SAME_OR_BETTER)
}

/// `pgdyno 0.1.0: 1 of 12 programs is not installed here: martin.`
fn answer(programs: &[NeededProgram]) -> String {
    let missing: Vec<&str> =
        programs.iter().filter(|program| program.found.is_none()).map(|program| program.name).collect();
    let (version, all) = (env!("CARGO_PKG_VERSION"), programs.len());
    match &missing[..] {
        [] => format!("pgdyno {version}: all {all} programs that it can use are installed here."),
        [one] => {
            format!("pgdyno {version}: 1 of {all} programs that it can use is not installed here: {one}.")
        }
        many => format!(
            "pgdyno {version}: {} of {all} programs that it can use are not installed here: {}.",
            many.len(),
            many.join(", ")
        ),
    }
}

fn of_programs(programs: &[NeededProgram]) -> Table {
    let mut table = Table::new(["program", "found", "needed for"]);
    for program in programs {
        let found = program.found.as_deref().unwrap_or("missing");
        table.push(vec![program.name.into(), found.into(), program.needed_for.into()]);
    }
    table
}

fn advice(programs: &[NeededProgram]) -> String {
    let missing: Vec<&str> =
        programs.iter().filter(|program| program.found.is_none()).map(|program| program.name).collect();
    let commands: String = doctor::install(programs).iter().map(|line| format!("  {line}\n")).collect();
    match (missing.is_empty(), commands.is_empty()) {
        (true, _) => "\n".to_owned(),
        (false, true) => format!("\nInstall what you need of: {}\n\n", missing.join(", ")),
        (false, false) => format!("\nInstall what is missing, or only what you need of it:\n{commands}\n"),
    }
}

fn of_parts(parts: &[Part]) -> Table {
    let mut table = Table::new(["system", "state"]);
    for part in parts {
        table.push(vec![part.name.into(), part.state.as_str().into()]);
    }
    table
}

fn yes(has: bool) -> &'static str {
    if has { "yes" } else { "no" }
}

fn of_rights(examined: &Examined) -> Table {
    let mut table = Table::new(["right", "has", "allows"]);
    for right in &examined.rights {
        table.push(vec![right.name.into(), yes(right.has).into(), right.allows.into()]);
    }
    table
}

/// The statements that grant missing rights; all are optional.
fn grants(examined: &Examined) -> String {
    let is_superuser = examined.rights.iter().any(|right| right.name == "superuser" && right.has);
    // Nobody should become a superuser for a load test.
    let lacks =
        examined.rights.iter().filter(|right| !right.has && !is_superuser && right.name != "superuser");
    let lines: String =
        lacks.map(|right| format!("  {}: {}\n", right.name, visible::line(&right.grant))).collect();
    if lines.is_empty() {
        "\n".to_owned()
    } else {
        format!("\nWhat would give the missing rights:\n{lines}\n")
    }
}

fn of_uses(examined: &Examined) -> Table {
    let mut table = Table::new(["command", "works", "limits"]);
    for it in &examined.uses {
        table.push(vec![it.command.into(), it.usability.word().into(), it.usability.why().into()]);
    }
    table
}

fn all(programs: &[NeededProgram], parts: &[Part], examined: Option<&Examined>) -> Table {
    let mut table = Table::new(["kind", "name", "state", "detail", "about"]);
    for program in programs {
        let state = if program.found.is_some() { "found" } else { "missing" };
        let found = program.found.as_deref();
        table.push(vec![
            "program".into(),
            program.name.into(),
            state.into(),
            found.into(),
            program.needed_for.into(),
        ]);
    }
    for part in parts {
        let (state, detail) = (if part.is_well { "well" } else { "limited" }, part.state.as_str());
        table.push(vec!["system".into(), part.name.into(), state.into(), detail.into(), None::<&str>.into()]);
    }
    if let Some(examined) = examined {
        for right in &examined.rights {
            let grant = (!right.has).then_some(right.grant.as_str());
            table.push(vec![
                "right".into(),
                right.name.into(),
                yes(right.has).into(),
                grant.into(),
                right.allows.into(),
            ]);
        }
        for it in &examined.uses {
            table.push(vec![
                "command".into(),
                it.command.into(),
                it.usability.word().into(),
                it.usability.why().into(),
                None::<&str>.into(),
            ]);
        }
    }
    table
}
