//! The answer as sentences.

use results::CellFigures;
use results::answer::{FromCache, LineScope, SuspectRuns, Uncut, VerdictLine, scope_name, shown};
use results::comparison::{
    ArmComparison, Cell, CellComparison, Comparison, ControlChange, GridFigure, Metric, Sliced, TakenApart,
};
use spec::{SpeedTrend, figures};
use stats::Verdict;

use super::AnswerBlocks;
use crate::arrivals;
use crate::compared::{
    FROM_SLICES, Tone, against, cell_and_arm, control, grouped_cell, lacks, tally, undecided_cells, value_of,
    verdict_or_invalid,
};
use crate::sections::verdicts::sentence;
use crate::{differences, numbers};
use results::data::cell_text;

/// Cells listed by name; the others are counted.
const NAMED: usize = 12;
const NAMED_GROUPS: usize = 5;

pub(super) struct ArmAnswer {
    /// Its name: a level that is only a number includes its factor.
    pub(super) arm: String,
    /// The answer: one line, or one for each part if these differ.
    pub(super) lines: Vec<AnswerLine>,
    pub(super) tone: Tone,
    /// Settings that weaken crash safety; empty if none.
    pub(super) unsafe_settings: String,
    /// Other remarks: cells that change in the opposite direction, excluded pairs.
    pub(super) remarks: Vec<String>,
    /// The remarks that a reader of the table of cells must know.
    pub(super) doubts: Vec<String>,
}

pub(super) struct AnswerLine {
    /// The arm; for a part also its name and the compared values.
    pub(super) head: String,
    pub(super) verdict: String,
    /// Set if a third or more of its runs are suspect.
    pub(super) suspect: Option<SuspectRuns>,
    pub(super) figures: String,
    /// A head, and a phrase for each level, if cells differ by more than their noise.
    pub(super) levels: Option<(String, Vec<String>)>,
    pub(super) workload: Option<String>,
}

impl<'a> AnswerBlocks<'a> {
    /// The comparison with each of its arms and the text about it; without the parts of an arm that is
    /// taken apart. Empty if nothing is compared.
    pub(super) fn arms(&self) -> Vec<(&'a Comparison, &'a ArmComparison, ArmAnswer)> {
        let Some(of) = self.compared else { return Vec::new() };
        let (apart, not_run) = (TakenApart::of(&self.data.experiment), self.data.not_run());
        // An arm that could not run is reported as such.
        let is_not_run = |arm: &ArmComparison| {
            arm.cells.is_empty() && not_run.iter().any(|own| self.data.arm_of(own) == Some(&arm.arm))
        };
        let is_part = |arm: &ArmComparison| apart.as_ref().is_some_and(|apart| apart.is_part(&arm.arm));
        let answered = of.arms.iter().filter(|arm| !is_part(arm) && !is_not_run(arm));
        answered.map(|arm| (of, arm, self.arm_answer(of, arm))).collect()
    }

    pub(super) fn name_of(&self, arm: &str) -> String {
        match &self.data.experiment.compare_factor {
            Some(factor) if arm.starts_with(|c: char| c.is_ascii_digit()) => format!("{factor} {arm}"),
            _ => arm.to_owned(),
        }
    }

    /// `; 1.7 times as long [1.5, 1.9], 7.28 s on average, stock 4.28 s`: for jobs only, with the mean if
    /// there is only one.
    fn took(&self, of: &Comparison, arm: &ArmComparison, figure: &GridFigure) -> String {
        if !arm.cells.iter().all(|cell| cell.job) {
            return String::new();
        }
        let estimate = &figure.grid.estimate;
        let mut parts = Vec::new();
        if estimate.change_pct() <= MUCH_SLOWER_PCT {
            parts.push(numbers::as_long(estimate.change_pct(), estimate.interval_pct()));
        }
        if let [cell] = &arm.cells[..] {
            let [base, new] = [cell.base, cell.new].map(|speed| value_of(cell, of.metric, speed));
            parts.push(format!("{new} on average, {} {base}", self.name_of(&of.base)));
        }
        if parts.is_empty() { String::new() } else { format!("; {}", parts.join(", ")) }
    }

