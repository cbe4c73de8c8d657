//! What to do where an answer is inconclusive: how many rounds would decide, how long they take, and the command to type.
//! And what is to be said of an answer that was looked at before it was finished.

use std::collections::BTreeSet;

use jiff::Timestamp;
use record::shell::Command;
use record::{Run, RunKind};
use results::Course;
use results::comparison::{Comparison, Figure, TakenApart};
use serde::Serialize;
use stats::{Estimate, Verdict};

use crate::asked::Options;
use crate::cells::CellFigures;
use crate::data::ReportData;
use crate::numbers;

/// Rounds that tell a spread, where there are too few for that.
const ENOUGH: u32 = 8;
/// What takes longer than this is no advice, seconds.
const TOO_LONG_S: f64 = 3600.0;
/// Connecting, counters and storing around a run, seconds.
const AROUND_RUN_S: f64 = 0.35;
/// From this share of stolen CPU on another host is the first thing to try, percent.
const STOLEN_PCT: f64 = 2.0;
/// Runs shorter than this gain by being longer, seconds.
const SHORT_S: f64 = 5.0;
/// Most rounds that a plan can have.
const MOST_ROUNDS: u32 = 10_000;

/// The next step of an experiment whose answer is inconclusive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Next {
    /// The workloads that are open, where the whole grid is decided.
    of: Vec<String>,
    /// Rounds in all; even.
    pub(crate) rounds: u32,
    /// How much longer they take, seconds.
    more_s: f64,
    /// Quoted for a shell, on one line.
    pub(crate) command: String,
    /// What the command names as programs to run.
    programs: Vec<String>,
    why: Why,
    /// Whether an arm is taken apart, of whose single settings it says nothing.
    taken_apart: bool,
}

/// How far the number of rounds can be relied on.
#[derive(Debug, Clone, PartialEq, Serialize)]
enum Why {
    /// So many narrow the interval to the margin.
    WouldDecide,
    /// There are too few to know.
    TooFew,
    /// They would, but nobody waits for them; what else helps.
    TooMany(Vec<String>),
}

impl Next {
    /// `None` where the answer is decided, or cannot be had by more rounds.
    pub(crate) fn of(data: &ReportData) -> Option<Self> {
        let mut found = data.answer()?.clone();
        if !found.paired {
            return None;
        }
        // Nobody waits for each part of an arm that is taken apart.
        if let Some(apart) = TakenApart::of(&data.experiment) {
            found.arms.retain(|arm| !apart.is_part(&arm.arm));
        }
        let Open { of, figures, more: needed } = Open::of(&found)?;
        let done = data.grid_runs().map(|run| run.round).max()?;
        let rounds = match needed {
            Some(more) => done.saturating_add(more),
            None => ENOUGH.max(done + 2),
        };
        let rounds = rounds.saturating_add(rounds % 2).min(u32::MAX - 1);
        let more_s = seconds_per_round(data)? * f64::from(rounds - done);
        let why = match needed {
            None => Why::TooFew,
            Some(_) if more_s > TOO_LONG_S || rounds > MOST_ROUNDS => {
                Why::TooMany(what_else(data, &figures, found.margin))
            }
            Some(_) => Why::WouldDecide,
        };
        let taken_apart = TakenApart::of(&data.experiment).is_some();
        let command = command(data, rounds);
        let programs = command.programs().into_iter().map(str::to_owned).collect();
        Some(Self { of, rounds, more_s, command: command.to_string(), programs, why, taken_apart })
    }

    /// Whether this line of the answer is what it is about: that of a workload, or of the whole grid.
    pub(crate) fn is_of(&self, workload: Option<&str>) -> bool {
        match workload {
            Some(name) => self.of.iter().any(|of| of == name),
            None => self.of.is_empty(),
        }
    }

    /// In words, to stand before the command.
    pub(crate) fn words(&self) -> String {
        let of = if self.of.is_empty() { String::new() } else { format!("{}: ", self.of.join(", ")) };
        let apart = if self.taken_apart { "all settings together: " } else { "" };
        let programs = match self.programs.is_empty() {
            true => String::new(),
            false => format!("; this command runs the programs in {}", self.programs.join(", ")),
        };
        format!("{of}{apart}{}{programs}", self.step())
    }

    fn step(&self) -> String {
        let (rounds, more) = (self.rounds, numbers::duration(self.more_s.round()));
        match &self.why {
            Why::WouldDecide => format!("{rounds} rounds would probably decide, about {more} more"),
            Why::TooFew => {
                format!("too few rounds to know the spread; {rounds} rounds show it, about {more} more")
            }
            Why::TooMany(instead) => format!(
                "more rounds alone will hardly decide it: about {} rounds would be needed, {more} more. What else helps: {}. \
                 To go on all the same",
                numbers::count(u64::from(rounds)),
                instead.join("; ")
            ),
        }
    }
}

/// The command that measured it, with so many rounds; where that is unknown, a command that runs its file.
fn command(data: &ReportData, rounds: u32) -> Command {
    if let Some(typed) = &data.course.command {
        return typed.clone().option("--rounds", &rounds.to_string());
    }
    let options = Options { rounds: Some(rounds), ..Options::of(&data.experiment, None) };
    options.added_to(Command::new("run").path(&format!("{}.toml", data.experiment.name)))
}

/// What is inconclusive: whole grids; where these are decided, the workloads in them.
struct Open {
    /// Names of the workloads; none where it is the grid.
    of: Vec<String>,
    figures: Vec<Figure>,
    /// How many more pairs would decide all of it; `None` where that is not known.
    more: Option<u32>,
}

