//! Jobs: phases as chart and table, and the sizes they left.

use record::{Relation, RelationKind, Run};

use crate::chart::phases;
use crate::data::ReportData;
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::tables::relations;

/// Whether map data was loaded: then its source must be named.
pub(super) fn any(data: &ReportData) -> bool {
    relations(data).iter().any(|relation| relation.table.contains("osm"))
        || data.jobs().any(|job| job.workload.contains("osm"))
}

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    for job in data.jobs().filter(|job| !job.phases.is_empty()) {
        one_job(job, out);
    }
    let relations = relations(data);
    if relations.is_empty() {
        return;
    }
    out.tag("h3").text("Sizes");
    let (indexes, tables): (Vec<&Relation>, Vec<&Relation>) =
        relations.into_iter().partition(|relation| relation.kind == RelationKind::Index);
    out.tag("div").class("pair").with(|out| {
        if !tables.is_empty() {
            table_sizes(&tables, &indexes).write(out);
        }
        if !indexes.is_empty() {
            index_sizes(&indexes).write(out);
        }
    });
}

fn one_job(job: &Run, out: &mut Markup) {
    out.tag("h3").text(&job.workload);
    let of_job = [("round", job.round.to_string()), ("arm", job.arm.clone().unwrap_or_default())];
    let named: Vec<String> = of_job
        .iter()
        .filter(|(_, value)| !value.is_empty() && value != "0")
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    let took = numbers::duration(job.measured_s);
    let cpu = job.figures.get("server_cpu_s").map(|s| format!(", server CPU {}", numbers::duration(*s)));
    out.tag("p").text(format_args!(
        "Took {took}{}{}{}.",
        cpu.unwrap_or_default(),
        if named.is_empty() { "" } else { "; " },
        named.join(", ")
    ));
    let table = phase_table(job);
    if let Some(figure) = phases::figure(&format!("{}: phases", job.workload), &job.phases, table) {
        figure.write(out);
    }
}

fn phase_table(job: &Run) -> Sheet {
    let mut sheet = Sheet::new(format_args!("{}: phases in milliseconds", job.workload))
        .text(["phase", "of"])
        .numbers(["start", "duration", "objects", "objects per second"])
        .text(["timed by"]);
    for phase in &job.phases {
        let seconds = phase.duration_us as f64 / 1e6;
        let rate = phase.count.filter(|_| seconds > 0.0).map(|count| numbers::tps(count as f64 / seconds));
        sheet.row(vec![
            phase.name.clone().into(),
            phase.item.clone().into(),
            numbers::milliseconds(phase.start_us).into(),
            numbers::milliseconds(phase.duration_us).into(),
            phase.count.map_or(String::new(), numbers::count).into(),
            rate.unwrap_or_default().into(),
            phase.source.name().into(),
        ]);
    }
    sheet
}

fn table_sizes(tables: &[&Relation], indexes: &[&Relation]) -> Sheet {
    let mut sheet = Sheet::new("Tables: bytes on disk without and with their indexes, estimated rows")
        .text(["table"])
        .numbers(["size", "indexes", "together", "rows"]);
    for table in tables {
        let of_indexes: u64 =
            indexes.iter().filter(|index| index.table == table.name).map(|index| index.bytes).sum();
        sheet.row(vec![
            table.name.clone().into(),
            numbers::bytes(table.bytes).into(),
            numbers::bytes(of_indexes).into(),
            numbers::bytes(table.bytes.saturating_add(of_indexes)).into(),
            numbers::count(table.rows).into(),
        ]);
    }
    let total = tables.iter().chain(indexes).fold(0, |sum: u64, relation| sum.saturating_add(relation.bytes));
    if tables.len() > 1 {
        let blank = || Cell::from("");
        sheet.row(vec!["all".into(), blank(), blank(), numbers::bytes(total).into(), blank()]);
    }
    sheet
}

fn index_sizes(indexes: &[&Relation]) -> Sheet {
    let mut sheet = Sheet::new("Indexes: bytes on disk").text(["index", "table"]).numbers(["size"]);
    for index in indexes {
        sheet.row(vec![
            index.name.clone().into(),
            index.table.clone().into(),
            numbers::bytes(index.bytes).into(),
        ]);
    }
    sheet
}
