//! The figures of each cell and arm.

use results::cells::CellFigures;
use results::comparison::Cell;
use results::data::{cell_label, levels, varying};
use results::{CellValue, ReportData, Table};
use spec::figures;

use super::scripts::scripts_of;
use crate::arrivals;
use crate::block::Block;
use crate::compared::groups;
use crate::numbers::{self, percentile_us, real_cell, should_be_0};

const ON_PAGE: [&str; 15] = [
    "cell",
    "arm",
    "runs",
    "tps_mean",
    "tps_max",
    "p50_us",
    "p95_us",
    "p99_us",
    "max_us",
    "failed",
    "invalid",
    "bytes_per_transaction",
    "commands_per_s_mean",
    figures::HIT_PCT.row().name,
    "evicted_keys",
];

/// The cells of a workload, with their tables for a page.
pub(in crate::sections) struct WorkloadFigures<'a> {
    pub(super) cells: Vec<&'a CellFigures>,
}

impl<'a> WorkloadFigures<'a> {
    pub(in crate::sections) fn of(workload: &str, all: &'a [CellFigures]) -> Self {
        Self { cells: all.iter().filter(|cell| cell.cell.workload == workload).collect() }
    }

    /// `zoom 14, 4 clients`: the factors that vary.
    fn label(&self, cell: &Cell) -> String {
        let mut factors = varying(self.cells.iter().map(|cell| &cell.cell));
        if factors.is_empty() {
            factors.push("clients".to_owned());
        }
        cell_label(cell, &factors)
    }

    fn is_of_started_only(&self) -> bool {
        self.cells.iter().any(|cell| cell.is_of_started_only())
    }

    fn selected(&self, caption: &str, columns: &[&str]) -> Table {
        let heads = [
            ("commands_per_s_mean", "commands per s"),
            (figures::HIT_PCT.name, "hits"),
            ("evicted_keys", "keys evicted"),
        ];
        let mut table = cells_of(&self.cells, |cell| self.label(cell)).select(columns).with_heads(&heads);
        table.optional(["arm", "bytes_per_transaction"]);
        Table { caption: caption.to_owned(), ..table }
    }

    pub(in crate::sections) fn table(&self) -> Table {
        let mut columns = ON_PAGE.to_vec();
        if self.is_of_started_only() {
            columns.insert(2, "percentiles_of");
        }
        let caption = "Transactions per second over rounds, and response times of all rounds together; invalid runs left out";
        self.selected(caption, &columns)
    }

    /// Each script of each cell and arm; `None` if there is only one script.
    pub(in crate::sections) fn by_script(&self) -> Option<Block> {
        let scripts = || self.cells.iter().flat_map(|cell| &cell.scripts);
        scripts().next()?;
        let table = scripts_of(&self.cells, |cell| self.label(cell)).select(&[
            "cell",
            "arm",
            "script",
            "times_of",
            "transactions",
            "share_pct",
            "tps_mean",
            "mean_us",
            "p50_us",
            "p95_us",
            "p99_us",
            "failed",
        ]);
        let caption = "By script: transactions of all rounds together, per second over rounds, response times of all rounds together";
        let rows = table.rows.len();
        let table = Table { caption: caption.to_owned(), ..table }.into();
        if scripts().all(|script| script.of_map) {
            return Block::details("Response times of each layer and zoom", vec![table]);
        }
        match rows > OPEN_SCRIPTS {
            true => {
                Block::details(format!("Transactions and response times by script, {rows} rows"), vec![table])
            }
            false => Some(table),
        }
    }

    /// What was offered, done in time and late; empty if no load is open and no promise was given.
    pub(in crate::sections) fn in_time(&self) -> Vec<Block> {
        let any = |of: fn(&CellFigures) -> bool| self.cells.iter().any(|cell| of(cell));
        let is_open = any(|cell| cell.in_time.arrivals.is_some());
        if !is_open && !any(|cell| cell.in_time.promise.is_some()) {
            return Vec::new();
        }
        let caption = if is_open {
            "What was offered, per second, and what was done in time; what was not: counts of all rounds together"
        } else {
            "How the promise was kept: what was done, but late; counts of all rounds together"
        };
        let columns: Vec<&str> = ["cell", "arm"].into_iter().chain(arrivals::ON_PAGE).collect();
        let remark = self.is_of_started_only().then(|| Block::remark(arrivals::STARTED_ONLY));
        remark.into_iter().chain([self.selected(caption, &columns).into()]).collect()
    }
}

/// Rows by script up to which they are not folded.
const OPEN_SCRIPTS: usize = 50;

/// One line per cell and arm: throughput as mean and maximum over rounds, percentiles of all rounds
/// together, the number of invalid runs, which are in no figure, and a remark if the others fall into two
/// groups.
#[must_use]
pub fn cells(data: &ReportData) -> Table {
    cells_of(&data.grid().iter().chain(data.beside()).collect::<Vec<_>>(), levels)
}

fn cells_of(cells: &[&CellFigures], label: impl Fn(&Cell) -> String) -> Table {
    let took = ["took_mean_s", "took_least_s", "took_most_s"];
    let of_caches = ["commands_per_s_mean", figures::HIT_PCT.name, "evicted_keys"];
    let for_programs = ["p95_us", "max_us", "bytes_per_transaction"];
    let mut table = Table::new(["workload", "cell", "arm", "runs", "tps_mean", "tps_max"])
        .named(took)
        .named(["p50_us", "p99_us", "sliced", figures::FAILED.name, "invalid", "groups"])
        .named(of_caches)
        .named(for_programs);
    table.optional(took.into_iter().chain(["sliced", "invalid", "groups"]).chain(of_caches));
    table.hide(for_programs);
    for cell in cells {
        let percentile = |q| percentile_us(&cell.response, q);
        let bytes = |bytes| CellValue::worded(bytes, numbers::bytes(bytes as u64), "");
        table.push([
            (&cell.cell.workload).into(),
            label(&cell.cell).into(),
            cell.arm.clone().into(),
            (cell.tps.n.max(cell.took_s.n) as u64).into(),
            real_cell(cell.tps.mean),
            real_cell(cell.tps.max),
            real_cell(cell.took_s.mean),
            real_cell(cell.took_s.min),
            real_cell(cell.took_s.max),
            percentile(0.5),
            percentile(0.99),
            numbers::sliced(cell.sliced),
            should_be_0(cell.failed),
            should_be_0(Some(cell.invalid)),
            cell.groups.as_ref().map(groups).into(),
            real_cell(cell.commands_per_s),
            real_cell(cell.hit_pct),
            real_cell(cell.evicted),
            percentile(0.95),
            percentile(1.0),
            cell.bytes_per_transaction.map(bytes).into(),
        ]);
    }
    let in_time: Vec<_> = cells.iter().map(|cell| cell.in_time).collect();
    arrivals::insert_columns(&mut table, "p99_us", &in_time);
    table
}
