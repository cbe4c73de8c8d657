//! The next step of an inconclusive answer as text, and its command. Also the warning about an answer that was
//! read before the experiment was complete.

use results::answer::{FEW, Help, Next, NextStep, Short};
use results::{Course, ReportData};
use spec::shell::PrintedCommand;
use stats::TooFew;

use crate::numbers;

/// The command that measured it, changed; else a command that runs its file. `None` if no single command does it.
pub(crate) fn command(data: &ReportData, next: &Next) -> Option<PrintedCommand> {
    if is_merged(data) {
        return None;
    }
    let of_file = || match next.step {
        NextStep::MoreRounds { rounds, .. } => {
            let file = PrintedCommand::new("run").path(&format!("{}.toml", data.experiment.name));
            Some(file.option("--rounds", &rounds.to_string()))
        }
        NextStep::LongerRuns { .. } | NextStep::Else { .. } => None,
    };
    next.command.clone().or_else(of_file)
}

/// Whether several parts were measured by a command each.
fn is_merged(data: &ReportData) -> bool {
    data.experiment.parts.len() > 1
}

/// Alternatives that a short answer names.
const FEW_HELPS: usize = 2;

pub(crate) fn words(data: &ReportData, next: &Next) -> String {
    let step = phrase(next, command(data, next).as_ref(), &spec::shell::word(data.called()));
    match (&next.step, is_merged(data)) {
        (NextStep::MoreRounds { .. } | NextStep::LongerRuns { .. }, true) => {
            format!("{step}; measure them in each part, and merge again")
        }
        _ => step,
    }
}

/// The same for a short answer: without costs of what does not help, and with the likeliest alternatives only.
pub(crate) fn short_words(data: &ReportData, next: &Next) -> String {
    match &next.step {
        NextStep::Else { helps, .. } if !helps.is_empty() => {
            let called = spec::shell::word(data.called());
            let helps = helps.iter().take(FEW_HELPS).map(|own| help(own, &called));
            helps.collect::<Vec<_>>().join(", or ")
        }
        _ => words(data, next),
    }
}

/// The same as a sentence's end: with a colon if a command follows.
pub(crate) fn sentence(data: &ReportData, next: &Next) -> String {
    let end = if command(data, next).is_some() { ":" } else { "." };
    words(data, next) + end
}

fn phrase(next: &Next, command: Option<&PrintedCommand>, called: &str) -> String {
    let of = if next.of.is_empty() { String::new() } else { format!("{}: ", next.of.join(", ")) };
    let apart = if next.taken_apart { "all settings together: " } else { "" };
    let programs = command.map_or(Vec::new(), PrintedCommand::programs);
    let programs = match programs.is_empty() {
        true => String::new(),
        false => format!("; this command runs the programs in {}", programs.join(", ")),
    };
    let step = match &next.step {
        NextStep::MoreRounds { rounds, more_s, decide: true } => {
            format!("{rounds} rounds would probably decide, about {} more", at_most(*more_s))
        }
        NextStep::MoreRounds { rounds, more_s, decide: false } => {
            let more = at_most(*more_s);
            format!("too few rounds to know the spread; {rounds} rounds show it, about {more} more")
        }
        NextStep::LongerRuns { seconds, cost_s, why } => {
            let how = if command.is_some() { "-T" } else { "duration in the experiment file:" };
            let cost = at_most(*cost_s);
            format!("{}; measure longer ({how} {seconds} s), about {cost} in all", short(*why))
        }
        NextStep::Else { rounds, helps } => {
            let what = if rounds.is_some() { "more rounds" } else { "longer runs" };
            let helps: Vec<String> = helps.iter().map(|own| help(own, called)).collect();
            format!("{what} would cost too much for what they decide. What else helps: {}", helps.join("; "))
        }
    };
    format!("{of}{apart}{step}{programs}")
}

fn short(why: Short) -> String {
    match why {
        Short::Percentile(few) => few.to_string(),
        Short::Transactions { least, most } => {
            let had = if least == most { least.to_string() } else { format!("{least} to {most}") };
            format!("all runs are too short: {had} of at least {FEW} transactions in each")
        }
    }
}

fn help(own: &Help, called: &str) -> String {
    match own {
        Help::OtherMetric { metric, noun } => {
            let name = metric.name();
            format!("another metric: the {noun} is decided (pgdyno compare {called} --metric {name})")
        }
        Help::FewerTransactions(few) => fewer_transactions(*few),
        Help::Quieter { stolen_pct: Some(stolen), .. } => {
            let share = numbers::percent(stolen / 100.0);
            format!("a quieter host or hour ({share} of the CPU was stolen by other machines)")
        }
        Help::Quieter { disturbed: 0, .. } => "a quieter host or hour".to_owned(),
        Help::Quieter { disturbed, runs, .. } => {
            let runs = numbers::counted(*runs, "run");
            let verb = if *disturbed == 1 { "was" } else { "were" };
            format!("a quieter host or hour ({disturbed} of {runs} {verb} disturbed)")
        }
        Help::FewerClients { clients, cpus } => {
            format!("fewer clients ({clients} and the server share {cpus} CPUs)")
        }
        Help::FewerCells(open) => {
            format!("fewer cells: measure {} alone, the others are decided", open.join(", "))
        }
        Help::LongerRuns(shortest) => {
            format!("longer runs (these measured {})", numbers::duration(*shortest))
        }
        Help::LargerJob => "a larger job: what disturbs it weighs less the longer it takes".to_owned(),
        Help::WiderMargin(widest) => format!(
            "a wider margin, if that is all you need to know: all intervals of lines and cells are within {}, and --margin {widest} \
             (in a file: margin = \"{widest}%\") asks for no more; a margin is chosen before one looks, so it is measured again",
            numbers::percent(widest / 100.0),
        ),
    }
}