    fn arm_answer(&self, of: &Comparison, arm: &ArmComparison) -> ArmAnswer {
        let own = || self.answer.lines.iter().filter(|line| line.arm == arm.arm);
        let (shown, not_shown) = shown(own());
        let not_shown = (not_shown > 0).then(|| {
            let scripts = numbers::counted(not_shown, "further script");
            format!("{scripts} have no line here: those that are decided come first, and compare --format csv has all.")
        });
        let interleaved = self.not_interleaved();
        let left_out = self.averages_leave_out(&arm.arm);
        let doubts = interleaved.iter().cloned().chain(doubts(arm)).chain(left_out.clone());
        let doubts = doubts.collect();
        let remarks = not_shown.into_iter().chain(interleaved).chain(remarks(arm)).chain(left_out);
        ArmAnswer {
            arm: self.name_of(&arm.arm),
            lines: shown.iter().map(|line| self.line(of, arm, line)).collect(),
            tone: Tone::of_all(own().map(|line| line.verdict)),
            unsafe_settings: arm.unsafe_settings.join(", "),
            remarks: remarks.collect(),
            doubts,
        }
    }

    pub(super) fn not_interleaved(&self) -> Option<String> {
        let has_control = self.data.compared().is_some_and(|of| of.control.is_some());
        let what = match has_control {
            _ if self.data.compared().is_some_and(|of| of.by_sets) => {
                "so the error is the spread between the sets of a level; drift shows only in that spread"
            }
            true => "only what changed the arms alike is taken out",
            false => "so drift and change cannot be told apart",
        };
        (!self.data.experiment.is_interleaved())
            .then(|| format!("Not interleaved: the arms were measured at different times, {what}."))
    }

    fn line(&self, of: &Comparison, arm: &ArmComparison, line: &VerdictLine) -> AnswerLine {
        let (verdict, figures) = match &line.estimate {
            Some(estimate) => {
                let noun = match (&line.scope, of.metric) {
                    (LineScope::Script { .. }, Metric::Tps) => "mean response time",
                    _ => of.noun(),
                };
                let figures = against(estimate, noun, &of.base);
                let took = line.figure.map(|figure| self.took(of, arm, &figure)).unwrap_or_default();
                let by_age = self.depends_on_age(of.metric, &arm.arm, &line.scope).unwrap_or_default();
                let figures = format!("{figures}, {}{took}{by_age}", over(of, line));
                let figures = match control(of) {
                    Some(control) if of.control.as_ref().is_some_and(ControlChange::differs) => {
                        format!("{control}; {figures}")
                    }
                    Some(control) => format!("{figures}; {control}"),
                    None => figures,
                };
                let alone = line.figure.as_ref().and_then(undecided_cells);
                let alone = alone.map(|alone| format!(", but {alone}")).unwrap_or_default();
                (verdict_or_invalid(line.verdict, of) + &alone, figures)
            }
            None => Self::without_figure(of, arm, line.verdict),
        };
        // A difference that was measured separately includes the warning.
        let is_said = self.data.experiment.is_interleaved() || line.verdict == Verdict::Differs;
        let verdict = if is_said { verdict } else { format!("{verdict} (not interleaved)") };
        let (name, values) = (self.name_of(&arm.arm), &line.values);
        let what = scope_name(&line.scope);
        let head = match what {
            None => name,
            // The values end with the arm's name if it is a level.
            Some(what) if values.ends_with(&format!("→ {}", arm.arm)) => format!("{what}, {values}"),
            Some(what) => format!("{name}: {what}, {values}"),
        };
        let workload = match &line.scope {
            LineScope::Whole => None,
            LineScope::Workload(workload) | LineScope::Script { workload, .. } => Some(workload.clone()),
            LineScope::Cell(cell) => Some(cell.workload.clone()),
        };
        let levels = line.levels.as_ref().filter(|_| line.verdict != Verdict::PartsDiffer);
        let levels = levels.map(|by| crate::by_levels::words(of, by));
        AnswerLine { head, verdict, suspect: line.suspect, figures, levels, workload }
    }

