//! The limit of each cell: bounds, what broke first above them, and the trials they rest on.

use std::collections::BTreeMap;

use results::answer::SuspectRuns;
use results::limits::{
    ArmLimit, Broke, Cause, Confirmed, FarPeak, Found, GeneratorLimit, LimitState, Limits, Ratio,
    RatioVerdict, Shaped, WhyFar,
};
use results::{Table, Value};
use spec::figures::{self, Figure};
use spec::{Run, Term};
use stats::{LimitClass, LimitEnded};

use crate::block::{Block, Paragraph};
use crate::compared::with_doubt;
use crate::numbers::{self, real};
use results::ReportData;
use results::data::cell_text;

#[derive(Debug)]
pub(crate) struct Limit {
    promise: String,
    margin: f64,
    /// How close the bounds were to come, a share.
    width: f64,
    cells: Vec<CellView>,
}

#[derive(Debug)]
struct CellView {
    /// In words.
    cell: String,
    /// As fast as the clients could, per second.
    peak_per_s: Option<f64>,
    peak_clients: u32,
    /// Those of the trials.
    clients: u32,
    /// Whether there were to be as many clients as it takes.
    grown: bool,
    /// Whether more clients may do more, and no more are let in.
    still_growing: bool,
    arms: Vec<ArmView>,
    ratios: Vec<Ratio>,
    /// Where the clients did far more than the limit as fast as they could.
    far_peak: Option<FarPeak>,
}

#[derive(Debug)]
struct ArmView {
    arm: Option<String>,
    state: LimitState,
    /// Done per second at the lower bound, of the median trial there.
    achieved_per_s: Option<f64>,
    /// How many arrivals a trial at the lower bound, or else the upper, had, and how many it should have had, where these are more.
    few_arrivals: Option<(f64, f64)>,
    /// Whether a single bad arrival of a trial at the upper bound breaks the promise.
    one_decides: bool,
    trials: usize,
    uncounted: usize,
    /// Where a third or more of the trials are suspect.
    doubt: Option<SuspectRuns>,
    broke: Option<Broke>,
    /// What the load generator lacked at the upper bound, where that set it: the limit is at least the lower one.
    generator: Option<GeneratorLimit>,
    /// Whether trials contradict each other, or a load that never exceeds the limit broke the promise.
    irregular: bool,
    /// Under rates that change.
    confirmed: Vec<ShapeView>,
    /// Trials below the lower bound that broke the promise, all trials there, and the share that broke it in the worst of them,
    /// percent.
    broken_below: Option<(usize, usize, f64)>,
    /// Trials whose response times kept the promise, and whose queue did not.
    broken_by_queue: usize,
    /// Whether clients were added until more of them did not do more: arrivals that wait for one wait for the server.
    saturated: bool,
    /// Each rate that was tried, ascending.
    rates: Vec<Rate>,
}

/// Trials under a rate that changes.
#[derive(Debug)]
struct ShapeView {
    shaped: Shaped,
    state: ShapeState,
    /// Whether it never goes above the limit.
    stays_below: bool,
    good: usize,
    trials: usize,
    uncounted: usize,
    /// Share of arrivals that broke the promise, percent: of the median trial.
    bad_pct: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShapeState {
    Holds,
    Breaks,
    Undecided,
    /// More trials are to come.
    Open,
}

#[derive(Debug)]
struct Rate {
    rate_per_s: f64,
    good: usize,
    bad: usize,
    /// Share of arrivals that broke the promise, percent: of the best trial and of the worst.
    bad_pct: [f64; 2],
    p99_ms: Option<f64>,
    achieved_per_s: f64,
}

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let Some(limit) = Limit::of(data) else { return Vec::new() };
    let head = Paragraph::new("").plain("The highest rate at which ").strong(limit.promise).plain(
        " holds: a rate counts as one that keeps it, or that does not, by three trials of five or more, each of full length, with \
         arrivals on a schedule. Errors, skipped and unfinished transactions count against it. Charts of response times and of what \
         was achieved stand below, with the workload.",
    );
    let of_cell = |cell: &CellView| {
        let head = [Block::Heading(cell.cell.clone())];
        head.into_iter().chain(cell.arms.iter().map(|arm| arm.sheet(&cell.cell).into())).collect::<Vec<_>>()
    };
    [head.into()].into_iter().chain(limit.cells.iter().flat_map(of_cell)).collect()
}

