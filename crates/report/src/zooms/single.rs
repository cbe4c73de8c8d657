//! Single tiles, over all rounds of an arm.

use results::{StoredTile, Table};

use crate::numbers::{counted, real};

/// Tiles that people are shown.
const MOST: usize = 20;

/// One line per workload, cell, arm and tile: how often it came, mean and longest time until it came, mean length.
#[must_use]
pub fn tile(tiles: &[StoredTile]) -> Table {
    let mut table = Table::new(&[
        "workload",
        "cell",
        "arm",
        "layer",
        "cached",
        "z",
        "x",
        "y",
        "requests",
        "mean_us",
        "max_us",
        "tile_bytes",
    ]);
    table.optional.extend(["arm", "cached"].map(str::to_owned));
    tiles.iter().for_each(|own| table.push(row(own)));
    table
}

/// The slowest of them in the mean, and what is to be said of the others.
#[must_use]
pub fn slowest_tiles(mut tiles: Vec<StoredTile>) -> (Table, Option<String>) {
    tiles.sort_by(|one, other| other.mean_us.total_cmp(&one.mean_us));
    let more = tiles.len().saturating_sub(MOST);
    tiles.truncate(MOST);
    let said = format!(
        "The slowest in the mean; {} in all, which --format csv and --format json have.",
        counted(more + MOST, "tile")
    );
    (tile(&tiles), (more > 0).then_some(said))
}

fn row(own: &StoredTile) -> Vec<results::Value> {
    // Clients are a number, other levels are as they were written.
    let levels: Vec<String> = own
        .factors
        .iter()
        .filter(|(name, _)| *name != "workload")
        .map(|(name, level)| format!("{name} {level}"))
        .collect();
    vec![
        own.workload.as_str().into(),
        levels.join(", ").into(),
        own.arm.clone().into(),
        own.part.layer.as_str().into(),
        own.part.cached.map(|cached| if cached { "yes" } else { "no" }).into(),
        u64::from(own.z).into(),
        own.x.into(),
        own.y.into(),
        own.requests.into(),
        real(Some(own.mean_us)),
        real(Some(own.max_us)),
        real(Some(own.bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use record::MapPart;
    use results::Value;

    use super::*;

    #[test]
    fn people_see_the_slowest_and_how_many_more_there_are() {
        let stored = |x: u32| StoredTile {
            workload: "q".into(),
            factors: [("clients".to_owned(), "4".to_owned()), ("workload".to_owned(), "q".to_owned())].into(),
            arm: None,
            script: "t, z14".into(),
            part: MapPart { layer: "t".into(), zoom: Some(14), cached: None },
            z: 14,
            x,
            y: 6,
            requests: 2,
            mean_us: f64::from(x % 7),
            max_us: 9.0,
            bytes: 100.0,
        };
        let all: Vec<StoredTile> = (0..25).map(stored).collect();
        assert_eq!(tile(&all).rows.len(), 25);
        let (table, said) = slowest_tiles(all.clone());
        assert_eq!(
            (table.rows.len(), &table.rows[0][9], &table.rows[0][6]),
            (20, &Value::Real(6.0), &Value::Int(6))
        );
        assert_eq!(table.rows[0][1], "clients 4".into());
        assert!(said.unwrap().contains("25 tiles in all"));
        assert_eq!(slowest_tiles(all[..3].to_vec()).1, None);
    }
}
