//! The next step of an undecided answer: more rounds with their cost, longer runs, or what else would decide.
//! Also the warning about an answer that was looked at before it was finished.

mod cost;
mod what_else;

use std::collections::BTreeSet;

use results::Course;
use results::answer::{Line, Part, Verdicts};
use results::comparison::{Comparison, TakenApart};
use spec::shell::Command;
use spec::{Reason, Run, figures};
use stats::{Estimate, TooFew, Verdict};

use self::cost::Cost;
use crate::numbers;
use results::ReportData;
use results::data::cell_text;

/// Rounds that tell a spread, where there are too few for that.
const ENOUGH: u32 = 8;
/// Transactions of a run below which it is too short; a longer one is to have a few times as many.
const FEW: u64 = 30;
/// So many times the values that are needed are aimed at: speed varies from run to run.
const AMPLE: f64 = 1.5;
/// Options that say how long a run is, or how much it does.
const LENGTHS: [&str; 5] = ["-T", "--time", "--duration", "-t", "--transactions"];

/// The next step of an experiment whose answer is inconclusive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Next {
    /// The parts that are open, where the answer has several lines.
    of: Vec<String>,
    step: Step,
    /// Quoted for a shell, on one line; `None` where no command does it.
    pub(crate) command: Option<String>,
    /// What the command names as programs to run.
    programs: Vec<String>,
    /// Whether an arm is taken apart, of whose single settings it says nothing.
    taken_apart: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// So many rounds in all, even, take so many seconds more.
    MoreRounds {
        rounds: u32,
        more_s: f64,
        /// Whether they would probably decide; else there are too few to know the spread.
        decide: bool,
    },
    /// Runs of so many seconds, measured from the start, take so many seconds in all.
    LongerRuns { seconds: f64, cost_s: f64, why: String },
    /// So many rounds in all, or longer runs, would cost too much; what else helps, the likeliest first.
    Else { rounds: Option<u32>, helps: Vec<String> },
}

impl Next {
    /// Of the answer; `None` where it is decided, or nothing decides it.
    pub(crate) fn of(data: &ReportData) -> Option<Self> {
        let found = data.compared()?;
        Self::of_lines(data, found, &Verdicts::of(found, &data.experiment, &data.runs).lines)
    }

    /// Of the lines of a comparison of its runs.
    pub(crate) fn of_lines(data: &ReportData, found: &Comparison, lines: &[Line]) -> Option<Self> {
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
            let helps = what_else::helps(data, found, &open);
            let step = Step::Else { rounds: Some(rounds), helps };
            return Some(Self { of, taken_apart, ..Self::without_command(step) });
        }
        let command = with_rounds(data, rounds);
        let step = Step::MoreRounds { rounds, more_s, decide: more.is_some() };
        Some(Self { of, taken_apart, ..Self::typed(step, &command) })
    }

    fn without_command(step: Step) -> Self {
        Self { of: Vec::new(), step, command: None, programs: Vec::new(), taken_apart: false }
    }

    fn typed(step: Step, command: &Command) -> Self {
        let programs = command.programs().into_iter().map(str::to_owned).collect();
        Self { of: Vec::new(), step, command: Some(command.to_string()), programs, taken_apart: false }
    }

    /// Whether this part of the answer is what it is about; without a name the whole of it.
    pub(crate) fn is_of(&self, part: Option<&str>) -> bool {
        match part {
            Some(name) => self.of.iter().any(|of| of == name),
            None => self.of.is_empty(),
        }
    }

    /// How many rounds in all would decide, whatever they cost; `None` where rounds do not help.
    pub(crate) fn rounds(&self) -> Option<u32> {
        match self.step {
            Step::MoreRounds { rounds, .. } => Some(rounds),
            Step::Else { rounds, .. } => rounds,
            Step::LongerRuns { .. } => None,
        }
    }

    /// In words, to stand before the command, or alone.
    pub(crate) fn words(&self) -> String {
        let of = if self.of.is_empty() { String::new() } else { format!("{}: ", self.of.join(", ")) };
        let apart = if self.taken_apart { "all settings together: " } else { "" };
        let programs = match self.programs.is_empty() {
            true => String::new(),
            false => format!("; this command runs the programs in {}", self.programs.join(", ")),
        };
        format!("{of}{apart}{}{programs}", self.step())
    }

    /// The same as a sentence's end: with a colon where a command follows.
    pub(crate) fn sentence(&self) -> String {
        format!("{}{}", self.words(), if self.command.is_some() { ":" } else { "." })
    }

    fn step(&self) -> String {
        match &self.step {
            Step::MoreRounds { rounds, more_s, decide: true } => {
                format!("{rounds} rounds would probably decide, about {} more", at_most(*more_s))
            }
            Step::MoreRounds { rounds, more_s, decide: false } => {
                let more = at_most(*more_s);
                format!("too few rounds to know the spread; {rounds} rounds show it, about {more} more")
            }
            Step::LongerRuns { seconds, cost_s, why } => {
                let how = if self.command.is_some() { "-T" } else { "`duration` in the experiment file:" };
                let cost = at_most(*cost_s);
                format!("{why}; measure longer ({how} {seconds} s), about {cost} in all")
            }
            Step::Else { rounds, helps } => {
                let what = if rounds.is_some() { "more rounds" } else { "longer runs" };
                let helps = helps.join("; ");
                format!("{what} would cost too much for what they decide. What else helps: {helps}")
            }
        }
    }
}