    pub(super) fn without_figure(of: &Comparison, arm: &ArmComparison, why: Verdict) -> (String, String) {
        match why {
            Verdict::TooFew(few) => (few.to_string(), format!("no {} against {}", of.noun(), of.base)),
            _ if arm.scheduled > 0 && !arm.is_invalid() => (
                "no one figure".to_owned(),
                format!("offered rates or think times set the throughput; by cell: {}", tally(of, arm)),
            ),
            Verdict::Inconclusive { .. } if !arm.scripts.is_empty() => {
                ("inconclusive".to_owned(), "too few of its transactions to compare".to_owned())
            }
            _ if arm.cells.is_empty() => ("not compared".to_owned(), "no pair of runs yet".to_owned()),
            _ => {
                let figures = format!("no valid pair in {}", numbers::counted(arm.cells.len(), "cell"));
                let why = of.why_unavailable(arm).map(|why| format!(": {why}")).unwrap_or_default();
                ("invalid".to_owned(), figures + &why)
            }
        }
    }

    /// The largest differences of an arm besides speed, a phrase each, by workload; workloads without any
    /// are left out.
    pub(super) fn differences<'c>(
        &self,
        of: &Comparison,
        arm: &'c ArmComparison,
    ) -> Vec<(&'c str, Vec<String>)> {
        let has_replicas =
            self.data.runs.iter().any(|run| run.figures.get(figures::REPLICAS_CPU_S).is_some());
        let of_it = |name| {
            let mut phrases = differences::phrases(&self.answer.causes, name, &arm.arm, &of.base);
            // What replicas did is not in the primary's counters.
            if has_replicas && !phrases.is_empty() {
                phrases.push("counters of the primary alone, without its replicas".to_owned());
            }
            (name, phrases)
        };
        arm.workload_names().into_iter().map(of_it).filter(|(_, phrases)| !phrases.is_empty()).collect()
    }

    /// A sentence for each cell whose speed changes during the measurement, with what to do about it.
    pub(super) fn trends(&self) -> Vec<String> {
        let several = self.data.grid().iter().any(|other| other.cell != self.data.grid()[0].cell);
        let said = |(cell, trend): &(Cell, SpeedTrend)| {
            let words = trend.words()?;
            Some(match several {
                true => format!("{}: {words}.", cell_text(cell)),
                false => format!("{}.", sentence(&words)),
            })
        };
        self.answer.doubts.trends.iter().filter_map(said).collect()
    }

    /// What else differs between two experiments, and which tiles came from a cache.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let cached = self.answer.remarks.from_caches.iter().map(from_cache);
        self.data.notes.iter().cloned().chain(cached)
    }

    /// Throughput that does not count database transactions.
    pub(super) fn units(&self) -> impl Iterator<Item = String> {
        // A longer pipeline has fewer transactions, and is not necessarily slower.
        self.answer.remarks.pipelines.iter().map(|name| {
            format!(
                "{name}: a transaction is a pipeline of several commands; throughput is compared in commands per second."
            )
        })
    }

    /// Why arms did not take turns in slices, and in which rounds: a sentence for each reason.
    pub(super) fn uncut(&self) -> impl Iterator<Item = String> {
        self.answer.remarks.uncut.iter().map(|Uncut { rounds, workloads, why }| {
            let rounds =
                rounds.map(|(uncut, all)| format!(" in {uncut} of {all} rounds")).unwrap_or_default();
            format!("No slices{rounds}: {}: {why}.", workloads.join(", "))
        })
    }

    /// Arms with the same answers as the base, with the workloads for which that was verified.
    pub(super) fn same(&self) -> impl Iterator<Item = String> {
        self.answer.remarks.same.iter().map(|(arm, workloads)| {
            format!("{arm}: {} (a sample of transactions, compared before any run).", workloads.join(", "))
        })
    }

    fn averages_leave_out(&self, arm: &str) -> Option<String> {
        let found = self.data.throughput().iter().flat_map(|found| &found.arms).find(|of| of.arm == arm)?;
        let cells = match found.scheduled {
            0 => return None,
            n if n == found.cells.len() => "In all cells".to_owned(),
            n => format!("In {}", numbers::counted(n, "cell")),
        };
        Some(format!(
            "{cells} a schedule or think times set the throughput: no figure averages over it; compared are the \
             response times."
        ))
    }

    /// What happened to the arrivals in each cell and arm of an open load, and how a promise was kept in
    /// the others, a line each.
    pub(super) fn in_time(&self) -> Vec<String> {
        let said = self.loads().filter_map(|own| Some((own, arrivals::in_time(&own.in_time)?)));
        let said: Vec<_> = said.collect();
        let line = |(own, words): &(&CellFigures, String)| {
            let verdict = if own.in_time.overload().is_some() { "; overloaded" } else { "" };
            format!("{}: {words}{verdict}", cell_and_arm(&own.cell, own.arm.as_deref()))
        };
        let mut lines: Vec<String> = said.iter().take(NAMED).map(line).collect();
        if said.len() > NAMED {
            lines.push(format!("and {} more: pgdyno table cells", said.len() - NAMED));
            lines.extend(self.overload());
        }
        lines
    }

    /// Cells and arms. The trials of a search are listed below its answer, rate by rate.
    fn loads(&self) -> impl Iterator<Item = &'a CellFigures> {
        self.data.grid().iter().filter(|_| self.limits.is_none())
    }

    pub(super) fn overload(&self) -> Option<String> {
        let overloaded = |figures: &CellFigures| {
            let arrivals = figures.in_time.overload()?;
            let place = cell_and_arm(&figures.cell, figures.arm.as_deref());
            Some(format!("{place} ({})", arrivals::share_of_offered(&arrivals)))
        };
        let cells: Vec<String> = self.loads().filter_map(overloaded).collect();
        let more = match cells.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        (!cells.is_empty())
            .then(|| format!("Overloaded: {}{more}.", cells[..cells.len().min(NAMED)].join("; ")))
    }

    pub(super) fn groups(&self) -> Option<(String, Vec<String>)> {
        let groups = self.data.groups();
        let cells = numbers::counted(groups.len(), "cell");
        let mut lines: Vec<String> = groups.iter().take(NAMED_GROUPS).map(grouped_cell).collect();
        if groups.len() > NAMED_GROUPS {
            lines.push(format!("{} more: pgdyno table cells", groups.len() - NAMED_GROUPS));
        }
        let head = format!("Runs of {cells} fall into two groups by their transactions per second");
        (!lines.is_empty()).then_some((head, lines))
    }
}

