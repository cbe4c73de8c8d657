//! A factor that a person sets: which level the machine is at, by `--level` or by asking on the terminal.

use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use lab::execute::{ExecutionOptions, SetsSoFar, sets_so_far};
use lab::experiment::ExperimentFile;
use results::{ExperimentId, Store};
use server::Stop;
use server::home::results_option;

use super::carry_out::How;
use crate::exit::{CommandFailure, ExitResult, INTERRUPTED, USAGE};
use crate::print::{talk, talk_as_is, warning};

/// Longest answer read, bytes.
const LONGEST: u64 = 200;
/// How often Ctrl-C is looked for while pgdyno waits for an answer.
const LOOK: Duration = Duration::from_millis(100);

/// Measures a set at the level that is given, or sets until all are there if a person is at the terminal.
pub(super) fn carry_out(
    how: &How<'_>,
    file: &ExperimentFile,
    given: Option<&str>,
    stop: &Stop,
) -> ExitResult {
    let options = how.options(None);
    let Some(so_far) = sets_so_far(file, &options)? else {
        if let Some(text) = given {
            file.level(text)?;
        }
        return how.carry_out_by(file, None, stop);
    };
    if how.dry_run {
        talk(&format!("set by hand: {}; {}", so_far.factor, so_far.words()));
        return how.carry_out_by(file, None, stop);
    }
    let mut level = match given {
        Some(text) => file.level(text)?,
        None => asked(file, &so_far, stop)?,
    };
    let mut how = how.clone();
    let mut last = so_far.last;
    loop {
        let is_wanted = so_far.levels.iter().any(|(own, sets)| *own == level && *sets < so_far.wanted);
        if is_wanted && last.as_ref().is_some_and(|(last, complete)| *last == level && *complete) {
            let factor = &so_far.factor;
            warning(&format!(
                "the last set was of {factor} {level} too: unless {factor} was set anew in between, both are one set, and their \
                 spread is no error of the level"
            ));
        }
        let code = how.carry_out_by(file, Some(&level), stop)?;
        // What begins again has begun.
        how.again = false;
        let options = how.options(None);
        let Some(so_far) = sets_so_far(file, &options)? else { return Ok(code) };
        last.clone_from(&so_far.last);
        let factor = &so_far.factor;
        let Some(next) = so_far.next() else {
            talk(&format!("all sets are there: {factor} {}", so_far.words()));
            return Ok(code);
        };
        talk(&format!("sets so far: {factor} {}", so_far.words()));
        if !is_somebody_there() || given.is_some() {
            let results = results_option(&options.results);
            let file = command_word(&how.name);
            let value = spec::shell::word(&format!("{factor}={next}")).into_owned();
            talk(&format!("next: set {factor} to {next}, then: pgdyno run {file} --level {value}{results}"));
            return Ok(code);
        }
        let question =
            format!("set {factor} to {next}, then press Enter (another level: type it; to stop: q): ");
        match level_of_answer(file, (factor, &next), &question, stop)? {
            Some(answer) => level = answer,
            None => return Ok(code),
        }
    }
}

/// How many sets of each level there are now, for a single run, and the command that compares them.
pub(super) fn tell(
    file: &ExperimentFile,
    options: &ExecutionOptions,
    experiment: Option<ExperimentId>,
) -> anyhow::Result<()> {
    let Some(SetsSoFar { factor, levels, .. }) = sets_so_far(file, options)? else { return Ok(()) };
    let each: Vec<String> = levels.iter().map(|(level, sets)| format!("{level}: {sets}")).collect();
    let which = experiment.and_then(|id| Store::open_read_only(&options.results).ok()?.called(id).ok());
    let which = which.map(|which| format!(" -e {}", spec::shell::word(&which))).unwrap_or_default();
    let compare = format!("pgdyno compare{which}{}", results_option(&options.results));
    let more = if levels.len() > 1 { format!(" (compare them: {compare})") } else { String::new() };
    talk(&format!("sets of {factor} so far: {}{more}", each.join(", ")));
    Ok(())
}

fn asked(file: &ExperimentFile, so_far: &SetsSoFar, stop: &Stop) -> anyhow::Result<String> {
    let SetsSoFar { factor, .. } = so_far;
    let next =
        so_far.next().or_else(|| so_far.levels.first().map(|(level, _)| level.clone())).unwrap_or_default();
    if !is_somebody_there() {
        let what = format!("{factor} is set by hand: say which level the machine is at ({})", so_far.words());
        let hint = format!("--level {}", spec::shell::word(&format!("{factor}={next}")));
        return Err(CommandFailure::with_code(USAGE, what, Some(hint)));
    }
    talk(&format!("{factor} is set by hand; {}", so_far.words()));
    let question = format!("which {factor} is the machine at now? Enter for {next}, q to stop: ");
    level_of_answer(file, (factor, &next), &question, stop)?.ok_or_else(|| {
        let what = "stopped before anything was measured".to_owned();
        CommandFailure::with_code(INTERRUPTED, what, None)
    })
}

/// Asks until the answer is a level, `next` for Enter; `None` to stop.
fn level_of_answer(
    file: &ExperimentFile,
    (factor, next): (&str, &str),
    question: &str,
    stop: &Stop,
) -> anyhow::Result<Option<String>> {
    loop {
        match answer(question, stop)?.as_deref() {
            None | Some("q") => return Ok(None),
            Some("") => return Ok(Some(next.to_owned())),
            Some(other) => match file.level(&format!("{factor}={other}")) {
                Ok(level) => return Ok(Some(level)),
                Err(wrong) => warning(&wrong.to_string()),
            },
        }
    }
}

fn is_somebody_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A line from the terminal, without spaces around it; `None` at its end, and at Ctrl-C.
fn answer(question: &str, stop: &Stop) -> anyhow::Result<Option<String>> {
    talk_as_is(question);
    let (line, read) = mpsc::channel();
    // A blocking read does not end with a signal that is handled.
    std::thread::spawn(move || {
        let mut text = String::new();
        let count = std::io::stdin().lock().take(LONGEST).read_line(&mut text);
        let _ = line.send(count.map(|count| (count > 0).then(|| text.trim().to_owned())));
    });
    loop {
        match read.recv_timeout(LOOK) {
            Ok(line) => return Ok(line?),
            Err(_) if stop.soon() => return Ok(None),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

fn command_word(name: &str) -> String {
    spec::shell::word(&Path::new(name).display().to_string()).to_string()
}
