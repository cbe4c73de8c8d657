//! The next step of an inconclusive answer: more rounds with their cost, longer runs, or other steps that
//! would decide.

mod cost;
mod helps;

use std::collections::BTreeSet;

use spec::shell::PrintedCommand;
use spec::{Reason, Run, figures};
use stats::{Estimate, TooFew, Verdict};

use self::cost::Cost;
pub use self::helps::Help;
use super::verdicts::{LineScope, VerdictLine};
use crate::comparison::{Comparison, TakenApart};
use crate::data::{ReportData, cell_text};

/// Rounds that show the spread, if there are too few for that.
const ENOUGH: u32 = 8;
/// Transactions of a run below which it is too short; a longer one should have a few times as many.
pub const FEW: u64 = 30;
/// Aims at this many times the needed values, since speed varies from run to run.
const AMPLE: f64 = 1.5;
/// Options that set how long a run is, or how much it does.
const LENGTHS: [&str; 5] = ["-T", "--time", "--duration", "-t", "--transactions"];

/// The next step of an experiment whose answer is inconclusive.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    pub of: Vec<String>,
    pub step: NextStep,
    pub command: Option<PrintedCommand>,
    /// Whether an arm is taken apart; then its single settings are not mentioned.
    pub taken_apart: bool,
}

/// The recommended step.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// This many rounds in all, an even number, with the additional seconds.
    MoreRounds {
        rounds: u32,
        more_s: f64,
        /// Whether they would probably decide; else there are too few to know the spread.
        decide: bool,
    },
    /// Runs of this length, measured from the start; the cost is for all of them.
    LongerRuns { seconds: f64, cost_s: f64, why: Short },
    /// This many rounds in all, or longer runs, would cost too much; alternatives, the likeliest first.
    Else { rounds: Option<u32>, helps: Vec<Help> },
}

/// Why every run is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    /// For the compared percentile.
    Percentile(TooFew),
    /// For any figure: least and most transactions of a run.
    Transactions { least: u64, most: u64 },
}

impl Next {
    /// For the lines of a comparison of its runs; `None` if they are decided, or nothing decides them.
    #[must_use]
    pub fn of(data: &ReportData, found: &Comparison, lines: &[VerdictLine]) -> Option<Self> {
        if !found.paired || lines.is_empty() {
            return None;
        }
        let cost = Cost::of(data)?;
        if let Some(short) = too_short(data, lines) {
            return Some(short.step(data, &cost));
        }
        let open = open(data, found, lines);
        let more = open.iter().map(|open| open.more_pairs).max_by_key(|more| more.unwrap_or(0))?;
        let done = data.grid_runs().map(|run| run.round).max()?;
        let rounds = match more {
            Some(more) => done.saturating_add(more),
            None => ENOUGH.max(done + 2),
        };
        let rounds = rounds.saturating_add(rounds % 2).min(u32::MAX - 1);
        let more_s = cost.of_rounds(rounds - done);
        // Several arms may leave the same part open.
        let of: BTreeSet<String> = open.iter().filter_map(|open| open.name.clone()).collect();
        let of: Vec<String> = of.into_iter().collect();
        let taken_apart = TakenApart::of(&data.experiment).is_some();
        if cost.is_too_much(rounds, more_s) {
            let step = NextStep::Else { rounds: Some(rounds), helps: helps::helps(data, found, &open) };
            return Some(Self { of, step, command: None, taken_apart });
        }
        let typed = data.course.command.clone();
        let command = typed.map(|typed| typed.option("--rounds", &rounds.to_string()));
        let step = NextStep::MoreRounds { rounds, more_s, decide: more.is_some() };
        Some(Self { of, step, command, taken_apart })
    }

    /// Whether it concerns this part of the answer; `None` is the whole answer.
    #[must_use]
    pub fn is_of(&self, part: Option<&str>) -> bool {
        match part {
            Some(name) => self.of.iter().any(|of| of == name),
            None => self.of.is_empty(),
        }
    }

    /// How many rounds in all would decide, at any cost; `None` if rounds do not help.
    #[must_use]
    pub fn rounds(&self) -> Option<u32> {
        match self.step {
            NextStep::MoreRounds { rounds, .. } => Some(rounds),
            NextStep::Else { rounds, .. } => rounds,
            NextStep::LongerRuns { .. } => None,
        }
    }
}

