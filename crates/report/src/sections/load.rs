//! Jobs: phases as chart and table, and the sizes after them.

use results::{CellValue, Table};
use spec::{Relation, RelationKind, Run, figures};

use crate::block::Block;
use crate::chart::bars::Bars;
use crate::numbers;
use crate::phases::phases_of;
use results::ReportData;

struct LoadSizes {
    /// Arm, or server of levels that are not compared, with the levels of preparation; empty if all runs
    /// had the same relations before them.
    of: String,
    /// Tables first, then by name.
    relations: Vec<Relation>,
}

impl LoadSizes {
    /// Each relation as in the last of these runs that recorded it.
    fn new<'r>(of: String, runs: impl Iterator<Item = &'r Run>) -> Self {
        let mut last: Vec<&Relation> = Vec::new();
        for relation in runs.flat_map(|run| &run.relations) {
            last.retain(|known| known.name != relation.name);
            last.push(relation);
        }
        last.sort_by_key(|relation| (is_index(relation), &relation.table, &relation.name));
        Self { of, relations: last.into_iter().cloned().collect() }
    }

    /// By arm and level of preparation if their runs recorded them: an index may exist in one arm only.
    /// Otherwise the sizes after the jobs.
    fn all(data: &ReportData) -> Vec<Self> {
        let runs = || data.measured_runs().filter(|run| !run.relations.is_empty());
        let mut owners: Vec<String> = Vec::new();
        for run in runs().map(owner) {
            if !owners.contains(&run) {
                owners.push(run);
            }
        }
        let base = data.base().unwrap_or_default();
        owners.sort_by_key(|owner| !owner.starts_with(base));
        let mut all: Vec<Self> = owners
            .into_iter()
            .map(|of| Self::new(of.clone(), runs().filter(|run| owner(run) == of).last().into_iter()))
            .collect();
        if all.is_empty() {
            all.push(Self::new(String::new(), data.runs.iter()));
        }
        all.retain(|sizes| !sizes.relations.is_empty());
        all
    }
}

/// The owner of a run's relations: its arm, or its server if nothing is compared; with the levels of
/// preparation.
fn owner(run: &Run) -> String {
    let server = || run.events.iter().find(|event| event.kind == "server");
    let server = || server().and_then(|event| Some(event.detail.split_once(": ")?.0.to_owned()));
    let prepared = run.factors.iter().filter(|(factor, _)| factor.starts_with("prepare."));
    let prepared = prepared.map(|(factor, level)| format!("{factor} {level}"));
    run.arm.clone().or_else(server).into_iter().chain(prepared).collect::<Vec<_>>().join(", ")
}

fn is_index(relation: &Relation) -> bool {
    relation.kind == RelationKind::Index
}

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    // Jobs of the grid are shown with their workload.
    let prepared = data.jobs().filter(|job| !job.is_measured() && !job.phases.is_empty());
    let of_job = |job: &Run| {
        let title = format!("{}: phases", job.workload);
        let bars = Bars { title, phases: job.phases.clone(), data: phase_table(job) };
        [Block::Heading(job.workload.clone()), Block::text(took(job)), bars.into()]
    };
    let sizes = LoadSizes::all(data);
    let head = (!sizes.is_empty()).then(|| Block::Heading("Sizes".to_owned()));
    let sizes = match &sizes[..] {
        [] => None,
        [only] => only.blocks(),
        several => Some(sizes_of_arms(several).into()),
    };
    prepared.flat_map(of_job).chain(head).chain(sizes).collect()
}

/// `Took 14.2 s, server CPU 11.9 s; round 1, arm gis.`
fn took(job: &Run) -> String {
    let cpu = job.figures.get(figures::SERVER_CPU_S);
    let cpu = cpu.map(|seconds| format!(", server CPU {}", numbers::duration(seconds)));
    let round = (job.round > 0).then(|| format!("round {}", job.round));
    let arm = job.arm.as_ref().map(|arm| format!("arm {arm}"));
    let place = round.into_iter().chain(arm).collect::<Vec<_>>().join(", ");
    let place = if place.is_empty() { place } else { format!("; {place}") };
    format!("Took {}{}{place}.", numbers::duration(job.measured_s), cpu.unwrap_or_default())
}

fn phase_table(job: &Run) -> Table {
    let columns = ["phase", "item", "start_ms", "duration_ms", "count", "count_per_s", "source"];
    Table { caption: format!("{}: phases", job.workload), ..phases_of([job]).select(&columns) }
}

