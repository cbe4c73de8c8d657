//! Sets of a factor that is set by hand: which one is measured now.

use std::collections::HashSet;

use spec::plan::{Fact, Facts, Plan, PlannedRun};
use spec::{Class, Error, RunKey};

use super::ExecutionOptions;
use crate::experiment::ExperimentFile;
use crate::facts;
use crate::plan::{resolve, sets};
use crate::words::count;

/// A factor that is set by hand, and the sets of its levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetsSoFar {
    pub factor: String,
    /// Levels in order, with their number of complete sets.
    pub levels: Vec<(String, u32)>,
    /// Sets that each level is to have.
    pub wanted: u32,
    /// The level of the last set, and whether that set is complete.
    pub last: Option<(String, bool)>,
}

impl SetsSoFar {
    fn of(plan: &Plan, stored: &[RunKey], wanted: u32) -> Option<Self> {
        let (factor, by_hand) = plan.content.by_hand()?;
        let stored: HashSet<&RunKey> = stored.iter().collect();
        let is_complete = |set: u32| {
            let mut runs = plan.runs.iter().filter(|run| by_hand.set_of(run.round) == set).peekable();
            runs.peek().is_some() && runs.map(PlannedRun::key).all(|key| stored.contains(&key))
        };
        let sets: Vec<(&String, bool)> =
            (1..).zip(&plan.sets).map(|(set, level)| (level, is_complete(set))).collect();
        let complete = |level: &String| sets.iter().filter(|set| **set == (level, true)).count() as u32;
        let levels = plan.content.factors.get(factor).into_iter().flatten();
        Some(Self {
            factor: factor.to_owned(),
            levels: levels.map(|level| (level.clone(), complete(level))).collect(),
            wanted,
            last: sets.last().map(|(level, complete)| ((*level).clone(), *complete)),
        })
    }