struct OpenQuestion {
    name: Option<String>,
    more_pairs: Option<u32>,
}

/// The inconclusive lines of the answer; if all are decided, the inconclusive workloads in them.
fn open(data: &ReportData, found: &Comparison, lines: &[VerdictLine]) -> Vec<OpenQuestion> {
    let one = |name: Option<String>, estimate: Option<Estimate>, verdict: Verdict| match verdict {
        Verdict::Inconclusive { more_pairs } => estimate.map(|_| OpenQuestion { name, more_pairs }),
        _ => None,
    };
    let of_lines: Vec<OpenQuestion> =
        lines.iter().filter_map(|line| one(scope_name(&line.scope), line.estimate, line.verdict)).collect();
    if !lines.iter().all(|line| line.verdict.is_decided()) {
        return of_lines;
    }
    // The parts of an arm that is taken apart are not worth the wait.
    let apart = TakenApart::of(&data.experiment);
    let is_part = |arm: &str| apart.as_ref().is_some_and(|apart| apart.is_part(arm));
    let workloads = found.arms.iter().filter(|arm| !is_part(&arm.arm)).flat_map(|arm| &arm.workloads);
    workloads
        .filter_map(|(name, figure)| one(Some(name.clone()), Some(figure.grid.estimate), figure.verdict))
        .collect()
}

/// The name of a part of the answer; `None` for the whole.
#[must_use]
pub fn scope_name(of: &LineScope) -> Option<String> {
    match of {
        LineScope::Whole => None,
        LineScope::Workload(name) => Some(name.clone()),
        LineScope::Cell(cell) => Some(cell_text(cell)),
        LineScope::Script { script, .. } => Some(script.clone()),
    }
}

fn too_short(data: &ReportData, lines: &[VerdictLine]) -> Option<Short> {
    let few = |line: &VerdictLine| match line.verdict {
        Verdict::TooFew(few) => Some(few),
        _ => None,
    };
    let all: Option<Vec<TooFew>> = lines.iter().map(few).collect();
    if let Some(least) = all.and_then(|all| all.into_iter().min_by_key(|few| few.count)) {
        return Some(Short::Percentile(least));
    }
    let is_short = |run: &Run| run.doubts.iter().any(|doubt| doubt.reason == Reason::TooShort);
    let runs: Vec<&Run> = data.grid_runs().collect();
    let counts = || runs.iter().map(|run| run.count(figures::OK) + run.count(figures::LATE));
    let (least, most) = (counts().min()?, counts().max()?);
    runs.iter().all(|run| is_short(run)).then_some(Short::Transactions { least, most })
}

impl Short {
    /// Factor for the length of runs; more than 1.
    fn times(self) -> f64 {
        let (needed, count) = match self {
            Self::Percentile(few) => (few.needed, few.count),
            Self::Transactions { least, .. } => (FEW, least),
        };
        AMPLE * needed as f64 / count.max(1) as f64
    }

    fn step(self, data: &ReportData, cost: &Cost) -> Next {
        let cost_s = cost.of_longer(self.times());
        let next = |step, command| Next { of: Vec::new(), step, command, taken_apart: false };
        if let Self::Percentile(few) = self
            && cost::is_much(cost_s)
        {
            let step = NextStep::Else { rounds: None, helps: vec![Help::FewerTransactions(few)] };
            return Next { of: vec![few.to_string()], ..next(step, None) };
        }
        let typed = data.course.command.as_ref().filter(|command| !command.has("run"));
        let Some(typed) = typed else {
            let seconds = (self.times() * cost.length_s).ceil();
            return next(NextStep::LongerRuns { seconds, cost_s, why: self }, None);
        };
        // The typed length is per round; the arms share it.
        let length = cost.length_s * data.experiment.arms.len() as f64;
        let seconds = (self.times() * length).ceil();
        let lengths = [&LENGTHS[..], &["--rounds"]].concat();
        let command = typed.clone().without_options(&lengths).option("-T", &seconds.to_string());
        // As many as the announced time is for.
        let command = command.option("--rounds", &data.experiment.rounds.to_string());
        next(NextStep::LongerRuns { seconds, cost_s, why: self }, Some(command))
    }
}
