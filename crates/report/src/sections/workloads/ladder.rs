//! A ladder of offered rates: response times with the promise, and achieved over offered rates.

use super::joined;
use crate::arrivals;
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::numbers;
use results::ReportData;
use results::Table;
use results::cells::CellFigures;
use results::ladder::parts;
use spec::Arrivals;

/// From this ratio of rates on, the axis is logarithmic.
const WIDE: f64 = 8.0;
/// With at most this many arms the median is drawn with the 99th percentile; more would be too many lines.
const FEW_ARMS: usize = 2;

/// Both charts for each combination of the other factors; empty if only one rate was offered.
pub(super) fn charts(data: &ReportData, workload: &str, cells: &[&CellFigures]) -> Vec<LineChart> {
    let ladder = |(name, part): (String, Vec<&CellFigures>)| {
        let steps = part.into_iter().filter_map(LadderStep::of).collect();
        let ladder = Ladder::of(joined(workload, &name), steps, &data.arms(), data.promise_ms())?;
        Some([ladder.latency(), ladder.achieved()])
    };
    parts(cells).into_iter().filter_map(ladder).flatten().flatten().collect()
}

struct LadderStep<'a> {
    rate: f64,
    arrivals: Arrivals,
    figures: &'a CellFigures,
}

impl<'a> LadderStep<'a> {
    fn of(figures: &'a CellFigures) -> Option<Self> {
        // The rate may be the compared factor: then this is not a ladder.
        let varied = ["rate", "rate_per_client"].iter().any(|key| figures.cell.factors.contains_key(*key));
        let is_level = varied && figures.changing_rate.is_none();
        let rate = figures.rate.filter(|rate| is_level && rate.is_finite() && *rate > 0.0)?;
        Some(Self { rate, arrivals: figures.in_time.arrivals?, figures })
    }

    fn arm(&self) -> Option<&'a str> {
        self.figures.arm.as_deref()
    }
}

fn place(x: Spacing, rate: f64) -> f64 {
    match x {
        Spacing::Linear | Spacing::Near => rate,
        Spacing::Log => rate.log10(),
    }
}

struct Ladder<'a> {
    title: String,
    steps: Vec<LadderStep<'a>>,
    arms: Vec<Option<&'a str>>,
    /// Ascending, each once.
    rates: Vec<f64>,
    x: Spacing,
    promise_ms: Option<f64>,
}