fn from_cache(own: &FromCache) -> String {
    let share = numbers::fixed(own.hit_pct, 2);
    let share = share.trim_end_matches('0').trim_end_matches('.');
    let levels = own.levels.as_ref().map(|levels| format!(", {levels}")).unwrap_or_default();
    format!(
        "{}{levels}: {share} % of its tiles came from the cache, and do not show the speed of the database; hits and misses are listed separately by zoom",
        own.of
    )
}

/// From here on a loss of speed is also printed as a time: -67 % does not make clear that it takes three
/// times as long.
const MUCH_SLOWER_PCT: f64 = -20.0;

/// `over this grid, 6 rounds x 8 cells`; for one cell `over 6 rounds`.
fn over(of: &Comparison, line: &VerdictLine) -> String {
    let rounds = of.rests_on();
    let Some(figure) = line.figure else { return format!("over {rounds}") };
    let cells = numbers::counted(figure.grid.cells, "cell");
    let grid = if line.scope == LineScope::Whole { "over this grid," } else { "over" };
    let lacks = lacks(&figure).map(|lacks| format!("; {lacks}")).unwrap_or_default();
    format!("{grid} {rounds} x {cells}{lacks}")
}

fn cell_and_change(of: &CellComparison) -> String {
    let change = of.estimate.map_or(numbers::ABSENT.to_owned(), |of| numbers::change(of.change_pct()));
    format!("{} ({change})", cell_text(&of.cell))
}

