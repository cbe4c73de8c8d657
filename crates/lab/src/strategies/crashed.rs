//! Arms whose server crashed too often: their other runs are left out.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use spec::plan::{Plan, PlannedRun};
use spec::{MOST_CRASHES, Reason};

use super::PastRun;

/// The arms that are left out because of finished runs. The base cannot be left out alone, nor can all arms but
/// one: then nothing is left to compare.
pub(crate) struct Crashed {
    arms: BTreeSet<Option<String>>,
    /// Whether nothing is left to compare.
    all: bool,
}

impl Crashed {
    pub(crate) fn of(plan: &Plan, done: &[PastRun]) -> Self {
        let of_grid = plan.runs.iter().filter(|run| !run.beside);
        let compared: HashSet<&Option<String>> = of_grid.map(|run| &run.arm).collect();
        Self::among(&compared, plan.content.compare.as_ref().map(|compare| compare.base.as_str()), done)
    }

    /// Of these arms; `base` is set if they are compared.
    fn among(compared: &HashSet<&Option<String>>, base: Option<&str>, done: &[PastRun]) -> Self {
        let mut crashes: BTreeMap<&Option<String>, usize> = BTreeMap::new();
        let is_crash = |past: &&PastRun| past.run.doubts.iter().any(|doubt| doubt.reason == Reason::Crashed);
        for past in done.iter().filter(is_crash) {
            *crashes.entry(&past.run.arm).or_default() += 1;
        }
        let often = crashes.into_iter().filter(|(_, times)| *times >= MOST_CRASHES);
        let arms: BTreeSet<Option<String>> = often.map(|(arm, _)| arm.clone()).collect();
        let left = compared.iter().filter(|arm| !arms.contains(**arm)).count();
        let is_without = |base: &str| {
            !arms.is_empty() && (left < 2 || arms.iter().any(|arm| arm.as_deref() == Some(base)))
        };
        Self { all: base.is_some_and(is_without), arms }
    }

    pub(crate) fn has(&self, run: &PlannedRun) -> bool {
        self.arms.contains(&run.arm) || (self.all && !run.beside)
    }
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, Run, RunKey, RunKind};

    use super::*;

    fn crashed(arm: &str, round: u32) -> PastRun {
        let key = RunKey { workload: "w".into(), factors: BTreeMap::new(), arm: Some(arm.into()), round };
        let doubts = vec![Doubt { reason: Reason::Crashed, detail: "signal 11".into() }];
        let run = Run { doubts, ..Run::new(RunKind::Client, key) };
        PastRun { run, cause: None, number: 0, in_turn: false }
    }

    /// Whether all is over, and the arms that are left out, after so many crashes of each.
    fn after(arms: &[&str], crashes: &[(&str, u32)]) -> (bool, Vec<String>) {
        let arms: Vec<Option<String>> = arms.iter().map(|arm| Some((*arm).to_owned())).collect();
        let done = crashes.iter().flat_map(|(arm, times)| (1..=*times).map(|round| crashed(arm, round)));
        let found = Crashed::among(&arms.iter().collect(), Some("base"), &done.collect::<Vec<_>>());
        (found.all, found.arms.into_iter().flatten().collect())
    }

    #[test]
    fn the_third_crash_of_an_arm_leaves_it_out() {
        let three = ["base", "b", "c"];
        assert_eq!(after(&three, &[("b", 2), ("c", 2)]), (false, vec![]));
        assert_eq!(after(&three, &[("b", 3)]), (false, vec!["b".to_owned()]));
    }

    #[test]
    fn without_the_base_or_another_arm_nothing_is_left_to_compare() {
        assert!(after(&["base", "b", "c"], &[("base", 3)]).0);
        assert!(after(&["base", "b", "c"], &[("b", 3), ("c", 4)]).0);
        assert!(after(&["base", "b"], &[("b", 3)]).0);
    }
}
