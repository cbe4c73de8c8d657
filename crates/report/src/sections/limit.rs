//! The limit of each cell: bounds, what broke first above them, and the trials they rest on.

mod table;

use results::answer::SuspectRuns;
use results::cells::CellFigures;
use results::data::cell_text;
use results::limits::{
    ArmLimit, Broke, Cause, CellLimit, Confirmed, FarPeak, Findings, FoundLimit, GeneratorLimit, LimitState,
    Limits, Ratio, RatioVerdict, SlowestScript, WhyFar,
};
use results::{CellValue, ReportData, Table};
use spec::users::registered_line;
use spec::{AskedLimit, figures};
use stats::{LimitClass, LimitEnded};

pub use self::table::{limits, none};
use crate::block::{Block, Paragraph};
use crate::compared::with_doubt;
use crate::conclusion::{Conclusion, Step};
use crate::numbers;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let Some(limits) = data.limits() else { return Vec::new() };
    let (what, how, charts) = match limits.asked.are_users() {
        true => ("a number", "", "response times"),
        false => ("a rate", ", with arrivals on a schedule", "response times and of what was achieved"),
    };
    let head = Paragraph::new("").plain(highest(&limits.asked)).strong(limits.asked.words()).plain(format!(
        " holds: {what} counts as one that keeps it, or that does not, by three trials of five or more, each of full length{how}. \
         Errors, skipped and unfinished transactions count against it. Charts of {charts} stand below, with the workload.",
    ));
    let of_cell = |cell: &FoundLimit<'_>| {
        let name = cell_text(&cell.cell);
        let table = |arm: ArmFindings<'_>| {
            let at = |rate| cell.figures_at(&limits.asked, data.grid(), arm.limit.arm.as_deref(), rate);
            arm.table(&name, at).into()
        };
        let tables = arms(&limits, cell).map(table).collect::<Vec<_>>();
        [Block::Heading(name)].into_iter().chain(tables).collect::<Vec<_>>()
    };
    [head.into()].into_iter().chain(limits.cells.iter().flat_map(of_cell)).collect()
}

/// The beginning of a sentence about a limit.
pub(crate) fn highest(asked: &AskedLimit) -> &'static str {
    if asked.are_users() { "The highest number of users at which " } else { "The highest rate at which " }
}

/// The short answer of a search.
pub(crate) fn conclusion(limits: &Limits<'_>) -> Conclusion {
    let each: Vec<(&FoundLimit<'_>, ArmFindings<'_>)> =
        limits.cells.iter().flat_map(|cell| arms(limits, cell).map(move |arm| (cell, arm))).collect();
    let promise = limits.asked.words();
    let is_one = each.len() == 1;
    let named = |cell: &FoundLimit<'_>, arm: &ArmFindings<'_>| {
        let cell = Some(cell_text(&cell.cell)).filter(|_| limits.cells.len() > 1);
        let arm = arm.limit.arm.clone().filter(|_| cell.is_none() || limits.cells[0].limit.arms.len() > 1);
        [cell, arm].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let answer = match &each[..] {
        [] => format!("Whether {promise} holds is not known: nothing could be tried."),
        [(cell, arm)] => arm.sentence(&cell_text(&cell.cell), &promise),
        _ => {
            let ratios = limits.cells.iter().flat_map(|cell| ratio_lines(limits, cell)).collect::<Vec<_>>();
            let ratios = if ratios.is_empty() { String::new() } else { format!(" {}.", ratios.join("; ")) };
            format!("{}{promise} holds was searched {} times.{ratios}", highest(&limits.asked), each.len())
        }
    };
    let row = |(cell, arm): &(&FoundLimit<'_>, ArmFindings<'_>)| vec![named(cell, arm), arm.found_words()];
    let labelled = |(cell, arm): &(&FoundLimit<'_>, ArmFindings<'_>), said: String| match is_one {
        true => said,
        false => format!("{}: {said}", named(cell, arm)),
    };
    let but = each
        .iter()
        .flat_map(|own| own.1.doubts().into_iter().map(|said| labelled(own, said)).collect::<Vec<_>>());
    let broke = each.iter().find_map(|own| {
        Some(labelled(own, broke_words(&limits.asked, own.1.found.broke.as_ref()?, own.1.found.saturated)))
    });
    let far = limits.cells.iter().find_map(|cell| Some(far_words(&cell.far_peak(&limits.asked)?)));
    let far = far.map(|far| format!("as fast as they can, clients did far more{far}"));
    let few = each.iter().find_map(|own| own.1.found.few_arrivals);
    let longer = few.map(|(arrivals, wanted)| {
        format!("longer trials (-T, or duration in the file): these had about {arrivals:.0} arrivals of the {wanted:.0} that are needed")
    });
    let grows = limits.cells.iter().any(|cell| cell.limit.still_growing);
    let clients = grows.then(|| {
        "raise max_connections: more clients may do more, and the server accepts no more".to_owned()
    });
    Conclusion {
        notes: Vec::new(),
        answer,
        figures: match is_one {
            true => limits
                .cells
                .iter()
                .flat_map(|cell| registered_lines(limits, &cell.limit))
                .map(|line| vec![line])
                .collect(),
            false => each.iter().map(row).collect(),
        },
        but: but.chain(far).collect(),
        why: broke,
        next: longer.into_iter().chain(clients).map(Step::Advice).collect(),
    }
}

pub(crate) fn lines(limits: &Limits<'_>) -> Vec<String> {
    if limits.cells.is_empty() {
        return vec!["not known: nothing could be tried".to_owned()];
    }
    let several = limits.cells.len() > 1;
    let of_cell = |cell: &FoundLimit<'_>| {
        let head = several.then(|| format!("{}:", cell_text(&cell.cell)));
        head.into_iter().chain(cell_lines(limits, cell)).collect::<Vec<_>>()
    };
    let ratios = limits.cells.iter().flat_map(|cell| ratio_lines(limits, cell));
    limits.cells.iter().flat_map(of_cell).chain(ratios).collect()
}

