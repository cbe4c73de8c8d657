//! A ladder of offered rates: response times beside the promise, and what was achieved of what was offered.

use record::{Arrivals, Run, Validity};
use results::comparison::{Cell, Level};

use super::Figure;
use super::axis::{Spacing, Tick};
use super::line::{LineChart, Point, Series};
use crate::arrivals::{self, InTime};
use crate::data::{ReportData, cell_label};
use crate::numbers;
use crate::sheet::{self, Sheet};
use crate::tables::CellFigures;

const RATE: &str = "rate";
/// Rates further apart than this are laid out by their ratios.
const WIDE: f64 = 8.0;
/// Arms up to which the median is drawn beside the 99th percentile; with more, there are too many lines.
const FEW_ARMS: usize = 2;

/// Both charts for each combination of the other factors; nothing where only one rate was offered.
pub(crate) fn figures(data: &ReportData, workload: &str) -> Vec<Figure> {
    let runs: Vec<&Run> = data.grid_runs().filter(|run| run.workload == workload).collect();
    let arms = data.arms();
    let all = CellFigures::of(runs.iter().copied(), &arms);
    let cells: Vec<Cell> = all.iter().map(|figures| figures.cell.clone()).collect();
    let varying: Vec<String> = ReportData::varying(&cells).into_iter().filter(|name| name != RATE).collect();
    let mut names: Vec<String> = cells.iter().map(|cell| cell_label(cell, &varying)).collect();
    names.dedup();
    let mut seen = Vec::new();
    let mut drawn = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        let steps: Vec<Step<'_>> = all
            .iter()
            .filter(|figures| cell_label(&figures.cell, &varying) == name)
            .filter_map(|figures| Step::of(figures, &runs))
            .collect();
        let title = if name.is_empty() { workload.to_owned() } else { format!("{workload}, {name}") };
        if let Some(ladder) = Ladder::of(title, steps, &arms) {
            drawn.extend([ladder.latency(data), ladder.achieved()].into_iter().flatten());
        }
        seen.push(name);
    }
    drawn
}

/// One rate in one arm.
struct Step<'a> {
    rate: f64,
    arm: Option<&'a str>,
    arrivals: Arrivals,
    in_time: InTime,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
    /// Lowest and highest achieved rate over rounds.
    range: Option<(f64, f64)>,
    /// What was promised, ms.
    promise_ms: Option<f64>,
}

impl<'a> Step<'a> {
    fn of(figures: &CellFigures<'a>, runs: &[&Run]) -> Option<Self> {
        let rate = figures.cell.factors.get(RATE).and_then(|Level(level)| level.parse::<f64>().ok())?;
        let own: Vec<&&Run> = runs
            .iter()
            .filter(|run| run.arm.as_deref() == figures.arm && run.validity != Validity::Invalid)
            .filter(|run| Cell::of(run) == figures.cell)
            .collect();
        let achieved: Vec<f64> = own
            .iter()
            .filter_map(|run| Arrivals::of(run))
            .map(|arrivals| arrivals.achieved_per_s())
            .collect();
        let range =
            achieved.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(*v), high.max(*v)));
        Some(Self {
            rate: Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0)?,
            arm: figures.arm,
            in_time: figures.in_time,
            arrivals: figures.in_time.arrivals?,
            p50_ns: figures.quantile_ns(0.5),
            p99_ns: figures.quantile_ns(0.99),
            range: (achieved.len() > 1).then_some(range),
            promise_ms: own.iter().find_map(|run| run.promise_ms()),
        })
    }
}

/// Where a rate lies on the axis.
fn place(x: Spacing, rate: f64) -> f64 {
    match x {
        Spacing::Linear => rate,
        Spacing::Log => rate.log10(),
    }
}

/// The steps of all arms, and how their rates are laid out.
struct Ladder<'a> {
    title: String,
    steps: Vec<Step<'a>>,
    arms: Vec<Option<&'a str>>,
    /// Ascending, each once.
    rates: Vec<f64>,
    x: Spacing,
}