/// An announced time is rounded up: it is not to be exceeded.
fn at_most(seconds: f64) -> String {
    let step = match seconds {
        0.0..60.0 => 1.0,
        60.0..600.0 => 10.0,
        _ => 60.0,
    };
    numbers::duration((seconds / step).ceil() * step)
}

/// What is undecided, and has a change that more rounds make clearer.
struct Open {
    /// Its part of the answer; `None` of all of it.
    name: Option<String>,
    estimate: Estimate,
    /// How many more pairs would decide it, where that is known.
    more_pairs: Option<u32>,
}

/// The undecided lines of the answer; where all are decided, the undecided workloads in them.
fn open(data: &ReportData, found: &Comparison, lines: &[Line]) -> Vec<Open> {
    let one = |name: Option<String>, estimate: Option<Estimate>, verdict: Verdict| match verdict {
        Verdict::Inconclusive { more_pairs } => Some(Open { name, estimate: estimate?, more_pairs }),
        _ => None,
    };
    let of_lines: Vec<Open> =
        lines.iter().filter_map(|line| one(part_name(&line.part), line.estimate, line.verdict)).collect();
    if !lines.iter().all(|line| line.verdict.is_decided()) {
        return of_lines;
    }
    // Nobody waits for each part of an arm that is taken apart.
    let apart = TakenApart::of(&data.experiment);
    let is_part = |arm: &str| apart.as_ref().is_some_and(|apart| apart.is_part(arm));
    let workloads = found.arms.iter().filter(|arm| !is_part(&arm.arm)).flat_map(|arm| &arm.workloads);
    workloads
        .filter_map(|(name, figure)| one(Some(name.clone()), Some(figure.grid.estimate), figure.verdict))
        .collect()
}

/// The name of a part of the answer; `None` of its whole.
pub(crate) fn part_name(of: &Part) -> Option<String> {
    match of {
        Part::Whole => None,
        Part::Workload(name) => Some(name.clone()),
        Part::Cell(cell) => Some(cell_text(cell)),
        Part::Script { script, .. } => Some(script.clone()),
    }
}

/// Runs that are all too short, and by how much.
struct Short {
    /// How many times as long they are to be; more than 1.
    times: f64,
    /// The percentile they are too short for, where it is one.
    few: Option<TooFew>,
    why: String,
}

/// Where no run has enough transactions: for the percentile that is compared, or for any figure.
fn too_short(data: &ReportData, lines: &[Line]) -> Option<Short> {
    let few = |line: &Line| match line.verdict {
        Verdict::TooFew(few) => Some(few),
        _ => None,
    };
    let all: Option<Vec<TooFew>> = lines.iter().map(few).collect();
    if let Some(least) = all.and_then(|all| all.into_iter().min_by_key(|few| few.count)) {
        let times = longer(least.needed, least.count);
        return Some(Short { times, few: Some(least), why: least.to_string() });
    }
    let is_short = |run: &Run| run.doubts.iter().any(|doubt| doubt.reason == Reason::TooShort);
    let runs: Vec<&Run> = data.grid_runs().collect();
    let counts = || runs.iter().map(|run| run.count(figures::OK) + run.count(figures::LATE));
    let (least, most) = (counts().min()?, counts().max()?);
    runs.iter().all(|run| is_short(run)).then(|| {
        let had = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let why = format!("all runs are too short: {had} of at least {FEW} transactions in each");
        Short { times: longer(FEW, least), few: None, why }
    })
}

fn longer(needed: u64, count: u64) -> f64 {
    AMPLE * needed as f64 / count.max(1) as f64
}

impl Short {
    fn step(self, data: &ReportData, cost: &Cost) -> Next {
        let cost_s = cost.of_longer(self.times);
        // A percentile of slow transactions may take hours; others need fewer of them.
        if let Some(few) = self.few.filter(|_| cost::is_much(cost_s)) {
            let helps = vec![what_else::fewer_transactions(few)];
            let step = Step::Else { rounds: None, helps };
            return Next { of: vec![few.to_string()], ..Next::without_command(step) };
        }
        let typed = data.course.command.as_ref().filter(|command| !command.has("run"));
        let Some(typed) = typed else {
            let seconds = (self.times * cost.length_s).ceil();
            return Next::without_command(Step::LongerRuns { seconds, cost_s, why: self.why });
        };
        // What is typed is the length of a round, which the arms share.
        let length = cost.length_s * data.experiment.arms.len() as f64;
        let seconds = (self.times * length).ceil();
        let lengths = [&LENGTHS[..], &["--rounds"]].concat();
        let command = typed.clone().without_options(&lengths).option("-T", &seconds.to_string());
        // As many as the announced time is for.
        let command = command.option("--rounds", &data.experiment.rounds.to_string());
        Next::typed(Step::LongerRuns { seconds, cost_s, why: self.why }, &command)
    }
}

