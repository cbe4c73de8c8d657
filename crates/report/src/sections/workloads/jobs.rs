//! The figures of a job in each cell and arm: time and its stages, CPU, memory, WAL, disk, and sizes.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::{CellValue, Table};
use spec::figures::{self, Figure, Unit};
use spec::{RelationKind, Run, Validity};

use crate::block::Block;
use crate::chart::stacks::{Stack, StackScale, Stacks};
use crate::numbers::{self, real_cell};
use crate::phases::MOST_ACROSS;
use crate::stages;
use results::ReportData;
use results::cells::CellFigures;
use results::data::{cell_label, levels, varying};

const TIMES: &str = "Time from start to end and its stages, which follow each other: means over rounds [95 %]; invalid runs left out";
const AMOUNTS_ARE: &str =
    "CPU time, largest memory, WAL, traffic with the disk, and sizes: means over rounds [95 %]";

type JobLine = (&'static str, Vec<String>);

pub(super) struct Timed {
    workload: String,
    cells: Vec<TimedCell>,
}

struct TimedCell {
    cell: Cell,
    arm: Option<String>,
    runs: usize,
    invalid: usize,
    took_s: Mean,
    stages: Vec<(&'static str, Mean)>,
    amounts: BTreeMap<&'static str, Mean>,
}

/// Over rounds, with the 95 % interval if there are at least two.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    mean: Option<f64>,
    interval: Option<(f64, f64)>,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let found = stats::mean_with_interval(values);
        Self { mean: found.map(|(mean, _)| mean), interval: found.and_then(|(_, interval)| interval) }
    }

    fn text(self, write: impl Fn(f64) -> String) -> String {
        let Some(mean) = self.mean else { return numbers::ABSENT.to_owned() };
        match self.interval {
            Some((low, high)) => format!("{} [{}, {}]", write(mean), write(low.max(0.0)), write(high)),
            None => write(mean),
        }
    }
}

struct Amount {
    name: &'static str,
    unit: Unit,
    of: Of,
}

enum Of {
    Figure(Figure),
    ProgramCpu,
    Sizes { indexes: bool },
}

impl Amount {
    const fn figure(of: Figure) -> Self {
        let row = of.row();
        Self { name: row.label, unit: row.unit, of: Of::Figure(of) }
    }

    fn value(&self, run: &Run) -> Option<f64> {
        let figure = |of| run.figures.get(of);
        match self.of {
            Of::Figure(of) => figure(of),
            Of::ProgramCpu => Some(figure(figures::CHILD_USER_CPU_S)? + figure(figures::CHILD_SYSTEM_CPU_S)?),
            Of::Sizes { indexes } => {
                let own =
                    run.relations.iter().filter(|relation| (relation.kind == RelationKind::Index) == indexes);
                (!run.relations.is_empty()).then(|| own.map(|own| own.bytes as f64).sum())
            }
        }
    }

    fn write(&self, value: f64) -> String {
        match self.unit {
            Unit::Bytes => numbers::bytes(value.max(0.0).round() as u64),
            _ => numbers::duration(value),
        }
    }
}

const AMOUNTS: [Amount; 13] = [
    Amount { name: "program's CPU", unit: Unit::Seconds, of: Of::ProgramCpu },
    Amount::figure(figures::SERVER_CPU_S),
    Amount::figure(figures::PGDYNO_CPU_S),
    Amount::figure(figures::CHILD_MAX_RSS_BYTES),
    Amount::figure(figures::WAL_BYTES),
    Amount::figure(figures::SERVER_DISK_READ_BYTES),
    Amount::figure(figures::SERVER_DISK_WRITTEN_BYTES),
    Amount { name: "tables", unit: Unit::Bytes, of: Of::Sizes { indexes: false } },
    Amount { name: "indexes", unit: Unit::Bytes, of: Of::Sizes { indexes: true } },
    Amount::figure(figures::STORAGE_DATA_BYTES),
    Amount::figure(figures::STORAGE_TABLESPACE_BYTES),
    Amount::figure(figures::STORAGE_WAL_BYTES),
    Amount::figure(figures::STORAGE_UNCOMPRESSED_BYTES),
];

impl Timed {
    pub(super) fn of(data: &ReportData, workload: &str) -> Option<Self> {
        let known =
            data.grid().iter().filter(|figures| figures.cell.workload == workload && figures.is_job());
        let cell = |figures: &CellFigures| {
            let runs: Vec<&Run> = data.runs_of(&figures.cell).filter(|run| run.arm == figures.arm).collect();
            TimedCell::of(figures.cell.clone(), figures.arm.clone(), &runs)
        };
        let cells: Vec<TimedCell> = known.map(cell).collect();
        (!cells.is_empty()).then(|| Self { workload: workload.to_owned(), cells })
    }