impl Limit {
    pub(super) fn of(data: &ReportData) -> Option<Self> {
        let limits = data.limits()?;
        let cells = limits.cells.iter().map(|found| CellView::of(&limits, found)).collect();
        Some(Self { promise: limits.asked.words(), margin: limits.margin, width: limits.asked.width, cells })
    }

    /// What was found, a line each.
    pub(crate) fn lines(&self) -> Vec<String> {
        if self.cells.is_empty() {
            return vec!["not known: nothing could be tried".to_owned()];
        }
        let several = self.cells.len() > 1;
        let named = |cell: &CellView| {
            let head = several.then(|| format!("{}:", cell.cell));
            head.into_iter().chain(cell.lines()).collect::<Vec<_>>()
        };
        let said = self.cells.iter().flat_map(named);
        let ratios = self.cells.iter().flat_map(|cell| cell.ratio_lines(self.margin, self.width));
        said.chain(ratios).collect()
    }

    pub(crate) fn promise(&self) -> &str {
        &self.promise
    }
}

impl CellView {
    fn of(limits: &Limits<'_>, found: &Found<'_>) -> Self {
        let limit = &found.limit;
        Self {
            cell: cell_text(&found.cell),
            peak_per_s: limit.peak_per_s,
            peak_clients: limit.peak_clients,
            clients: limit.clients,
            grown: limits.asked.grow_clients,
            still_growing: limit.still_growing,
            arms: limit.arms.iter().map(|arm| ArmView::of(limits, arm, limit.still_growing)).collect(),
            ratios: found.ratios(&limits.asked),
            far_peak: found.far_peak(&limits.asked),
        }
    }

    /// What is to be said of it, a sentence each.
    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.arms.iter().flat_map(ArmView::lines).collect();
        if let Some(peak) = self.peak_per_s {
            let clients = numbers::counted(self.peak_clients as usize, "client");
            let trials = match self.clients == self.peak_clients {
                true => String::new(),
                false => format!("; trials had {}", self.clients),
            };
            let far = self.far_peak.as_ref().map(far_words).unwrap_or_default();
            lines.push(format!("as fast as they can, {clients} did {}/s{trials}{far}", numbers::tps(peak)));
        }
        let by_clients =
            |arm: &ArmView| arm.broke.as_ref().is_some_and(|broke| broke.cause == Cause::Clients);
        if self.still_growing {
            lines.push(
                "more clients may do more, and the server lets no more in: the limit may be that of the clients"
                    .to_owned(),
            );
        } else if !self.grown && self.arms.iter().any(by_clients) {
            lines.push(
                "more clients may do more: --clients auto, or grow_clients in the file, tries it".to_owned(),
            );
        }
        lines
    }

    fn ratio_lines(&self, margin: f64, width: f64) -> Vec<String> {
        let base = self.arms.first().and_then(|arm| arm.arm.as_deref()).unwrap_or_default();
        let line = |ratio: &Ratio| {
            let verdict = match ratio.verdict(margin) {
                RatioVerdict::Same => format!("the same within {}", numbers::percent(margin)),
                RatioVerdict::Higher => "a higher limit".to_owned(),
                RatioVerdict::Lower => "a lower limit".to_owned(),
                RatioVerdict::Inconclusive => "inconclusive".to_owned(),
            };
            let next = match ratio.verdict(margin) {
                RatioVerdict::Inconclusive => {
                    format!(
                        "; a narrower --width (width in the file) than {} decides more",
                        numbers::percent(width)
                    )
                }
                _ => String::new(),
            };
            format!(
                "{}: {}: {verdict}: {} times that of {base} (between {} and {}){next}",
                self.cell,
                ratio.arm,
                numbers::fixed(ratio.ratio, 3),
                numbers::fixed(ratio.lowest, 3),
                numbers::fixed(ratio.highest, 3),
            )
        };
        self.ratios.iter().map(line).collect()
    }
}

