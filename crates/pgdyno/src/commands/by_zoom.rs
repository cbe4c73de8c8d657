//! Details about tiles below the answer: figures by layer and zoom, where the time goes, and the slowest
//! tiles.

use report::{Block, ReportData, tables};
use results::{ExperimentId, Store, Table};

use super::print_blocks;
use crate::options::OutputFormat;

/// For programs: each layer at each zoom; without zooms, such as for failed random boxes, the cells.
pub(super) fn table(found: &ReportData) -> Table {
    let tiles = tables::tiles(found);
    if tiles.rows.is_empty() { tables::cells(found) } else { tiles }
}

/// For people: details below the summary. Returns whether it printed any. Programs get one table here, and
/// the others from `pgdyno table` and `pgdyno sql`.
pub(super) fn print_below(
    (store, experiment): (&Store, ExperimentId),
    found: &ReportData,
    (with_details, format): (bool, OutputFormat),
) -> anyhow::Result<bool> {
    if !format.is_for_people() {
        return Ok(false);
    }
    let slowest = store.slowest_tiles(experiment, tables::MOST_OF_ARM)?;
    let counts = store.tile_counts(experiment)?;
    let (slowest, said) = tables::slowest_of_arms(slowest, found.experiment.base.as_deref(), &counts);
    let void = tables::below_tiles(found);
    let parts = [
        ("By layer and zoom:", tables::tiles_in_words(found), void),
        (
            "Where the time goes in a sample of tiles, by EXPLAIN (more: pgdyno table plans):",
            tables::plan_shares(found),
            Vec::new(),
        ),
        ("Layers inside a tile, mean of sampled tiles:", tables::plan_layers(found), Vec::new()),
        ("Slowest tiles:", slowest, said),
    ];
    let shown = if with_details { parts.len() } else { 2 };
    let parts = parts.into_iter().take(shown).filter(|(_, table, _)| !table.rows.is_empty());
    let of = |(caption, table, said): (&str, Table, Vec<String>)| {
        let table = Table { caption: caption.to_owned(), ..in_short(table) };
        [table.into()].into_iter().chain(said.into_iter().map(Block::remark)).collect::<Vec<_>>()
    };
    let blocks: Vec<Block> = parts.flat_map(of).collect();
    print_blocks(&blocks, format)?;
    Ok(!blocks.is_empty())
}

/// Without columns that are equal in all rows and shown above, that repeat the arm, or that say little.
fn in_short(table: Table) -> Table {
    let said = ["workload", "cell", "arm", "layer", "weight", "sliced"];
    let arm = table.at("arm");
    table.only(|table, at| {
        let name = table.columns[at].name.as_str();
        let is_alike = table.rows.windows(2).all(|two| two[0][at] == two[1][at]);
        let is_arm =
            name == "layer" && arm.is_some_and(|arm| table.rows.iter().all(|row| row[at] == row[arm]));
        !(is_alike && said.contains(&name) || is_arm || name == "tiles_share_pct")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_in_all_rows_is_left_out() {
        let mut table = Table::new(["workload", "arm", "script", "weight"]);
        for arm in ["old", "new"] {
            table.push(vec!["tiles".into(), arm.into(), "roads".into(), 1_u64.into()]);
        }
        assert_eq!(in_short(table).names(), ["arm", "script"]);
    }
}
