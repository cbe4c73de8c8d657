//! The labels in one line.

use super::REPEATS;
use crate::import::moment::{Form, Moment};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Label {
    Level(String, String),
    Round(u32),
    /// A heading without a name, with its decoration.
    Heading(String, String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Words of programs, times, rules.
    Nothing,
    Labels(Vec<Label>),
    Unread,
}

const LONGEST: usize = 120;
const DECORATION: [char; 6] = ['=', '#', '-', '*', '>', '~'];
/// `<<<` ends what `>>>` begins.
const DECORATION_END: [char; 7] = ['=', '#', '-', '*', '<', '>', '~'];
/// Names that are not labels: words of programs, and what differs from run to run anyway.
const NO_LABELS: [&str; 39] = [
    "pgbench",
    "psql",
    "vacuum",
    "warning",
    "error",
    "notice",
    "hint",
    "detail",
    "log",
    "info",
    "debug",
    "fatal",
    "panic",
    "context",
    "statement",
    "query",
    "line",
    "progress",
    "password",
    "user",
    "pid",
    "process",
    "port",
    "date",
    "time",
    "timestamp",
    "start",
    "started",
    "end",
    "ended",
    "finished",
    "elapsed",
    "duration",
    "seed",
    "load average",
    "uptime",
    "mem",
    "swap",
    "command",
];

/// Beginnings of lines that pgbench, shells and `time` print, which say nothing about what was measured.
const OF_PROGRAMS: [&str; 26] = [
    "starting vacuum",
    "pgbench:",
    "pgbench (",
    "psql:",
    "psql (",
    "dropping old tables",
    "creating tables",
    "creating primary keys",
    "creating foreign keys",
    "generating data",
    "vacuuming",
    "set primary keys",
    "done in ",
    "done.",
    "real ",
    "real\t",
    "user ",
    "user\t",
    "sys ",
    "sys\t",
    "client ",
    "NOTICE:",
    "WARNING:",
    "LOG:",
    "HINT:",
    "DETAIL:",
];

/// Whether a line is nothing but decoration.
pub(super) fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| DECORATION.contains(&c) || c == '_' || c == '+')
}

/// Reads a line; `below_rule` if the one above it was decoration.
pub(super) fn read(line: &str, below_rule: bool) -> LineKind {
    let line = without_time(line.trim());
    if line.is_empty() || is_rule(line) || is_of_program(line) {
        return LineKind::Nothing;
    }
    let (host, line) = behind_prompt(line);
    let mut labels: Vec<Label> =
        host.map(|host| Label::Level("host".to_owned(), host.to_owned())).into_iter().collect();
    let found = if line.len() > LONGEST { Vec::new() } else { labels_in(line, below_rule) };
    let is_read = !found.is_empty() || line.is_empty();
    labels.extend(found);
    match labels.is_empty() || !is_read && !line.contains("pgbench") {
        true => LineKind::Unread,
        false => LineKind::Labels(labels),
    }
}

fn is_of_program(line: &str) -> bool {
    OF_PROGRAMS.iter().any(|words| line.starts_with(words))
        || line.contains(" tuples (") && line.contains("%) done")
        || is_date(line)
}

/// The output of `date`: names of days and months, numbers, a time, a zone.
fn is_date(line: &str) -> bool {
    let is_part = |word: &str| {
        let word = word.trim_matches([',', '.']);
        word.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '+' | '-' | '.' | '/'))
            || word.len() <= 5 && word.chars().all(char::is_alphabetic)
    };
    varies(line) && line.split_whitespace().count() >= 3 && line.split_whitespace().all(is_part)
}

/// A line without a time at its start: `2026-11-20 10:01:00 `, `[10:01:00] `.
pub(super) fn without_time(line: &str) -> &str {
    let inner = line.strip_prefix('[').unwrap_or(line);
    let found =
        [Form::Date, Form::Clock, Form::Syslog].iter().find_map(|form| Moment::at_start(inner, *form));
    match found {
        Some((_, length)) => inner[length..].trim_start_matches([']', ':', '-', ',', '|']).trim(),
        None => line,
    }
}

/// The host in the prompt of a shell, and the rest without `+ ` of `set -x` and `export`.
fn behind_prompt(line: &str) -> (Option<&str>, &str) {
    let mut host = None;
    let mut rest = line;
    // `root@db7:~# pgbench …`, `[me@db7 ~]$ pgbench …`
    if let Some((prompt, command)) =
        line.split_once(['#', '$', '%']).filter(|(prompt, _)| prompt.contains('@'))
    {
        let words = prompt.trim_start_matches('[').split_once('@');
        let name = words.and_then(|(user, place)| {
            let is_user = !user.is_empty() && !user.contains(char::is_whitespace);
            is_user.then(|| place.split([':', ' ', ']']).next().unwrap_or_default())
        });
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            (host, rest) = (Some(name), command.trim());
        }
    } else if let Some(command) = line.strip_prefix("$ ") {
        rest = command;
    }
    let traced = rest.trim_start_matches('+');
    if traced.len() < rest.len() && traced.starts_with(' ') {
        rest = traced.trim();
    }
    for word in ["export ", "declare -x ", "set ", "local ", "readonly "] {
        rest = rest.strip_prefix(word).filter(|rest| rest.contains('=')).unwrap_or(rest);
    }
    (host, rest)
}