impl<'a> Ladder<'a> {
    fn of(title: String, steps: Vec<Step<'a>>, arms: &[Option<&'a str>]) -> Option<Self> {
        let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let (low, high) = (*rates.first()?, *rates.last()?);
        let arms = arms.iter().copied().filter(|arm| steps.iter().any(|step| step.arm == *arm)).collect();
        (rates.len() > 1).then(|| {
            let x = if high / low > WIDE { Spacing::Log } else { Spacing::Linear };
            Self { title, steps, arms, x, rates }
        })
    }

    fn ticks(&self, x: Spacing) -> Vec<Tick> {
        let tick = |rate: &f64| Tick { value: place(x, *rate), label: numbers::figure_short(*rate) };
        self.rates.iter().map(tick).collect()
    }

    /// A line per arm through what `value` gives at each rate.
    fn series(&self, what: &str, value: impl Fn(&Step<'_>) -> Option<Point>) -> Vec<Series> {
        let one = |arm: &Option<&str>| Series {
            name: arm.map_or(what.to_owned(), |arm| format!("{what}, {arm}")),
            points: self
                .rates
                .iter()
                .filter_map(|rate| self.steps.iter().find(|step| step.rate == *rate && step.arm == *arm))
                .filter_map(&value)
                .collect(),
        };
        self.arms.iter().map(one).filter(|series| !series.points.is_empty()).collect()
    }

    /// Response times over offered rates, with the promise as a line; `None` where nothing was measured.
    fn latency(&self, data: &ReportData) -> Option<Figure> {
        let point = |step: &Step<'_>, y: Option<f64>| {
            Some(Point { x: place(self.x, step.rate), y: y.filter(|y| *y > 0.0)?, range: None })
        };
        let mut series = self.series("p99", |step| point(step, step.p99_ns));
        if self.arms.len() <= FEW_ARMS {
            series.extend(self.series("p50", |step| point(step, step.p50_ns)));
        }
        if series.is_empty() {
            return None;
        }
        let promise = self.steps.iter().find_map(|step| step.promise_ms).or_else(|| data.promise_ms());
        if let Some(ms) = promise.filter(|ms| *ms > 0.0) {
            let at = |rate: &f64| Point { x: place(self.x, *rate), y: ms * 1e6, range: None };
            let ends = [self.rates.first(), self.rates.last()];
            let points = ends.into_iter().flatten().map(at).collect();
            series.push(Series { name: format!("promise {}", numbers::latency_tick(ms * 1e6)), points });
        }
        Some(
            LineChart {
                title: format!("{}: response time over offered rate", self.title),
                caption: self.latency_caption(promise),
                x_name: "offered, transactions per second",
                y_name: "response time",
                x_ticks: self.ticks(self.x),
                y_spacing: Spacing::Log,
                y_label: numbers::latency_tick,
                markers: true,
                data: self.sheet(),
                series,
            }
            .figure(),
        )
    }

    /// Rates of some steps, each with its arm: `16,000/s (stock); 16,000/s (gis)`.
    fn named(&self, of: impl Fn(&Step<'_>) -> bool) -> String {
        let words = |step: &Step<'_>| {
            let arm = step.arm.map(|arm| format!(" ({arm})")).unwrap_or_default();
            format!("{}/s{arm}", numbers::figure_short(step.rate))
        };
        self.steps.iter().filter(|step| of(step)).map(words).collect::<Vec<_>>().join("; ")
    }

    fn latency_caption(&self, promise: Option<f64>) -> String {
        let started = self.named(|step| step.arrivals.started_only);
        let promised = promise.map_or(String::new(), |ms| {
            format!(" Above the line of {} the promise is broken.", numbers::latency_tick(ms * 1e6))
        });
        let started = if started.is_empty() {
            String::new()
        } else {
            format!(
                " Overloaded at {started}: there the times are those of the transactions that were started, and the others fared \
                 worse."
            )
        };
        format!("Percentiles of all rounds together, on a scale of ratios.{promised}{started}")
    }

    /// What was achieved of what was offered, beside the line on which all of it is.
    fn achieved(&self) -> Option<Figure> {
        // Nought has no place on a scale of ratios.
        let nought = self
            .steps
            .iter()
            .any(|step| step.range.map_or(step.arrivals.in_time() as f64, |(low, _)| low) <= 0.0);
        let spacing = if nought { Spacing::Linear } else { self.x };
        let mut series = self.series("in time", |step| {
            let (x, y) = (place(spacing, step.rate), step.arrivals.achieved_per_s());
            y.is_finite().then_some(Point { x, y, range: step.range })
        });
        if series.is_empty() {
            return None;
        }
        let diagonal = |rate: &f64| Point { x: place(spacing, *rate), y: *rate, range: None };
        series.push(Series {
            name: "all that was offered".to_owned(),
            points: self.rates.iter().map(diagonal).collect(),
        });
        Some(
            LineChart {
                title: format!("{}: achieved over offered rate", self.title),
                caption: self.achieved_caption(),
                x_name: "offered, transactions per second",
                y_name: "done in time, transactions per second",
                x_ticks: self.ticks(spacing),
                y_spacing: spacing,
                y_label: numbers::figure_short,
                markers: true,
                data: self.sheet(),
                series,
            }
            .figure(),
        )
    }

    fn achieved_caption(&self) -> String {
        let overloaded = self.named(|step| step.arrivals.is_overloaded());
        let verdict = if overloaded.is_empty() {
            "No rate was an overload".to_owned()
        } else {
            format!("Overloaded at {overloaded}")
        };
        format!(
            "{verdict}. What falls below the line of all that was offered was late, skipped, failed, unfinished or done only after the \
             end; whiskers reach from the lowest to the highest run."
        )
    }

    fn sheet(&self) -> Sheet {
        let columns = arrivals::Columns::of(self.steps.iter().map(|step| step.in_time));
        let with_arms = self.arms.iter().any(Option::is_some);
        let mut sheet = Sheet::new("Each rate of the ladder, all rounds together")
            .numbers([RATE])
            .text(with_arms.then_some("arm"))
            .numbers(["p50", "p99"])
            .numbers(columns.into_iter().flat_map(arrivals::Columns::heads));
        for step in &self.steps {
            let time = |ns: Option<f64>| ns.map_or(numbers::ABSENT.to_owned(), numbers::latency_ns);
            let mut row: Vec<sheet::Cell> = vec![numbers::figure(step.rate).into()];
            row.extend(with_arms.then(|| sheet::Cell::from(step.arm.unwrap_or(numbers::ABSENT))));
            row.extend([time(step.p50_ns).into(), time(step.p99_ns).into()]);
            row.extend(columns.into_iter().flat_map(|columns| columns.cells(step.in_time)));
            sheet.row(row);
        }
        sheet
    }
}
