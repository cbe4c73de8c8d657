//! What people write between results to tell them apart: `Instance: small`, `# run=2`, `=== m5.large ===`.

use std::collections::BTreeMap;

/// Levels of factors, and the number of the repeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Labels {
    pub(super) levels: BTreeMap<String, String>,
    pub(super) round: Option<u32>,
}

/// Collects the labels of a text; they hold until others of their names follow.
#[derive(Debug, Default)]
pub(super) struct LabelReader {
    labels: Labels,
    /// Since the last result.
    block: Vec<Label>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Label {
    Level(String, String),
    Round(u32),
    /// A heading without a name.
    Heading(String),
}

/// More labels in a row are a listing, such as the facts of a machine.
const MOST_IN_A_ROW: usize = 8;
const LONGEST: usize = 60;
/// Factor of headings without a name.
const HEADING: &str = "label";
/// Names that number repeats.
pub(super) const REPEATS: [&str; 8] =
    ["run", "round", "repeat", "repetition", "rep", "iteration", "iter", "trial"];
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

impl LabelReader {
    pub(super) fn take(&mut self, line: &str) {
        self.block.extend(labels_in(line));
    }

    /// The labels of a result that begins here; `None` if it has none.
    pub(super) fn of_result(&mut self) -> Option<Labels> {
        let block = std::mem::take(&mut self.block);
        if block.len() <= MOST_IN_A_ROW {
            for label in block {
                match label {
                    Label::Level(name, level) => drop(self.labels.levels.insert(name, level)),
                    Label::Heading(text) => drop(self.labels.levels.insert(HEADING.to_owned(), text)),
                    Label::Round(round) => self.labels.round = Some(round),
                }
            }
        }
        (self.labels != Labels::default()).then(|| self.labels.clone())
    }
}

fn labels_in(line: &str) -> Vec<Label> {
    const DECORATION: [char; 6] = ['=', '#', '-', '*', '>', '~'];
    let line = line.trim();
    let bare = line.trim_start_matches(DECORATION).trim_end_matches(DECORATION);
    let decorated = line.len() - line.trim_start_matches(DECORATION).len() >= 2;
    let spaced = bare.len() < line.len() && bare.starts_with(char::is_whitespace);
    let text = bare.trim();
    if text.is_empty() || text.len() > LONGEST || bare.len() < line.len() && !spaced {
        return Vec::new();
    }
    let parts: Vec<Option<Label>> = text.split([',', ';', '|']).map(|part| named(part.trim())).collect();
    if parts.iter().all(Option::is_some) {
        return parts.into_iter().flatten().collect();
    }
    if decorated { heading(text) } else { Vec::new() }
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
    if !is_name || !is_level || NO_LABELS.contains(&name.as_str()) || name.contains("password") {
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

/// `run 2`, `Run #2`, `round 2 of 3`.
fn round_in(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace();
    let name = words.next()?.to_lowercase();
    let number = words.next()?.trim_start_matches('#');
    let rest = words.next().is_none_or(|word| matches!(word, "of" | "/"));
    let number = number.split('/').next().and_then(|number| number.parse().ok());
    number.filter(|number| *number > 0 && rest && REPEATS.contains(&name.as_str()))
}

/// A heading, with `run 2` at its end or after a comma.
fn heading(text: &str) -> Vec<Label> {
    if varies(text) || text.chars().all(|c| !c.is_alphanumeric()) {
        return Vec::new();
    }
    let mut words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let round = words.len().checked_sub(2).and_then(|at| round_in(&words[at..].join(" ")));
    if round.is_some() {
        words.truncate(words.len() - 2);
    }
    let rest = words.join(" ");
    let label = (!rest.is_empty()).then_some(Label::Heading(rest));
    label.into_iter().chain(round.map(Label::Round)).collect()
}

/// Whether a text is a measured number or a time, which are other in each run.
fn varies(text: &str) -> bool {
    let is_decimal = text.contains('.') && text.parse::<f64>().is_ok();
    let has_clock = text
        .as_bytes()
        .windows(5)
        .any(|five| five[2] == b':' && [0, 1, 3, 4].into_iter().all(|at| five[at].is_ascii_digit()));
    is_decimal || has_clock
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The labels after these lines, with the round.
    fn read(lines: &[&str]) -> String {
        let mut reader = LabelReader::default();
        lines.iter().for_each(|line| reader.take(line));
        let Some(Labels { levels, round }) = reader.of_result() else { return "none".to_owned() };
        let levels = levels.iter().map(|(name, level)| format!("{name}={level}"));
        levels.chain(round.map(|round| format!("#{round}"))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn labels_are_read_however_they_are_written() {
        for (lines, wanted) in [
            (&["Instance: small", "Run: 1"][..], "instance=small #1"),
            (&["# instance=r5.large, run=3"], "instance=r5.large #3"),
            (&["=== m5.large ==="], "label=m5.large"),
            (&["## m5.large, run 2"], "label=m5.large #2"),
            (&["--- Disk type: gp3; iteration: 2/5 ---"], "disk_type=gp3 #2"),
            (&["Run 4 of 5"], "#4"),
            (&["run: cold"], "run=cold"),
            (&["Instance: small", "Instance: big"], "instance=big"),
            (
                &["starting vacuum...end.", "pgbench: error: x", "Time: 10:00:01", "Load: 0.75", "", "==="],
                "none",
            ),
            (&["real\t0m30.1s", "$ pgbench -c 8", "done in 0.30 s (drop tables 0.00 s)."], "none"),
            (&["url: postgres://me:secret@h/db", "my password: x"], "none"),
        ] {
            assert_eq!(read(lines), wanted, "{lines:?}");
        }
        let listing: Vec<String> = (0..12).map(|n| format!("field {n}: x")).collect();
        let listing: Vec<&str> = listing.iter().map(String::as_str).collect();
        assert_eq!(read(&listing), "none", "a listing of a machine");
    }

    #[test]
    fn labels_hold_until_others_follow() {
        let mut reader = LabelReader::default();
        reader.take("Machine: a");
        reader.take("Run: 1");
        let first = reader.of_result().unwrap();
        reader.take("Run: 2");
        let second = reader.of_result().unwrap();
        assert_eq!((first.levels, first.round), (second.levels.clone(), Some(1)));
        assert_eq!((second.levels["machine"].as_str(), second.round), ("a", Some(2)));
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(line in "[=#*-]{0,3}\\PC{0,30}[=:]?\\PC{0,30}") {
            let _ = read(&[&line]);
        }
    }
}
