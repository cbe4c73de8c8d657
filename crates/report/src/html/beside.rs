//! Runs beside the grid, e.g. a cache: measured, not compared.

use super::workloads;
use crate::data::ReportData;
use crate::markup::Markup;

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let mut names: Vec<&str> = data.runs_beside().map(|run| run.workload.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    out.tag("p").text("Measured once beside the grid; no arm applies to it, so nothing is compared.");
    for name in names {
        out.tag("h3").text(name);
        let runs = || data.runs_beside().filter(|run| run.workload == name);
        workloads::figures(runs(), &[None]).write(out);
        workloads::in_time(runs(), &[None], out);
    }
}