impl ArmView {
    fn of(limits: &Limits<'_>, arm: &ArmLimit<'_>, still_growing: bool) -> Self {
        let ended = match arm.state {
            LimitState::Ended(ended) => Some(ended),
            _ => None,
        };
        let lower = ended.and_then(|ended| ended.lower);
        let upper = ended.and_then(|ended| ended.upper);
        let rates = rates(&arm.trials);
        Self {
            arm: arm.arm.clone(),
            state: arm.state,
            achieved_per_s: lower
                .and_then(|lower| rates.iter().find(|rate| rate.rate_per_s == lower))
                .map(|rate| rate.achieved_per_s),
            few_arrivals: few_arrivals(limits, arm, lower.or(upper)),
            one_decides: arm.one_decides(&limits.asked),
            trials: arm.trials.len(),
            uncounted: arm.uncounted,
            doubt: SuspectRuns::of_trials(arm.trials.iter().copied()),
            broke: upper.and_then(|upper| Broke::at(&limits.asked, arm, upper)),
            generator: arm.generator(&limits.asked),
            irregular: arm.is_irregular(),
            confirmed: arm.confirmed.iter().map(ShapeView::of).collect(),
            broken_below: lower.map(|lower| broken_below(&rates, lower)),
            broken_by_queue: arm
                .trials
                .iter()
                .filter(|run| {
                    run.figures.get(figures::PROMISE_LEFT_PCT).is_some()
                        && limits.asked.broken(run).is_empty()
                })
                .count(),
            saturated: limits.asked.grow_clients && !still_growing,
            rates,
        }
    }

