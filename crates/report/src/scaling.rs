//! How throughput grows with clients in closed load: the universal scalability law, fitted to each curve.

use results::{CellValue, Table};
use spec::OfferedLoad;
use stats::{FitDoubt, Rung, Scaling};

use crate::block::Block;
use crate::numbers::{self, real_cell};
use results::ReportData;
use results::cells::CellFigures;
use results::data::split_cells;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Law {
    workload: String,
    cell: String,
    pub(crate) arm: Option<String>,
    pub(crate) scaling: Scaling,
    /// Numbers of clients with which the load generator or its host had reached its limit.
    by_generator: Vec<u32>,
}

/// The laws of all curves of the grid with at least three numbers of clients.
pub(crate) fn laws(data: &ReportData) -> Vec<Law> {
    let mut laws = Vec::new();
    for workload in data.workloads() {
        let cells: Vec<&CellFigures> =
            data.grid().iter().filter(|figures| figures.cell.workload == workload).collect();
        for (cell, part) in split_cells(&cells, "clients") {
            for arm in data.arms() {
                let own: Vec<&CellFigures> =
                    part.iter().copied().filter(|figures| figures.arm.as_deref() == arm).collect();
                laws.extend(Law::of(workload, &cell, arm.filter(|_| data.compares()), &own));
            }
        }
    }
    laws
}

impl Law {
    /// Of cells that differ in clients; `None` if the load is not closed, or there are fewer than three.
    pub(crate) fn of(workload: &str, cell: &str, arm: Option<&str>, cells: &[&CellFigures]) -> Option<Self> {
        let closed = || cells.iter().filter(|figures| figures.load == OfferedLoad::Closed);
        let by_generator = closed().filter(|figures| figures.generator.is_some());
        let rung = |figures: &&CellFigures| Rung {
            clients: figures.clients,
            rates: figures.each.iter().map(|(_, tps)| *tps).collect(),
        };
        let scaling = Scaling::fit(&closed().map(rung).collect::<Vec<_>>())?;
        Some(Self {
            workload: workload.to_owned(),
            cell: cell.to_owned(),
            arm: arm.map(str::to_owned),
            scaling,
            by_generator: by_generator.map(|figures| figures.clients).collect(),
        })
    }

    pub(crate) fn name(&self) -> String {
        let arm = self.arm.as_ref().map(|arm| format!("arm {arm}"));
        let parts = [Some(self.workload.clone()), Some(self.cell.clone()), arm];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The peak as text, and reasons to doubt it.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut said = vec![self.peak()];
        if !self.by_generator.is_empty() {
            let clients: Vec<String> = self.by_generator.iter().map(u32::to_string).collect();
            said.push(format!(
                "The load generator was at its own limit with {} clients: the server may do more.",
                clients.join(", ")
            ));
        }
        said.extend(self.scaling.doubts.iter().map(|doubt| self.doubt(*doubt)));
        said
    }

    fn peak(&self) -> String {
        let clients = numbers::figure_short;
        let Some(peak) = self.scaling.peak else {
            let most = numbers::counted(self.scaling.most_clients as usize, "client");
            return match self.scaling.sigma.value > 0.0 {
                true => format!(
                    "No peak: throughput levels off towards {}/s, with {most} it is {}/s.",
                    numbers::tps(self.scaling.lambda.value / self.scaling.sigma.value),
                    numbers::tps(self.scaling.rate(self.scaling.most_clients.into()))
                ),
                false => {
                    format!("No peak: throughput grows with clients, up to the {most} that were measured.")
                }
            };
        };
        let around = match peak.clients_interval {
            Some((low, Some(high))) => format!(" (95 % interval {} to {})", clients(low), clients(high)),
            Some((low, None)) => format!(" (95 % interval from {} on, perhaps none)", clients(low)),
            None => String::new(),
        };
        let rate = match peak.rate.interval {
            Some((low, high)) if high.is_finite() => {
                format!(" (95 % interval {} to {})", numbers::tps(low), numbers::tps(high))
            }
            _ => String::new(),
        };
        format!(
            "Peak at {} clients{around} with {}/s{rate}.",
            clients(peak.clients),
            numbers::tps(peak.rate.value)
        )
    }