struct ArmFindings<'a> {
    asked: &'a AskedLimit,
    limit: &'a ArmLimit<'a>,
    found: Findings,
}

fn arms<'a>(limits: &'a Limits<'a>, cell: &'a FoundLimit<'a>) -> impl Iterator<Item = ArmFindings<'a>> {
    let found = |limit| Findings::of(&limits.asked, &cell.limit, limit);
    cell.limit.arms.iter().map(move |limit| ArmFindings { asked: &limits.asked, limit, found: found(limit) })
}

fn cell_lines(limits: &Limits<'_>, cell: &FoundLimit<'_>) -> Vec<String> {
    let limit = &cell.limit;
    let arms: Vec<ArmFindings<'_>> = arms(limits, cell).collect();
    let mut lines: Vec<String> = arms.iter().flat_map(ArmFindings::lines).collect();
    lines.extend(registered_lines(limits, limit));
    if let Some(peak) = limit.peak_per_s {
        let clients = numbers::counted(limit.peak_clients as usize, "client");
        let trials = match limit.clients == limit.peak_clients {
            true => String::new(),
            false => format!("; trials had {}", limit.clients),
        };
        let far = cell.far_peak(&limits.asked).as_ref().map(far_words).unwrap_or_default();
        lines.push(format!("as fast as they can, {clients} did {}/s{trials}{far}", numbers::tps(peak)));
    }
    let by_clients =
        |arm: &ArmFindings<'_>| arm.found.broke.as_ref().is_some_and(|own| own.cause == Cause::Clients);
    if limit.still_growing {
        lines.push(
            "more clients may do more, and the server accepts no more: the number of clients may set the limit"
                .to_owned(),
        );
    } else if !limits.asked.grow_clients && arms.iter().any(by_clients) {
        lines.push(
            "more clients may do more: --clients auto, or grow_clients in the file, tries it".to_owned(),
        );
    }
    lines
}

/// `longest there: report.sql, p95 310 ms, which does not keep the promise by itself (--promise 'report.sql: …')`.
fn slowest_words(slowest: &SlowestScript) -> String {
    let SlowestScript { name, quantile, time_us, keeps } = slowest;
    let percentile = numbers::as_given((quantile * 1e5).round() / 1e3);
    let own = match keeps {
        true => String::new(),
        false => {
            let promise = spec::shell::word(&format!("{name}: …")).into_owned();
            format!(
                ", which alone does not keep it: shorter ones are in the same promise (its own: --promise {promise})"
            )
        }
    };
    format!("longest there: {name}, p{percentile} {}{own}", numbers::latency_us(*time_us))
}

