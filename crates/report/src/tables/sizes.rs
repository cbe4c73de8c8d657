//! Sizes of tables and indexes after loading.

use record::Relation;
use results::Table;

use crate::data::ReportData;

/// Tables and indexes as the last run that recorded each left them; tables first, then by name.
pub(crate) fn relations(data: &ReportData) -> Vec<&Relation> {
    let mut last: Vec<&Relation> = Vec::new();
    for relation in data.runs.iter().flat_map(|run| &run.relations) {
        last.retain(|known| known.name != relation.name);
        last.push(relation);
    }
    last.sort_by_key(|relation| (relation.kind, relation.table.clone(), relation.name.clone()));
    last
}

/// Sizes of tables and indexes in bytes, with estimated rows.
#[must_use]
pub fn sizes(data: &ReportData) -> Table {
    let mut table = Table::new(&["name", "kind", "table", "size_bytes", "rows"]);
    for relation in relations(data) {
        table.push(vec![
            relation.name.clone().into(),
            relation.kind.name().into(),
            relation.table.clone().into(),
            relation.bytes.into(),
            relation.rows.into(),
        ]);
    }
    table
}