impl Open {
    fn of(found: &Comparison) -> Option<Self> {
        let grids = || found.arms.iter().filter_map(|arm| arm.grid);
        let (of, figures): (Vec<String>, Vec<Figure>) = match grids().any(|figure| is_open(&figure)) {
            true => (Vec::new(), grids().filter(is_open).collect()),
            false => {
                let parts = found.arms.iter().flat_map(|arm| &arm.workloads);
                parts
                    .filter(|(_, figure)| is_open(figure))
                    .map(|(name, figure)| (name.clone(), *figure))
                    .unzip()
            }
        };
        let more = figures.iter().map(more_pairs).max_by_key(|more| more.unwrap_or(0))?;
        // Several arms may leave the same workload open.
        let of: BTreeSet<String> = of.into_iter().collect();
        Some(Self { of: of.into_iter().collect(), figures, more })
    }
}

fn is_open(figure: &Figure) -> bool {
    matches!(figure.verdict, Verdict::Inconclusive { .. })
}

fn more_pairs(figure: &Figure) -> Option<u32> {
    match figure.verdict {
        Verdict::Inconclusive { more_pairs } => more_pairs,
        _ => None,
    }
}

/// As long as the rounds so far took, whatever was done between their runs.
fn seconds_per_round(data: &ReportData) -> Option<f64> {
    let mut seconds = 0.0;
    let mut rounds = 0;
    let runs: Vec<&Run> = data.measured_runs().collect();
    for invocation in runs.chunk_by(|a, b| a.invocation == b.invocation) {
        let (first, last) = (invocation.first()?, invocation.last()?);
        let began = |run: &Run| run.started_at.parse::<Timestamp>().ok();
        let own = |run: &Run| run.warmup_s + run.measured_s + AROUND_RUN_S;
        let apart = match (began(first), began(last)) {
            (Some(first), Some(last)) => last.duration_since(first).as_secs_f64(),
            _ => 0.0,
        };
        // Times of day may be set back.
        let least: f64 = invocation.iter().map(|run| own(run)).sum();
        seconds += (apart + own(last)).max(least);
        let mut own_rounds: Vec<u32> = invocation.iter().map(|run| run.round).collect();
        own_rounds.sort_unstable();
        own_rounds.dedup();
        rounds += own_rounds.len();
    }
    (rounds > 0).then(|| seconds / rounds as f64)
}

/// What helps where more rounds do not, the likeliest first.
fn what_else(data: &ReportData, open: &[Figure], margin: f64) -> Vec<String> {
    let runs: Vec<&Run> = data.grid_runs().collect();
    let stolen: Vec<f64> = runs.iter().filter_map(|run| run.figures.get("steal_pct").copied()).collect();
    let stolen = stolen.iter().sum::<f64>() / stolen.len().max(1) as f64;
    let mut helps = vec![match stolen >= STOLEN_PCT {
        true => format!(
            "a quieter host or hour ({} of the CPU was stolen by other machines)",
            numbers::percent(stolen / 100.0)
        ),
        false => "a quieter host or hour".to_owned(),
    }];
    let clients = runs.iter().map(|run| run.clients).max().unwrap_or(0);
    if clients > data.host.cores && data.target.kind == "managed" {
        helps.push(format!("fewer clients ({clients} and the server share {} CPUs)", data.host.cores));
    }
    // A job takes as long as it takes.
    let lengths = || runs.iter().filter(|run| run.kind != RunKind::Job).map(|run| run.measured_s);
    let shortest = lengths().fold(f64::INFINITY, f64::min);
    if shortest < SHORT_S {
        helps.push(format!("longer rounds (these runs measured {})", numbers::duration(shortest)));
    }
    if data.grid.iter().any(CellFigures::is_job) {
        helps.push("a larger job: what disturbs it weighs less the longer it takes".to_owned());
    }
    let widest = open.iter().filter_map(|figure| widest(&figure.grid.estimate)).fold(0.0, f64::max);
    if widest > 100.0 * margin && widest < 50.0 {
        helps.push(format!(
            "a larger margin, if that is all you need to know: what there is lies within {} now, and `margin = \"{}%\"` would \
             ask for no more (a margin is chosen before one looks, so it is measured anew)",
            numbers::percent(widest.ceil() / 100.0),
            widest.ceil()
        ));
    }
    helps
}

/// The end of the interval that is further from no change, percent.
fn widest(of: &Estimate) -> Option<f64> {
    let (low, high) = of.interval_pct()?;
    Some(low.abs().max(high.abs()))
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

    #[test]
    fn what_nobody_would_wait_for_says_what_else_helps() {
        let next = |why| Next {
            of: Vec::new(),
            rounds: 1240,
            more_s: 12_000.0,
            command: "pgdyno run a.toml".into(),
            programs: Vec::new(),
            why,
            taken_apart: false,
        };
        assert_eq!(
            next(Why::WouldDecide).words(),
            "1240 rounds would probably decide, about 3 h 20 min more"
        );
        let words = next(Why::TooMany(vec!["a quieter host or hour".into(), "longer rounds".into()])).words();
        for wanted in [
            "about 1,240 rounds",
            "3 h 20 min more",
            "What else helps: a quieter host or hour; longer rounds.",
        ] {
            assert!(words.contains(wanted), "no {wanted} in {words}");
        }
        let tiles = Next { of: vec!["tiles".into()], ..next(Why::WouldDecide) };
        assert!(tiles.words().starts_with("tiles: 1240 rounds would"));
        let programs = Next { programs: vec!["../bin".into()], ..tiles };
        assert!(programs.words().ends_with("more; this command runs the programs in ../bin"));
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
