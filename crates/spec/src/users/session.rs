//! A session: scripts in order, with think times between them. It is written as a text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UsersError;
use super::think::{Centre, MOST_SIGMA, Think, time};

/// Most different places of scripts in a session: pgbench's bound on scripts.
const MOST_STEPS: usize = 128;
/// Most transactions of a session.
const MOST_VISITS: usize = 10_000;
/// Most repetitions of a part.
const MOST_TIMES: u32 = 1000;
/// Most parentheses in each other.
const MOST_DEPTH: usize = 32;
const ADVICE: &str =
    "write scripts and think times, such as 'login.sql, 5s, (search.sql, exp(2s)) x3, order.sql'";

/// A session as written: scripts in order, with think times between them.
///
/// A place in the text is a *step*. It has its own figures, also if it is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Session {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Think(Think),
    Script { name: String, times: u32 },
    Group { parts: Vec<Part>, times: u32 },
}

/// One transaction of a session, and the think times after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// Index into [`Session::steps`].
    pub step: usize,
    /// They add up; empty for none.
    pub pauses: Vec<Think>,
}

impl Session {
    /// The scripts of the steps, in the order of the text.
    #[must_use]
    pub fn steps(&self) -> Vec<&str> {
        fn collect<'p>(parts: &'p [Part], steps: &mut Vec<&'p str>) {
            for part in parts {
                match part {
                    Part::Think(_) => {}
                    Part::Script { name, .. } => steps.push(name),
                    Part::Group { parts, .. } => collect(parts, steps),
                }
            }
        }
        let mut steps = Vec::new();
        collect(&self.parts, &mut steps);
        steps
    }

    /// The transactions in order, with repetitions.
    #[must_use]
    pub fn visits(&self) -> Vec<Visit> {
        fn expand(parts: &[Part], first: usize, visits: &mut Vec<Visit>) -> usize {
            let mut step = first;
            for part in parts {
                match part {
                    Part::Think(think) => {
                        if let Some(visit) = visits.last_mut() {
                            visit.pauses.push(think.clone());
                        }
                    }
                    Part::Script { times, .. } => {
                        visits.extend((0..*times).map(|_| Visit { step, pauses: Vec::new() }));
                        step += 1;
                    }
                    Part::Group { parts, times } => {
                        let after = (0..*times).map(|_| expand(parts, step, visits)).last();
                        step = after.unwrap_or(step);
                    }
                }
            }
            step
        }
        let mut visits = Vec::new();
        expand(&self.parts, 0, &mut visits);
        visits
    }

    /// Files of observed pauses, each once.
    #[must_use]
    pub fn pause_files(&self) -> Vec<&str> {
        fn collect<'p>(parts: &'p [Part], files: &mut Vec<&'p str>) {
            for part in parts {
                match part {
                    Part::Think(Think::Observed { file }) if !files.contains(&file.as_str()) => {
                        files.push(file)
                    }
                    Part::Think(_) | Part::Script { .. } => {}
                    Part::Group { parts, .. } => collect(parts, files),
                }
            }
        }
        let mut files = Vec::new();
        collect(&self.parts, &mut files);
        files
    }

    /// The same session with other names of scripts and of files of pauses.
    #[must_use]
    pub fn renamed(&self, script: &impl Fn(&str) -> String, file: &impl Fn(&str) -> String) -> Self {
        fn each(
            parts: &[Part],
            script: &impl Fn(&str) -> String,
            file: &impl Fn(&str) -> String,
        ) -> Vec<Part> {
            let part = |part: &Part| match part {
                Part::Think(Think::Observed { file: name }) => {
                    Part::Think(Think::Observed { file: file(name) })
                }
                Part::Think(think) => Part::Think(think.clone()),
                Part::Script { name, times } => Part::Script { name: script(name), times: *times },
                Part::Group { parts, times } => {
                    Part::Group { parts: each(parts, script, file), times: *times }
                }
            };
            parts.iter().map(part).collect()
        }
        Self { parts: each(&self.parts, script, file) }
    }

    /// Whether the session ends with a think time: the pause between two sessions of a user.
    #[must_use]
    pub fn pauses_after(&self) -> bool {
        self.visits().last().is_some_and(|visit| !visit.pauses.is_empty())
    }
}

impl fmt::Display for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(&self.parts, out)
    }
}

