//! `pgdyno completion`: completions of commands, options and values for shells.

use clap::{Arg, Command, ValueEnum, ValueHint};
use clap_complete::{Generator, shells};

use crate::exit::{ExitResult, SAME_OR_BETTER};
use crate::print::data;

/// `pgdyno completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For this shell:  source <(pgdyno completion bash)
                 source <(pgdyno completion zsh)       # after compinit
                 pgdyno completion fish | source
                 pgdyno completion powershell | Out-String | Invoke-Expression
For good:        make install puts them where bash, zsh and fish look")]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// The shells that can be helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    #[value(name = "powershell")]
    Power,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    data(&script(args.shell))?;
    Ok(SAME_OR_BETTER)
}

fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => of(shells::Bash),
        Shell::Zsh => of(shells::Zsh),
        // A bare ? is a wildcard in fish.
        Shell::Fish => of(shells::Fish).replace(" -s ? ", " -s '?' "),
        Shell::Power => of(shells::PowerShell),
    }
}

fn of(generator: impl Generator) -> String {
    let mut script = Vec::new();
    let mut program = hinted(super::described()).mut_subcommand("bench", |bench| without_hidden(&bench));
    clap_complete::generate(generator, &mut program, "pgdyno", &mut script);
    String::from_utf8(script).expect("made of our own words")
}

/// Sets value hints: without one, shells offer files for every value.
fn hinted(command: Command) -> Command {
    let hinted_argument = |argument: Arg| {
        let is_open = argument.get_value_hint() == ValueHint::Unknown
            && argument.get_action().takes_values()
            && argument.get_num_args().is_none_or(|count| count.takes_values())
            && argument.get_possible_values().is_empty();
        let names: Vec<String> =
            argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
        match (is_open, names.iter().any(|name| name.contains("FILE"))) {
            (false, _) => argument,
            (true, true) => argument.value_hint(ValueHint::FilePath),
            (true, false) => argument.value_hint(ValueHint::Other),
        }
    };
    command.mut_args(hinted_argument).mut_subcommands(hinted)
}

/// Removes options that the command only refuses.
fn without_hidden(bench: &Command) -> Command {
    let shown = bench.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    Command::new("bench")
        .about(bench.get_about().cloned().unwrap_or_default())
        .disable_help_flag(true)
        .args(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fish_is_not_given_a_wildcard() {
        let script = script(Shell::Fish);
        assert!(script.contains("-s '?' -l help") && !script.contains("-s ?"));
    }

    #[test]
    fn every_shell_is_told_the_commands_and_the_drop_ins_options() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for word in ["calibrate", "restore", "may-be-empty", "aggregate-interval"] {
                assert!(script.contains(word), "{shell:?} lacks {word}");
            }
            // Hidden subcommands are not for users.
            assert!(!script.contains("watchdog"), "{shell:?}");
        }
    }
}
