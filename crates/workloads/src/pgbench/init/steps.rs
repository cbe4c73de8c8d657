//! The steps of `-i`.

use serde::{Deserialize, Deserializer};

/// One step of `-i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitStep {
    /// `d`
    Drop,
    /// `t`
    CreateTables,
    /// `g`
    Generate,
    /// `G`
    GenerateOnServer,
    /// `v`
    Vacuum,
    /// `p`
    PrimaryKeys,
    /// `f`
    ForeignKeys,
}

const LETTERS: [(char, InitStep, &str); 7] = [
    ('d', InitStep::Drop, "drop tables"),
    ('t', InitStep::CreateTables, "create tables"),
    ('g', InitStep::Generate, "client-side generate"),
    ('G', InitStep::GenerateOnServer, "server-side generate"),
    ('v', InitStep::Vacuum, "vacuum"),
    ('p', InitStep::PrimaryKeys, "primary keys"),
    ('f', InitStep::ForeignKeys, "foreign keys"),
];

impl InitStep {
    /// Its name in pgbench's summary, and the name of its phase.
    #[must_use]
    pub fn name(self) -> &'static str {
        LETTERS[self as usize].2
    }

    /// pgbench's letter for it.
    #[must_use]
    pub fn letter(self) -> char {
        LETTERS[self as usize].0
    }

    /// Whether it makes rows.
    #[must_use]
    pub fn generates(self) -> bool {
        matches!(self, Self::Generate | Self::GenerateOnServer)
    }
}

/// Their letters, concatenated.
pub(super) fn letters(steps: &[InitStep]) -> String {
    steps.iter().map(|step| step.letter()).collect()
}

/// Parses steps in the form of `-I`; skips blanks.
///
/// # Errors
/// In pgbench's words, for an unknown letter and for no step at all.
pub fn parse_steps(text: &str) -> Result<Vec<InitStep>, String> {
    if text.is_empty() {
        return Err("no initialization steps specified".to_owned());
    }
    let step = |letter: char| {
        let found = LETTERS.iter().find(|(known, _, _)| *known == letter);
        found.map(|(_, step, _)| *step).ok_or_else(|| {
            format!("unrecognized initialization step \"{letter}\"; allowed steps are: d, t, g, G, v, p, f")
        })
    };
    text.chars().filter(|letter| *letter != ' ').map(step).collect()
}

pub(super) fn read<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<InitStep>, D::Error> {
    parse_steps(&String::deserialize(source)?).map_err(serde::de::Error::custom)
}

#[expect(clippy::ptr_arg, reason = "serde passes the field itself")]
pub(super) fn write<S: serde::Serializer>(steps: &Vec<InitStep>, target: S) -> Result<S::Ok, S::Error> {
    target.serialize_str(&letters(steps))
}