    /// The level of the next set: of the last one until it is complete. `None` if all are there.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        match &self.last {
            Some((level, false)) => Some(level.clone()),
            last => {
                let last = last.as_ref().map(|(level, _)| &**level);
                sets::following(&self.levels, last, self.wanted).into_iter().next()
            }
        }
    }

    /// As text: `2133: 2 of 3 sets, 3200: 1`.
    #[must_use]
    pub fn words(&self) -> String {
        let each = self.levels.iter().enumerate().map(|(at, (level, sets))| match at {
            0 => format!("{level}: {sets} of {}", count(self.wanted as usize, "set")),
            _ => format!("{level}: {sets}"),
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

/// The sets that are stored; `None` if no factor is set by hand.
///
/// # Errors
/// When a file of the experiment or the results file cannot be read.
pub fn sets_so_far(file: &ExperimentFile, options: &ExecutionOptions) -> Result<Option<SetsSoFar>, Error> {
    if file.by_hand().is_none() {
        return Ok(None);
    }
    let files = facts::of_files(file)?;
    let plan = resolve(file, &files)?;
    let stored = facts::of_results(&plan, &options.results, options.again)?;
    let plan = resolve(file, &stored.facts.followed_by(files))?;
    Ok(SetsSoFar::of(&plan, &stored.runs, file.measure.sets))
}

/// Begins a set at this level, unless the last one is of this level and not complete. A `further` set is always begun.
/// The runs of a set that another level interrupted are not continued: the level would have been set twice.
pub(super) fn begin(
    facts: &mut Facts,
    plan: &Plan,
    (stored, further): (&[RunKey], bool),
    level: &str,
) -> Result<(), Error> {
    let wanted = plan.sets_of_level;
    let so_far = SetsSoFar::of(plan, stored, wanted)
        .ok_or_else(|| Error::new(Class::Internal, "no factor is set by hand"))?;
    if !further {
        if so_far.last.as_ref().is_some_and(|(last, complete)| last == level && !complete) {
            return Ok(());
        }
        let sets = so_far.levels.iter().find(|(known, _)| known == level).map_or(0, |(_, sets)| *sets);
        if sets >= wanted {
            return Err(all_there(&so_far, level, sets));
        }
    }
    facts.learn(Fact::Set { set: plan.sets.len() as u32 + 1, level: level.to_owned() });
    Ok(())
}

fn all_there(so_far: &SetsSoFar, level: &str, sets: u32) -> Error {
    let factor = &so_far.factor;
    let what = format!("{factor} {level} has all of its sets ({})", so_far.words());
    let more = format!("--sets {} for one set more of each level", sets + 1);
    Error::new(Class::Usage, what).with_hint(match so_far.next() {
        Some(next) => format!("set {factor} to {next} and give --level {factor}={next}, or {more}"),
        None => more,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "question = \"?\"\n[target]\nmanaged = {}\n[workload.w]\npgbench = { builtin = \"select-only\" }\n\
                        [by_hand]\nmemory = [2133, 3200]\n[factors]\nclients = [1, 4]\n[measure]\nrounds = 2\nsets = 2\n";

    struct Sets {
        file: ExperimentFile,
        facts: Facts,
        stored: Vec<RunKey>,
    }

    impl Sets {
        fn new() -> Self {
            let file = ExperimentFile::parse(Path::new("e.toml"), FILE, false, &|_| None).unwrap();
            Self { facts: facts::of_files(&file).unwrap(), stored: Vec::new(), file }
        }

        fn plan(&self) -> Plan {
            resolve(&self.file, &self.facts).unwrap()
        }

        /// A set, of which the first runs are stored.
        fn measure(&mut self, level: &str, runs: usize) -> Result<usize, String> {
            let plan = self.plan();
            begin(&mut self.facts, &plan, (&self.stored, false), level)
                .map_err(|error| format!("{error}; {}", error.hint().unwrap_or_default()))?;
            let plan = self.plan();
            let left = plan.runs.iter().filter(|run| plan.is_measured_now(run)).map(PlannedRun::key);
            let left: Vec<RunKey> = left.filter(|key| !self.stored.contains(key)).collect();
            self.stored.extend(left.iter().take(runs).cloned());
            Ok(left.len())
        }
    }

    #[test]
    fn an_incomplete_set_goes_on_only_at_its_own_level() {
        let mut sets = Sets::new();
        assert_eq!(sets.measure("3200", 3), Ok(4));
        assert_eq!(sets.measure("3200", 9), Ok(1), "it goes on");
        assert_eq!(sets.measure("2133", 2), Ok(4));
        // Another level was set in between: the rest of the set of 2133 would be of another setting of the level.
        assert_eq!(sets.measure("3200", 9), Ok(4));
        assert!(sets.measure("3200", 9).unwrap_err().contains("--level memory=2133"));
        assert_eq!(sets.measure("2133", 9), Ok(4));
        assert_eq!(sets.measure("2133", 9), Ok(4));
        let all = sets.measure("2133", 9).unwrap_err();
        assert!(all.contains("2133: 2 of 2 sets, 3200: 2") && all.contains("--sets 3"), "{all}");
        assert_eq!(sets.plan().sets, ["3200", "2133", "3200", "2133", "2133"]);
    }

    #[test]
    fn the_identity_has_no_levels_and_the_base_is_listed_first() {
        let hash = |text: &str| {
            let file = ExperimentFile::parse(Path::new("e.toml"), text, false, &|_| None).unwrap();
            let plan = resolve(&file, &facts::of_files(&file).unwrap()).unwrap();
            (crate::plan::hash(&plan.content), plan.content.compare.unwrap().base)
        };
        let (first, base) = hash(FILE);
        assert_eq!(base, "2133");
        let (more, base) = hash(&FILE.replace("[2133, 3200]", "[3000, 3200, 2133]"));
        assert_eq!((&first, base.as_str()), (&more, "3000"));
        assert_ne!(first, hash(&FILE.replace("memory", "kernel")).0);
        assert_ne!(
            first,
            hash(&FILE.replace("rounds = 2", "rounds = 4")).0,
            "rounds of a set are part of it"
        );
        assert_eq!(first, hash(&FILE.replace("sets = 2", "sets = 5")).0);
    }
}
