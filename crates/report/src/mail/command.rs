//! The command that measured it, wrapped for a shell.

use results::ReportData;
use spec::shell::{self, PrintedCommand};

use super::ascii::word;
use super::labelled::labelled;
use super::{INDENT, WIDTH};
use crate::lines::wrapped;
use crate::repeat::{Kit, WRITTEN};

const LABEL: &str = "Command";
/// Ends a line whose command goes on in the next one.
const GOES_ON: &str = " \\";

pub(super) fn lines(data: &ReportData) -> String {
    let experiment = &data.experiment;
    let Some(command) = &data.course.command else {
        let known = Kit::of(data).map(|kit| kit.command);
        let said = known.map_or("not known: the results were imported".to_owned(), |command| {
            format!("not stored; this repeats it: {command}")
        });
        return labelled(LABEL, &[said]);
    };
    let command = match takes_rounds(command) {
        true => {
            command.clone().without_options(&["--rounds"]).option("--rounds", &experiment.rounds.to_string())
        }
        false => command.clone(),
    };
    // Other commands say all themselves.
    let file = (command.has("run") && !experiment.file_text.trim().is_empty()).then(|| {
        let hash: String = experiment.hash.chars().take(16).collect();
        format!("identity of the experiment {hash}, seed {}", experiment.seed)
    });
    let file = file.map(|file| wrapped(&format!("{INDENT}{file}"), WIDTH));
    broken(&command.without_options(&WRITTEN)) + &file.unwrap_or_default()
}

/// Commands are stored without their rounds, so that further ones can be added.
fn takes_rounds(command: &PrintedCommand) -> bool {
    let mut words = command.words().iter();
    words.any(|word| word == "run" || word == "ladder" || word.starts_with("--against"))
}

/// Words are not broken: a longer one makes a longer line.
fn broken(command: &PrintedCommand) -> String {
    let mut lines = vec![format!("{LABEL}: ")];
    for (at, own) in command.words().iter().enumerate() {
        let shown = word(&shell::word(own), own);
        let line = lines.last_mut().expect("a line");
        if at == 0 {
            line.push_str(&shown);
        } else if line.len() + 1 + shown.len() + GOES_ON.len() > WIDTH {
            line.push_str(GOES_ON);
            lines.push(format!("{INDENT}{shown}"));
        } else {
            line.push(' ');
            line.push_str(&shown);
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_one_command_in_several_lines() {
        let text = "pgdyno bench -S -c 4 -s 10 --managed --against 'version: /opt/patched build, /opt/master' --rounds 12 -T 30";
        let shown = broken(&PrintedCommand::read(text).unwrap());
        assert!(shown.lines().all(|line| line.len() <= WIDTH), "{shown}");
        let typed = shown.strip_prefix("Command: ").unwrap();
        assert_eq!(spec::shell::words(&typed.replace("\\\n", "")), spec::shell::words(text));
        assert_eq!(shown.lines().count(), 2, "{shown}");
    }
}