    fn label(&self, of: &TimedCell) -> String {
        let factors = varying(self.cells.iter().map(|own| &own.cell));
        let label = cell_label(&of.cell, &factors);
        let parts = [of.arm.clone().unwrap_or_default(), label];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { self.workload.clone() } else { parts.join(", ") }
    }

    fn stages(&self) -> Vec<&'static str> {
        let known = |name: &&'static str| {
            self.cells.iter().any(|cell| cell.stages.iter().any(|(stage, _)| stage == name))
        };
        stages::all().filter(known).collect()
    }

    fn times(&self) -> Vec<JobLine> {
        let stages = self.stages();
        let runs: Vec<String> = self.cells.iter().map(counted).collect();
        let took = self.cells.iter().map(|own| own.took_s.text(numbers::duration)).collect();
        let stage = |name: &'static str| {
            let each = self.cells.iter().map(|own| own.stage(name).text(numbers::duration));
            (name, each.collect())
        };
        [("runs", runs), ("time", took)].into_iter().chain(stages.into_iter().map(stage)).collect()
    }

    fn amounts(&self) -> Vec<JobLine> {
        let mean =
            |own: &TimedCell, amount: &Amount| own.amounts.get(amount.name).copied().unwrap_or_default();
        let known = |amount: &&Amount| self.cells.iter().any(|cell| mean(cell, amount).mean.is_some());
        let figures = AMOUNTS.iter().filter(known).map(|amount| {
            let each = self.cells.iter().map(|own| mean(own, amount).text(|value| amount.write(value)));
            (amount.name, each.collect())
        });
        figures.collect()
    }

    fn table(&self, caption: &str, figures: &[JobLine]) -> Table {
        let (head, rows) = self.laid_out(figures);
        let (first, others) = head.split_first().expect("a column for names");
        let mut table =
            Table::captioned(format_args!("{}: {caption}", self.workload)).text([first]).numbers(others);
        for row in rows {
            table.push(row.into_iter().map(CellValue::from));
        }
        table
    }

    /// Column heads, and rows: figures are rows if there are few cells, else columns.
    fn laid_out(&self, figures: &[JobLine]) -> (Vec<String>, Vec<Vec<String>>) {
        let labels: Vec<String> = self.cells.iter().map(|own| self.label(own)).collect();
        let line = |name: &str, each: Vec<String>| std::iter::once(name.to_owned()).chain(each).collect();
        if labels.len() <= MOST_ACROSS {
            let rows = figures.iter().map(|(name, each)| line(name, each.clone())).collect();
            return (line("", labels), rows);
        }
        let of_cell = |at: usize| figures.iter().map(|(_, each)| each[at].clone()).collect();
        let rows = labels.iter().enumerate().map(|(at, label)| line(label, of_cell(at))).collect();
        (line("cell", figures.iter().map(|(name, _)| (*name).to_owned()).collect()), rows)
    }

    pub(super) fn blocks(&self) -> [Block; 3] {
        let [times, amounts] = [(TIMES, self.times()), (AMOUNTS_ARE, self.amounts())]
            .map(|(caption, figures)| self.table(caption, &figures).into());
        [times, self.phases().into(), amounts]
    }

    fn phases(&self) -> Stacks {
        let parts = self.stages();
        let stacks = self.cells.iter().map(|own| Stack {
            name: self.label(own),
            parts: match parts.is_empty() {
                true => vec![own.took_s.mean.unwrap_or(0.0)],
                false => parts.iter().map(|stage| own.stage(stage).mean.unwrap_or(0.0)).collect(),
            },
            interval: own.took_s.interval,
        });
        let stacks = stacks.collect();
        let parts = if parts.is_empty() { vec!["time"] } else { parts };
        Stacks {
            title: format!("{}: what its time is made of", self.workload),
            parts,
            stacks,
            scale: StackScale::Seconds,
            data: self.table(TIMES, &self.times()),
        }
    }
}

