//! What is wrong with the file that was made, told as of the options that it was made of.

use std::error::Error as _;

use lab::LabError;
use lab::experiment::{FileProblems, Problem};
use spec::Error;

use crate::exit::{BAD_INPUT, Failure, USAGE};

/// Keys of the made file, and the options that they come from.
const OPTIONS: [(&str, &str); 47] = [
    ("builtin", "-b"),
    ("files", "-f"),
    ("mode", "-M"),
    ("define", "-D"),
    ("scale", "-s"),
    ("max_tries", "--max-tries"),
    ("latency_limit_ms", "-L"),
    ("promise", "-L"),
    ("rate", "-R"),
    ("rate_per_client", "--rate-per-client"),
    ("bound", "--bound"),
    ("lowest", "--lowest"),
    ("highest", "--highest"),
    ("width", "--width"),
    ("confirm", "--confirm"),
    ("clients", "-c"),
    ("threads", "-j"),
    ("duration", "-T"),
    ("warmup", "--warmup"),
    ("rounds", "--rounds"),
    ("slices", "--slices"),
    ("margin", "--margin"),
    ("seed", "--random-seed"),
    ("managed", "--managed"),
    ("change_server", "--change-server"),
    ("steps", "-I"),
    ("fillfactor", "-F"),
    ("partitions", "--partitions"),
    ("tablespace", "--tablespace"),
    ("index_tablespace", "--index-tablespace"),
    ("sql", "--prepare"),
    ("undo", "--undo"),
    ("tiles", "LAYER"),
    ("table", "LAYER"),
    ("function", "LAYER"),
    ("query", "LAYER"),
    ("layers", "LAYER"),
    ("zooms", "--zooms"),
    ("picker", "--picker"),
    ("trace", "--trace"),
    ("pick_from", "--pick-from"),
    ("bounds", "--bounds"),
    ("tiles_per_zoom", "--tiles"),
    ("min_pixels", "--min-pixels"),
    ("variant", "--variant"),
    ("via", "--via"),
    ("extract", "--osm"),
];

/// The option that made what stands at a place of the file.
fn option(text: &str, problem: &Problem, otherwise: &'static str) -> &'static str {
    let above: Vec<&str> = text.lines().take(problem.line).collect();
    let line = above.last().copied().unwrap_or_default();
    let table = above.iter().rev().find(|line| line.starts_with('[')).copied().unwrap_or_default();
    let is_other = above.contains(&"[compare]");
    match table.trim_start_matches('[').split(['.', ']']).next().unwrap_or_default() {
        "settings" => return "--against 'settings: …'",
        "version" => return "--against 'version: …'",
        "workload" if is_other => return "--against 'script: …'",
        "change" if !line.starts_with("undo") => return "--against 'sql: …'",
        "server" if table == "[server.other]" => return "--against 'url: …'",
        "server" => return "DBNAME",
        "load" if table == "[load.search]" && line.starts_with("promise") => return "--promise",
        "target" if line.starts_with("url") => return "DBNAME",
        "prepare" if line.starts_with("sql") && otherwise == "tiles" => return "--sql",
        "factors" if line.starts_with("\"tiles.") => return "--against",
        "factors" if line.starts_with("version") => return "--against 'version: …'",
        _ => {}
    }
    // The key before the place, which may stand in a table on one line; else that of the line.
    let before: String = line.chars().take(problem.column.saturating_sub(1)).collect();
    let keys = before.rsplit(" = ").filter_map(|part| part.rsplit([' ', '{', ',']).next());
    let known = |key: &str| OPTIONS.iter().find(|(known, _)| *known == key).map(|(_, option)| *option);
    let whole = line.split(" = ").next();
    match keys.chain(whole).find_map(known).unwrap_or(otherwise) {
        "--picker" if line.contains("picker = { trace = ") => "--trace",
        option => option,
    }
}

/// `-f: no.sql: cannot be read: …`, without the key of the file; what stands in a table of names keeps them.
fn told(text: &str, problem: &Problem, otherwise: &'static str) -> String {
    let (option, message) = (option(text, problem, otherwise), problem.message.as_str());
    let key = |first: &str| {
        first.starts_with('`')
            || ["pgbench.", "tiles."].iter().any(|kind| first.starts_with(kind)) && first.ends_with(':')
    };
    let said = match message.split_once(' ') {
        Some((first, said)) if key(first) && !option.starts_with("--against") => said,
        _ => message,
    };
    let colon = if ["must ", "cannot "].iter().any(|verb| said.starts_with(verb)) { "" } else { ":" };
    format!("{option}{colon} {said}")
}

/// Mistakes in the made file; `otherwise` is what stands for those that no option made.
pub(in crate::commands) fn problems(
    text: &str,
    found: &FileProblems,
    otherwise: &'static str,
) -> anyhow::Error {
    let all: Vec<String> = found.problems.iter().map(|problem| told(text, problem, otherwise)).collect();
    // What is in a file is not how the command is to be used.
    let of_file = |told: &String| {
        ["-f", "--prepare", "--against", "LAYER", "--trace", "--osm", "--sql"]
            .iter()
            .any(|option| told.starts_with(option))
    };
    let code = if all.iter().any(of_file) { BAD_INPUT } else { USAGE };
    let hint = found.problems.first().filter(|_| all.len() == 1).and_then(|problem| problem.hint.as_deref());
    Failure::with_code(code, all.join("\n"), hint.map(own))
}

/// What is to be written into a file elsewhere is an option here.
pub(in crate::commands) fn in_words_of_bench(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<LabError>() {
        Ok(LabError::Failed(error)) => LabError::from(of_options(error)).into(),
        Ok(LabError::OwnChange(error)) => {
            anyhow::Error::from(LabError::OwnChange(error)).context("--against 'sql: …'")
        }
        Ok(other) => other.into(),
        Err(other) => other,
    }
}

/// The same error in words of options. A cause that speaks of a file becomes part of the text.
fn of_options(error: Error) -> Error {
    let (what, hint) = (error.to_string(), error.hint().map(own).unwrap_or_default());
    let cause = error.source().map(ToString::to_string).filter(|_| own(&what) == what);
    let what = match cause {
        Some(cause) if own(&cause) == cause => return error.with_hint(hint),
        Some(cause) => format!("{what}: {}", own(&cause)),
        None => own(&what),
    };
    Error::new(error.class(), what).with_hint(hint)
}

/// What advice for a file says, and what it is here.
const ADVICE: [(&str, &str); 8] = [
    ("write change_server = true into [target]", "give --change-server"),
    ("use a managed target, or set it there by hand for all arms", "use --managed, or set it there by hand"),
    ("make [measure] duration at least as long", "make -T at least as long"),
    (
        "name a table with pick_from = \"table\", or give a trace, or picker = \"uniform\" with bounds",
        "name a table with --pick-from, or give --trace FILE, or --picker uniform with --bounds",
    ),
    (
        "load an extract with prepare.osm or pgdyno osm load, or correct tiles.table",
        "load an extract with --osm FILE or pgdyno osm load, or correct the name",
    ),
    ("() in tiles.layers", "()"),
    ("make it in prepare.sql, or name its schema", "make it by --sql FILE, or name its schema"),
    ("or try min_pixels = 0, or other bounds", "or try --min-pixels 0, or other --bounds"),
];

fn own(text: &str) -> String {
    ADVICE.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
}
