//! Figures and charts of each workload.

mod clients;
mod jobs;
mod ladder;
mod latency;
mod scripts;
mod time;

pub use jobs::{amounts, jobs, jobs_in_words};
pub use scripts::scripts;

use results::ladder::{Ladder, ladders};
use results::{Table, Value};
use spec::figures;

use crate::arrivals::{self, Columns};
use crate::block::Block;
use crate::chart::line::LineChart;
use crate::compared::{grouped_cell, groups};
use crate::numbers::{self, real};
use crate::scaling::{self, Law};
use results::ReportData;
use results::cells::CellFigures;
use results::data::{cell_label, levels, split, varying};

/// Combinations of other factors whose charts are unfolded; the rest is folded.
const OPEN: usize = 3;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    data.workloads().into_iter().flat_map(|workload| of_workload(data, workload)).collect()
}

fn of_workload(data: &ReportData, workload: &str) -> Vec<Block> {
    let figures = Figures::of(workload, &data.grid);
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
fn curves(data: &ReportData, workload: &str, cells: &[CellFigures]) -> (Vec<Vec<LineChart>>, Vec<Law>) {
    // A trial of a search is a point of the charts over rates, and needs no further chart.
    let searched = data.limits().is_some();
    let is_trial = |cell: &CellFigures| {
        searched && cell.changing_rate.is_none() && cell.cell.factors.contains_key("rate")
    };
    let is_drawn = |cell: &&CellFigures| cell.is_usable() && !is_trial(cell) && !cell.is_job();
    let usable: Vec<&CellFigures> = cells.iter().filter(is_drawn).collect();
    let mut laws = Vec::new();
    let mut curve = |(name, cells): (String, Vec<&CellFigures>)| {
        let curve = Curve { title: joined(workload, &name), arms: data.arms(), cells };
        let own = curve.laws(workload, &name);
        let charts = curve.charts(&own);
        laws.extend(own);
        charts
    };
    (split(&usable, "clients").into_iter().map(&mut curve).collect(), laws)
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

pub(super) struct Figures {
    cells: Vec<CellFigures>,
}

impl Figures {
    pub(super) fn of(workload: &str, all: &[CellFigures]) -> Self {
        let cells = all.iter().filter(|cell| cell.cell.workload == workload).cloned().collect();
        Self { cells }
    }

    fn has_arms(&self) -> bool {
        self.cells.iter().any(|cell| cell.arm.is_some())
    }

    pub(super) fn table(&self) -> Table {
        let mut factors = varying(self.cells.iter().map(|cell| &cell.cell));
        if factors.is_empty() {
            factors.push("clients".to_owned());
        }
        let any = |of: fn(&CellFigures) -> bool| self.cells.iter().any(of);
        let (arms, started_only) = (self.has_arms(), any(CellFigures::is_of_started_only));
        let (invalid, bytes) =
            (any(|cell| cell.invalid > 0), any(|cell| cell.bytes_per_transaction.is_some()));
        let (commands, hits) =
            (any(|cell| cell.commands_per_s.is_some()), any(|cell| cell.hit_pct.is_some()));
        let evicted = any(|cell| cell.evicted.is_some());
        let mut sheet = Table::captioned(
            "Transactions per second over rounds, and response times of all rounds together; invalid runs left out",
        )
        .text(["cell"])
        .text(arms.then_some("arm"))
        .numbers(started_only.then_some("times of"))
        .numbers(["runs", "tps mean", "tps max", "p50", "p95", "p99", "max", "failed"])
        .numbers(invalid.then_some("invalid runs"))
        .numbers(bytes.then_some("bytes per transaction"))
        .numbers(commands.then_some("commands per s"))
        .numbers(hits.then_some("hits"))
        .numbers(evicted.then_some("keys evicted"));
        for cell in &self.cells {
            let mut row: Vec<Value> = vec![cell_label(&cell.cell, &factors).into()];
            row.extend(arms.then(|| arm(cell)));
            row.extend(started_only.then(|| arrivals::percentiles_cell(&cell.in_time)));
            row.push(numbers::count(cell.tps.n as u64).into());
            row.extend([cell.tps.mean, cell.tps.max].map(|tps| or_absent(tps, numbers::tps)));
            row.extend([0.5, 0.95, 0.99, 1.0].map(|q| Value::from(numbers::percentile(&cell.response, q))));
            row.push(should_be_0(cell.failed));
            row.extend(invalid.then(|| should_be_0(Some(cell.invalid))));
            row.extend(
                bytes.then(|| or_absent(cell.bytes_per_transaction, |bytes| numbers::bytes(bytes as u64))),
            );
            row.extend(commands.then(|| or_absent(cell.commands_per_s, numbers::tps)));
            row.extend(hits.then(|| or_absent(cell.hit_pct, |pct| numbers::percent(pct / 100.0))));
            row.extend(evicted.then(|| or_absent(cell.evicted, |keys| numbers::count(keys as u64))));
            sheet.push(row);
        }
        sheet
    }

    /// Each script of each cell and arm; empty if there is only one script.
    pub(super) fn by_script(&self) -> Option<Block> {
        let scripts = || self.cells.iter().flat_map(|cell| &cell.scripts);
        scripts().next()?;
        let table = self.by_script_sheet().into();
        match scripts().all(|script| script.of_map) {
            true => Block::details("Response times of each layer and zoom", vec![table]),
            false => Some(table),
        }
    }

    fn by_script_sheet(&self) -> Table {
        let started_only = self.cells.iter().any(CellFigures::is_of_started_only);
        let mut sheet = Table::captioned(
            "By script: transactions of all rounds together, per second over rounds, response times of all rounds together",
        )
        .text(["cell"])
        .text(self.has_arms().then_some("arm"))
        .text(["script"])
        .numbers(started_only.then_some("times of"))
        .numbers(["transactions", "share", "tps mean", "mean", "p50", "p95", "p99", "failed"]);
        for cell in &self.cells {
            let factors: Vec<String> = cell.cell.factors.keys().cloned().collect();
            for own in &cell.scripts {
                let mut row: Vec<Value> = vec![cell_label(&cell.cell, &factors).into()];
                row.extend(self.has_arms().then(|| arm(cell)));
                row.push((&own.name).into());
                row.extend(started_only.then(|| arrivals::percentiles_cell(&cell.in_time)));
                row.push(numbers::count(own.transactions).into());
                row.push(or_absent(own.share, numbers::percent));
                row.push(or_absent(own.tps, numbers::tps));
                let quantiles = [own.p50_ns, own.p95_ns, own.p99_ns].map(|ns| ns.map(|ns| ns as f64));
                row.extend(
                    [own.mean_ns].into_iter().chain(quantiles).map(|ns| or_absent(ns, numbers::latency_ns)),
                );
                row.push(should_be_0(Some(own.failed)));
                sheet.push(row);
            }
        }
        sheet
    }

    /// What was offered, done in time and late; empty if no load is open and no promise was given.
    pub(super) fn in_time(&self) -> Vec<Block> {
        let Some(columns) = Columns::of(self.cells.iter().map(|cell| &cell.in_time)) else {
            return Vec::new();
        };
        let started_only = self.cells.iter().any(CellFigures::is_of_started_only);
        let remark = started_only.then(|| Block::remark(arrivals::STARTED_ONLY));
        remark.into_iter().chain([self.in_time_sheet(columns).into()]).collect()
    }

    fn in_time_sheet(&self, columns: Columns) -> Table {
        let mut sheet = Table::captioned(if columns.is_open() {
            "What was offered, per second, and what was done in time; what was not: counts of all rounds together"
        } else {
            "How the promise was kept: what was done, but late; counts of all rounds together"
        })
        .text(["cell"])
        .text(self.has_arms().then_some("arm"))
        .numbers(columns.heads());
        for cell in &self.cells {
            let factors: Vec<String> = cell.cell.factors.keys().cloned().collect();
            let head = [cell_label(&cell.cell, &factors).into()].into_iter();
            let arm = self.has_arms().then(|| arm(cell));
            sheet.push(head.chain(arm).chain(columns.cells(&cell.in_time)));
        }
        sheet
    }
}

fn arm(cell: &CellFigures) -> Value {
    cell.arm.as_deref().unwrap_or(numbers::ABSENT).into()
}

fn or_absent(value: Option<f64>, text: fn(f64) -> String) -> Value {
    value.map_or(numbers::ABSENT.to_owned(), text).into()
}

fn should_be_0(number: Option<u64>) -> Value {
    let class = if number.is_some_and(|number| number > 0) { "doubt" } else { "" };
    Value::marked(number.map_or(numbers::ABSENT.to_owned(), numbers::count), class)
}

/// One line per cell and arm: throughput as mean and maximum over rounds, percentiles of all rounds
/// together, the number of invalid runs, which are in no figure, and a remark if the others fall into two
/// groups.
#[must_use]
pub fn cells(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "runs",
        "tps_mean",
        "tps_max",
        "took_mean_s",
        "took_least_s",
        "took_most_s",
        "p50_us",
        "p99_us",
        "sliced",
        figures::FAILED.name,
        "invalid",
        "groups",
        "commands_per_s_mean",
        figures::HIT_PCT.name,
        "evicted_keys",
    ]);
    let took = ["took_mean_s", "took_least_s", "took_most_s"];
    let of_caches = ["commands_per_s_mean", figures::HIT_PCT.name, "evicted_keys"];
    table.optional(of_caches);
    table.optional(took.into_iter().chain(["sliced", "invalid", "groups"]));
    let all: Vec<&CellFigures> = data.grid.iter().chain(&data.beside).collect();
    for cell in &all {
        let micros = |q| real(cell.response.ns(q).map(|ns| ns / 1e3));
        table.push(vec![
            cell.cell.workload.clone().into(),
            levels(&cell.cell).into(),
            cell.arm.clone().into(),
            (cell.tps.n.max(cell.took_s.n) as u64).into(),
            real(cell.tps.mean),
            real(cell.tps.max),
            real(cell.took_s.mean),
            real(cell.took_s.min),
            real(cell.took_s.max),
            micros(0.5),
            micros(0.99),
            numbers::sliced(cell.sliced),
            cell.failed.into(),
            cell.invalid.into(),
            cell.groups.as_ref().map(groups).into(),
            real(cell.commands_per_s),
            real(cell.hit_pct),
            real(cell.evicted),
        ]);
    }
    let in_time: Vec<_> = all.iter().map(|cell| cell.in_time).collect();
    arrivals::insert(&mut table, "p99_us", &in_time);
    table
}