/// The number of registered people at a limit of users, if the experiment has a share of active ones.
fn registered_lines(limits: &Limits<'_>, limit: &CellLimit<'_>) -> Vec<String> {
    let Some(share) = limits.active_share.filter(|_| limits.asked.are_users()) else { return Vec::new() };
    let line = |arm: &ArmLimit<'_>| {
        let LimitState::Ended(LimitEnded { lower: Some(lower), .. }) = arm.state else { return None };
        let of = arm.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        if !limits.come_and_go {
            return Some(of + &registered_line(lower, false, share));
        }
        let at_limit = arm.trials.iter().filter(|run| run.tried_level() == Some(lower));
        let active: Vec<f64> =
            at_limit.filter_map(|run| run.figures.get(figures::ACTIVE_USERS_MEAN)).collect();
        let mean = active.iter().sum::<f64>() / active.len() as f64;
        (!active.is_empty()).then(|| of + &registered_line(mean, true, share))
    };
    limit.arms.iter().filter_map(line).collect()
}

fn ratio_lines(limits: &Limits<'_>, cell: &FoundLimit<'_>) -> Vec<String> {
    let base = cell.limit.arms.first().and_then(|arm| arm.arm.as_deref()).unwrap_or_default();
    let name = cell_text(&cell.cell);
    let line = |ratio: Ratio| {
        let (verdict, next) = match ratio.verdict(limits.margin) {
            RatioVerdict::Same => {
                (format!("the same within {}", numbers::percent(limits.margin)), String::new())
            }
            RatioVerdict::Higher => ("a higher limit".to_owned(), String::new()),
            RatioVerdict::Lower => ("a lower limit".to_owned(), String::new()),
            RatioVerdict::Inconclusive => {
                let width = numbers::percent(limits.asked.width);
                let next = format!("; a narrower --width (width in the file) than {width} decides more");
                ("inconclusive".to_owned(), next)
            }
        };
        let [middle, lowest, highest] =
            [ratio.ratio, ratio.lowest, ratio.highest].map(|of| numbers::fixed(of, 3));
        format!(
            "{name}: {}: {verdict}: {middle} times that of {base} (between {lowest} and {highest}){next}",
            ratio.arm
        )
    };
    cell.ratios(&limits.asked).into_iter().map(line).collect()
}