fn labels_in(line: &str, below_rule: bool) -> Vec<Label> {
    if let Some(round) = round_in(line) {
        return vec![Label::Round(round)];
    }
    let bare = line.trim_start_matches(DECORATION).trim_end_matches(DECORATION_END);
    let decoration = &line[..line.len() - line.trim_start_matches(DECORATION).len()];
    let spaced = bare.len() < line.len() && bare.starts_with(char::is_whitespace);
    let brackets = bare.trim().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let text = bare.trim();
    if text.is_empty() || bare.len() < line.len() && !spaced && line.starts_with(DECORATION) {
        return Vec::new();
    }
    let (text, round) = without_round(text);
    let round = round.map(Label::Round);
    if text.is_empty() {
        return round.into_iter().collect();
    }
    if let Some(labels) = all_named(text) {
        return labels.into_iter().chain(round).collect();
    }
    let is_heading = decoration.len() >= 2
        || below_rule
        || round.is_some()
        || brackets.is_some_and(|(_, rest)| rest.trim().is_empty());
    let text = text.trim_matches(['[', ']']).trim_end_matches(':').trim();
    if !is_heading || varies(text) || text.chars().all(|c| !c.is_alphanumeric()) || names_a_program(text) {
        return Vec::new();
    }
    let style = if decoration.is_empty() && below_rule { "rule" } else { decoration };
    std::iter::once(Label::Heading(style.to_owned(), text.to_owned())).chain(round).collect()
}

/// The labels of a text that consists of labels: `a: b, c=d`, `a=b c=d`.
fn all_named(text: &str) -> Option<Vec<Label>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let are_pairs = words.len() > 1
        && words.iter().all(|word| {
            word.trim_end_matches([',', ';'])
                .split_once('=')
                .is_some_and(|(name, level)| !name.is_empty() && !level.is_empty())
        });
    if are_pairs {
        return words.iter().map(|word| named(word.trim_end_matches([',', ';']))).collect();
    }
    text.split([',', ';', '|']).map(|part| named(part.trim())).collect()
}

/// `Instance: small`, `instance=small`, `Run 2`.
fn named(text: &str) -> Option<Label> {
    if let Some(round) = round_in(text) {
        return Some(Label::Round(round));
    }
    let (name, level) = text.split_once(": ").or_else(|| text.split_once('='))?;
    let (name, level) = (name.trim(), level.trim().trim_matches(['"', '\'']));
    let name = name.to_lowercase();
    let is_name = name.starts_with(char::is_alphabetic)
        && name.split_whitespace().count() <= 3
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'));
    let is_level = !level.is_empty() && !level.contains("://") && !level.ends_with("...") && !varies(level);
    if !is_name || !is_level || names_a_program(&name) || name.contains("password") {
        return None;
    }
    if REPEATS.contains(&name.as_str()) {
        let round = level.split(['/', ' ']).next().and_then(|number| number.parse().ok());
        return round
            .filter(|round| *round > 0)
            .map(Label::Round)
            .or_else(|| Some(Label::Level(name, level.to_owned())));
    }
    Some(Label::Level(name.replace(' ', "_"), level.to_owned()))
}

fn names_a_program(name: &str) -> bool {
    NO_LABELS.contains(&name.to_lowercase().as_str())
}

/// `run 2`, `Run #2`, `round 2 of 3`, `#2`, `run2`.
fn round_in(text: &str) -> Option<u32> {
    let text = text.trim_matches(['(', ')', '[', ']', ':', '.', ' ']).to_lowercase();
    let text = text.strip_prefix("the ").unwrap_or(&text);
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (name, rest) = text.split_at(digits);
    let is_marked = name.ends_with('#');
    let name = name.trim_end_matches(['#', ' ', '-', '_', '=', ':', '.', '\u{b0}']).trim();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = (rest[..end].parse().ok()?, rest[end..].trim());
    let of = rest.strip_prefix('/').or_else(|| rest.strip_prefix("of "));
    let is_whole = rest.is_empty() || of.is_some_and(|all| all.trim().chars().all(|c| c.is_ascii_digit()));
    // `Run no. 3`, `test run 3`.
    let are_repeats = || {
        name.split_whitespace().all(|word| REPEATS.contains(&word.trim_end_matches('.')) || word == "number")
    };
    let is_name = if name.is_empty() { is_marked } else { are_repeats() };
    (number > 0 && is_whole && is_name).then_some(number)
}

/// A text without a round at its end or start: `gp3 (run 1)`, `gp3, run 2`, `pass #1: gp3`.
fn without_round(text: &str) -> (&str, Option<u32>) {
    if let Some(round) = round_in(text).filter(|_| !text.contains('=')) {
        return ("", Some(round));
    }
    const GLUE: [char; 9] = [' ', ',', '(', '[', '-', ':', ';', '|', '/'];
    let starts = |at: &usize| {
        *at > 0
            && text[..*at].ends_with([' ', '(', '[', ',', ';', '|'])
            && !text[*at..].starts_with([' ', '('])
    };
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).filter(starts).collect();
    // The longest end, `run 2 of 3` and not `3`, of at most four words.
    let end = ends
        .iter()
        .find_map(|at| Some((*at, round_in(&text[*at..]).filter(|_| !text[*at..].contains('='))?)));
    if let Some((at, round)) = end {
        let rest = text[..at].trim_end_matches(GLUE);
        return (rest, Some(round));
    }
    let first =
        text.split_once([':', ',']).filter(|(first, rest)| rest.starts_with(' ') && !first.contains('='));
    if let Some((round, rest)) = first.and_then(|(first, rest)| Some((round_in(first)?, rest))) {
        return (rest.trim(), Some(round));
    }
    (text, None)
}

/// Whether a text is a measured number or a time, which are other in each run.
pub(super) fn varies(text: &str) -> bool {
    let is_decimal = text.contains('.') && text.parse::<f64>().is_ok();
    let has_clock = text
        .as_bytes()
        .windows(5)
        .any(|five| five[2] == b':' && [0, 1, 3, 4].into_iter().all(|at| five[at].is_ascii_digit()));
    is_decimal || has_clock
}
