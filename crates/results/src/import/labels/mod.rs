//! What people write between results to tell them apart: `Instance: small`, `# host=db1 run=2`, `=== m5.large ===`.
//!
//! Lines that are not understood count too: results between which they change are not of one cell.

mod between;
mod line;

use std::collections::BTreeMap;

use self::between::Unread;
pub(super) use self::between::tell_apart;
use self::line::{Label, LineKind, is_rule};

/// Levels of factors, and the number of the repeat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Labels {
    pub(super) levels: BTreeMap<String, String>,
    pub(super) round: Option<u32>,
    /// Lines since the result before it that are not understood.
    unread: Vec<Unread>,
}

impl Labels {
    /// What tells a result from another with the same text.
    pub(super) fn identity(&self) -> Option<String> {
        let Self { levels, round, .. } = self;
        let is_empty = levels.is_empty() && round.is_none();
        (!is_empty).then(|| format!("Labels {{ levels: {levels:?}, round: {round:?} }}"))
    }
}

/// Collects the labels of a text; they hold until others of their names follow.
#[derive(Debug, Default)]
pub(super) struct LabelReader {
    labels: Labels,
    /// Since the last result.
    block: Vec<Label>,
    unread: Vec<Unread>,
    /// Whether the last line was a rule, above a heading.
    below_rule: bool,
    /// Decorations of headings, each of which has its own factor: `==` for machines, `--` for disks.
    decorations: Vec<String>,
}

/// More labels in a row are a listing, such as the facts of a machine.
const MOST_IN_A_ROW: usize = 8;
/// More lines between two results are not kept.
const MOST_UNREAD: usize = 200;
/// Factor of headings without a name.
const HEADING: &str = "label";
/// Names that number repeats.
pub(super) const REPEATS: [&str; 25] = [
    "run",
    "round",
    "repeat",
    "repetition",
    "rep",
    "iteration",
    "iter",
    "trial",
    "attempt",
    "pass",
    "test",
    "try",
    "loop",
    "cycle",
    "sample",
    "nr",
    "no",
    "lauf",
    "durchlauf",
    "durchgang",
    "wiederholung",
    "versuch",
    "essai",
    "repetición",
    "répétition",
];

impl LabelReader {
    pub(super) fn take(&mut self, line: &str) {
        let below_rule = std::mem::replace(&mut self.below_rule, is_rule(line));
        match line::read(line, below_rule) {
            LineKind::Nothing => {}
            LineKind::Labels(labels) => self.block.extend(labels),
            LineKind::Unread if self.unread.len() < MOST_UNREAD => self.unread.push(Unread::of(line)),
            LineKind::Unread => {}
        }
    }

    /// The labels of a result that begins here.
    pub(super) fn of_result(&mut self) -> Labels {
        let block = std::mem::take(&mut self.block);
        self.labels.unread = std::mem::take(&mut self.unread);
        let is_listing = block.len() > MOST_IN_A_ROW;
        if is_listing || self.labels.unread.len() > MOST_IN_A_ROW {
            let unread = std::mem::take(&mut self.labels.unread);
            self.labels.unread.extend(unread.into_iter().map(Unread::without_numbers));
        }
        if is_listing {
            let facts = block.into_iter().filter_map(|label| match label {
                Label::Level(name, level) => Some(Unread::of(&format!("{name}: {level}")).without_numbers()),
                _ => None,
            });
            self.labels.unread.extend(facts);
            return self.labels.clone();
        }
        for label in block {
            match label {
                Label::Level(name, level) => drop(self.labels.levels.insert(name, level)),
                Label::Heading(decoration, text) => {
                    let name = self.heading(decoration);
                    self.labels.levels.insert(name, text);
                }
                Label::Round(round) => self.labels.round = Some(round),
            }
        }
        self.labels.clone()
    }

    /// The factor of headings with this decoration.
    fn heading(&mut self, decoration: String) -> String {
        let known = self.decorations.iter().position(|known| *known == decoration);
        let at = known.unwrap_or_else(|| {
            self.decorations.push(decoration);
            self.decorations.len() - 1
        });
        if at == 0 { HEADING.to_owned() } else { format!("{HEADING} {}", at + 1) }
    }
}

#[cfg(test)]
mod tests;
