//! Figures and charts of each workload.

mod clients;
mod figures;
mod jobs;
mod ladder;
mod latency;
mod scripts;
mod time;

pub(super) use self::figures::WorkloadFigures;
pub use self::figures::cells;
pub use self::jobs::{amounts, jobs, jobs_in_words};
pub use self::scripts::scripts;

use results::ladder::{Ladder, ladders};

use crate::arrivals;
use crate::block::Block;
use crate::chart::line::LineChart;
use crate::compared::grouped_cell;
use crate::numbers;
use crate::scaling::{self, Law};
use results::ReportData;
use results::cells::CellFigures;
use results::data::split_cells;

/// Combinations of other factors whose charts are unfolded; the rest is folded.
const OPEN: usize = 3;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    data.workloads().into_iter().flat_map(|workload| of_workload(data, workload)).collect()
}

fn of_workload(data: &ReportData, workload: &str) -> Vec<Block> {
    let figures = WorkloadFigures::of(workload, data.grid());
    let mut blocks = vec![Block::Heading(workload.to_owned())];
    match jobs::Timed::of(data, workload) {
        Some(job) => blocks.extend(job.blocks()),
        None => blocks.push(figures.table().into()),
    }
    let groups = figures.cells.iter().filter_map(|cell| cell.groups.as_ref());
    blocks.extend(groups.map(|found| Block::notice(grouped_cell(found))));
    blocks.extend(figures.by_script());
    blocks.extend(figures.in_time());
    let own = |ladder: &Ladder| ladder.workload == workload && ladder.is_judged();
    blocks.extend(ladders(data).iter().filter(|ladder| own(ladder)).flat_map(crate::ladder::blocks));
    blocks.extend(charts(ladder::charts(data, workload, &figures.cells)));
    let (mut drawn, laws) = curves(data, workload, &figures.cells);
    let folded = drawn.split_off(drawn.len().min(OPEN));
    let summary = format!("Charts of {} more", folded.len());
    blocks.extend(charts(drawn.into_iter().flatten()));
    blocks.extend(Block::details(summary, charts(folded.into_iter().flatten()).into_iter().collect()));
    blocks.extend(scaling::blocks(&laws));
    blocks
}

/// The charts of each combination of the factors other than clients, and the laws of throughput over
/// clients.
fn curves(data: &ReportData, workload: &str, cells: &[&CellFigures]) -> (Vec<Vec<LineChart>>, Vec<Law>) {
    // A trial of a search is a point of the charts over rates, and needs no further chart.
    let searched = data.limits().is_some();
    let is_trial = |cell: &CellFigures| {
        searched && cell.changing_rate.is_none() && cell.cell.factors.contains_key("rate")
    };
    let is_drawn = |cell: &&CellFigures| cell.is_usable() && !is_trial(cell) && !cell.is_job();
    let usable: Vec<&CellFigures> = cells.iter().copied().filter(is_drawn).collect();
    let mut laws = Vec::new();
    let mut curve = |(name, cells): (String, Vec<&CellFigures>)| {
        let curve = Curve { title: joined(workload, &name), arms: data.arms(), cells };
        let own = curve.laws(workload, &name);
        let charts = curve.charts(&own);
        laws.extend(own);
        charts
    };
    (split_cells(&usable, "clients").into_iter().map(&mut curve).collect(), laws)
}

/// `polygons, zoom 14`.
fn joined(workload: &str, name: &str) -> String {
    if name.is_empty() { workload.to_owned() } else { format!("{workload}, {name}") }
}

fn charts(charts: impl IntoIterator<Item = LineChart>) -> Option<Block> {
    Block::group("charts", charts.into_iter().map(Block::from))
}

struct Curve<'a> {
    title: String,
    arms: Vec<Option<&'a str>>,
    cells: Vec<&'a CellFigures>,
}

impl<'a> Curve<'a> {
    /// The universal scalability law of each arm; its name is the curve's.
    fn laws(&self, workload: &str, cell: &str) -> Vec<Law> {
        let arm = |cells: &[&'a CellFigures]| cells[0].arm.as_deref().filter(|_| self.arms.len() > 1);
        self.by_arm(|cells| Law::of(workload, cell, arm(cells), cells))
            .into_iter()
            .map(|(_, law)| law)
            .collect()
    }

    fn charts(self, laws: &[Law]) -> Vec<LineChart> {
        let most = Self { cells: self.at_most_clients(), title: self.title.clone(), arms: self.arms.clone() };
        let charts = [
            clients::throughput(&self, laws),
            clients::response(&self),
            latency::chart(&most),
            time::chart(&most),
        ];
        charts.into_iter().flatten().collect()
    }

    /// The results of `of` for the figures of each arm, without empty ones.
    fn by_arm<T>(&self, of: impl Fn(&[&'a CellFigures]) -> Option<T>) -> Vec<(&'a str, T)> {
        let one = |arm: &Option<&'a str>| {
            let own: Vec<&CellFigures> =
                self.cells.iter().copied().filter(|cell| cell.arm.as_deref() == *arm).collect();
            Some((arm.unwrap_or_default(), if own.is_empty() { None } else { of(&own) }?))
        };
        self.arms.iter().filter_map(one).collect()
    }

    fn clients(&self) -> Vec<u32> {
        let mut clients: Vec<u32> = self.cells.iter().map(|cell| cell.clients).collect();
        clients.sort_unstable();
        clients.dedup();
        clients
    }

    fn at_most_clients(&self) -> Vec<&'a CellFigures> {
        let most = self.clients().last().copied();
        self.cells.iter().copied().filter(|cell| Some(cell.clients) == most).collect()
    }

    /// `4 clients`, of the points with the most.
    fn most_clients(&self) -> String {
        numbers::counted(self.clients().last().copied().unwrap_or(0) as usize, "client")
    }

    /// Text after the caption of a chart of response times, if they cover started transactions only.
    fn of_started_only(&self) -> &'static str {
        let started_only = self.cells.iter().any(|cell| cell.is_of_started_only());
        if started_only { arrivals::CAPTION_OF_STARTED } else { "" }
    }
}