impl ArmFindings<'_> {
    fn lines(&self) -> Vec<String> {
        let of = self.limit.arm.as_ref().map(|arm| format!("{arm}: ")).unwrap_or_default();
        let found = self.found_words();
        let uncounted = match self.limit.uncounted {
            0 => String::new(),
            some => format!(", {some} more did not count"),
        };
        let trials = match self.limit.state {
            LimitState::NotTried => String::new(),
            _ => format!(" ({}{uncounted})", numbers::counted(self.limit.trials.len(), "trial")),
        };
        let mut lines = vec![with_doubt(format!("{of}{found}{trials}"), self.doubt().as_ref())];
        lines.extend(
            self.found
                .generator
                .iter()
                .map(|generator| format!("{of}{}", generator_words(self.asked, generator))),
        );
        lines.extend(self.found.slowest.iter().map(|slowest| format!("{of}{}", slowest_words(slowest))));
        lines.extend(self.found.few_arrivals.map(|(arrivals, wanted)| {
            format!(
                "{of}trials there had about {arrivals:.0} arrivals; at least {wanted:.0} are needed, so that few late ones decide nothing: measure longer (-T, or duration in the file)"
            )
        }));
        lines.extend(self.irregular_words().map(|words| format!("{of}{words}")));
        lines.extend(self.queue_words().map(|words| format!("{of}{words}")));
        lines.extend(self.below_words().map(|words| format!("{of}{words}")));
        lines.extend(
            self.found
                .broke
                .iter()
                .map(|broke| format!("{of}{}", broke_words(self.asked, broke, self.found.saturated))),
        );
        lines.extend(self.limit.confirmed.iter().map(|shape| format!("{of}{}", shape_words(shape))));
        lines
    }

    /// `checkout keeps p99 < 20ms up to 1,230/s; at 1,260/s it does not.`
    fn sentence(&self, cell: &str, promise: &str) -> String {
        let level = |level: f64| level_words(self.asked, level);
        let what = if self.asked.are_users() { "number" } else { "rate" };
        match self.limit.state {
            _ if self.found.generator.is_some() || self.found.one_decides || self.found.too_few_below => {}
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) => {
                let [low, high] = [lower, upper].map(level);
                let [low, high] =
                    if low == high { [lower, upper].map(numbers::as_given) } else { [low, high] };
                return format!("{cell} keeps {promise} up to {low}; at {high} it does not.");
            }
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: None, .. }) => {
                return format!(
                    "{cell} keeps {promise} up to {}, the highest {what} that was tried.",
                    level(lower)
                );
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if !self.is_blamed_on_the_machine() => {
                return format!(
                    "{cell} does not keep {promise} even at {}, the lowest {what} that was tried.",
                    level(upper)
                );
            }
            _ => {}
        }
        format!("{}{promise} holds, {cell}: {}.", highest(self.asked), self.found_words())
    }

    /// Whether the machine, and not the server, broke the promise at the lowest level.
    fn is_blamed_on_the_machine(&self) -> bool {
        self.found.broke.as_ref().is_some_and(|broke| broke.cause.is_the_machine())
    }

    /// Reasons not to believe the limit.
    fn doubts(&self) -> Vec<String> {
        let suspect = self.doubt().map(|doubt| format!("doubtful: {}", doubt.words()));
        let uncounted = Some(self.limit.uncounted).filter(|some| *some > 0);
        let uncounted = uncounted.map(|some| format!("{} did not count", numbers::counted(some, "trial")));
        let generator = self.found.generator.iter().map(|own| generator_words(self.asked, own));
        let shapes =
            self.limit.confirmed.iter().filter(|shape| shape.class != LimitClass::Lower).map(shape_words);
        suspect
            .into_iter()
            .chain(uncounted)
            .chain(generator)
            .chain(self.irregular_words())
            .chain(self.below_words())
            .chain(shapes)
            .collect()
    }

    /// The limit, or why it is not known.
    fn found_words(&self) -> String {
        let level = |level: f64| level_words(self.asked, level);
        let what = if self.asked.are_users() { "number" } else { "rate" };
        let shown = rate_text;
        match self.limit.state {
            LimitState::Ended(LimitEnded { lower: Some(lower), .. }) if self.found.generator.is_some() => {
                match self.asked.are_users() {
                    true => format!("at least {}: the generator ended it", level(lower)),
                    false => format!("at least {} transactions/s: the generator ended it", shown(lower)),
                }
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.found.generator.is_some() => {
                format!(
                    "not known: the generator ended it at {}, and no lower {what} is known to keep it",
                    level(upper)
                )
            }
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) => {
                match self.asked.are_users() {
                    true => format!("{} keep it, and {} do not", level(lower), shown(upper)),
                    false => format!("between {} and {} transactions/s", shown(lower), shown(upper)),
                }
            }
            LimitState::Ended(LimitEnded { lower: Some(lower), upper: None, .. }) => {
                format!("it holds throughout: the highest {what} that was to be tried is {}", level(lower))
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.found.one_decides => format!(
                "not known: at {}, the lowest {what} that was to be tried, a trial has so few arrivals that a single late one breaks the promise",
                level(upper)
            ),
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.found.too_few_below => format!(
                "not known: at {}, the fewest with which a trial has enough transactions for this promise, it does not hold; to try fewer, measure longer (-T, or duration in the file) or set --lowest",
                level(upper)
            ),
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) if self.is_blamed_on_the_machine() => {
                format!(
                    "not known: at {}, the lowest {what} that was to be tried, the machine broke the promise, not the server",
                    level(upper)
                )
            }
            LimitState::Ended(LimitEnded { upper: Some(upper), .. }) => {
                format!(
                    "it never holds: not even at {}, the lowest {what} that was to be tried",
                    level(upper)
                )
            }
            LimitState::Ended(_) => "nothing was tried".to_owned(),
            LimitState::Searching => format!("the search has not ended{}", self.so_far_words()),
            LimitState::NotTried => "not tried: the base has no limit to try it around".to_owned(),
            LimitState::GivenUp if self.limit.uncounted > self.limit.trials.len() => {
                "undecided: most trials did not count".to_owned()
            }
            LimitState::GivenUp if self.limit.trials.is_empty() => "nothing could be done at all".to_owned(),
            LimitState::GivenUp => {
                let trials = self.limit.trials.len();
                let so_far = self.so_far_words();
                format!("undecided after {trials} trials: what holds one time does not hold the next{so_far}")
            }
        }
    }

    /// What trials showed before the search ended.
    fn so_far_words(&self) -> String {
        let [kept, broken] = self.found.so_far();
        let most = "in most trials";
        match (kept, broken) {
            (Some(kept), Some(broken)) => format!(
                "; so far {} kept it {most}, and {} did not",
                level_words(self.asked, kept),
                level_words(self.asked, broken)
            ),
            (Some(kept), None) => format!("; so far {} kept it {most}", level_words(self.asked, kept)),
            (None, Some(broken)) => {
                format!("; so far {} did not keep it {most}", level_words(self.asked, broken))
            }
            (None, None) => String::new(),
        }
    }

    /// If a third or more of the trials are suspect.
    fn doubt(&self) -> Option<SuspectRuns> {
        SuspectRuns::of_trials(self.limit.trials.iter().copied())
    }

    /// Trials that broke the promise by their queue alone: their response times kept it.
    fn queue_words(&self) -> Option<String> {
        let verb = if self.found.broken_by_queue == 1 { "broke" } else { "each broke" };
        (self.found.broken_by_queue > 0).then(|| {
            format!(
                "{} {verb} the promise only because more than 1 % of the arrivals still waited at the end or were skipped: such a queue grows",
                numbers::counted(self.found.broken_by_queue, "trial")
            )
        })
    }

    fn irregular_words(&self) -> Option<String> {
        match self.limit.state {
            LimitState::Ended(LimitEnded { inverted: true, .. }) => Some(
                "irregular: a higher rate kept the promise where a lower one did not; the lowest that did not counts"
                    .to_owned(),
            ),
            LimitState::Ended(LimitEnded { contradicted: true, .. }) => Some(format!(
                "irregular: trials contradict each other more than chance explains: {}; server or host changed between them, so search again",
                self.contradiction_words()
            )),
            _ => None,
        }
    }

    fn contradiction_words(&self) -> String {
        let LimitState::Ended(LimitEnded { lower, upper, .. }) = self.limit.state else {
            return String::new();
        };
        let (low, high) = (lower.unwrap_or(0.0), upper.unwrap_or(f64::INFINITY));
        let below = || self.found.rates.iter().filter(move |rate| rate.rate_per_s < low);
        let above = || self.found.rates.iter().filter(move |rate| rate.rate_per_s > high);
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
        // An irregular limit lists them already.
        let (broken, all, worst) =
            self.found.broken_below.filter(|(broken, ..)| *broken > 0 && !self.found.irregular)?;
        let of = format!("{broken} of {} at lower rates broke it, too", numbers::counted(all, "trial"));
        let worst = format!("up to {} bad", numbers::percent(worst / 100.0));
        Some(match broken * 5 > all {
            true => {
                format!("{of} ({worst}): server or host were not steady, so plan for less, or search again")
            }
            false => format!("{of} ({worst})"),
        })
    }

    /// `figures` are those of a rate.
    fn table<'f>(&self, cell: &str, figures: impl Fn(f64) -> Option<&'f CellFigures>) -> Table {
        let arm = self.limit.arm.as_ref().map(|arm| format!(", {arm}")).unwrap_or_default();
        let level = if self.asked.are_users() { "users" } else { "rate" };
        let each = if self.asked.are_users() { "number of users" } else { "rate" };
        let quantiles = self.quantiles();
        let percentiles = quantiles.iter().map(|quantile| format!("p{}", round_to_digits(100.0 * quantile)));
        // Users have no rate that could be kept up with.
        let in_time = (!self.asked.are_users()).then(|| "done in time".to_owned());
        let head = [level, "kept", "broke", "bad, best trial", "bad, worst trial"].map(str::to_owned);
        let head: Vec<String> = head.into_iter().chain(percentiles).chain(in_time.clone()).collect();
        let mut sheet = Table::captioned(format_args!("{cell}{arm}: trials at each {each}")).numbers(head);
        for rate in &self.found.rates {
            let there = figures(rate.rate_per_s);
            let response = quantiles
                .iter()
                .map(|at| there.map(|there| numbers::percentile(&there.response, *at)).into());
            let arrivals = there.and_then(|there| there.in_time.arrivals);
            let in_time: Option<CellValue> = in_time
                .as_ref()
                .map(|_| arrivals.map(|arrivals| numbers::figure_text(arrivals.achieved_per_s())).into());
            let cells = [
                numbers::as_given(rate.rate_per_s).into(),
                (rate.good as u64).into(),
                (rate.bad as u64).into(),
                numbers::percent(rate.bad_pct[0] / 100.0).into(),
                numbers::percent(rate.bad_pct[1] / 100.0).into(),
            ];
            sheet.push(cells.into_iter().chain(response).chain(in_time));
        }
        sheet
    }

    /// The promised percentiles, ascending.
    fn quantiles(&self) -> Vec<f64> {
        let mut quantiles: Vec<f64> = self.asked.promise.iter().map(|term| 1.0 - term.share).collect();
        quantiles.sort_by(f64::total_cmp);
        quantiles.dedup();
        quantiles
    }
}

