//! The typed command, stored with an experiment for repetition. Addresses lose their credentials, and options
//! for a single invocation are removed.

use std::borrow::Cow;

use protocol::without_credentials;
use spec::shell::PrintedCommand;

use crate::print::warning;

/// Warns once about a password in the arguments: every user of this machine can read them.
pub(crate) fn warn_of_passwords() {
    if arguments().iter().any(|argument| matches!(shown(argument), Cow::Owned(_))) {
        warning(
            "a password stands among the arguments, where other users of this machine can read it; \
             use PGPASSWORD, a passfile (~/.pgpass) or a service file",
        );
    }
}

pub(super) fn command() -> PrintedCommand {
    of(&arguments())
}

fn arguments() -> Vec<String> {
    std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn of(arguments: &[String]) -> PrintedCommand {
    let mut words = vec!["pgdyno".to_owned()];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (option, value) = argument
            .split_once('=')
            .map_or((argument.as_str(), None), |(option, value)| (option, Some(value)));
        // Options may be abbreviated if unambiguous.
        let is = |whole: &str, least: &str| option.starts_with(least) && whole.starts_with(option);
        match option {
            "--again" => {}
            _ if is("--dry-run", "--dry") => {}
            _ if is("--rounds", "--ro") => {
                if value.is_none() {
                    rest.next();
                }
            }
            _ => words.push(shown(argument).into_owned()),
        }
    }
    words.into_iter().collect::<PrintedCommand>().without_consent()
}

/// An argument without credentials in the value of an option, or in an address after `url:` or `via:`.
pub(crate) fn shown(argument: &str) -> Cow<'_, str> {
    // Short options may have an attached value.
    let starts = match argument.find('=').filter(|_| argument.starts_with("--")) {
        Some(at) => at + 1..=at + 1,
        None if argument.starts_with('-') => 2..=MOST_SHORT,
        None => 0..=0,
    };
    let parts = starts.filter_map(|start| argument.split_at_checked(start));
    let found = parts.filter_map(|(option, value)| Some((option, shown_value(value)?))).next();
    found.map_or(argument.into(), |(option, value)| format!("{option}{value}").into())
}

/// Longest prefix of a cluster of short options, such as `-nSd`, before an attached value.
const MOST_SHORT: usize = 8;

/// A value without its credentials; `None` if it has none.
fn shown_value(value: &str) -> Option<String> {
    let kind = match value.split_once(':') {
        Some((kind, _)) if matches!(kind.trim(), "url" | "via") => kind.len() + 1,
        _ => 0,
    };
    let (kind, address) = value.split_at(kind);
    let gap = if kind.is_empty() { "" } else { " " };
    match without_credentials(address.trim_start()) {
        Cow::Owned(shown) => Some(format!("{kind}{gap}{shown}")),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_again() {
        for (arguments, wanted) in [
            (&["run", "a b.toml", "--rounds", "24", "--again"][..], "pgdyno run 'a b.toml'"),
            (&["run", "a.toml", "--rounds=24", "--full", "--dry-run"], "pgdyno run a.toml --full"),
            (&["run", "--allow-commands", "a.toml"], "pgdyno run a.toml"),
            (&["run", "--allow-commands", "a.toml", "--full", "--allow"], "pgdyno run a.toml --full"),
            (&["bench", "--round", "24", "--against=a: b", "--dry"], "pgdyno bench '--against=a: b'"),
            (&["run", "a.toml", "--slices", "250ms", "--rou=2"], "pgdyno run a.toml --slices 250ms"),
            (
                &["bench", "--against", "settings: a='b c'", "-S", "postgres://me@h:5432/shop"],
                r"pgdyno bench --against 'settings: a='\''b c'\''' -S postgres://me@h:5432/shop",
            ),
            (
                &["bench", "--against", "url: postgres://me:geheim@h/shop", "postgres://me:geheim@g/shop"],
                "pgdyno bench --against 'url: host=h dbname=shop user=me' 'host=g dbname=shop user=me'",
            ),
            (&["bench", "--against=url:host=h password=geheim"], "pgdyno bench '--against=url: host=h'"),
            (
                &["tiles", "--via", "http://me:geheim@h/{z}/{x}/{y}", "-d", "host=h password=geheim"],
                "pgdyno tiles --via 'http://h/{z}/{x}/{y}' -d host=h",
            ),
            (&["bench", "-nSdpostgres://me:geheim@h/d"], "pgdyno bench '-nSdhost=h dbname=d user=me'"),
            (&["bench", "--dbname=host=h password=geheim"], "pgdyno bench --dbname=host=h"),
            // Only addresses change.
            (
                &["bench", "--against", "script: ad.sql@2, b.sql", "--undo", "drop index i -- a:b @c"],
                "pgdyno bench --against 'script: ad.sql@2, b.sql' --undo 'drop index i -- a:b @c'",
            ),
            (&["bench", "--against=script:ad.sql@2"], "pgdyno bench --against=script:ad.sql@2"),
        ] {
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(of(&arguments).to_string(), wanted);
        }
    }
}