impl TimedCell {
    fn of(cell: Cell, arm: Option<String>, all: &[&Run]) -> Self {
        let runs: Vec<&Run> = all.iter().copied().filter(|run| run.validity != Validity::Invalid).collect();
        let each: Vec<Vec<(&'static str, f64)>> = runs.iter().map(|run| stages::of(run)).collect();
        let stage = |name: &'static str| {
            let of_run = |stages: &Vec<(&str, f64)>| {
                let found = stages.iter().find(|(own, _)| *own == name).map(|(_, seconds)| *seconds);
                // A run that has other stages spent no time in this one.
                found.or((!stages.is_empty()).then_some(0.0))
            };
            let values: Vec<f64> = each.iter().filter_map(of_run).collect();
            (values.iter().any(|seconds| *seconds > 0.0)).then(|| (name, Mean::of(&values)))
        };
        let amount = |amount: &Amount| {
            let values: Vec<f64> = runs.iter().filter_map(|run| amount.value(run)).collect();
            (amount.name, Mean::of(&values))
        };
        let took: Vec<f64> = runs.iter().filter_map(|run| run.took_s()).collect();
        Self {
            cell,
            arm,
            runs: runs.len(),
            invalid: all.len() - runs.len(),
            took_s: Mean::of(&took),
            stages: stages::all().filter_map(stage).collect(),
            amounts: AMOUNTS.iter().map(amount).collect(),
        }
    }

    fn stage(&self, name: &str) -> Mean {
        let found = self.stages.iter().find(|(own, _)| *own == name);
        found.map_or(Mean::default(), |(_, mean)| *mean)
    }
}

/// `8`, or `7 (1 invalid)`.
fn counted(cell: &TimedCell) -> String {
    match cell.invalid {
        0 => cell.runs.to_string(),
        invalid => format!("{} ({invalid} invalid)", cell.runs),
    }
}

/// Loads and other jobs that put data on a target, by name; reused data takes no time. Their sizes cover
/// all tables of the database, and are left out.
fn preparations(data: &ReportData) -> Vec<Timed> {
    let mut jobs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
    let was_there = |run: &&Run| run.events.iter().any(|event| event.kind == "reused");
    for run in data.jobs().filter(|run| !run.is_measured() && !was_there(run)) {
        jobs.entry(&run.workload).or_default().push(Run { relations: Vec::new(), ..run.clone() });
    }
    let timed = |(workload, runs): (&str, Vec<Run>)| {
        let runs: Vec<&Run> = runs.iter().collect();
        let cell = TimedCell::of(Cell::of(runs[0]), None, &runs);
        Timed { workload: workload.to_owned(), cells: vec![cell] }
    };
    jobs.into_iter().map(timed).collect()
}

/// Figures of a job besides time, each with its unit: `program's CPU`, `4.92 s`.
#[must_use]
pub fn amounts(job: &Run) -> Vec<(&'static str, String)> {
    // These cover all tables of the database.
    let job = Run { relations: Vec::new(), ..job.clone() };
    let known = |amount: &Amount| Some((amount.name, amount.write(amount.value(&job)?)));
    AMOUNTS.iter().filter_map(known).collect()
}

/// Jobs for people: times and amounts of each, with their units.
#[must_use]
pub fn jobs_in_words(data: &ReportData) -> Vec<Block> {
    let of_grid = data.workloads().into_iter().filter_map(|name| Timed::of(data, name));
    preparations(data).into_iter().chain(of_grid).flat_map(|timed| timed.blocks()).collect()
}

/// Jobs of the grid, and the preparing jobs: time, its stages and other figures, each as mean over
/// rounds with its 95 % interval, one per line. Sizes and traffic in bytes, times in seconds.
#[must_use]
pub fn jobs(data: &ReportData) -> Table {
    let mut table =
        Table::new(["workload", "cell", "arm", "runs", "invalid", "figure", "unit", "mean", "low", "high"]);
    let of_grid = data.workloads().into_iter().filter_map(|name| Timed::of(data, name));
    for timed in preparations(data).into_iter().chain(of_grid) {
        for cell in &timed.cells {
            let head: [CellValue; 5] = [
                timed.workload.clone().into(),
                levels(&cell.cell).into(),
                cell.arm.clone().into(),
                (cell.runs as u64).into(),
                (cell.invalid as u64).into(),
            ];
            let mut line = |figure: &str, unit: &str, mean: &Mean| {
                let ends = [mean.interval.map(|(low, _)| low.max(0.0)), mean.interval.map(|(_, high)| high)];
                let figures = [mean.mean].into_iter().chain(ends).map(real_cell);
                let named = [figure.into(), unit.into()];
                table.push(head.iter().cloned().chain(named).chain(figures));
            };
            line("time", "seconds", &cell.took_s);
            cell.stages.iter().for_each(|(stage, mean)| line(stage, "seconds", mean));
            for amount in AMOUNTS.iter().filter(|amount| cell.amounts[amount.name].mean.is_some()) {
                line(amount.name, amount.unit.name(), &cell.amounts[amount.name]);
            }
        }
    }
    table
}
