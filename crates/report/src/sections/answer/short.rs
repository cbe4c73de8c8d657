//! The answer to a comparison of two sides on one workload, in a few lines: a sentence, both speeds,
//! anything unusual, and the next command.

use results::answer::VerdictLine;
use results::comparison::{CellComparison, Comparison, Metric};
use stats::Verdict;

use super::{AnswerBlocks, AnswerPlace};
use crate::block::Block;
use crate::compared::{indicative, value_of, with_doubt};
use crate::lines::{TERMINAL, lines, wrapped};
use crate::{numbers, visible};
use results::ReportData;

/// The answer; `None` if it has several workloads or arms, or is about jobs: [`super::summary::text`]
/// prints these.
///
/// Control characters in foreign text are escaped.
#[must_use]
pub fn text(data: &ReportData) -> Option<String> {
    // The answer of thousands of runs takes long, so what has none here is known before.
    let of = data.compared().filter(|_| data.limits().is_none())?;
    let [arm] = &of.arms[..] else { return None };
    let [cell] = &arm.cells[..] else { return None };
    if cell.job {
        return None;
    }
    let answer = AnswerBlocks::of(data);
    let [line] = &answer.answer.lines[..] else { return None };
    let sides = [&of.base, &arm.arm].map(|name| label(data, name));
    let by_age = answer.depends_on_age(of.metric, &arm.arm, &line.scope).unwrap_or_default();
    let head = sentence(&answer.answer.question, of, (cell, line), &sides, &by_age)?;
    let crashes: Vec<Block> = answer.crashes().collect();
    let head = lines(&crashes, TERMINAL) + &wrapped(&head, TERMINAL);
    let speeds: String =
        speeds(data, of, cell, &sides).iter().map(|line| format!("{}\n", visible::line(line))).collect();
    Some(head + &speeds + &lines(&answer.blocks(AnswerPlace::Short), TERMINAL))
}

fn label(data: &ReportData, name: &str) -> String {
    let arm = data.experiment.arms.iter().find(|arm| arm.name == name);
    let by_settings = data.experiment.compare_factor.as_deref() == Some("settings");
    let settings = arm.map(|arm| &arm.settings).filter(|settings| by_settings && !settings.is_empty());
    match settings {
        Some(settings) => {
            let pairs: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            pairs.join(", ")
        }
        None => name.to_owned(),
    }
}

/// The two sides as the question names them: "Is new.sql faster than old.sql?".
fn asked(question: &str) -> Option<(&str, &str)> {
    question.strip_prefix("Is ")?.strip_suffix('?')?.split_once(" faster than ")
}

fn sentence(
    question: &str,
    of: &Comparison,
    (cell, line): (&CellComparison, &VerdictLine),
    labels: &[String; 2],
    by_age: &str,
) -> Option<String> {
    let workload = &cell.cell.workload;
    let named = (format!("{workload} with {}", labels[1]), labels[0].clone());
    let (other, base) = asked(question).map_or(named, |(other, base)| (other.to_owned(), base.to_owned()));
    let Some(estimate) = &line.estimate else {
        if let Verdict::TooFew(few) = line.verdict {
            return Some(format!("{workload}: no answer, {few}."));
        }
        let why = of.arms.iter().find_map(|arm| of.why_unavailable(arm));
        let why = why.unwrap_or("no round has a valid run of both sides");
        return Some(format!("{workload}: no answer, because {why}."));
    };
    let (change, interval) = numbers::change_and_interval(estimate.change_pct(), estimate.interval_pct());
    let interval = interval.map(|interval| format!("95 % interval {interval}"));
    let parts: Vec<String> = interval.into_iter().chain(indicative(estimate).map(str::to_owned)).collect();
    let interval = parts.join("; ");
    let rounds = of.rests_on();
    let figures = format!("{change} {} over {rounds} ({interval})", of.noun());
    let figures = with_doubt(figures, line.suspect.as_ref()) + by_age;
    if of.metric == Metric::Cpu {
        return by_cpu(line.verdict, of, [&other, &base], &figures);
    }
    Some(match line.verdict {
        Verdict::Faster => format!("{other} is faster than {base}: {figures}."),
        Verdict::Slower => format!("{other} is slower than {base}: {figures}."),
        Verdict::Same => {
            format!("{other} is as fast as {base}, within {}: {figures}.", numbers::percent(of.margin))
        }
        Verdict::Differs => format!("{other} differs from {base}, measured apart: {figures}."),
        Verdict::Inconclusive { .. } => {
            format!("Undecided whether {other} is faster than {base}: {figures}.")
        }
        Verdict::OneSet { .. } | Verdict::PartsDiffer | Verdict::TooFew(_) | Verdict::Invalid => return None,
    })
}

fn by_cpu(judged: Verdict, of: &Comparison, [other, base]: [&str; 2], figures: &str) -> Option<String> {
    Some(match judged {
        Verdict::Faster => format!("{other} takes less CPU than {base}: {figures}."),
        Verdict::Slower => format!("{other} takes more CPU than {base}: {figures}."),
        Verdict::Same => {
            format!("{other} takes as much CPU as {base}, within {}: {figures}.", numbers::percent(of.margin))
        }
        Verdict::Differs => format!("{other} differs from {base}, measured apart: {figures}."),
        Verdict::Inconclusive { .. } => {
            format!("Undecided whether {other} takes less CPU than {base}: {figures}.")
        }
        Verdict::OneSet { .. } | Verdict::PartsDiffer | Verdict::TooFew(_) | Verdict::Invalid => return None,
    })
}

fn speeds(data: &ReportData, of: &Comparison, cell: &CellComparison, sides: &[String; 2]) -> Vec<String> {
    let width = sides.iter().map(|side| side.chars().count()).max().unwrap_or(0).min(40);
    let names = [Some(of.base.as_str()), of.arms.first().map(|arm| arm.arm.as_str())];
    // Their ratio is the change.
    let values = [cell.compared[0].or(cell.base), cell.compared[1].or(cell.new)];
    let line = |at: usize| {
        let figures = data.grid().iter().find(|figures| figures.arm.as_deref() == names[at])?;
        let speed = match of.metric {
            Metric::Tps => format!("{} tps", value_of(cell, of.metric, values[at])),
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu => {
                format!("{} {}", of.noun(), value_of(cell, of.metric, values[at]))
            }
        };
        let p99 = match of.metric {
            Metric::Tps => format!(", p99 {}", numbers::percentile(&figures.response, 0.99)),
            Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu => String::new(),
        };
        Some(format!("  {:width$}  {speed}{p99}", sides[at]))
    };
    (0..2).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_called_as_the_question_calls_them() {
        let cases = [
            (
                "Is select-only with jit = off faster than without?",
                Some(("select-only with jit = off", "without")),
            ),
            ("Is new.sql faster than old.sql?", Some(("new.sql", "old.sql"))),
            ("Does this index help?", None),
        ];
        for (question, wanted) in cases {
            assert_eq!(asked(question), wanted, "{question}");
        }
    }
}
