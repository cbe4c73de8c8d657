//! The command as it was typed, to be kept with an experiment and typed again: without passwords, and without what is
//! said anew each time.

use protocol::postgres::Env;
use protocol::postgres::conninfo::Shown;
use record::shell::Command;

use crate::secrets::Argument;

/// What stands in place of what cannot be shown at all.
const LEFT_OUT: &str = "...";

/// This process's own.
pub(super) fn command() -> Command {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    of(&arguments)
}

fn of(arguments: &[String]) -> Command {
    let mut words = vec!["pgdyno".to_owned()];
    let mut rest = arguments.iter();
    let mut before = None;
    while let Some(argument) = rest.next() {
        let (option, value) = argument
            .split_once('=')
            .map_or((argument.as_str(), None), |(option, value)| (option, Some(value)));
        // Options may be shortened as far as they are told apart.
        let is = |whole: &str, least: &str| option.starts_with(least) && whole.starts_with(option);
        match option {
            "--again" => {}
            _ if is("--dry-run", "--dry") => {}
            _ if is("--rounds", "--ro") => {
                if value.is_none() {
                    rest.next();
                }
            }
            _ => words.push(without_password(before, argument)),
        }
        before = Some(argument.as_str());
    }
    words.into_iter().collect::<Command>().without_consent()
}

/// An argument as it may be kept: of a connection string all but what is secret.
fn without_password(before: Option<&str>, argument: &str) -> String {
    let given = Argument::of(before, argument);
    if !given.is_telling() {
        return argument.to_owned();
    }
    let shown = Shown::of(given.value, &Env::empty().with_user("somebody")).dsn;
    match (given.kind, shown) {
        (Some(kind @ "url"), Some(shown)) => format!("{}{kind}: {shown}", given.option),
        (None, Some(shown)) => format!("{}{shown}", given.option),
        _ => format!("{}{LEFT_OUT}", given.option),
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
            (&["bench", "--against", "sql: alter role r password 'geheim'"], "pgdyno bench --against ..."),
            // A weight was taken for a password.
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