    fn lines(&self) -> Vec<String> {
        let of = self.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        let rate = |rate: f64| numbers::as_given(rate);
        let found = match self.state {
            LimitState::Ended(LimitEnded { lower: Some(lower), .. }) if self.generator.is_some() => {
                format!("at least {} transactions/s: the generator ended it", rate(lower))
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.generator.is_some() => {
                format!(
                    "not known: the generator ended it at {}/s, the lowest rate that was to be tried",
                    rate(upper)
                )
            }
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) => {
                format!("between {} and {} transactions/s", rate(lower), rate(upper))
            }
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: None, .. }) => {
                format!("it holds throughout: the highest rate that was to be tried is {}/s", rate(lower))
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.one_decides => format!(
                "not known: at {}/s, the lowest rate that was to be tried, a trial has so few arrivals that a single late one breaks the promise",
                rate(upper)
            ),
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) => {
                format!("it never holds: not even at {}/s, the lowest rate that was to be tried", rate(upper))
            }
            LimitState::Ended(_) => "nothing was tried".to_owned(),
            LimitState::Searching => "the search has not ended".to_owned(),
            LimitState::NotTried => "not tried: the base has no limit to try it around".to_owned(),
            LimitState::GivenUp if self.trials == 0 => "nothing could be done at all".to_owned(),
            LimitState::GivenUp => {
                format!("undecided after {} trials: what holds one time does not hold the next", self.trials)
            }
        };
        let uncounted = match self.uncounted {
            0 => String::new(),
            some => format!(", {some} more did not count"),
        };
        let trials = match self.state {
            LimitState::NotTried => String::new(),
            _ => format!(" ({}{uncounted})", numbers::counted(self.trials, "trial")),
        };
        let mut lines = vec![with_doubt(format!("{of}{found}{trials}"), self.doubt.as_ref())];
        lines.extend(self.generator.iter().map(|generator| format!("{of}{}", generator_words(generator))));
        lines.extend(self.few_arrivals.map(|(arrivals, wanted)| {
            format!(
                "{of}trials there had about {arrivals:.0} arrivals; at least {wanted:.0} are needed, so that a single late one decides nothing: measure longer (-T, or duration in the file)"
            )
        }));
        if matches!(self.state, LimitState::Ended(LimitEnded { inverted: true, .. })) {
            lines.push(format!(
                "{of}irregular: a higher rate kept the promise where a lower one did not; the lowest that did not counts"
            ));
        }
        if matches!(self.state, LimitState::Ended(LimitEnded { inverted: false, contradicted: true, .. })) {
            lines.push(format!(
                "{of}irregular: trials contradict each other more than chance explains: {}; server or host changed between them, so search again",
                self.contradiction_words()
            ));
        }
        lines.extend(self.queue_words().map(|words| format!("{of}{words}")));
        lines.extend(self.below_words().map(|words| format!("{of}{words}")));
        lines.extend(self.broke.iter().map(|broke| format!("{of}{}", broke_words(broke, self.saturated))));
        lines.extend(self.confirmed.iter().map(|shape| format!("{of}{}", shape.words())));
        lines
    }

    /// Trials that broke the promise by their queue alone: their response times kept it.
    fn queue_words(&self) -> Option<String> {
        let verb = if self.broken_by_queue == 1 { "broke" } else { "each broke" };
        (self.broken_by_queue > 0).then(|| {
            format!(
                "{} {verb} the promise only because more than 1 % of the arrivals still waited at the end or were skipped: such a queue grows",
                numbers::counted(self.broken_by_queue, "trial")
            )
        })
    }

    /// How many trials are on the wrong side of the bounds.
    fn contradiction_words(&self) -> String {
        let LimitState::Ended(LimitEnded { lower, upper, .. }) = self.state else { return String::new() };
        let (low, high) = (lower.unwrap_or(0.0), upper.unwrap_or(f64::INFINITY));
        let below = || self.rates.iter().filter(move |rate| rate.rate_per_s < low);
        let above = || self.rates.iter().filter(move |rate| rate.rate_per_s > high);
        let broken = below().map(|rate| rate.bad).sum::<usize>();
        let kept = above().map(|rate| rate.good).sum::<usize>();
        let words = [
            (broken, below().map(|rate| rate.good + rate.bad).sum::<usize>(), "below it broke the promise"),
            (kept, above().map(|rate| rate.good + rate.bad).sum::<usize>(), "above it kept it"),
        ];
        let some = words.iter().filter(|(wrong, ..)| *wrong > 0);
        let each: Vec<String> = some
            .map(|(wrong, all, what)| format!("{wrong} of {} {what}", numbers::counted(*all, "trial")))
            .collect();
        each.join(", ")
    }

    /// Trials that broke the promise below a limit that others confirm.
    fn below_words(&self) -> Option<String> {
        // An irregular limit names them already.
        let (broken, all, worst) = self.broken_below.filter(|(broken, ..)| *broken > 0 && !self.irregular)?;
        let of = format!("{broken} of {} at lower rates broke it, too", numbers::counted(all, "trial"));
        let worst = format!("up to {} bad", numbers::percent(worst / 100.0));
        Some(match broken * 5 > all {
            true => {
                format!("{of} ({worst}): server or host were not steady, so plan for less, or search again")
            }
            false => format!("{of} ({worst})"),
        })
    }

    fn sheet(&self, cell: &str) -> Table {
        let arm = self.arm.as_ref().map(|arm| format!(", {arm}")).unwrap_or_default();
        let mut sheet = Table::captioned(format_args!("{cell}{arm}: trials at each rate")).numbers([
            "rate",
            "kept",
            "broke",
            "bad, best trial",
            "bad, worst trial",
            "p99",
            "done in time",
        ]);
        for rate in &self.rates {
            let p99 = rate.p99_ms.map_or(numbers::ABSENT.to_owned(), |ms| numbers::latency_ns(ms * 1e6));
            sheet.push([
                numbers::as_given(rate.rate_per_s).into(),
                (rate.good as u64).into(),
                (rate.bad as u64).into(),
                numbers::percent(rate.bad_pct[0] / 100.0).into(),
                numbers::percent(rate.bad_pct[1] / 100.0).into(),
                p99.into(),
                numbers::tps(rate.achieved_per_s).into(),
            ]);
        }
        sheet
    }
}

