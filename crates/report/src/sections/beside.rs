//! Runs outside the grid, e.g. a cache: measured, not compared.

use super::workloads::WorkloadFigures;
use crate::block::Block;
use results::ReportData;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let mut names: Vec<&str> = data.beside().iter().map(|figures| figures.cell.workload.as_str()).collect();
    names.dedup();
    let how = "Measured once beside the grid; no arm applies to it, so nothing is compared.";
    let of = |name: &&str| {
        let figures = WorkloadFigures::of(name, data.beside());
        let rest = figures.by_script().into_iter().chain(figures.in_time());
        [Block::Heading((*name).to_owned()), figures.table().into()]
            .into_iter()
            .chain(rest)
            .collect::<Vec<_>>()
    };
    let head = (!names.is_empty()).then(|| Block::text(how));
    head.into_iter().chain(names.iter().flat_map(of)).collect()
}