fn write(parts: &[Part], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let repeated = |times: u32| if times > 1 { format!(" x{times}") } else { String::new() };
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.write_str(", ")?;
        }
        match part {
            Part::Think(think) => write!(out, "{think}")?,
            Part::Script { name, times } if needs_quotes(name) => {
                write!(out, "\"{name}\"{}", repeated(*times))?
            }
            Part::Script { name, times } => write!(out, "{name}{}", repeated(*times))?,
            Part::Group { parts, times } => {
                out.write_str("(")?;
                write(parts, out)?;
                write!(out, "){}", repeated(*times))?;
            }
        }
    }
    Ok(())
}

fn needs_quotes(name: &str) -> bool {
    name.chars().any(|letter| ends_word(letter) || letter.is_whitespace()) || is_time(name)
}

fn ends_word(letter: char) -> bool {
    matches!(letter, ',' | '(' | ')' | '"')
}

/// Whether a word is a think time and no script.
fn is_time(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.'))
        && !word.ends_with(".sql")
        && !word.starts_with("./")
        && !word.starts_with("..")
}

impl From<Session> for String {
    fn from(session: Session) -> Self {
        session.to_string()
    }
}

impl TryFrom<String> for Session {
    type Error = UsersError;

    fn try_from(text: String) -> Result<Self, UsersError> {
        text.parse()
    }
}

impl FromStr for Session {
    type Err = UsersError;

    fn from_str(text: &str) -> Result<Self, UsersError> {
        let wrong = |what: String| UsersError::new(what, ADVICE);
        if text.trim().is_empty() {
            return Err(wrong("is an empty session: it has no script".to_owned()));
        }
        let mut reader = Reader { letters: text.chars().collect(), at: 0, depth: 0 };
        let parts = reader.parts(None).map_err(wrong)?;
        let session = Self { parts };
        let steps = session.steps().len();
        if steps == 0 {
            return Err(wrong("is an empty session: it has think times, and no script".to_owned()));
        }
        if matches!(first(&session.parts), Some(Part::Think(_))) {
            return Err(wrong(
                "begins with a think time; put it at the end, between two sessions".to_owned(),
            ));
        }
        if steps > MOST_STEPS {
            return Err(wrong(format!("has {steps} steps, and at most {MOST_STEPS} are possible")));
        }
        let visits = transactions(&session.parts);
        if visits > MOST_VISITS as u64 {
            return Err(wrong(format!("has {visits} transactions, and at most {MOST_VISITS} are possible")));
        }
        Ok(session)
    }
}

fn first(parts: &[Part]) -> Option<&Part> {
    match parts.first() {
        Some(Part::Group { parts, .. }) => first(parts),
        other => other,
    }
}

fn transactions(parts: &[Part]) -> u64 {
    let each = parts.iter().map(|part| match part {
        Part::Think(_) => 0,
        Part::Script { times, .. } => u64::from(*times),
        Part::Group { parts, times } => transactions(parts).saturating_mul(u64::from(*times)),
    });
    each.fold(0, u64::saturating_add)
}