impl ShapeView {
    fn of(confirmed: &Confirmed<'_>) -> Self {
        Self {
            state: match confirmed.class {
                _ if confirmed.left > 0 => ShapeState::Open,
                LimitClass::Lower => ShapeState::Holds,
                LimitClass::Upper => ShapeState::Breaks,
                LimitClass::Undecided => ShapeState::Undecided,
            },
            stays_below: confirmed.shaped.stays_below(),
            good: confirmed.kept(),
            trials: confirmed.trials.len(),
            uncounted: confirmed.uncounted,
            bad_pct: confirmed.bad_pct(),
            shaped: confirmed.shaped.clone(),
        }
    }

    fn name(&self) -> &'static str {
        match self.state {
            ShapeState::Holds => "holds",
            ShapeState::Breaks => "breaks",
            ShapeState::Undecided => "undecided",
            ShapeState::Open => "not tried to the end",
        }
    }

    /// `under ramp 0.5..1 over 20s of it: holds (3 of 3 trials, 0.2 % bad)`.
    fn words(&self) -> String {
        let bad = self.bad_pct.map(|pct| format!(", {} bad", numbers::percent(pct / 100.0)));
        let uncounted = match self.uncounted {
            0 => String::new(),
            some => format!(", {some} more did not count"),
        };
        let refuted = match self.state {
            ShapeState::Breaks if self.stays_below => {
                ": irregular, for it never exceeds the limit, and under a rate that does not change it holds"
            }
            _ => "",
        };
        format!(
            "under {} of it: {} (kept in {} of {}{}{uncounted}){refuted}",
            self.shaped.shares,
            self.name(),
            self.good,
            numbers::counted(self.trials, "trial"),
            bad.unwrap_or_default(),
        )
    }
}

/// What the load generator lacked, in words.
fn generator_words(generator: &GeneratorLimit) -> String {
    format!(
        "in {} of {} that broke the promise at {}/s: {}",
        generator.trials,
        numbers::counted(generator.broken, "trial"),
        numbers::as_given(generator.rate_per_s),
        generator.detail
    )
}

/// Why clients did far more than the limit as fast as they could.
fn far_words(far: &FarPeak) -> String {
    let times = numbers::about(far.times);
    let why = match &far.why {
        WhyFar::BrokenThere { term, bad_pct } => {
            format!(": at that speed {} broke {term}", numbers::percent(bad_pct / 100.0))
        }
        WhyFar::Bursts => {
            ": arrivals at random times come in bursts, in which the promise breaks first".to_owned()
        }
        WhyFar::Unknown => {
            ", and kept the promise; bursts of arrivals do not explain that: the limit is doubtful, so search again"
                .to_owned()
        }
    };
    format!(", {times} times the limit{why}")
}

/// What broke first, in words.
fn broke_words(broke: &Broke, saturated: bool) -> String {
    let terms: Vec<String> = broke
        .terms
        .iter()
        .map(|term| {
            let took = term
                .took_ms
                .map(|ms| format!(", took {}", numbers::latency_ns(ms * 1e6)))
                .unwrap_or_default();
            format!("{}{took}: {} bad", term.term, numbers::percent(term.bad_pct / 100.0))
        })
        .collect();
    let first = match broke.cause {
        Cause::Client => "the load generator or its host; the server may do more",
        Cause::Host => "the machine, whose processor was throttled or taken away",
        Cause::OtherPrograms => "the machine, whose CPUs other programs used",
        Cause::Errors => "errors",
        Cause::Clients if saturated => {
            "the server, which does no more: arrivals waited while all clients were busy, and twice as many did hardly more"
        }
        Cause::Clients => {
            "arrivals waited while all clients were busy; from their starts on they were in time"
        }
        Cause::Latency => "response times",
        Cause::Backlog => "the queue: less was done than arrived",
    };
    let parts = [
        (broke.failed_pct, "failed"),
        (broke.skipped_pct, "skipped"),
        (broke.unfinished_pct, "left over at the end"),
    ];
    let rest: Vec<String> = parts
        .iter()
        .filter(|(pct, _)| *pct >= 0.05)
        .map(|(pct, what)| format!("{} {what}", numbers::percent(pct / 100.0)))
        .collect();
    let waits: Vec<String> = broke
        .waits
        .iter()
        .map(|waited| format!("{} {}", waited.what, numbers::percent(waited.share_pct / 100.0)))
        .collect();
    let mut words = format!("what broke first, at {}/s: {first}", numbers::as_given(broke.rate_per_s));
    for (head, list) in [("", terms), ("", rest), ("the server was at work on or waited for ", waits)] {
        if !list.is_empty() {
            words += &format!("; {head}{}", list.join(", "));
        }
    }
    words
}