fn remarks(arm: &ArmComparison) -> Vec<String> {
    let mut remarks = Vec::new();
    let other_way: Vec<String> = arm.against().into_iter().map(cell_and_change).collect();
    if !other_way.is_empty() {
        remarks.push(format!("The other way: {}.", other_way.join("; ")));
    }
    remarks.extend(slices(arm));
    match arm.excluded() {
        0 => {}
        n => remarks.push(format!(
            "{} left out, because a run in {} was invalid or measured too little.",
            numbers::counted(n, "pair"),
            if n == 1 { "it" } else { "each" }
        )),
    }
    remarks
}

fn slices(arm: &ArmComparison) -> Option<String> {
    let all: Vec<Sliced> = arm.cells.iter().filter_map(|cell| cell.sliced).collect();
    let (quads, void) = all.iter().fold((0, 0), |sum, of| (sum.0 + of.quads, sum.1 + of.void));
    let shortest = all.iter().map(|of| of.slice_ms).min_by(f64::total_cmp)?;
    let longest = all.iter().map(|of| of.slice_most_ms).max_by(f64::total_cmp)?;
    let length = match shortest.round() < longest.round() {
        true => format!("{shortest:.0} to {longest:.0} ms"),
        false => format!("{shortest:.0} ms"),
    };
    let void = match void {
        0 => String::new(),
        n => format!(", {n} of them void, because a drain took too long"),
    };
    let correlated = arm.cells.iter().filter_map(|cell| {
        let sliced = cell.sliced.filter(Sliced::is_correlated)?;
        Some(format!("{} ({:.2})", cell_text(&cell.cell), sliced.autocorrelation?))
    });
    let correlated: Vec<String> = correlated.collect();
    let correlated = match correlated.is_empty() {
        true => String::new(),
        false => format!(
            " What disturbed them outlasted the slices, as quads that follow each other resemble each other: {}; the interval, \
             over rounds, allows for it, but more rounds help more than longer ones.",
            correlated.join(", ")
        ),
    };
    Some(format!(
        "The arms took turns in slices of {length}: {}{void}. {FROM_SLICES}{correlated}",
        numbers::counted(quads, "quad")
    ))
}

/// `Best: polygons, 4 clients (+3.5 %); worst: …`; `None` for a single cell.
pub(super) fn extremes(of: &Comparison, arm: &ArmComparison) -> Option<String> {
    let (best, worst) = arm.extremes(of.metric.better()).filter(|_| arm.cells.len() > 1)?;
    Some(format!("Best: {}; worst: {}.", cell_and_change(best), cell_and_change(worst)))
}

/// What a reader of the table must know of its pairs.
fn doubts(arm: &ArmComparison) -> Vec<String> {
    let left_out = match arm.excluded() {
        0 => None,
        n => Some(format!("{} left out, because of an invalid run.", numbers::counted(n, "pair"))),
    };
    let correlated = arm.cells.iter().filter_map(|cell| cell.sliced).filter(Sliced::is_correlated).count();
    let correlated = match correlated {
        0 => None,
        n => Some(format!(
            "In {}, disturbances outlasted the slices; the intervals allow for it.",
            numbers::counted(n, "cell")
        )),
    };
    left_out.into_iter().chain(correlated).collect()
}
