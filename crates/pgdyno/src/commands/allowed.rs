//! Consent to commands and programs in an experiment file, and to files of other folders
//! (docs/decisions/0029).

use std::io::{BufRead, IsTerminal, Read};

use ::report::visible;
use server::child::Account;
use spec::{ExecutedBy, FileCommand};

use crate::exit::{CommandFailure, USAGE};
use crate::print::{talk, talk_as_is};

/// Longest answer read, bytes.
const LONGEST: u64 = 100;

const KINDS: &str = "commands, programs, or files outside its folder";

pub(super) fn show(file: &str, commands: &[FileCommand]) {
    if commands.is_empty() {
        return;
    }
    talk(&format!(
        "{file} names {KINDS}. A run needs your consent; this dry run executes nothing, so versions are not known:"
    ));
    list(file, commands).iter().for_each(|line| talk(&format!("  {line}")));
}

/// Asks on the terminal for consent.
///
/// # Errors
/// The answer is no, or there is no terminal.
pub(super) fn ask(file: &str, commands: &[FileCommand]) -> anyhow::Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let list = list(file, commands);
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        let what = format!("{file} names {KINDS}, and --allow-commands is not given:");
        let what = [vec![what], list].concat().join("\n");
        return Err(refused(what, "read the list; if you trust all of it, add --allow-commands"));
    }
    talk(&format!("{file} names {KINDS}:"));
    list.iter().for_each(|line| talk(&format!("  {line}")));
    talk_as_is("allow all of it? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().take(LONGEST).read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(refused(
            format!("{file} was not run: what it names was not allowed"),
            "answer y, or add --allow-commands",
        )),
    }
}

fn refused(what: String, hint: &str) -> anyhow::Error {
    CommandFailure::with_code(USAGE, what, Some(hint.to_owned()))
}

/// A line for each: key, command, and account that executes it.
fn list(file: &str, commands: &[FileCommand]) -> Vec<String> {
    let own = match Account::unprivileged() {
        Ok(None) => "the user who runs pgdyno".to_owned(),
        Ok(Some(account)) => account.name,
        Err(_) => "an unprivileged account".to_owned(),
    };
    let line = |command: &FileCommand| {
        let FileCommand { key, line, runs, by, .. } = command;
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let who = match by {
            Some(ExecutedBy::Pgdyno) => format!(", as {own}"),
            Some(ExecutedBy::Server) => ", as the server's account".to_owned(),
            None => String::new(),
        };
        visible::line(&format!("{file}{line}: {key}: {runs}{who}")).into_owned()
    };
    commands.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_line_break_is_one_line_of_the_list() {
        let command = FileCommand {
            key: "change.a\nb.c.do".into(),
            line: Some(3),
            runs: "the program x\u{1b}[2K\u{202e}y".into(),
            by: Some(ExecutedBy::Server),
            outside: None,
        };
        let lines = list("x.toml", &[command]);
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.starts_with("x.toml:3: change.a\\nb.c.do: the program x"), "{line}");
        assert!(line.ends_with("y, as the server's account") && !line.contains(['\n', '\u{1b}', '\u{202e}']));
    }
}