/// How many arrivals a trial at a rate has of what a term is of, and how many it should have; of the term that has too few of
/// them most, nothing where all have enough.
fn few_arrivals(limits: &Limits<'_>, arm: &ArmLimit<'_>, rate: Option<f64>) -> Option<(f64, f64)> {
    let rate = rate?;
    let there: Vec<&Run> = arm.trials.iter().copied().filter(|run| run.offered_rate == Some(rate)).collect();
    let of_term = |term: &Term| {
        let offered = there.iter().map(|run| term.kept(run).map_or(0.0, |kept| kept.offered));
        Some((offered.reduce(f64::min)?, term.least_arrivals()))
    };
    let each = limits.asked.promise.iter().filter_map(of_term);
    let worst = each.min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
    // Chance, and rounded widths and lengths, are no reason to complain.
    (worst.0 < 0.8 * worst.1).then_some(worst)
}

/// Trials at rates below this one that broke the promise, all of them, and the worst, percent.
fn broken_below(rates: &[Rate], lower: f64) -> (usize, usize, f64) {
    let below = || rates.iter().filter(|rate| rate.rate_per_s < lower);
    let broken = below().map(|rate| rate.bad).sum();
    let worst = below().filter(|rate| rate.bad > 0).map(|rate| rate.bad_pct[1]).fold(0.0, f64::max);
    (broken, below().map(|rate| rate.good + rate.bad).sum(), worst)
}

fn rates(trials: &[&Run]) -> Vec<Rate> {
    let mut by_rate: BTreeMap<u64, Vec<&Run>> = BTreeMap::new();
    for run in trials {
        // The bits of numbers above 0 sort as they do.
        by_rate.entry(run.offered_rate.unwrap_or_default().to_bits()).or_default().push(run);
    }
    let rate = |(bits, runs): (u64, Vec<&Run>)| {
        let figure = |run: &&Run, of: Figure| run.figures.get(of).unwrap_or_default();
        let good = runs.iter().filter(|run| figure(run, figures::PROMISE_KEPT) > 0.5).count();
        let bad = || runs.iter().map(|run| figure(run, figures::PROMISE_BAD_PCT));
        let mut response = stats::Histogram::new();
        runs.iter().for_each(|run| response.add(&run.response()));
        let mut achieved: Vec<f64> =
            runs.iter().filter_map(|run| Some(spec::Arrivals::of(run)?.achieved_per_s())).collect();
        achieved.sort_by(f64::total_cmp);
        Rate {
            rate_per_s: f64::from_bits(bits),
            good,
            bad: runs.len() - good,
            bad_pct: [bad().fold(f64::INFINITY, f64::min), bad().fold(0.0, f64::max)],
            p99_ms: response.percentile_ns(0.99).map(|ns| ns as f64 / 1e6),
            achieved_per_s: achieved.get(achieved.len() / 2).copied().unwrap_or_default(),
        }
    };
    by_rate.into_iter().map(rate).collect()
}

/// The table of limits without a row.
#[must_use]
pub fn none() -> Table {
    Table::new([
        "cell",
        "arm",
        "promise",
        "state",
        "lower_per_s",
        "upper_per_s",
        "irregular",
        "achieved_per_s",
        "trials",
        "uncounted",
        "broken_below",
        "clients",
        figures::PEAK_PER_S.name,
        "clients_still_growing",
        "broke_first",
        "waited_for",
        "confirmed",
        "ratio",
        "ratio_lowest",
        "ratio_highest",
        "verdict",
        "generator",
        "far_peak",
        "doubt",
    ])
}