fn fewer_transactions(few: TooFew) -> String {
    let lower = [(0.95, "p95"), (0.5, "p50")].into_iter().filter_map(|(quantile, name)| {
        let needs = TooFew::of(quantile, 0)?.needed;
        (needs < few.needed).then(|| format!("{name} needs {}", numbers::count(needs)))
    });
    let lower: Vec<String> = lower.collect();
    let lower = if lower.is_empty() { String::new() } else { format!(" ({})", lower.join(", ")) };
    format!("throughput, or a percentile that needs fewer transactions{lower}")
}

/// An announced time is rounded up: it must not be exceeded.
fn at_most(seconds: f64) -> String {
    let step = match seconds {
        0.0..60.0 => 1.0,
        60.0..600.0 => 10.0,
        _ => 60.0,
    };
    numbers::duration((seconds / step).ceil() * step)
}

/// Chance of reporting a difference where none exists, percent, by the number of looks (from 1) with
/// equally many new pairs each, if the first significant look counts (Armitage, McPherson, Rowe, J. R.
/// Stat. Soc. A 132, 1969).
const WRONG_PCT: [f64; 10] = [5.0, 8.3, 10.7, 12.6, 14.2, 15.5, 16.6, 17.6, 18.4, 19.3];

/// How often the verdict was seen and extended, and the effect on the 5 %; `None` if it was seen once,
/// at its end.
///
/// Planned looks have no effect: all intervals allow for them.
pub(crate) fn looked(course: &Course, planned: u32) -> Option<String> {
    let Course { looks, extended, .. } = *course;
    if planned > 1 && looks <= planned {
        return Some(format!(
            "looked at {} of {planned} times that were planned, and the intervals allow for all of them",
            looks
        ));
    }
    if looks <= 1 && extended == 0 {
        return None;
    }
    let said = match looks {
        0 => format!("extended {}", times(extended)),
        _ => format!("looked at {}, extended {}", times(looks), times(extended)),
    };
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

    fn said(step: NextStep, of: &[&str], command: Option<&PrintedCommand>) -> String {
        let of = of.iter().map(|&of| of.to_owned()).collect();
        phrase(&Next { of, step, command: None, taken_apart: false }, command, "a")
    }

    #[test]
    fn the_next_step_is_a_sentence() {
        let rounds = |decide| NextStep::MoreRounds { rounds: 24, more_s: 100.2, decide };
        let plain = PrintedCommand::new("run");
        let decides = "24 rounds would probably decide, about 1 min 50 s more";
        assert_eq!(said(rounds(true), &[], Some(&plain)), decides);
        let spread = said(rounds(false), &[], Some(&plain));
        assert!(spread.starts_with("too few rounds to know the spread; 24 rounds"));
        assert_eq!(said(rounds(true), &["tiles"], Some(&plain)), format!("tiles: {decides}"));
        let foreign = PrintedCommand::read("pgdyno bench -S --pg-bin ../bin");
        let tiles = said(rounds(true), &["tiles"], foreign.as_ref());
        assert!(tiles.ends_with("more; this command runs the programs in ../bin"), "{tiles}");
        let helps = vec![Help::LongerRuns(5.0), Help::Quieter { stolen_pct: None, disturbed: 0, runs: 4 }];
        let helps = said(NextStep::Else { rounds: Some(3334), helps }, &[], None);
        assert!(
            helps.ends_with("What else helps: longer runs (these measured 5 s); a quieter host or hour"),
            "{helps}"
        );
        // Backticks would be shown as they are on a page.
        let helps = vec![Help::WiderMargin(18.0)];
        let helps = said(NextStep::Else { rounds: Some(3334), helps }, &[], None);
        assert!(helps.contains("within 18 %, and --margin 18 (in a file: margin = \"18%\")"), "{helps}");
        assert!(!helps.contains('`'), "{helps}");
        let why = Short::Transactions { least: 2, most: 2 };
        assert_eq!(
            said(NextStep::LongerRuns { seconds: 35.0, cost_s: 61.0, why }, &[], Some(&plain)),
            "all runs are too short: 2 of at least 30 transactions in each; measure longer (-T 35 s), about 1 min 10 s in all"
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
        let said = |looks, extended| looked(&Course { command: None, looks, extended }, 1);
        for (looks, extended) in [(0, 0), (1, 0)] {
            assert_eq!(said(looks, extended), None);
        }
        assert_eq!(said(0, 3).unwrap(), "extended 3 times");
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