/// The command that measured it, with so many rounds; where that is unknown, a command that runs its file.
fn with_rounds(data: &ReportData, rounds: u32) -> Command {
    if let Some(typed) = &data.course.command {
        return typed.clone().option("--rounds", &rounds.to_string());
    }
    let command = Command::new("run").path(&format!("{}.toml", data.experiment.name));
    command.option("--rounds", &rounds.to_string())
}

/// Chance of calling a difference where none is, percent, when the answer was to be had at so many looks (from 1) with as
/// many new pairs each, and the first one that said so counted (Armitage, McPherson, Rowe, J. R. Stat. Soc. A 132, 1969).
const WRONG_PCT: [f64; 10] = [5.0, 8.3, 10.7, 12.6, 14.2, 15.5, 16.6, 17.6, 18.4, 19.3];

/// How often it was looked at and extended, and what that does to the 5 %; `None` where it was seen once, at its end.
pub(crate) fn looked(course: &Course) -> Option<String> {
    let Course { looks, extended, .. } = *course;
    if looks <= 1 && extended == 0 {
        return None;
    }
    let said = format!("looked at {}, extended {}", times(looks), times(extended));
    let wrong = match looks {
        0 | 1 => return Some(said),
        looks if looks as usize <= WRONG_PCT.len() => format!("about {:.0} %", WRONG_PCT[looks as usize - 1]),
        _ => "more than 19 %".to_owned(),
    };
    Some(format!(
        "{said}: whoever stops at the first look that says \"faster\" or \"slower\" is wrong in {wrong} of the cases where \
         there is no difference, not in 5 %"
    ))
}

fn times(count: u32) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(step: Step) -> Next {
        Next {
            of: Vec::new(),
            step,
            command: Some("pgdyno run a.toml".into()),
            programs: Vec::new(),
            taken_apart: false,
        }
    }

    #[test]
    fn the_next_step_is_a_sentence() {
        let rounds = |decide| Step::MoreRounds { rounds: 24, more_s: 100.2, decide };
        assert_eq!(next(rounds(true)).sentence(), "24 rounds would probably decide, about 1 min 50 s more:");
        assert!(next(rounds(false)).sentence().starts_with("too few rounds to know the spread; 24 rounds"));
        let tiles = Next { of: vec!["tiles".into()], programs: vec!["../bin".into()], ..next(rounds(true)) };
        let said = tiles.sentence();
        assert!(said.starts_with("tiles: 24 rounds would"), "{said}");
        assert!(said.ends_with("more; this command runs the programs in ../bin:"), "{said}");
        let helps = Next {
            command: None,
            ..next(Step::Else {
                rounds: Some(3334),
                helps: vec!["longer runs".into(), "a quiet host".into()],
            })
        };
        assert!(
            helps.sentence().ends_with("What else helps: longer runs; a quiet host."),
            "{}",
            helps.sentence()
        );
        let short = Step::LongerRuns { seconds: 35.0, cost_s: 61.0, why: "all runs are too short".into() };
        assert_eq!(
            next(short).sentence(),
            "all runs are too short; measure longer (-T 35 s), about 1 min 10 s in all:"
        );
    }

    #[test]
    fn an_announced_time_is_rounded_up() {
        for (seconds, wanted) in [(0.4, "1 s"), (58.2, "59 s"), (61.0, "1 min 10 s"), (601.0, "11 min 00 s")]
        {
            assert_eq!(at_most(seconds), wanted);
        }
    }

    #[test]
    fn looks_are_said_from_the_second_on() {
        let said = |looks, extended| looked(&Course { command: None, looks, extended });
        for (looks, extended) in [(0, 0), (1, 0)] {
            assert_eq!(said(looks, extended), None);
        }
        assert_eq!(said(1, 1).unwrap(), "looked at once, extended once");
        for (looks, wrong) in
            [(2, "about 8 %"), (3, "about 11 %"), (10, "about 19 %"), (99, "more than 19 %")]
        {
            let said = said(looks, 2).unwrap();
            assert!(said.contains("extended twice: ") && said.contains(wrong), "{said}");
        }
    }

    /// The published chances hold for means of paired differences too: 12 more pairs at each look.
    #[test]
    fn each_look_is_a_chance_to_be_wrong() {
        const SETS: usize = 4000;
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut wrong = [0usize; 3];
        for _ in 0..SETS {
            let mut values = Vec::new();
            for (look, _) in wrong.clone().iter().enumerate() {
                values.extend((0..12).map(|_| normal()));
                if stats::paired(&values).and_then(|estimate| estimate.p()).is_some_and(|p| p < 0.05) {
                    wrong[look..].iter_mut().for_each(|count| *count += 1);
                    break;
                }
            }
        }
        for (count, wanted) in wrong.into_iter().zip(WRONG_PCT) {
            let found = 100.0 * count as f64 / SETS as f64;
            assert!((found - wanted).abs() < 1.5, "{found} is not {wanted}");
        }
    }
}
