//! A view for each arm and zoom: the tiles that a map shows together, with a style for QGIS.

use std::collections::{BTreeMap, BTreeSet};

use results::StoredTile;
use rusqlite::{Connection, params};

use super::style::Style;
use super::{Bounds, geometry};
use crate::heat::HeatScale;

/// Tiles that answer one question at one zoom: their colours mean the same times in all arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Question<'t> {
    zoom: u8,
    workload: &'t str,
    factors: &'t BTreeMap<String, String>,
    /// `None` where each arm makes its one layer in its own way.
    layer: Option<&'t str>,
    cached: Option<bool>,
}

/// The tiles of a question that an arm was asked for.
struct View<'t> {
    of: Question<'t>,
    arm: Option<&'t str>,
    name: String,
    tiles: Vec<&'t StoredTile>,
}

/// Adds all views with their styles, and returns their number. `by_layer` lists the workloads, and
/// whether their layers are separate.
pub(super) fn add(
    connection: &Connection,
    tiles: &[StoredTile],
    by_layer: &BTreeMap<&str, bool>,
    base: Option<&str>,
) -> rusqlite::Result<usize> {
    let mut questions: BTreeMap<Question<'_>, BTreeMap<Option<&str>, Vec<&StoredTile>>> = BTreeMap::new();
    for tile in tiles {
        let arms = questions.entry(question(tile, by_layer)).or_default();
        arms.entry(tile.of.arm.as_deref()).or_default().push(tile);
    }
    let scales: BTreeMap<Question<'_>, Option<HeatScale>> = questions
        .iter()
        .map(|(of, arms)| (*of, HeatScale::over(arms.values().flatten().map(|tile| tile.figures.mean_us))))
        .collect();
    let views = named(questions);
    for view in &views {
        view.create(connection)?;
        if let Some(scale) = scales[&view.of] {
            view.add_style(connection, &Style::of_times(scale), true)?;
        }
        if view.arm.is_some() && base.is_some() && view.arm != base {
            view.add_style(connection, &Style::of_changes(), false)?;
        }
    }
    Ok(views.len())
}

fn question<'t>(tile: &'t StoredTile, by_layer: &BTreeMap<&str, bool>) -> Question<'t> {
    let of = &*tile.of;
    let is_by_layer = by_layer.get(of.workload.as_str()).copied().unwrap_or(true);
    Question {
        zoom: tile.figures.z,
        workload: &of.workload,
        factors: &of.factors,
        layer: is_by_layer.then_some(&*of.layer),
        cached: of.cached,
    }
}

/// Views with names that hold only what distinguishes them, such as `z14 gis`.
fn named<'t>(
    questions: BTreeMap<Question<'t>, BTreeMap<Option<&'t str>, Vec<&'t StoredTile>>>,
) -> Vec<View<'t>> {
    let several = |values: BTreeSet<String>| values.len() > 1;
    let varies = |of: &dyn Fn(&Question<'t>) -> String| several(questions.keys().map(of).collect());
    let workloads = varies(&|of| of.workload.to_owned());
    let factors = varies(&|of| format!("{:?}", of.factors));
    let layers = varies(&|of| format!("{:?}", of.layer));
    let mut taken = BTreeSet::new();
    let mut views = Vec::new();
    for (of, arms) in questions {
        for (arm, tiles) in arms {
            let parts = [
                workloads.then(|| of.workload.to_owned()),
                factors.then(|| super::factors(of.factors)),
                of.layer.filter(|_| layers).map(str::to_owned),
                of.cached.map(|hit| if hit { "from the cache" } else { "from the database" }.to_owned()),
                arm.map(str::to_owned),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
            let name = free(format!("z{} {}", of.zoom, parts.join(", ")).trim_end(), &mut taken);
            views.push(View { of, arm, name, tiles });
        }
    }
    views
}

/// A name that no other view has. SQLite does not distinguish small letters and capitals.
fn free(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wanted} ({number})"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(|name| taken.insert(name.to_lowercase())).expect("numbers do not end")
}

impl View<'_> {
    fn create(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Question { zoom, workload, factors, layer, cached } = self.of;
        let texts = [
            ("workload", Some(workload)),
            ("factors", Some(&*super::factors(factors))),
            ("arm", self.arm),
            ("layer", layer),
        ]
        .map(|(column, value)| match (column, value) {
            // All layers of the arm.
            ("layer", None) => String::new(),
            (_, None) => format!(" AND {column} IS NULL"),
            (_, Some(value)) => format!(" AND {column} = {}", literal(value)),
        });
        let cached = cached.map_or_else(|| "IS NULL".to_owned(), |hit| format!("= {}", u8::from(hit)));
        // GDAL takes OGC_FID for a view's key.
        connection.execute_batch(&format!(
            "CREATE VIEW {} AS SELECT fid AS OGC_FID, geom, workload, factors, arm, layer, zoom, x, y, cached, \
             requests, mean_ms, max_ms, bytes, base_mean_ms, change_pct FROM tiles \
             WHERE zoom = {zoom}{} AND cached {cached}",
            quoted(&self.name),
            texts.concat(),
        ))?;
        let Bounds([west, south, east, north]) = Bounds::of(self.tiles.iter().copied());
        let arm = self.arm.map(|arm| format!(" of {arm}")).unwrap_or_default();
        connection.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier, description, min_x, min_y, max_x, max_y, srs_id)
             VALUES (?1, 'features', ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![self.name, format!("Tiles of zoom {zoom}{arm}"), west, south, east, north, geometry::SRS],
        )?;
        connection.execute(
            "INSERT INTO gpkg_geometry_columns VALUES (?1, 'geom', 'POLYGON', ?2, 0, 0)",
            params![self.name, geometry::SRS],
        )?;
        Ok(())
    }

    /// QGIS applies the default style when it opens the view, and lists the others.
    fn add_style(&self, connection: &Connection, style: &Style, is_default: bool) -> rusqlite::Result<()> {
        connection.execute(
            "INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, styleName,
                 styleQML, styleSLD, useAsDefault, description, owner)
             VALUES ('', '', ?1, 'geom', ?2, ?3, '', ?4, ?5, '')",
            params![self.name, style.name, style.qml(), is_default, style.description],
        )?;
        Ok(())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::tests::stored;

    #[test]
    fn names_hold_what_distinguishes_views() {
        let tiles = [
            stored("old", "roads", (9, 1, 2), 1.0),
            stored("new", "roads", (9, 1, 2), 1.0),
            stored("NEW", "roads", (9, 1, 2), 1.0),
            stored("new", "roads", (10, 1, 2), 1.0),
        ];
        let names = |tiles: &[StoredTile], by_layer| -> Vec<String> {
            let by_layer = BTreeMap::from([("map", by_layer)]);
            let mut questions: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
            for tile in tiles {
                let arms = questions.entry(question(tile, &by_layer)).or_default();
                arms.entry(tile.of.arm.as_deref()).or_default().push(tile);
            }
            named(questions).into_iter().map(|view| view.name).collect()
        };
        assert_eq!(names(&tiles, true), ["z9 NEW", "z9 new (2)", "z9 old", "z10 new"]);
        let layers = [stored("", "roads", (9, 1, 2), 1.0), stored("", "water", (9, 1, 2), 1.0)];
        assert_eq!(names(&layers, true), ["z9 roads", "z9 water"]);
        assert_eq!(names(&layers[..1], true), ["z9"]);
        assert_eq!(names(&layers, false), ["z9"]);
    }
}
