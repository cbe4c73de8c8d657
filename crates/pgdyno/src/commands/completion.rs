//! `pgdyno completion`: what a shell needs to complete our commands, options and values.

use clap::ValueEnum;
use clap_complete::{Generator, shells};

use crate::exit::{Outcome, SAME_OR_BETTER};
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
    /// Which shell is to complete
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

pub(crate) fn run(args: &Args) -> Outcome {
    data(&script(args.shell))?;
    Ok(SAME_OR_BETTER)
}

fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => of(shells::Bash),
        Shell::Zsh => of(shells::Zsh),
        // A bare ? is a wildcard there.
        Shell::Fish => of(shells::Fish).replace(" -s ? ", " -s '?' "),
        Shell::Power => of(shells::PowerShell),
    }
}

fn of(generator: impl Generator) -> String {
    let mut script = Vec::new();
    clap_complete::generate(generator, &mut super::described(), "pgdyno", &mut script);
    String::from_utf8(script).expect("made of our own words")
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
            // The other lives of the program are nobody's to type.
            assert!(!script.contains("watchdog"), "{shell:?}");
        }
    }
}
