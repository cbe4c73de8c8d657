//! The limits for programs: a row per cell and arm.

use results::cells::CellFigures;
use results::data::cell_text;
use results::limits::{Cause, Confirmed, LimitState, RatioVerdict, WhyFar};
use results::{CellValue, ReportData, Table};
use spec::figures;
use stats::LimitEnded;

use super::{ArmFindings, arms, shape_name};
use crate::numbers::real_cell;

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
        "lower_users",
        "upper_users",
    ])
}

/// The limits for programs: a row per cell and arm.
#[must_use]
pub fn limits(data: &ReportData) -> Option<Table> {
    let limits = data.limits()?;
    let mut table = none();
    for cell in &limits.cells {
        let far = cell.far_peak(&limits.asked);
        let ratios = cell.ratios(&limits.asked);
        for arm in arms(&limits, cell) {
            let at = |rate| cell.figures_at(&limits.asked, data.grid(), arm.limit.arm.as_deref(), rate);
            let ratio = ratios.iter().find(|ratio| Some(&ratio.arm) == arm.limit.arm.as_ref());
            let of_cell = [
                cell.limit.clients.into(),
                real_cell(cell.limit.peak_per_s),
                u32::from(cell.limit.still_growing).into(),
            ];
            let compared = [
                real_cell(ratio.map(|ratio| ratio.ratio)),
                real_cell(ratio.map(|ratio| ratio.lowest)),
                real_cell(ratio.map(|ratio| ratio.highest)),
                ratio.map(|ratio| verdict_name(ratio.verdict(limits.margin))).into(),
            ];
            let last = [
                arm.found.generator.as_ref().map(|generator| generator.detail.clone()).into(),
                far.as_ref().map(|far| far_name(&far.why)).into(),
                arm.doubt().map(|doubt| doubt.words()).into(),
            ];
            let head =
                [cell_text(&cell.cell).into(), arm.limit.arm.clone().into(), limits.asked.words().into()];
            let parts = head.into_iter().chain(arm.bounds(at)).chain(of_cell).chain(arm.causes());
            table.push(parts.chain(compared).chain(last).chain(arm.users()));
        }
    }
    Some(table)
}

impl ArmFindings<'_> {
    /// Bounds of a search for users.
    fn users(&self) -> [CellValue; 2] {
        let LimitState::Ended(ended) = self.limit.state else { return [CellValue::Null, CellValue::Null] };
        let is_known = self.found.generator.is_none() && (ended.lower.is_some() || !self.found.one_decides);
        let upper = ended.upper.filter(|_| is_known);
        let whole = |level: Option<f64>| {
            level.filter(|_| self.asked.are_users()).map(|level| level.round() as u64).into()
        };
        [whole(ended.lower), whole(upper)]
    }

    /// `figures` are those of a rate.
    fn bounds<'f>(&self, figures: impl Fn(f64) -> Option<&'f CellFigures>) -> [CellValue; 8] {
        let (state, ended) = match self.limit.state {
            LimitState::Ended(ended) if self.found.generator.is_some() => {
                let state = if ended.lower.is_some() { "at least" } else { "undecided" };
                (state, Some(LimitEnded { upper: None, ..ended }))
            }
            LimitState::Ended(LimitEnded { lower: None, .. }) if self.found.one_decides => {
                ("undecided", None)
            }
            LimitState::Ended(ended) if self.found.too_few_below => ("undecided", Some(ended)),
            LimitState::Ended(ended) => (ended_name(ended), Some(ended)),
            LimitState::Searching => ("searching", None),
            LimitState::GivenUp => ("undecided", None),
            LimitState::NotTried => ("not tried", None),
        };
        let at_lower = ended.and_then(|ended| figures(ended.lower?));
        let achieved = at_lower.and_then(|figures| figures.in_time.arrivals);
        [
            state.into(),
            real_cell(ended.and_then(|ended| ended.lower).filter(|_| !self.asked.are_users())),
            real_cell(ended.and_then(|ended| ended.upper).filter(|_| !self.asked.are_users())),
            ended.map(|_| u32::from(self.found.irregular)).into(),
            real_cell(achieved.map(|arrivals| arrivals.achieved_per_s())),
            (self.limit.trials.len() as u64).into(),
            (self.limit.uncounted as u64).into(),
            self.found.broken_below.map(|(broken, ..)| broken as u64).into(),
        ]
    }

    fn causes(&self) -> [CellValue; 3] {
        let broke = self.found.broke.as_ref();
        let waits = broke.iter().flat_map(|broke| &broke.waits);
        let waits: Vec<String> =
            waits.map(|waited| format!("{} {:.0} %", waited.what, waited.share_pct)).collect();
        let named = |shape: &Confirmed<'_>| format!("{}: {}", shape.shaped.shares, shape_name(shape));
        let shapes: Vec<String> = self.limit.confirmed.iter().map(named).collect();
        [
            broke.map(|broke| cause_name(broke.cause, self.found.saturated)).into(),
            (!waits.is_empty()).then(|| waits.join(", ")).into(),
            (!shapes.is_empty()).then(|| shapes.join("; ")).into(),
        ]
    }
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
