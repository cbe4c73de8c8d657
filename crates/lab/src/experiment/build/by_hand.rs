//! A factor whose levels only a person can set: `[by_hand] memory = [2133, 3200]`.

use std::collections::BTreeMap;

use super::Builder;
use super::arms::MARGIN;
use super::measure::ROUNDS_OF_SET;
use crate::experiment::factors::Factors;
use crate::experiment::model::Compare;
use crate::factors::{self, LevelNames, factor};
use spec::experiment::{ValueList, Whole};
use spec::plan::{ByHand, Named, WorkMetric};

/// Names of what runs have besides factors.
const RESERVED: [&str; 3] = ["round", "set", "arm"];

impl Builder<'_, '_> {
    pub(super) fn by_hand(
        &mut self,
        written: &BTreeMap<String, ValueList>,
        rounds: Option<Whole<1, 10_000>>,
    ) -> BTreeMap<String, ByHand> {
        let rounds = rounds.map_or(ROUNDS_OF_SET, |rounds| rounds.0 as u32);
        let mut found = BTreeMap::new();
        for name in written.keys() {
            let is_taken = factors::taken().contains(&name.as_str()) || RESERVED.contains(&name.as_str());
            let why = match is_taken {
                true => Some("that is the name of something else already"),
                false if name.trim() != name || name.is_empty() => {
                    Some("it must not be empty, nor begin or end with a space")
                }
                false => {
                    name.contains(['.', '=']).then_some("a point or an equals sign cannot be in its name")
                }
            };
            if why.is_some() {
                let message = format!("a factor that is set by hand cannot be called `{name}`");
                self.document.wrong_key(&["by_hand", name], message, why);
                continue;
            }
            if !found.is_empty() {
                let message = "only one factor can be set by hand".to_owned();
                let hint = "write both into the levels of one: \"3200, new kernel\"";
                self.document.wrong_key(&["by_hand", name], message, Some(hint));
                continue;
            }
            found.insert(name.clone(), ByHand { rounds });
        }
        found
    }

    pub(super) fn levels_by_hand(
        &mut self,
        factors: &mut Factors,
        written: &BTreeMap<String, ValueList>,
        known: &LevelNames<'_>,
    ) {
        for (name, levels) in written.iter().filter(|(name, _)| known.named.by_hand.contains_key(*name)) {
            let Some(factor) = factor(name, known) else { continue };
            let mut found: Vec<String> = Vec::new();
            let read = self.each(&["by_hand", name], levels, |_, _, value| {
                let level = factor.read(name, value, known)?;
                if found.contains(&level) {
                    return Err(format!("lists {level} twice"));
                }
                found.push(level.clone());
                Ok(level)
            });
            factors.set(name, read);
        }
    }
}

/// What is compared without `[compare]`: the levels, against the first of them.
pub(super) fn compared(named: &Named, factors: &Factors) -> Option<Compare> {
    let factor = named.by_hand.keys().next()?;
    let base = factors.levels(factor).first().cloned().unwrap_or_default();
    let metric = WorkMetric::default();
    Some(Compare { factor: factor.clone(), base, margin: MARGIN, metric, looks: 1, same: false })
}
