//! Blocks that the machine disturbed: they are measured again, and their earlier results are excluded.

use std::collections::{BTreeMap, BTreeSet};

use spec::plan::Plan;
use spec::{Reason, Run, RunKey, Validity};

use super::PastRun;
use crate::validity::machine::STEADY_SECONDS;
use crate::words::count;

/// Most repetitions of a block.
pub(crate) const MOST: u32 = 2;
/// At most one in so many planned runs is repeated, or one block.
const ONE_IN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) times: u32,
    /// Whether its runs are long enough to judge their steadiness.
    pub(crate) is_long: bool,
    pub(crate) planned: usize,
}

impl Rule {
    /// The rule of a plan. Runs that are too short to judge their steadiness are repeated only after a stall
    /// of the generator.
    pub(crate) fn of(plan: &Plan) -> Self {
        let is_long = plan.content.measure.duration_s >= STEADY_SECONDS as f64;
        let times = plan.repeat_disturbed.unwrap_or(MOST).min(MOST);
        Self { times, is_long, planned: plan.runs.len() }
    }
}

/// The doubt that requires a repetition, if any: caused by the machine. In slices a gap of the generator is
/// removed with its quad.
pub(crate) fn disturbed(run: &Run) -> Option<&spec::Doubt> {
    let of_machine = |reason| match reason {
        Reason::GeneratorStalled => !run.is_sliced(),
        reason => matches!(reason, Reason::Throttled | Reason::Steal | Reason::Unsteady),
    };
    run.doubts.iter().filter(|doubt| of_machine(doubt.reason)).max_by_key(|doubt| rank(doubt.reason))
}

fn rank(reason: Reason) -> u32 {
    match reason {
        Reason::GeneratorStalled => 3,
        Reason::Throttled => 2,
        Reason::Steal => 1,
        _ => 0,
    }
}

/// Whether a run is invalid for a reason other than a gap of the generator.
pub(super) fn is_invalid_otherwise(run: &Run) -> bool {
    let is_stalled = run.doubts.iter().any(|doubt| doubt.reason == Reason::GeneratorStalled);
    let is_grave = |reason| {
        matches!(
            reason,
            Reason::Crashed
                | Reason::Errors
                | Reason::EmptyResults
                | Reason::SettingsNotApplied
                | Reason::TooShort
                | Reason::TimeNotCounted
        )
    };
    let otherwise = !is_stalled || run.doubts.iter().any(|doubt| is_grave(doubt.reason));
    run.validity == Validity::Invalid && otherwise
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) runs: Vec<i64>,
    /// As text: what, why, and which repetition is next.
    pub(crate) why: String,
}

#[derive(Debug, Default)]
pub(crate) struct Again {
    /// Indexes of the runs whose block is repeated.
    former: BTreeSet<usize>,
    earlier: usize,
    tries: BTreeMap<RunKey, u32>,
    /// Cells that were unsteady when repeated, too: a property of the cell.
    by_themselves: BTreeSet<BTreeMap<String, String>>,
    pub(crate) repeated: Vec<Repeated>,
    /// Disturbed blocks that stay, since the limit of repetitions is reached.
    pub(crate) beyond: usize,
}

impl Again {
    /// Decides by these runs, after the runs that earlier invocations excluded for the same reason: a
    /// continued experiment repeats nothing twice.
    pub(crate) fn of(done: &[PastRun], rule: Rule, superseded: &[RunKey]) -> Self {
        let mut again = Self { earlier: superseded.len(), ..Self::default() };
        for key in superseded {
            *again.tries.entry(key.clone()).or_default() += 1;
        }
        for (from, to) in blocks(done) {
            again.judged(from, &done[from..to], rule);
        }
        again
    }

    pub(crate) fn is_former(&self, place: usize) -> bool {
        self.former.contains(&place)
    }

    pub(crate) fn tries(&self, key: &RunKey) -> u32 {
        self.tries.get(key).copied().unwrap_or(0)
    }

    fn judged(&mut self, from: usize, block: &[PastRun], rule: Rule) {
        let why = block.iter().filter_map(|done| Some((&done.run, disturbed(&done.run)?)));
        let Some((run, doubt)) = why.max_by_key(|(_, doubt)| rank(doubt.reason).max(1)) else {
            return;
        };
        // An invalid run has other causes than the machine; for earlier invocations nothing is known.
        if block.iter().any(|done| is_invalid_otherwise(&done.run) || done.number == 0) {
            return;
        }
        if !rule.is_long && doubt.reason != Reason::GeneratorStalled {
            return;
        }
        let tries = block.iter().map(|done| self.tries(&done.run.key())).max().unwrap_or(0);
        if doubt.reason == Reason::Unsteady {
            if tries > 0 {
                self.by_themselves.insert(run.factors.clone());
            }
            if self.by_themselves.contains(&run.factors) {
                return;
            }
        }
        if tries >= rule.times {
            return;
        }
        let so_far = self.earlier + self.former.len();
        if so_far > 0 && (so_far + block.len()) * ONE_IN > rule.planned {
            self.beyond += 1;
            return;
        }
        self.former.extend(from..from + block.len());
        for done in block {
            *self.tries.entry(done.run.key()).or_default() += 1;
        }
        self.repeated.push(Repeated {
            runs: block.iter().map(|done| done.number).collect(),
            why: format!(
                "{}, round {}: {} ({}); measured again, {} of {} at most",
                run.workload,
                run.round,
                doubt.reason.text(),
                doubt.detail,
                tries + 1,
                count(rule.times as usize, "time")
            ),
        });
    }
}

