//! Figures and charts of each workload.

mod clients;
mod jobs;
mod ladder;
mod latency;
mod scripts;
mod time;

pub use jobs::{amounts, jobs, jobs_in_words};
pub use scripts::scripts;

use maud::{Markup, Render, html};
use results::Table;
use serde::Serialize;

use super::View;
use crate::arrivals::{self, Columns};
use crate::cells::CellFigures;
use crate::chart::Chart;
use crate::chart::line::LineChart;
use crate::compared::{grouped_cell, groups};
use crate::data::{ReportData, cell_label, levels, split, varying};
use crate::ladder::Ladder;
use crate::numbers::{self, real};
use crate::scaling::{self, Law};
use crate::sheet::{Cell, Sheet};

/// Combinations of other factors whose charts stand open; the rest is folded.
const OPEN: usize = 3;

#[derive(Debug, Serialize)]
pub(super) struct Workloads {
    workloads: Vec<Workload>,
}

#[derive(Debug, Serialize)]
struct Workload {
    figures: Figures,
    /// Where it is a job: what each cell and arm took, besides time.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<jobs::Timed>,
    /// Where quality breaks, of what a promise was made of.
    rungs: Vec<Ladder>,
    /// Response times and what was achieved over offered rates, where those vary.
    ladders: Vec<LineChart>,
    /// How throughput grows with clients.
    laws: Vec<Law>,
    /// The charts of each combination of the factors other than clients.
    charts: Vec<Vec<LineChart>>,
}

impl View for Workloads {
    fn of(data: &ReportData) -> Option<Self> {
        let workloads: Vec<Workload> =
            data.workloads().into_iter().map(|name| Workload::of(data, name)).collect();
        (!workloads.is_empty()).then_some(Self { workloads })
    }

    fn draw(&self) -> Markup {
        html! { @for workload in &self.workloads { (workload) } }
    }

    fn charts(self) -> Vec<Box<dyn Chart>> {
        let boxed = |chart: LineChart| Box::new(chart) as Box<dyn Chart>;
        let of = |workload: Workload| {
            let lines = workload.ladders.into_iter().chain(workload.charts.into_iter().flatten());
            let phases = workload.job.map(|job| Box::new(job.phases()) as Box<dyn Chart>);
            phases.into_iter().chain(lines.map(boxed)).collect::<Vec<_>>()
        };
        self.workloads.into_iter().flat_map(of).collect()
    }
}

impl Workload {
    fn of(data: &ReportData, workload: &str) -> Self {
        let figures = Figures::of(workload, &data.grid);
        // A trial of a search is a point of the charts over rates; one of its own says nothing more.
        let searched = data.limits().is_some();
        let is_trial = |cell: &CellFigures| {
            searched && cell.changing_rate.is_none() && cell.cell.factors.contains_key("rate")
        };
        let drawn = |cell: &&CellFigures| cell.is_usable() && !is_trial(cell) && !cell.is_job();
        let usable: Vec<&CellFigures> = figures.cells.iter().filter(drawn).collect();
        let mut laws = Vec::new();
        let mut curve = |(name, cells): (String, Vec<&CellFigures>)| {
            let curve = Curve { title: joined(workload, &name), arms: data.arms(), cells };
            let own = curve.laws(workload, &name);
            let charts = curve.charts(&own);
            laws.extend(own);
            charts
        };
        let charts = split(&usable, "clients").into_iter().map(&mut curve).collect();
        let own = |ladder: &Ladder| ladder.workload == workload && ladder.is_judged();
        Self {
            rungs: crate::ladder::ladders(data).into_iter().filter(own).collect(),
            ladders: ladder::charts(data, workload, &figures.cells),
            laws,
            charts,
            job: jobs::Timed::of(data, workload),
            figures,
        }
    }
}

/// `polygons, zoom 14`.
fn joined(workload: &str, name: &str) -> String {
    if name.is_empty() { workload.to_owned() } else { format!("{workload}, {name}") }
}

impl Render for Workload {
    fn render(&self) -> Markup {
        let (open, folded) = self.charts.split_at(self.charts.len().min(OPEN));
        html! {
            h3 { (self.figures.workload) }
            @match &self.job {
                Some(job) => (job)
                None => (self.figures.sheet())
            }
            @for found in self.figures.cells.iter().filter_map(|cell| cell.groups.as_ref()) {
                p.notice { (grouped_cell(found)) }
            }
            (self.figures.by_script())
            (self.figures.in_time())
            @for ladder in &self.rungs { (ladder) }
            (charts(&self.ladders))
            (charts(open.iter().flatten()))
            @if !folded.is_empty() {
                details {
                    summary { "Charts of " (folded.len()) " more" }
                    (charts(folded.iter().flatten()))
                }
            }
            @if !self.laws.is_empty() { p.remark { (scaling::LIMITS) } }
            @for law in &self.laws { (law) }
        }
    }
}

fn charts<'a>(charts: impl IntoIterator<Item = &'a LineChart>) -> Markup {
    let mut charts = charts.into_iter().peekable();
    html! { @if charts.peek().is_some() { div.charts { @for chart in charts { (chart) } } } }
}

/// Figures that differ only in clients and arm: a scaling curve.
struct Curve<'a> {
    title: String,
    arms: Vec<Option<&'a str>>,
    cells: Vec<&'a CellFigures>,
}

impl<'a> Curve<'a> {
    /// The universal scalability law of each arm; its name is that of the curve.
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

