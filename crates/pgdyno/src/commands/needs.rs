//! Options that work only with another option. clap's error names the missing option alone.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, Error};

/// What to do without the needed option, by command and option.
const INSTEAD: [(&str, &str, &str); 7] = [
    ("bench", "report", "for a report of a single run, measure it, then: pgdyno report -e bench"),
    ("bench", "save", "for a file without a comparison: pgdyno ladder --clients 4 --save FILE"),
    ("bench", "rounds", "for several rounds without a comparison: pgdyno ladder --clients 4 --rounds 3"),
    ("bench", "dry-run", "a single run has no plan; leave --dry-run out"),
    ("bench", "again", "a single run is always a new one; leave --again out"),
    ("limit", "change-server", "without a change nothing is changed; leave --change-server out"),
    ("tiles", "change-server", "without a change nothing is changed; leave --change-server out"),
];

/// Names the option that was typed, the one it needs, and what to do.
pub(super) fn explained(args: &[OsString], error: Error) -> Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    // A program that has parsed once passes no further settings to its commands.
    let program = &super::Cli::command();
    let Ok(found) = program.clone().ignore_errors(true).try_get_matches_from(args) else { return error };
    let (mut command, mut matches, mut path) = (program, &found, vec![OsString::from("pgdyno")]);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(deeper) = command.find_subcommand(name) else { return error };
        (command, matches) = (deeper, inner);
        path.push(name.into());
    }
    let (lacks, bare) = (missing(&error), without(program, &path, None));
    let culprit = command.get_arguments().find_map(|arg| {
        let alone = without(program, &path, Some(typed(arg, matches)?));
        let needed = alone.difference(&bare).find(|needed| lacks.contains(*needed))?;
        Some((arg.get_long()?, needed.clone()))
    });
    let path_words = path.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let Some((option, needed)) = culprit else { return error };
    let instead = INSTEAD.iter().find(|(of, name, _)| *of == command.get_name() && *name == option);
    let instead =
        instead.map_or_else(|| format!("add {needed}, or leave --{option} out"), |own| own.2.to_owned());
    let said = format!("--{option} works only with {needed}\n try: {instead}");
    command.clone().bin_name(path_words).error(ErrorKind::MissingRequiredArgument, said)
}

/// A typed long option with its value; `None` if it was not typed.
fn typed(arg: &Arg, matches: &ArgMatches) -> Option<OsString> {
    let id = arg.get_id().as_str();
    let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut word = OsString::from(format!("--{}", arg.get_long().filter(|_| is_typed)?));
    if arg.get_action().takes_values()
        && let Some(value) = matches.get_raw(id)?.next()
    {
        word.push("=");
        word.push(value);
    }
    Some(word)
}

/// What a command lacks with this option alone.
fn without(program: &Command, path: &[OsString], option: Option<OsString>) -> BTreeSet<String> {
    let words = path.iter().cloned().chain(option);
    program.clone().try_get_matches_from(words).err().map(|error| missing(&error)).unwrap_or_default()
}

fn missing(error: &Error) -> BTreeSet<String> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) if error.kind() == ErrorKind::MissingRequiredArgument => {
            names.iter().cloned().collect()
        }
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    fn said(line: &str) -> String {
        let words = line.split(' ').map(Into::into);
        super::super::parse_from(words).unwrap_err().to_string()
    }

    /// Regression: only the missing option was named, and not the typed one.
    #[test]
    fn an_option_that_needs_another_one_is_named() {
        for (line, option, instead) in [
            ("pgdyno bench -S --report r.html", "--report", "pgdyno report -e bench"),
            ("pgdyno bench --dry-run -c 4", "--dry-run", "leave --dry-run out"),
            ("pgdyno bench --rounds 3 --save x.toml shop", "--rounds", "pgdyno ladder"),
            ("pgdyno limit --promise p99<9ms --undo x", "--undo", "add --against"),
            ("pgdyno limit --undo x", "--undo", "add --against"),
            ("pgdyno bench --variables-per client", "--variables-per", "add --variables <ROWS>"),
            ("pgdyno tiles roads --same", "--same", "add --against"),
            ("pgdyno tiles roads --mbtiles x", "--mbtiles", "add --once"),
            ("pgdyno osm load --seed 3 a.pbf", "--seed", "add --scale"),
        ] {
            let said = said(line);
            assert!(said.starts_with(&format!("error: {option} works only with --")), "{line}: {said}");
            assert!(said.contains(instead) && said.contains("Usage: pgdyno "), "{line}: {said}");
        }
        // A command's own required option is named as before.
        assert!(
            said("pgdyno limit -S").contains("not provided:\n  --promise"),
            "{}",
            said("pgdyno limit -S")
        );
    }
}