impl<'a> Ladder<'a> {
    /// `promise_ms` is from the plan, for runs that do not record theirs.
    fn of(
        title: String,
        steps: Vec<LadderStep<'a>>,
        arms: &[Option<&'a str>],
        promise_ms: Option<f64>,
    ) -> Option<Self> {
        let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let (low, high) = (*rates.first()?, *rates.last()?);
        let arms = arms.iter().copied().filter(|arm| steps.iter().any(|step| step.arm() == *arm)).collect();
        (rates.len() > 1).then(|| {
            let x = if high / low > WIDE { Spacing::Log } else { Spacing::Linear };
            let own = |step: &LadderStep<'_>| step.figures.in_time.promise.and_then(|promise| promise.ms);
            let promise_ms = steps.iter().find_map(own).or(promise_ms);
            Self { title, steps, arms, x, rates, promise_ms }
        })
    }

    fn ticks(&self, x: Spacing) -> Vec<Tick> {
        let tick = |rate: &f64| Tick { value: place(x, *rate), label: numbers::figure_short(*rate) };
        self.rates.iter().map(tick).collect()
    }

    /// A line per arm of the points that `value` returns for each rate.
    fn series(&self, what: &str, value: impl Fn(&LadderStep<'_>) -> Option<ChartPoint>) -> Vec<Series> {
        let one = |arm: &Option<&str>| {
            let at = |rate: &f64| self.steps.iter().find(|step| step.rate == *rate && step.arm() == *arm);
            let points = self.rates.iter().filter_map(at).filter_map(&value).collect();
            Series::measured(arm.map_or(what.to_owned(), |arm| format!("{what}, {arm}")), points)
        };
        self.arms.iter().map(one).filter(|series| !series.points.is_empty()).collect()
    }

    /// Response times over offered rates, with the promise as a line; `None` if nothing was measured.
    fn latency(&self) -> Option<LineChart> {
        let point = |step: &LadderStep<'_>, y: Option<f64>| {
            Some(ChartPoint { x: place(self.x, step.rate), y: y.filter(|y| *y > 0.0)?, range: None })
        };
        let mut series = self.series("p99", |step| point(step, step.figures.response.ns(0.99)));
        if self.arms.len() <= FEW_ARMS {
            series.extend(self.series("p50", |step| point(step, step.figures.response.ns(0.5))));
        }
        if series.is_empty() {
            return None;
        }
        if let Some(ms) = self.promise_ms.filter(|ms| *ms > 0.0) {
            let at = |rate: &f64| ChartPoint { x: place(self.x, *rate), y: ms * 1e6, range: None };
            let ends = [self.rates.first(), self.rates.last()];
            let points = ends.into_iter().flatten().map(at).collect();
            series.push(Series::computed(format!("promise {}", numbers::latency_tick(ms * 1e6)), points));
        }
        Some(LineChart {
            title: format!("{}: response time over offered rate", self.title),
            caption: self.latency_caption(),
            x_name: "offered, transactions per second",
            y_name: "response time",
            x_ticks: self.ticks(self.x),
            y_spacing: Spacing::Log,
            unit: AxisUnit::Nanoseconds,
            markers: true,
            data: self.sheet(),
            series,
        })
    }

    /// Rates of some steps, each with its arm: `16,000/s (stock); 16,000/s (gis)`.
    fn named(&self, of: impl Fn(&LadderStep<'_>) -> bool) -> String {
        let words = |step: &LadderStep<'_>| {
            let arm = step.arm().map(|arm| format!(" ({arm})")).unwrap_or_default();
            format!("{}/s{arm}", numbers::figure_short(step.rate))
        };
        self.steps.iter().filter(|step| of(step)).map(words).collect::<Vec<_>>().join("; ")
    }

    fn latency_caption(&self) -> String {
        let started = self.named(|step| step.arrivals.started_only);
        let promised = self.promise_ms.map_or(String::new(), |ms| {
            format!(" Above the line of {} the promise is broken.", numbers::latency_tick(ms * 1e6))
        });
        let started = if started.is_empty() {
            String::new()
        } else {
            format!(
                " At {started} not all transactions were started: the times are of those that were, and the others fared worse."
            )
        };
        format!("Percentiles of all rounds together, on a scale of ratios.{promised}{started}")
    }

    /// Achieved over offered rates, with the line on which both are equal.
    fn achieved(&self) -> Option<LineChart> {
        // 0 has no place on a logarithmic scale.
        let nought = self
            .steps
            .iter()
            .any(|step| step.figures.achieved.min.unwrap_or(step.arrivals.in_time() as f64) <= 0.0);
        let spacing = if nought { Spacing::Linear } else { self.x };
        let mut series = self.series("in time", |step| {
            let (x, y) = (place(spacing, step.rate), step.arrivals.achieved_per_s());
            y.is_finite().then_some(ChartPoint { x, y, range: step.figures.achieved.range() })
        });
        if series.is_empty() {
            return None;
        }
        let diagonal = |rate: &f64| ChartPoint { x: place(spacing, *rate), y: *rate, range: None };
        let all = self.rates.iter().map(diagonal).collect();
        series.push(Series::computed("all that was offered".to_owned(), all));
        Some(LineChart {
            title: format!("{}: achieved over offered rate", self.title),
            caption: self.achieved_caption(),
            x_name: "offered, transactions per second",
            y_name: "done in time, transactions per second",
            x_ticks: self.ticks(spacing),
            y_spacing: spacing,
            unit: AxisUnit::PerSecond,
            markers: true,
            data: self.sheet(),
            series,
        })
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

    fn sheet(&self) -> Table {
        let mut sheet = Table::captioned("Each rate of the ladder, all rounds together")
            .named(["rate", "arm", "p50_us", "p99_us"]);
        sheet.optional(["arm"]);
        for step in &self.steps {
            let figures = [0.5, 0.99].map(|q| numbers::percentile_us(&step.figures.response, q));
            let head = [step.rate.into(), step.arm().into()];
            sheet.push(head.into_iter().chain(figures));
        }
        let in_time: Vec<_> = self.steps.iter().map(|step| step.figures.in_time).collect();
        arrivals::insert_columns(&mut sheet, "p99_us", &in_time);
        let columns: Vec<&str> =
            ["rate", "arm", "p50_us", "p99_us"].into_iter().chain(arrivals::ON_PAGE).collect();
        sheet.select(&columns)
    }
}