    /// What `of` makes of the figures of each arm that has some, where it makes something.
    fn by_arm<T>(&self, of: impl Fn(&[&'a CellFigures]) -> Option<T>) -> Vec<(&'a str, T)> {
        let one = |arm: &Option<&'a str>| {
            let own: Vec<&CellFigures> =
                self.cells.iter().copied().filter(|cell| cell.arm.as_deref() == *arm).collect();
            Some((arm.unwrap_or_default(), if own.is_empty() { None } else { of(&own) }?))
        };
        self.arms.iter().filter_map(one).collect()
    }

    /// Ascending.
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

    /// `4 clients`, of those with the most.
    fn most_clients(&self) -> String {
        numbers::counted(self.clients().last().copied().unwrap_or(0) as usize, "client")
    }

    /// What must stand behind the caption of a chart of response times.
    fn of_started_only(&self) -> &'static str {
        let started_only = self.cells.iter().any(|cell| cell.is_of_started_only());
        if started_only { arrivals::CAPTION_OF_STARTED } else { "" }
    }
}

/// Figures of one workload, by cell and arm.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    pub(super) workload: String,
    cells: Vec<CellFigures>,
}

impl Figures {
    pub(super) fn of(workload: &str, all: &[CellFigures]) -> Self {
        let cells = all.iter().filter(|cell| cell.cell.workload == workload).cloned().collect();
        Self { workload: workload.to_owned(), cells }
    }

    fn has_arms(&self) -> bool {
        self.cells.iter().any(|cell| cell.arm.is_some())
    }

    /// Throughput and response times.
    pub(super) fn sheet(&self) -> Sheet {
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
        let mut sheet = Sheet::new(
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
            let mut row: Vec<Cell> = vec![cell_label(&cell.cell, &factors).into()];
            row.extend(arms.then(|| arm(cell)));
            row.extend(started_only.then(|| arrivals::percentiles_cell(&cell.in_time)));
            row.push(numbers::count(cell.tps.n as u64).into());
            row.extend([cell.tps.mean, cell.tps.max].map(|tps| or_absent(tps, numbers::tps)));
            row.extend([0.5, 0.95, 0.99, 1.0].map(|q| Cell::from(cell.response.words(q))));
            row.push(should_be_0(cell.failed));
            row.extend(invalid.then(|| should_be_0(Some(cell.invalid))));
            row.extend(
                bytes.then(|| or_absent(cell.bytes_per_transaction, |bytes| numbers::bytes(bytes as u64))),
            );
            row.extend(commands.then(|| or_absent(cell.commands_per_s, numbers::tps)));
            row.extend(hits.then(|| or_absent(cell.hit_pct, |pct| numbers::percent(pct / 100.0))));
            row.extend(evicted.then(|| or_absent(cell.evicted, |keys| numbers::count(keys as u64))));
            sheet.row(row);
        }
        sheet
    }

    /// Each script of each cell and arm; nothing where there is one script only.
    pub(super) fn by_script(&self) -> Markup {
        let scripts = || self.cells.iter().flat_map(|cell| &cell.scripts);
        html! {
            @if scripts().next().is_some() {
                @if scripts().all(|script| script.of_map) {
                    details {
                        summary { "Response times of each layer and zoom" }
                        (self.by_script_sheet())
                    }
                } @else {
                    (self.by_script_sheet())
                }
            }
        }
    }

    fn by_script_sheet(&self) -> Sheet {
        let started_only = self.cells.iter().any(CellFigures::is_of_started_only);
        let mut sheet = Sheet::new(
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
                let mut row: Vec<Cell> = vec![cell_label(&cell.cell, &factors).into()];
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
                sheet.row(row);
            }
        }
        sheet
    }

    /// What was offered and what of it was done in time, and what was late; nothing where no load is open and nothing
    /// was promised.
    pub(super) fn in_time(&self) -> Markup {
        let columns = Columns::of(self.cells.iter().map(|cell| &cell.in_time));
        html! {
            @if let Some(columns) = columns {
                @if self.cells.iter().any(CellFigures::is_of_started_only) {
                    p.remark { (arrivals::STARTED_ONLY) }
                }
                (self.in_time_sheet(columns))
            }
        }
    }

    fn in_time_sheet(&self, columns: Columns) -> Sheet {
        let mut sheet = Sheet::new(if columns.is_open() {
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
            sheet.row(head.chain(arm).chain(columns.cells(&cell.in_time)));
        }
        sheet
    }
}

fn arm(cell: &CellFigures) -> Cell {
    cell.arm.as_deref().unwrap_or(numbers::ABSENT).into()
}

fn or_absent(value: Option<f64>, text: fn(f64) -> String) -> Cell {
    value.map_or(numbers::ABSENT.to_owned(), text).into()
}

fn should_be_0(number: Option<u64>) -> Cell {
    let class = if number.is_some_and(|number| number > 0) { "doubt" } else { "" };
    Cell::classed(number.map_or(numbers::ABSENT.to_owned(), numbers::count), class)
}

/// One line per cell and arm: throughput as mean and maximum over rounds, percentiles of all rounds together, how many
/// runs are invalid and in no figure, and a word where the others fall into two groups.
#[must_use]
pub fn cells(data: &ReportData) -> Table {
    let mut table = Table::new(&[
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
        "failed",
        "invalid",
        "groups",
        "commands_per_s_mean",
        "hit_pct",
        "evicted_keys",
    ]);
    let took = ["took_mean_s", "took_least_s", "took_most_s"];
    let of_caches = ["commands_per_s_mean", "hit_pct", "evicted_keys"];
    table.optional.extend(of_caches.map(str::to_owned));
    table.optional.extend(took.into_iter().chain(["sliced", "invalid", "groups"]).map(str::to_owned));
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