    fn doubt(&self, doubt: FitDoubt) -> String {
        let most = numbers::counted(self.scaling.most_clients as usize, "client");
        match doubt {
            FitDoubt::FewRungs => format!(
                "Three parameters through {} numbers of clients say little: measure six or more.",
                self.scaling.rungs
            ),
            FitDoubt::PeakBeyond => {
                format!(
                    "The peak lies beyond the {most} that were measured: an extrapolation, not a finding."
                )
            }
            FitDoubt::PeakUncertain => {
                format!("The interval of the peak reaches beyond the {most} that were measured.")
            }
            FitDoubt::NotRandom => {
                "What was measured lies off the curve in a way that is no chance: this law does not \
                                    describe it, and its parameters mean little."
                    .to_owned()
            }
            FitDoubt::Superlinear => {
                "Throughput grew faster than the number of clients somewhere, which the law does not \
                                      know: sleeping CPUs or a cold cache with few clients?"
                    .to_owned()
            }
        }
    }
}

/// Limits of every fit.
pub const LIMITS: &str =
    "Universal scalability law, fitted to throughput in closed load: it does not describe p99.";

fn name(doubt: FitDoubt) -> &'static str {
    match doubt {
        FitDoubt::FewRungs => "few rungs",
        FitDoubt::PeakBeyond => "peak beyond what was measured",
        FitDoubt::PeakUncertain => "peak perhaps beyond what was measured",
        FitDoubt::NotRandom => "residuals not random",
        FitDoubt::Superlinear => "superlinear",
    }
}

/// One line per fit: parameters and peak with their 95 % intervals.
#[must_use]
pub fn scaling(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "clients_levels",
        "runs",
        "lambda",
        "lambda_low",
        "lambda_high",
        "sigma",
        "sigma_low",
        "sigma_high",
        "kappa",
        "kappa_low",
        "kappa_high",
        "peak_clients",
        "peak_clients_low",
        "peak_clients_high",
        "peak_tps",
        "peak_tps_low",
        "peak_tps_high",
        "doubts",
    ]);
    for law in laws(data) {
        let scaling = &law.scaling;
        let ends = |interval: Option<(f64, f64)>| {
            [real_cell(interval.map(|(low, _)| low)), real_cell(interval.map(|(_, high)| high))]
        };
        let peak = scaling.peak;
        let mut row: Vec<CellValue> = vec![
            law.workload.clone().into(),
            law.cell.clone().into(),
            law.arm.clone().into(),
            (scaling.rungs as u64).into(),
            (scaling.runs as u64).into(),
        ];
        for fitted in [scaling.lambda, scaling.sigma, scaling.kappa] {
            row.push(real_cell(Some(fitted.value)));
            row.extend(ends(fitted.interval));
        }
        row.push(real_cell(peak.map(|peak| peak.clients)));
        let around = peak.and_then(|peak| peak.clients_interval);
        row.push(real_cell(around.map(|(low, _)| low)));
        row.push(real_cell(around.and_then(|(_, high)| high)));
        row.push(real_cell(peak.map(|peak| peak.rate.value)));
        row.extend(ends(peak.and_then(|peak| peak.rate.interval)));
        row.push(scaling.doubts.iter().map(|doubt| name(*doubt)).collect::<Vec<_>>().join("; ").into());
        table.push(row);
    }
    table
}

/// A parameter with its interval: `0.0267 (0.021 to 0.033)`.
fn with_interval(value: f64, interval: Option<(f64, f64)>) -> String {
    let figure = |value: f64| match value {
        0.0 => "0".to_owned(),
        value if value.abs() < 0.001 => format!("{value:.2e}"),
        value => numbers::figure_text(value),
    };
    let around = interval.map(|(low, high)| format!(" ({} to {})", figure(low), figure(high)));
    format!("{}{}", figure(value), around.unwrap_or_default())
}

/// The parameters and limits of each fit, for people.
#[must_use]
pub fn scalings_in_words(data: &ReportData) -> Vec<Block> {
    blocks(&laws(data))
}

pub(crate) fn blocks(laws: &[Law]) -> Vec<Block> {
    let head = (!laws.is_empty()).then(|| Block::remark(LIMITS));
    let of = |law: &Law| {
        [law.table().into()].into_iter().chain(law.words().into_iter().map(Block::remark)).collect::<Vec<_>>()
    };
    head.into_iter().chain(laws.iter().flat_map(of)).collect()
}

impl Law {
    pub(crate) fn table(&self) -> Table {
        let scaling = &self.scaling;
        let caption = format_args!("Throughput over clients: {}", self.name());
        let mut table = Table::captioned(caption).named(["parameter", "value", "what"]);
        let rows = [
            ("lambda", scaling.lambda, "per second of one client"),
            ("sigma", scaling.sigma, "contention: the share that waits for its turn"),
            ("kappa", scaling.kappa, "coherence: what each pair of clients costs"),
        ];
        for (parameter, of, what) in rows {
            table.push(vec![parameter.into(), with_interval(of.value, of.interval).into(), what.into()]);
        }
        table
    }
}