/// Start and end of blocks: adjacent runs of a cell and round, each at most once.
fn blocks(done: &[PastRun]) -> Vec<(usize, usize)> {
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for (place, next) in done.iter().enumerate() {
        let joins = |from: usize| {
            let first = &done[from].run;
            (first.round, &first.factors, first.beside)
                == (next.run.round, &next.run.factors, next.run.beside)
                && (done[from].number == 0) == (next.number == 0)
                && done[from..place].iter().all(|other| other.run.arm != next.run.arm)
        };
        match blocks.last_mut() {
            Some((from, to)) if joins(*from) => *to = place + 1,
            _ => blocks.push((place, place + 1)),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, RunKind};

    use super::*;

    const RULE: Rule = Rule { times: 2, is_long: true, planned: 40 };

    /// A run of an arm of a cell in a round, with this doubt.
    fn done(cell: &str, arm: &str, round: u32, number: i64, reason: Option<Reason>) -> PastRun {
        let factors = BTreeMap::from([("workload".to_owned(), cell.to_owned())]);
        let key = RunKey { workload: cell.into(), factors, arm: Some(arm.into()), round };
        let doubts: Vec<Doubt> =
            reason.into_iter().map(|reason| Doubt { reason, detail: "by so much".into() }).collect();
        let validity = if doubts.is_empty() { Validity::Valid } else { Validity::Suspect };
        let run = Run { doubts, validity, ..Run::new(RunKind::Client, key) };
        PastRun { run, cause: None, number, in_turn: false }
    }

    /// A pair, the second run with this doubt.
    fn pair(cell: &str, round: u32, number: i64, reason: Option<Reason>) -> [PastRun; 2] {
        [done(cell, "a", round, number, None), done(cell, "b", round, number + 1, reason)]
    }

    fn numbers(again: &Again) -> Vec<Vec<i64>> {
        again.repeated.iter().map(|repeated| repeated.runs.clone()).collect()
    }

    #[test]
    fn a_disturbed_pair_is_measured_again_and_its_former_one_counts_no_more() {
        for reason in [Reason::Throttled, Reason::Steal, Reason::Unsteady, Reason::GeneratorStalled] {
            let all = [pair("w", 1, 1, None), pair("w", 2, 3, Some(reason))].concat();
            let again = Again::of(&all, RULE, &[]);
            assert_eq!(numbers(&again), [[3, 4]], "{reason:?}");
            assert_eq!(
                (0..4).map(|place| again.is_former(place)).collect::<Vec<_>>(),
                [false, false, true, true]
            );
            assert_eq!((again.tries(&all[0].run.key()), again.tries(&all[2].run.key())), (0, 1));
        }
        let told = Again::of(&pair("w", 2, 3, Some(Reason::Steal)), RULE, &[]).repeated.remove(0).why;
        assert_eq!(told, "w, round 2: CPU steal (by so much); measured again, 1 of 2 times at most");
        for other in [Reason::Overloaded, Reason::ScheduleLate, Reason::TooShort] {
            assert_eq!(
                numbers(&Again::of(&pair("w", 1, 1, Some(other)), RULE, &[])),
                [[0; 0]; 0],
                "{other:?}"
            );
        }
    }

    /// A search or a ladder counted a run in which the generator had been stopped.
    #[test]
    fn a_run_with_a_gap_is_measured_again_however_short_or_invalid_it_is() {
        let mut stalled = pair("w", 1, 1, Some(Reason::GeneratorStalled));
        stalled[1].run.validity = Validity::Invalid;
        let short = Rule { is_long: false, ..RULE };
        assert_eq!(numbers(&Again::of(&stalled, short, &[])), [[1, 2]]);
        assert_eq!(numbers(&Again::of(&pair("w", 1, 1, Some(Reason::Steal)), short, &[])), [[0; 0]; 0]);
        let errors = Doubt { reason: Reason::Errors, detail: "gave up".into() };
        stalled[1].run.doubts.push(errors);
        assert_eq!(numbers(&Again::of(&stalled, short, &[])), [[0; 0]; 0], "there is more against it");
    }

    #[test]
    fn a_pair_is_measured_again_twice_at_most() {
        let throttled = Some(Reason::Throttled);
        let all = [1, 3, 5].map(|number| pair("w", 1, number, throttled)).concat();
        let again = Again::of(&all, RULE, &[]);
        assert_eq!(numbers(&again), [[1, 2], [3, 4]]);
        assert!(!again.is_former(4) && !again.is_former(5), "the last one stands as it is");
        for (times, wanted) in [(0, 0), (1, 1), (2, 2)] {
            assert_eq!(Again::of(&all, Rule { times, ..RULE }, &[]).repeated.len(), wanted);
        }
        let mended = [pair("w", 1, 1, throttled), pair("w", 1, 3, None), pair("w", 2, 5, None)].concat();
        assert_eq!(numbers(&Again::of(&mended, RULE, &[])), [[1, 2]]);
    }

    /// A workload with steps would be measured three times each round, in vain.
    #[test]
    fn what_is_unsteady_again_is_so_by_itself() {
        let unsteady = Some(Reason::Unsteady);
        let all = [
            pair("w", 1, 1, unsteady),
            pair("w", 1, 3, unsteady),
            pair("w", 2, 5, unsteady),
            pair("v", 2, 7, unsteady),
            pair("v", 2, 9, None),
            pair("w", 3, 11, Some(Reason::Steal)),
        ];
        assert_eq!(numbers(&Again::of(&all.concat(), RULE, &[])), [[1, 2], [7, 8], [11, 12]]);
    }

    /// On a machine that is never quiet an experiment would take three times as long.
    #[test]
    fn a_quarter_of_the_plan_is_measured_again_at_most_or_one_block() {
        let steal = Some(Reason::Steal);
        let rounds: Vec<PastRun> =
            (0..20).flat_map(|k| pair("w", k / 3 + 1, 1 + 2 * i64::from(k), steal)).collect();
        for (planned, repeated) in [(2, 1), (8, 1), (16, 2), (40, 5), (400, 14)] {
            let again = Again::of(&rounds, Rule { planned, ..RULE }, &[]);
            assert_eq!(again.repeated.len(), repeated, "{planned} runs");
            assert_eq!(again.beyond > 0, planned < 400);
        }
    }

    #[test]
    fn halves_of_a_round_are_measured_again_by_themselves() {
        let steal = Some(Reason::Steal);
        let all = [
            done("v", "a", 1, 1, None),
            done("w", "a", 1, 2, steal),
            done("w", "a", 1, 3, None),
            done("v", "b", 1, 4, steal),
            done("v", "b", 1, 5, None),
            done("w", "b", 1, 6, None),
        ];
        assert_eq!(numbers(&Again::of(&all, RULE, &[])), [[2], [4]]);
    }

    /// Other rules judge invalid runs, and of earlier invocations only keys are known.
    #[test]
    fn only_what_the_machine_alone_did_is_measured_again() {
        let mut invalid = pair("w", 1, 1, Some(Reason::Steal));
        invalid[0].run.validity = Validity::Invalid;
        assert_eq!(numbers(&Again::of(&invalid, RULE, &[])), [[0; 0]; 0]);
        let mixed = [done("w", "a", 1, 0, None), done("w", "b", 1, 7, Some(Reason::Steal))];
        assert_eq!(numbers(&Again::of(&mixed, RULE, &[])), [[7]]);
    }

    /// Killed before the third time: the next invocation knows the first two, whatever happened to their
    /// records.
    #[test]
    fn what_was_measured_again_before_a_kill_counts() {
        let keys = |times: usize| {
            let once = pair("w", 1, 1, None).map(|done| done.run.key());
            vec![once; times].concat()
        };
        let now = pair("w", 1, 7, Some(Reason::Throttled));
        for (times, wanted) in [(0, 1), (1, 1), (2, 0)] {
            let again = Again::of(&now, RULE, &keys(times));
            assert_eq!(again.repeated.len(), wanted, "{times} times before");
        }
        let other = pair("v", 1, 9, Some(Reason::Steal));
        let few = Rule { planned: 20, ..RULE };
        let again = Again::of(&other, few, &keys(2));
        assert_eq!((again.repeated.len(), again.beyond), (0, 1), "a quarter of what is planned, in all");
    }

    /// Later runs change no decision.
    #[test]
    fn more_runs_change_nothing_that_was_decided() {
        let reasons = [Some(Reason::Steal), None, Some(Reason::Unsteady), Some(Reason::Throttled)];
        let all: Vec<PastRun> = (0..24)
            .flat_map(|k| pair("w", k / 2 + 1, 1 + 2 * i64::from(k), reasons[k as usize % 4]))
            .collect();
        let whole = numbers(&Again::of(&all, RULE, &[]));
        for count in (0..=all.len()).step_by(2) {
            let part = numbers(&Again::of(&all[..count], RULE, &[]));
            assert_eq!(part[..], whole[..part.len()], "{count} runs");
        }
    }
}