/// Without the rounding error of a difference: `99.9` for 99.90000000000001.
fn round_to_digits(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

fn shape_name(shape: &Confirmed<'_>) -> &'static str {
    match shape.class {
        _ if shape.left > 0 => "not tried to the end",
        LimitClass::Lower => "holds",
        LimitClass::Upper => "breaks",
        LimitClass::Undecided => "undecided",
    }
}

/// `under ramp 0.5..1 over 20s of it: holds (3 of 3 trials, 0.2 % bad)`.
fn shape_words(shape: &Confirmed<'_>) -> String {
    let bad = shape.bad_pct().map(|pct| format!(", {} bad", numbers::percent(pct / 100.0)));
    let uncounted = match shape.uncounted {
        0 => String::new(),
        some => format!(", {some} more did not count"),
    };
    let refuted = match shape.left == 0 && shape.refutes() {
        true => ": irregular, for it never exceeds the limit, and under a rate that does not change it holds",
        false => "",
    };
    format!(
        "under {} of it: {} (kept in {} of {}{}{uncounted}){refuted}",
        shape.shaped.shares,
        shape_name(shape),
        shape.kept(),
        numbers::counted(shape.trials.len(), "trial"),
        bad.unwrap_or_default(),
    )
}

fn generator_words(asked: &AskedLimit, generator: &GeneratorLimit) -> String {
    let GeneratorLimit { trials, broken, detail, .. } = generator;
    let (all, level) = (numbers::counted(*broken, "trial"), level_words(asked, generator.rate_per_s));
    match generator.uncounted {
        true => format!("{trials} of {all} at {level} did not count: {detail}"),
        false => format!("in {trials} of {all} that broke the promise at {level}: {detail}"),
    }
}

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

/// What is tried, as text.
fn level_words(asked: &AskedLimit, level: f64) -> String {
    match asked.are_users() {
        true => numbers::counted(level.round() as usize, "user"),
        false => format!("{}/s", rate_text(level)),
    }
}

/// A rate that a search chose: three digits tell apart rates of which none is within a percent of another.
fn rate_text(rate: f64) -> String {
    let shown = numbers::as_given(rate);
    if shown.chars().filter(char::is_ascii_digit).count() > 3 { numbers::tps(rate) } else { shown }
}

fn broke_words(asked: &AskedLimit, broke: &Broke, saturated: bool) -> String {
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
    let mut words = format!("what broke first, at {}: {first}", level_words(asked, broke.rate_per_s));
    for (head, list) in [("", terms), ("", rest), ("the server was at work on or waited for ", waits)] {
        if !list.is_empty() {
            words += &format!("; {head}{}", list.join(", "));
        }
    }
    words
}
