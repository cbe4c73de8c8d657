//! Several arms by both metrics of work: a block for the whole grid and for each cell, a row for each arm. One table
//! instead of one for each arm and metric.

use results::comparison::{ArmComparison, Cell, CellComparison, Comparison, Metric};
use stats::{Estimate, Verdict};

use super::WIDTH;
use super::ascii::ascii;
use super::cells::{change, clients_everywhere, in_words, names, together};
use crate::compared::{indicative, shown_figures, value_of};
use crate::lines::wrapped;
use crate::numbers;

/// Of one metric in a row: figure, change, mark.
type Part = [String; 3];

struct Row<'a> {
    arm: &'a str,
    parts: [Part; 2],
}

struct Group<'a> {
    head: String,
    rows: Vec<Row<'a>>,
}

/// The more reliable metric is the first. `None` with one arm, or one metric; if it does not fit; or if a verdict needs
/// words.
pub(super) fn table(compared: &[&Comparison]) -> Option<String> {
    let [first, second] = compared else { return None };
    let arms: Vec<[&ArmComparison; 2]> = first
        .arms
        .iter()
        .filter(|arm| !arm.cells.is_empty())
        .map(|arm| Some([arm, second.arms.iter().find(|other| other.arm == arm.arm)?]))
        .collect::<Option<_>>()?;
    let (is_work, is_paired) = (
        compared.iter().all(|of| matches!(of.metric, Metric::Tps | Metric::Cpu)),
        compared.iter().all(|of| of.paired && of.control.is_none()),
    );
    if arms.len() < 2 || !is_work || !is_paired {
        return None;
    }
    let of_first: Vec<&CellComparison> = arms[0][0].cells.iter().collect();
    let names = names(&of_first);
    let mut groups: Vec<Group<'_>> =
        of_first.len().gt(&1).then(|| whole([first, second], &arms)).into_iter().collect::<Option<_>>()?;
    for own in &of_first {
        groups.push(of_cell([first, second], &arms, &own.cell, &in_words(own, &names))?);
    }
    let is_same = arms.iter().flatten().all(|arm| arm.cells.len() == of_first.len());
    let table = printed([first, second], &groups);
    let fits = is_same && table.lines().all(|line| line.len() <= WIDTH);
    let clients = clients_everywhere(&of_first, &names);
    fits.then(|| wrapped(&ascii(&caption(first, &arms, clients)), WIDTH) + &table)
}

/// The head of a block has the base's figures; `None` if they are not the same for all arms, as where pairs are left
/// out.
fn of_cell<'a>(
    of: [&Comparison; 2],
    arms: &[[&'a ArmComparison; 2]],
    cell: &Cell,
    name: &str,
) -> Option<Group<'a>> {
    let mut bases: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for both in arms {
        let find = |at: usize| {
            let own = both[at].cells.iter().find(|own| own.cell == *cell && !own.job && !own.scheduled)?;
            let [base, new] = shown_figures(own).map(|figure| ascii(&value_of(own, of[at].metric, figure)));
            Some((base, part(new, own.estimate.as_ref()?, own.verdict)?))
        };
        let [(one, first), (other, second)] = [find(0)?, find(1)?];
        let base = format!("{}, {}", with_unit(of[0], one), with_unit(of[1], other));
        if bases.iter().any(|known| *known != base) {
            return None;
        }
        bases.push(base);
        rows.push(Row { arm: &both[0].arm, parts: [first, second] });
    }
    Some(Group { head: format!("{name} ({} {}):", of[0].base, bases.first()?), rows })
}

fn with_unit(of: &Comparison, figure: String) -> String {
    if of.metric == Metric::Tps { format!("{figure} per second") } else { figure }
}