impl LoadSizes {
    fn blocks(&self) -> Option<Block> {
        let tables = self.part(
            "Tables: bytes on disk without and with their indexes, estimated rows",
            &["name", "size_bytes", "indexes_bytes", "together_bytes", "rows"],
            |relation| !is_index(relation),
        );
        let indexes = self.part("Indexes: bytes on disk", &["name", "table", "size_bytes"], is_index);
        let mut tables = tables.with_heads(&[("name", "table")]);
        if tables.rows.len() > 1 {
            let blank = CellValue::default;
            tables.push(["all".into(), blank(), blank(), self.all_bytes().into(), blank()]);
        }
        let indexes = indexes.with_heads(&[("name", "index")]);
        let parts = [tables, indexes].into_iter().filter(|table| !table.rows.is_empty());
        Block::group("pair", parts.map(Block::from))
    }

    /// Columns of the table of sizes, with the rows of some relations.
    fn part(&self, caption: &str, columns: &[&str], is_in: impl Fn(&Relation) -> bool) -> Table {
        let mut table = size_columns();
        let own = self.relations.iter().filter(|relation| is_in(relation));
        own.for_each(|relation| table.push(self.row(relation)));
        Table { caption: caption.to_owned(), ..table.select(columns) }
    }

    fn row(&self, relation: &Relation) -> [CellValue; 8] {
        let Relation { name, kind, table, bytes, rows } = relation;
        let own = self.relations.iter().filter(|relation| is_index(relation) && relation.table == *name);
        let indexes = (!is_index(relation)).then(|| own.map(|index| index.bytes).sum::<u64>());
        [
            Some(&self.of).filter(|of| !of.is_empty()).cloned().into(),
            name.into(),
            kind.name().into(),
            table.into(),
            (*bytes).into(),
            CellValue::worded(*rows, numbers::count(*rows), ""),
            indexes.into(),
            indexes.map(|indexes| bytes.saturating_add(indexes)).into(),
        ]
    }

    fn all_bytes(&self) -> u64 {
        self.relations.iter().fold(0, |sum: u64, own| sum.saturating_add(own.bytes))
    }

    fn bytes(&self, name: &str) -> Option<u64> {
        self.relations.iter().find(|relation| relation.name == name).map(|relation| relation.bytes)
    }
}

/// The sizes of several arms next to each other: a relation may exist in some arms only.
fn sizes_of_arms(arms: &[LoadSizes]) -> Table {
    let mut sheet = Table::captioned("Tables and indexes per arm: bytes on disk, an index next to its table")
        .text(["name", "kind", "of table"])
        .numbers(arms.iter().map(|arm| &arm.of));
    let mut known: Vec<&Relation> = Vec::new();
    for relation in arms.iter().flat_map(|arm| &arm.relations) {
        if !known.iter().any(|other| other.name == relation.name) {
            known.push(relation);
        }
    }
    known.sort_by_key(|relation| (is_index(relation), &relation.table, &relation.name));
    let cell = |bytes: Option<u64>| CellValue::from(bytes.map_or(numbers::ABSENT.to_owned(), numbers::bytes));
    for relation in known {
        let named = [&relation.name, relation.kind.name(), &relation.table].map(CellValue::from);
        sheet.push(named.into_iter().chain(arms.iter().map(|arm| cell(arm.bytes(&relation.name)))));
    }
    let blank = CellValue::default;
    sheet.push(
        ["all".into(), blank(), blank()]
            .into_iter()
            .chain(arms.iter().map(|arm| cell(Some(arm.all_bytes())))),
    );
    sheet
}

/// Sizes of tables and indexes in bytes, with estimated rows; by arm if they may differ. Of a table also the bytes of
/// its indexes, and of both together.
#[must_use]
pub fn sizes(data: &ReportData) -> Table {
    let mut table = size_columns();
    for sizes in LoadSizes::all(data) {
        sizes.relations.iter().for_each(|relation| table.push(sizes.row(relation)));
    }
    table
}

fn size_columns() -> Table {
    let of_tables = ["indexes_bytes", "together_bytes"];
    let mut table = Table::new(["arm", "name", "kind", "table", "size_bytes", "rows"]).named(of_tables);
    table.optional(["arm"]);
    table.hide(of_tables);
    table
}
