//! Sets of a factor that is set by hand: the begun ones, and the order of the others.

use std::collections::BTreeMap;

use spec::plan::{Content, Facts};

/// The levels of all sets, in order: the begun sets first, then the others until each level has `wanted`. Empty without
/// a factor that is set by hand.
pub(super) fn planned(content: &Content, wanted: u32, facts: &Facts) -> Vec<String> {
    let Some((factor, _)) = content.by_hand() else { return Vec::new() };
    let mut sets: Vec<String> = facts.sets().into_iter().map(str::to_owned).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for level in facts.sets() {
        *counts.entry(level).or_default() += 1;
    }
    let levels = content.factors.get(factor).into_iter().flatten();
    let levels: Vec<(String, u32)> =
        levels.map(|level| (level.clone(), counts.get(&**level).copied().unwrap_or(0))).collect();
    sets.extend(following(&levels, facts.sets().last().copied(), wanted));
    sets
}

/// The levels of the sets that follow, so that each level has `wanted`. `levels` come with their numbers of sets, and
/// `last` is the level of the last set. A level with the fewest sets is next: slow drift then affects all levels alike.
/// Where another level will do, none follows itself: a person then sets the level before each of its sets.
pub(crate) fn following(levels: &[(String, u32)], last: Option<&str>, wanted: u32) -> Vec<String> {
    let mut counts: Vec<(&str, u32)> = levels.iter().map(|(level, sets)| (&**level, *sets)).collect();
    let mut last = last;
    let mut found = Vec::new();
    while let Some((level, sets)) = counts
        .iter_mut()
        .filter(|(_, sets)| *sets < wanted)
        .min_by_key(|(level, sets)| (*sets, Some(*level) == last))
    {
        *sets += 1;
        last = Some(level);
        found.push((*level).to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use spec::plan::{ByHand, Fact};

    use super::*;

    fn planned_after(begun: &[&str], wanted: u32) -> String {
        let mut content = Content::default();
        content.named.by_hand.insert("memory".to_owned(), ByHand { rounds: 2 });
        let levels = ["a", "b", "c"].map(str::to_owned).to_vec();
        content.factors.insert("memory".to_owned(), levels);
        let mut facts = Facts::default();
        for (set, level) in (1..).zip(begun) {
            facts.learn(Fact::Set { set, level: (*level).to_owned() });
        }
        planned(&content, wanted, &facts).concat()
    }

    #[test]
    fn each_level_has_its_sets_spread_over_time() {
        assert_eq!(planned_after(&[], 3), "abcabcabc");
        assert_eq!(planned_after(&["b"], 2), "bacabc");
        assert_eq!(planned_after(&["b", "c", "a"], 2), "bcabac");
        assert_eq!(planned_after(&["b", "b", "b"], 2), "bbbacac");
        assert_eq!(planned_after(&["a"], 1), "abc");
        assert_eq!(planned(&Content::default(), 3, &Facts::default()), Vec::<String>::new());
    }
}