/// Reads a text letter by letter; positions in messages count letters from 1.
struct Reader {
    letters: Vec<char>,
    at: usize,
    /// Open parentheses.
    depth: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.letters[start..self.at].iter().collect()
    }

    /// Parts up to the end, or up to the parenthesis that closes the one at `opened`.
    fn parts(&mut self, opened: Option<usize>) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            parts.push(self.part()?);
            self.skip_blanks();
            match (self.peek(), opened) {
                (Some(','), _) => self.at += 1,
                (Some(')'), Some(_)) => {
                    self.at += 1;
                    return Ok(parts);
                }
                (None, None) => return Ok(parts),
                (None, Some(opened)) => {
                    return Err(format!("has a ( at character {} that is never closed", opened + 1));
                }
                (Some(')'), None) => {
                    return Err(format!("has a ) at character {} without a ( before it", self.at + 1));
                }
                (Some(_), _) => {
                    let at = self.at;
                    let word = self.take_while(|letter| !ends_word(letter) && !letter.is_whitespace());
                    let word = if word.is_empty() { self.letters[at].to_string() } else { word };
                    return Err(format!(
                        "has the unknown word \"{word}\" at character {}; a comma is missing before it, or it should be a repetition such as x3",
                        at + 1
                    ));
                }
            }
        }
    }

    fn part(&mut self) -> Result<Part, String> {
        let start = self.at;
        match self.peek() {
            None | Some(',' | ')') => Err(format!(
                "has nothing at character {}, where a script or a think time is expected",
                start + 1
            )),
            Some('(') => {
                self.at += 1;
                self.depth += 1;
                if self.depth > MOST_DEPTH {
                    return Err(format!(
                        "has more than {MOST_DEPTH} parentheses in each other at character {}",
                        start + 1
                    ));
                }
                let parts = self.parts(Some(start))?;
                self.depth -= 1;
                if transactions(&parts) == 0 {
                    return Err(format!("has parentheses without a script at character {}", start + 1));
                }
                Ok(Part::Group { parts, times: self.times()? })
            }
            Some('"') => {
                self.at += 1;
                let name = self.take_while(|letter| letter != '"');
                if self.peek().is_none() {
                    return Err(format!("has a quote at character {} that is never closed", start + 1));
                }
                self.at += 1;
                if name.trim().is_empty() {
                    return Err(format!("has an empty name at character {}", start + 1));
                }
                Ok(Part::Script { name, times: self.times()? })
            }
            Some(_) => self.word(start),
        }
    }

    fn word(&mut self, start: usize) -> Result<Part, String> {
        let at = |problem: String| format!("{problem}, at character {}", start + 1);
        let word = self.take_while(|letter| !ends_word(letter) && !letter.is_whitespace());
        if self.peek() == Some('(') {
            return self.distribution(&word, start).map(Part::Think);
        }
        if is_time(&word) {
            let rest = self.take_while(|letter| !ends_word(letter));
            return time(&format!("{word}{rest}")).map(|time| Part::Think(Think::Constant(time))).map_err(at);
        }
        Ok(Part::Script { name: word, times: self.times()? })
    }

    fn distribution(&mut self, word: &str, start: usize) -> Result<Think, String> {
        let at = |problem: String| format!("{problem}, at character {}", start + 1);
        self.at += 1;
        let inside = self.take_while(|letter| letter != ')');
        if self.peek().is_none() {
            return Err(format!(
                "has a ( at character {} that is never closed",
                start + word.chars().count() + 1
            ));
        }
        self.at += 1;
        match word {
            "exp" | "exponential" => Ok(Think::Exponential { mean: time(&inside).map_err(at)? }),
            "lognormal" => log_normal(&inside).map_err(at),
            "file" => match inside.trim().trim_matches('"') {
                "" => Err(at("file() needs the name of a file of pauses".to_owned())),
                file => Ok(Think::Observed { file: file.to_owned() }),
            },
            _ => Err(at(format!(
                "has the unknown word \"{word}(\"; there are exp(5s), lognormal(5s, 0.5) and file(pauses.txt)"
            ))),
        }
    }

    /// `x3` after a script or a group; 1 without it.
    fn times(&mut self) -> Result<u32, String> {
        self.skip_blanks();
        let start = self.at;
        if !matches!(self.peek(), Some('x' | 'X' | '×')) {
            return Ok(1);
        }
        self.at += 1;
        let rest = self.take_while(|letter| !ends_word(letter) && !letter.is_whitespace());
        let times = rest.parse::<u32>().ok().filter(|times| (1..=MOST_TIMES).contains(times));
        times.ok_or_else(|| {
            format!("has the repetition \"x{rest}\" at character {}; write x1 to x{MOST_TIMES}", start + 1)
        })
    }
}

/// `5s, 0.5` (median and sigma), `mean 5s, 0.5`.
fn log_normal(inside: &str) -> Result<Think, String> {
    const FORM: &str =
        "lognormal() needs a median and a sigma: lognormal(5s, 0.5), or lognormal(mean 5s, 0.5)";
    let (first, sigma) = inside.split_once(',').ok_or(FORM)?;
    let first = first.trim();
    let (centre, first) = match (first.strip_prefix("mean"), first.strip_prefix("median")) {
        (Some(rest), _) => (Centre::Mean, rest),
        (_, Some(rest)) => (Centre::Median, rest),
        _ => (Centre::Median, first),
    };
    let centre_time = time(first.trim().trim_start_matches('=').trim())?;
    let sigma = sigma.trim().trim_start_matches("sigma").trim().trim_start_matches('=').trim();
    let sigma = sigma.parse::<f64>().ok().filter(|sigma| (0.0..=MOST_SIGMA).contains(sigma));
    let sigma =
        sigma.ok_or_else(|| format!("the sigma of lognormal() must be a number from 0 to {MOST_SIGMA}"))?;
    match centre_time == Duration::ZERO {
        true => Err("the median or mean of lognormal() must be above 0".to_owned()),
        false => Ok(Think::LogNormal { centre, time: centre_time, sigma }),
    }
}

#[cfg(test)]
mod tests;