/// `None` if a figure lacks cells or rounds.
fn whole<'a>(of: [&Comparison; 2], arms: &[[&'a ArmComparison; 2]]) -> Option<Group<'a>> {
    let row = |both: &[&'a ArmComparison; 2]| {
        let figure = |at: usize| {
            let figure = both[at].grid.filter(|figure| !figure.is_incomplete())?;
            part(String::new(), &figure.grid.estimate, figure.verdict)
        };
        Some(Row { arm: &both[0].arm, parts: [figure(0)?, figure(1)?] })
    };
    let cells = numbers::counted(arms[0][0].cells.len(), "cell");
    let head = format!("whole grid, {} x {cells}:", of[0].rests_on());
    Some(Group { head, rows: arms.iter().map(row).collect::<Option<_>>()? })
}

fn part(figure: String, of: &Estimate, verdict: Verdict) -> Option<Part> {
    let mark = match verdict {
        Verdict::Faster | Verdict::Slower => "*",
        Verdict::Same => "=",
        Verdict::Inconclusive { .. } => " ",
        _ => return None,
    };
    Some([figure, ascii(&short_change(of)), mark.to_owned()])
}

/// Above this end of an interval, percent, the number does not matter, and would not fit.
const MOST_PCT: f64 = 999.0;

/// `+0.7 % [-99.7, >+999]` after few rounds.
fn short_change(of: &Estimate) -> String {
    match of.interval_pct() {
        Some((low, high)) if high > MOST_PCT && !numbers::is_factor(of.change_pct()) => {
            format!("{} [{}, >+{MOST_PCT}]", numbers::change(of.change_pct()), numbers::change_end(low))
        }
        _ => change(of),
    }
}

fn printed(of: [&Comparison; 2], groups: &[Group<'_>]) -> String {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let width = |text: &dyn Fn(&Row<'_>) -> usize| rows().map(text).max().unwrap_or_default();
    let name = width(&|row| ascii(row.arm).len());
    let widths = [0, 1].map(|at| [0, 1].map(|column| width(&|row| row.parts[at][column].len())));
    let heads = of.map(|of| match of.metric {
        Metric::Cpu => "server CPU per transaction",
        _ => "throughput per second",
    });
    let whole = |at: usize| widths[at][0] + 2 + widths[at][1] + 2;
    let head = format!("{:name$}  {:<3$}  {}", "", heads[0], heads[1], whole(0));
    let line = |row: &Row<'_>| {
        let shown = [0, 1].map(|at| {
            let [figure, change, mark] = &row.parts[at];
            format!("{figure:>0$}  {change:>1$} {mark}", widths[at][0], widths[at][1])
        });
        format!("{:name$}  {}  {}", ascii(row.arm), shown[0], shown[1]).trim_end().to_owned()
    };
    let longest = width(&|row| line(row).len()).max(head.len());
    let mut out = format!("{head}\n{}\n", "-".repeat(longest));
    for group in groups {
        out += &wrapped(&ascii(&group.head), WIDTH);
        group.rows.iter().for_each(|row| out += &format!("{}\n", line(row)));
    }
    out
}

fn caption(of: &Comparison, arms: &[[&ArmComparison; 2]], clients: Option<String>) -> String {
    let estimates =
        || arms.iter().flatten().flat_map(|arm| &arm.cells).filter_map(|cell| cell.estimate.as_ref());
    let lines = estimates().map(|of| of.lines).max().unwrap_or(1);
    let few = estimates().find_map(indicative).map(|few| format!(", {few}")).unwrap_or_default();
    format!(
        "{}Geometric means over rounds, change against {} [95 %{}]{few}. * decided, = same within {}, no mark: inconclusive.",
        clients.map(|clients| format!("{clients}. ")).unwrap_or_default(),
        of.base,
        together(lines, true),
        numbers::percent(of.margin)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rounds have intervals to +29,693 %, and the table had 16 blocks instead of 4.
    #[test]
    fn an_interval_without_bounds_does_not_widen_the_table() {
        let of = |standard_error| Estimate {
            log_ratio: 0.01,
            standard_error: Some(standard_error),
            df: 1.0,
            n: 2,
            lines: 1,
        };
        assert_eq!(short_change(&of(0.5)), "+1.0 % [-99.82, >+999]");
        assert_eq!(short_change(&of(0.01)), change(&of(0.01)));
    }
}
