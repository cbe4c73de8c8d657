//! The drop-in's options as clap arguments, for completion and man pages. [`super::parse`] does the parsing.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};

use super::help::HELP;
use super::options::{BESIDE, OptionSpec, PGBENCH};

#[derive(Debug, PartialEq)]
struct OptionEntry {
    heading: &'static str,
    long: &'static str,
    /// The text after `=`.
    value: Option<&'static str>,
    words: String,
}

pub(crate) fn command(about: &str) -> Command {
    let database = Arg::new("database").value_name("DBNAME").help("database, connection string or URI");
    let mut options: Vec<Arg> = Vec::new();
    let mut named: Vec<&str> = Vec::new();
    for entry in entries() {
        // -n and -s have two meanings, with -i and without.
        match named.iter().position(|long| *long == entry.long) {
            Some(place) => {
                let before = options[place].get_help().map(ToString::to_string).unwrap_or_default();
                let both = format!("{}; with -i: {before}", entry.words);
                options[place] = options[place].clone().help(both).help_heading("Common options");
            }
            None => {
                named.push(entry.long);
                options.push(argument(&entry));
            }
        }
    }
    Command::new("pgbench")
        .about(about.to_owned())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(options)
        .arg(database)
}

fn argument(entry: &OptionEntry) -> Arg {
    let spec = PGBENCH.iter().chain(&BESIDE).find(|spec| spec.long == entry.long);
    let short = match entry.long {
        "help" => Some('?'),
        "version" => Some('V'),
        _ => spec.and_then(|spec| spec.short).map(char::from),
    };
    let argument =
        Arg::new(entry.long).long(entry.long).help(entry.words.clone()).help_heading(entry.heading);
    let argument = match short {
        Some(letter) => argument.short(letter),
        None => argument,
    };
    if !spec.is_some_and(OptionSpec::takes_value) {
        return argument.action(ArgAction::SetTrue);
    }
    let value = entry.value.unwrap_or("VALUE");
    let argument = argument.action(ArgAction::Set);
    match value {
        choice if choice.contains('|') => {
            let levels = choice.trim_matches(['(', ')']).split('|');
            argument.value_name("CHOICE").value_parser(PossibleValuesParser::new(levels))
        }
        file if file.starts_with("FILE") => argument.value_name(file).value_hint(ValueHint::FilePath),
        other => argument.value_name(other),
    }
}

/// Parses all options of the help: `  -x, --long=VALUE  words`; the words may continue, or begin, on the next
/// lines.
fn entries() -> Vec<OptionEntry> {
    let mut found: Vec<OptionEntry> = Vec::new();
    let mut heading = "";
    for line in HELP.lines() {
        if let Some(name) = line.strip_suffix(':') {
            heading = name;
        } else if let Some(option) = line.strip_prefix("  -") {
            found.extend(entry(heading, option));
        } else if let Some(entry) = found.last_mut().filter(|_| line.starts_with("      ")) {
            let more = line.trim();
            let space = match more.split_once(": ") {
                _ if entry.words.is_empty() => "",
                // A list of letters.
                Some((letter, _)) if letter.len() == 1 => "; ",
                _ => " ",
            };
            entry.words += &format!("{space}{more}");
        }
    }
    found
}

/// Parses the first line of an option after its first dash.
fn entry(heading: &'static str, option: &'static str) -> Option<OptionEntry> {
    let (_, rest) =
        option.split_once('-').filter(|(before, _)| before.is_empty() || before.ends_with(", "))?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let (long, value) = match name.split_once('=') {
        Some((long, value)) => (long, Some(value)),
        None => (name, None),
    };
    Some(OptionEntry { heading, long, value, words: words.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_described_once_in_the_words_of_the_help() {
        let described = command("about");
        for spec in PGBENCH.iter().chain(&BESIDE) {
            let option = described.get_arguments().find(|option| option.get_long() == Some(spec.long));
            let option = option.unwrap_or_else(|| panic!("--{} is not described", spec.long));
            assert_eq!(option.get_short(), spec.short.map(char::from), "--{}", spec.long);
            assert_eq!(option.get_action().takes_values(), spec.takes_value(), "--{}", spec.long);
            assert!(option.get_help().is_some_and(|help| !help.to_string().is_empty()), "--{}", spec.long);
        }
        let options = described.get_arguments().filter(|option| option.get_long().is_some()).count();
        assert_eq!(options, PGBENCH.len() + BESIDE.len() + 2, "and --help and --version");
        let words = |long: &str| {
            let option = described.get_arguments().find(|option| option.get_long() == Some(long));
            option.and_then(|option| option.get_help()).map(ToString::to_string).unwrap_or_default()
        };
        assert_eq!(words("no-vacuum"), "vacuum nothing before the run; with -i: leave out every step v");
        assert!(words("init-steps").contains("in this order; d: drop the standard tables; t: create them"));
        assert_eq!(words("define"), "set a variable of the scripts");
        assert_eq!(
            words("client-cpus"),
            "keep the threads on these CPUs, which nothing else uses, such as 0,2-3; \
            a thread with its own CPU polls for a while before it sleeps"
        );
        described.debug_assert();
    }

    #[test]
    fn choices_are_levels_to_complete() {
        let described = command("about");
        let levels = |long: &str| {
            let option =
                described.get_arguments().find(|option| option.get_long() == Some(long)).expect("there");
            option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(levels("protocol"), ["simple", "extended", "prepared"]);
        assert_eq!(levels("partition-method"), ["range", "hash"]);
        assert!(levels("client").is_empty());
    }
}
