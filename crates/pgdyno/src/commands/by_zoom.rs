//! What is shown of tiles beside the answer: figures by layer and zoom, where the time goes, and the slowest tiles.

use report::{ReportData, tables};
use results::{ExperimentId, Store, StoredTile, Table};

use super::print_parts;
use crate::options::Format;

/// Of the slowest tiles of an arm so many are shown; `v_tile` has all of them.
const SLOWEST: usize = 5;

/// Each layer at each zoom; where there is none, as of random boxes that failed, the cells.
pub(super) fn table(found: &ReportData) -> Table {
    let tiles = tables::tiles(found);
    if tiles.rows.is_empty() { tables::cells(found) } else { tiles }
}

/// For people, below the summary; other programs get one table, and these by `pgdyno table` and `pgdyno sql`.
pub(super) fn print_below(
    (store, experiment): (&Store, ExperimentId),
    found: &ReportData,
    format: Format,
) -> anyhow::Result<()> {
    if !matches!(format, Format::Text | Format::Md) {
        return Ok(());
    }
    let tiles = store.tiles(experiment)?;
    let slowest = slowest(&tiles, found.experiment.base.as_deref());
    let said = format!(
        "{} different tiles were asked for; all of them: pgdyno sql 'select * from v_tile'",
        different(&tiles)
    );
    let parts = [
        ("By layer and zoom:", in_short(tables::tiles_in_words(found)), Vec::new()),
        (
            "Where the time goes, median share of a sample (more: pgdyno table plans):",
            in_short(tables::plan_shares(found)),
            Vec::new(),
        ),
        ("Slowest tiles:", slowest, vec![said]),
    ];
    let parts = parts.into_iter().filter(|(_, table, _)| !table.rows.is_empty());
    let parts: Vec<_> = parts.map(|(name, table, said)| (name.to_owned(), table, said)).collect();
    print_parts(&parts, format)?;
    Ok(())
}

/// Without what is the same in all rows and said above.
fn in_short(mut table: Table) -> Table {
    for column in ["workload", "cell", "arm", "weight", "sliced"] {
        let alike = |place: &usize| table.rows.windows(2).all(|two| two[0][*place] == two[1][*place]);
        let place = table.columns.iter().position(|name| name == column).filter(alike);
        if let Some(place) = place {
            table.columns.remove(place);
            table.rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
    }
    table
}

/// The slowest of each arm in each cell, by the mean over all rounds; those of the base first.
fn slowest(tiles: &[StoredTile], base: Option<&str>) -> Table {
    let mut table = Table::new(&["arm", "script", "tile", "requests", "mean_us", "max_us", "size_bytes"]);
    table.optional.push("arm".to_owned());
    let of = |tile: &StoredTile| (tile.workload.clone(), tile.factors.clone(), tile.arm.clone());
    let mut groups: Vec<&[StoredTile]> = tiles.chunk_by(|one, other| of(one) == of(other)).collect();
    groups.sort_by_key(|group| group.first().is_some_and(|tile| tile.arm.as_deref() != base));
    for group in groups {
        let mut group: Vec<&StoredTile> = group.iter().collect();
        group.sort_by(|one, other| other.mean_us.total_cmp(&one.mean_us));
        for tile in group.into_iter().take(SLOWEST) {
            table.push(vec![
                tile.arm.clone().into(),
                tile.script.as_str().into(),
                place(tile).into(),
                tile.requests.into(),
                tile.mean_us.into(),
                tile.max_us.into(),
                tile.bytes.into(),
            ]);
        }
    }
    table
}

fn place(tile: &StoredTile) -> String {
    format!("{}/{}/{}", tile.z, tile.x, tile.y)
}

fn different(tiles: &[StoredTile]) -> usize {
    tiles.iter().map(place).collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use record::MapPart;

    use super::*;

    fn tile(arm: &str, x: u32, mean_us: f64) -> StoredTile {
        StoredTile {
            workload: "w".into(),
            factors: [("clients".to_owned(), "1".to_owned())].into(),
            arm: Some(arm.into()),
            script: "roads, z12".into(),
            part: MapPart { layer: "roads".into(), zoom: Some(12), cached: None },
            z: 12,
            x,
            y: 7,
            requests: 3,
            mean_us,
            max_us: 2.0 * mean_us,
            bytes: 100.0,
        }
    }

    #[test]
    fn the_slowest_of_the_base_stand_first() {
        let new = (0..9).map(|x| tile("new", x, f64::from(x)));
        let tiles: Vec<StoredTile> = new.chain([tile("old", 1, 5.0), tile("old", 2, 50.0)]).collect();
        let table = slowest(&tiles, Some("old"));
        let places: Vec<String> = table.rows.iter().map(|row| format!("{:?} {:?}", row[0], row[2])).collect();
        let wanted = [("old", 2), ("old", 1), ("new", 8), ("new", 7), ("new", 6), ("new", 5), ("new", 4)];
        let wanted = wanted.map(|(arm, x)| format!("Text({arm:?}) Text({:?})", format!("12/{x}/7")));
        assert_eq!(places, wanted);
        assert_eq!(different(&tiles), 9);
    }

    #[test]
    fn what_is_alike_in_all_rows_is_left_out() {
        let mut table = Table::new(&["workload", "arm", "script", "weight"]);
        for arm in ["old", "new"] {
            table.push(vec!["tiles".into(), arm.into(), "roads".into(), 1_u64.into()]);
        }
        assert_eq!(in_short(table).columns, ["arm", "script"]);
    }
}
