//! Lines between results that are not understood. Where they change, the results are of different cells.

use std::collections::{BTreeMap, BTreeSet};

use super::line::{varies, without_time};
use super::{HEADING, Labels};

/// A line that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unread {
    shown: String,
    /// Without times and measured numbers.
    words: String,
}

/// Characters of a line that are shown.
const SHOWN: usize = 60;
/// Lines that are shown.
const MOST_SHOWN: usize = 3;

impl Unread {
    pub(super) fn of(line: &str) -> Self {
        let line = without_time(line.trim());
        let is_secret = line.to_lowercase().contains("password") || line.contains("://");
        let shown = if is_secret { "(a line with a password)" } else { line };
        // Few levels have five digits; counters of time and pages have.
        let is_measured = |word: &&str| {
            let number = word.trim_matches(|c: char| !c.is_ascii_digit());
            let is_number = word.starts_with(|c: char| c.is_ascii_digit());
            is_number && (number.contains('.') || word.contains('%') || number.len() > 4) || varies(word)
        };
        let words: Vec<&str> = line.split_whitespace().filter(|word| !is_measured(word)).collect();
        Self { shown: shown.chars().take(SHOWN).collect(), words: words.join(" ") }
    }

    /// A line of a listing, such as the facts of a machine, in which most numbers are counters.
    pub(super) fn without_numbers(mut self) -> Self {
        let is_word = |word: &&str| !word.chars().all(|c| c.is_ascii_digit() || c.is_ascii_punctuation());
        self.words = self.words.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ");
        self
    }
}

/// Adds a level to results of one cell where lines between them change. `cells` says which results are repeats
/// as far as their text goes. Returns what to say about it.
pub(in crate::import) fn tell_apart(results: &mut [Labels], cells: &[String]) -> Option<String> {
    let states = states(results);
    let mut of_cell: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut most = 1;
    let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
    for ((labels, cell), state) in results.iter().zip(cells).zip(&states) {
        let cell = format!("{cell} {:?}", labels.levels);
        of_cell.entry(cell.clone()).or_default().insert(state);
        let size = sizes.entry(cell).or_default();
        *size += 1;
        most = most.max(*size);
    }
    let all: Vec<&Unread> =
        results.iter().flat_map(|labels| &labels.unread).filter(|line| !line.words.is_empty()).collect();
    if most == 1 || all.is_empty() {
        return None;
    }
    let are_apart = of_cell.values().any(|states| states.len() > 1);
    let shown = shown(&all);
    if !are_apart {
        return Some(format!(
            "{most} results are repeats of one cell; these lines between them were not understood: {shown}. NAME: LEVEL \
             or --level NAME=LEVEL tells others apart"
        ));
    }
    let is_taken = |name: &str| results.iter().any(|labels| labels.levels.contains_key(name));
    let name = if is_taken(HEADING) { "lines" } else { HEADING };
    for (labels, state) in results.iter_mut().zip(&states) {
        if !state.is_empty() {
            labels.levels.insert(name.to_owned(), state.clone());
        }
    }
    Some(format!(
        "lines between the results were not understood, and change: {shown}. They keep the results apart, as levels of \
         the factor {name}; --level {name}=same takes all for repeats of one cell"
    ))
}

fn shown(lines: &[&Unread]) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    texts.extend(lines.iter().filter(|line| seen.insert(&line.words)).map(|line| line.shown.as_str()));
    let more = texts.len().saturating_sub(MOST_SHOWN);
    texts.truncate(MOST_SHOWN);
    let quoted: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", quoted.join(", "))
}

/// The state in which each result was measured, in words of the lines before it. Where each result has as many
/// lines before it as the others, these are its state. Otherwise a line that was not there before begins a new
/// one: a machine may be named once for several results.
fn states(results: &[Labels]) -> Vec<String> {
    let words = |labels: &Labels| -> Vec<String> {
        labels.unread.iter().map(|line| line.words.clone()).filter(|words| !words.is_empty()).collect()
    };
    let blocks: Vec<Vec<String>> = results.iter().map(words).collect();
    let are_alike = blocks.iter().all(|block| block.len() == blocks[0].len());
    if are_alike {
        let changes = |at: &usize| blocks.iter().any(|block| block[*at] != blocks[0][*at]);
        let changing: Vec<usize> = (0..blocks.first().map_or(0, Vec::len)).filter(changes).collect();
        let state =
            |block: &Vec<String>| cut(&changing.iter().map(|at| block[*at].as_str()).collect::<Vec<_>>());
        return blocks.iter().map(state).collect();
    }
    let (mut seen, mut state, mut states) = (BTreeSet::new(), String::new(), Vec::new());
    for block in &blocks {
        let new: Vec<&str> =
            block.iter().filter(|words| seen.insert(words.as_str())).map(String::as_str).collect();
        if !new.is_empty() {
            state = cut(&new);
        }
        states.push(state.clone());
    }
    states
}

fn cut(lines: &[&str]) -> String {
    let mut text = lines.join(" / ");
    if text.to_lowercase().contains("password") || text.contains("://") {
        // Lines with secrets are told apart by a number.
        text = format!("lines {:08x}", spec_hash(&text));
    }
    let is_long = text.chars().count() > 2 * SHOWN;
    let hash = if is_long { format!("… {:08x}", spec_hash(&text)) } else { String::new() };
    format!("{}{hash}", text.chars().take(2 * SHOWN).collect::<String>())
}

fn spec_hash(text: &str) -> u32 {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(text.as_bytes());
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}
