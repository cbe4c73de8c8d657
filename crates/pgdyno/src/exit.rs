//! Chooses exit codes. docs/reference/exit-codes.md lists them with these comments.

use std::process::ExitCode;

use lab::experiment::FileProblems;
use spec::Judgement;

use crate::print;

/// Done. If arms were compared, each line of the answer is decided and no arm is slower than the base.
pub(crate) const SAME_OR_BETTER: u8 = 0;
/// An arm is slower than the base, or its server crashed and the server of the base did not. `ladder`: a promise is
/// broken on every rung. `limit`: a promise never holds, or the limit of an arm is lower.
pub(crate) const WORSE: u8 = 1;
/// Inconclusive: no arm is slower, and at least one line needs more rounds. The output ends with the command for them.
/// Also two experiments that differ and were measured apart. `ladder`: a rung breaks below others that hold, or the
/// load generator was at its own limit. `limit`: undecided, irregular, doubtful, or ended by the load generator.
pub(crate) const INCONCLUSIVE: u8 = 2;
/// Nothing can be said, because no cell has a valid pair of runs. Where nothing is compared: no valid run, no
/// figure (`probe`), no trial that counts (`limit`).
pub(crate) const INVALID: u8 = 3;
/// Wrong usage: an option or argument; a finished experiment without `--again`; or a file that names commands,
/// programs or files outside its folder, without `--allow-commands`.
pub(crate) const USAGE: u8 = 64;
/// Invalid experiment file, script, extract, results file, git ref or repository. `merge`: files that contradict
/// each other.
pub(crate) const BAD_INPUT: u8 = 65;
/// A server cannot be reached, went away, or does not answer.
pub(crate) const UNREACHABLE: u8 = 66;
/// The server refused: password, role, database, too many connections. Or another pgdyno changes settings of that
/// server, measures on this machine or that server, measures the same experiment into the same file, or fetches the
/// same extract.
pub(crate) const REFUSED: u8 = 67;
/// Something is missing: PostGIS, a table, a program, a permission. `merge`: a part of an experiment.
pub(crate) const MISSING: u8 = 68;
/// A guard failed: a script does nothing, a client gave up, settings were not applied, a `check` of `[change]` is
/// not true, a change could not be undone, a connection has no TLS, or two runs in a row were invalid for the same
/// cause. Stored runs are kept; the same command continues.
pub(crate) const GUARD: u8 = 69;
/// A mistake in pgdyno itself.
pub(crate) const INTERNAL: u8 = 70;
/// A program that pgdyno started failed: initdb, osm2pgsql, the server, a build. The error names its log.
pub(crate) const CHILD: u8 = 71;
/// Reading or writing failed: disk full, no permission. Or another user can change pgdyno's home.
pub(crate) const INPUT_OUTPUT: u8 = 74;
/// Stopped by Ctrl-C or a signal. Finished runs are kept; the same command continues.
pub(crate) const INTERRUPTED: u8 = 75;

/// The exit code of a successful command, or an error.
pub(crate) type ExitResult = anyhow::Result<u8>;

#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(crate) code: u8,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

impl std::fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for CommandFailure {}

impl CommandFailure {
    pub(crate) fn with_code(code: u8, what: impl Into<String>, hint: Option<String>) -> anyhow::Error {
        Self { code, what: what.into(), hint }.into()
    }
}

/// clap's errors: help and version go to standard output with code 0; wrong usage is [`USAGE`].
///
/// A value is not shown if it has characters of connection strings.
pub(crate) fn usage(error: clap::Error) -> ExitCode {
    let error = without_values(error);
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { USAGE } else { SAME_OR_BETTER })
}

/// Longest value that a message shows, bytes.
const LONGEST_SHOWN: usize = 60;

fn without_values(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind as Kind, ContextValue as Value};
    let shown = |text: &str| {
        let plain = |c: char| !c.is_control() && !":@%;=".contains(c);
        text.len() <= LONGEST_SHOWN && text.chars().all(plain)
    };
    for kind in [Kind::InvalidValue, Kind::InvalidSubcommand, Kind::TrailingArg] {
        let hidden = matches!(error.get(kind), Some(Value::String(text)) if !shown(text));
        if hidden {
            error.insert(kind, Value::String("(not shown)".to_owned()));
        }
    }
    // For existing options, show the option and its value's name.
    let stranger = error.kind() == clap::error::ErrorKind::UnknownArgument
        && matches!(error.get(Kind::InvalidArg), Some(Value::String(text)) if !shown(text));
    if stranger {
        error.insert(Kind::InvalidArg, Value::String("(not shown)".to_owned()));
    }
    // clap's advice quotes the value too.
    if let Some(Value::StyledStrs(advice)) = error.get(Kind::Suggested)
        && stranger
        && !advice.is_empty()
    {
        error.remove(Kind::Suggested);
    }
    error
}

pub(crate) fn from(outcome: ExitResult) -> ExitCode {
    let error = match outcome {
        Ok(code) => return ExitCode::from(code),
        Err(error) => error,
    };
    let (code, hint) = classify(&error);
    match error.downcast_ref::<spec::Error>().and_then(spec::Error::attached::<FileProblems>) {
        Some(problems) => print::error_lines(&problems.lines()),
        _ => print::print_error(&words(&error), hint.as_deref()),
    }
    ExitCode::from(code)
}

/// The error and its causes, without repeated text.
fn words(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |words, cause| {
        if words.is_empty() {
            cause
        } else if words.contains(&cause) {
            words
        } else {
            format!("{words}: {cause}")
        }
    })
}

fn classify(error: &anyhow::Error) -> (u8, Option<String>) {
    if let Some(failure) = error.downcast_ref::<CommandFailure>() {
        return (failure.code, failure.hint.clone());
    }
    if let Some(error) = error.downcast_ref::<spec::Error>() {
        return (of_class(error.class()), error.hint().map(str::to_owned));
    }
    if let Some(error) = error.downcast_ref::<std::io::Error>() {
        return (if error.kind() == std::io::ErrorKind::NotFound { BAD_INPUT } else { INPUT_OUTPUT }, None);
    }
    (INTERNAL, Some("this is a mistake in pgdyno; please report it with the command and this message".into()))
}

pub(crate) fn of_class(class: spec::Class) -> u8 {
    use spec::Class;
    match class {
        Class::Usage => USAGE,
        Class::BadInput => BAD_INPUT,
        Class::Unreachable => UNREACHABLE,
        Class::Refused => REFUSED,
        Class::Missing => MISSING,
        Class::Guard => GUARD,
        Class::Internal => INTERNAL,
        Class::Child => CHILD,
        Class::Io => INPUT_OUTPUT,
        Class::Interrupted => INTERRUPTED,
    }
}

pub(crate) fn of_judgement(judgement: Judgement) -> u8 {
    match judgement {
        Judgement::Better | Judgement::Same => SAME_OR_BETTER,
        Judgement::Worse => WORSE,
        Judgement::Undecided => INCONCLUSIVE,
        Judgement::Invalid => INVALID,
    }
}