/// The limits for programs: a row per cell and arm.
#[must_use]
pub fn limits(data: &ReportData) -> Option<Table> {
    let view = Limit::of(data)?;
    let mut table = none();
    for cell in &view.cells {
        for arm in &cell.arms {
            let (state, ended) = match arm.state {
                LimitState::Ended(ended) if arm.generator.is_some() => {
                    let state = if ended.lower.is_some() { "at least" } else { "undecided" };
                    (state, Some(LimitEnded { upper: None, ..ended }))
                }
                LimitState::Ended(LimitEnded { lower: None, .. }) if arm.one_decides => ("undecided", None),
                LimitState::Ended(ended) => (ended_name(ended), Some(ended)),
                LimitState::Searching => ("searching", None),
                LimitState::GivenUp => ("undecided", None),
                LimitState::NotTried => ("not tried", None),
            };
            let ratio = cell.ratios.iter().find(|ratio| Some(&ratio.arm) == arm.arm.as_ref());
            let waits = arm.broke.iter().flat_map(|broke| &broke.waits);
            let waits: Vec<String> =
                waits.map(|waited| format!("{} {:.0} %", waited.what, waited.share_pct)).collect();
            let named = |shape: &ShapeView| format!("{}: {}", shape.shaped.shares, shape.name());
            let shapes: Vec<String> = arm.confirmed.iter().map(named).collect();
            table.push(vec![
                cell.cell.clone().into(),
                arm.arm.clone().into(),
                view.promise.clone().into(),
                state.into(),
                real(ended.and_then(|ended| ended.lower)),
                real(ended.and_then(|ended| ended.upper)),
                Value::from(ended.map(|_| u32::from(arm.irregular))),
                real(arm.achieved_per_s),
                (arm.trials as u32).into(),
                (arm.uncounted as u32).into(),
                Value::from(arm.broken_below.map(|(broken, ..)| broken as u32)),
                cell.clients.into(),
                real(cell.peak_per_s),
                u32::from(cell.still_growing).into(),
                arm.broke.as_ref().map(|broke| cause_name(broke.cause, arm.saturated).to_owned()).into(),
                (!waits.is_empty()).then(|| waits.join(", ")).into(),
                (!shapes.is_empty()).then(|| shapes.join("; ")).into(),
                real(ratio.map(|ratio| ratio.ratio)),
                real(ratio.map(|ratio| ratio.lowest)),
                real(ratio.map(|ratio| ratio.highest)),
                ratio.map(|ratio| verdict_name(ratio.verdict(view.margin)).to_owned()).into(),
                arm.generator.as_ref().map(|generator| generator.detail.clone()).into(),
                cell.far_peak.as_ref().map(|far| far_name(&far.why).to_owned()).into(),
                arm.doubt.map(|doubt| doubt.words()).into(),
            ]);
        }
    }
    Some(table)
}

fn ended_name(ended: LimitEnded) -> &'static str {
    match (ended.lower, ended.upper) {
        (Some(_), Some(_)) => "found",
        (Some(_), None) => "always holds",
        (None, _) => "never holds",
    }
}

fn cause_name(cause: Cause, saturated: bool) -> &'static str {
    match cause {
        Cause::Clients if saturated => "server saturated",
        Cause::Client => "client",
        Cause::Host => "host",
        Cause::OtherPrograms => "other programs",
        Cause::Errors => "errors",
        Cause::Clients => "clients busy",
        Cause::Latency => "latency",
        Cause::Backlog => "backlog",
    }
}

fn far_name(why: &WhyFar) -> &'static str {
    match why {
        WhyFar::BrokenThere { .. } => "promise broken there",
        WhyFar::Bursts => "bursts",
        WhyFar::Unknown => "doubtful",
    }
}

fn verdict_name(verdict: RatioVerdict) -> &'static str {
    match verdict {
        RatioVerdict::Same => "same",
        RatioVerdict::Higher => "higher",
        RatioVerdict::Lower => "lower",
        RatioVerdict::Inconclusive => "inconclusive",
    }
}
