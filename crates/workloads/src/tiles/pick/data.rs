//! Picks tiles of random features.

use protocol::postgres::sql::{Sql, long};

use super::super::layer::{FeatureTable, Style, TileLayer};
use super::super::options::TilesOptions;
use super::no_feature_table;
use crate::error;
use spec::Error;
use tile::Tile;

/// Features are selected by a hash below a threshold: this many times as many as needed, so that there are
/// enough.
const SPARE: f64 = 4.0;
/// Smaller tables are sorted as a whole.
const LARGE: f64 = 100_000.0;

/// Metres of the map.
type Point = (f64, f64);

/// The tile of a random feature that the tile would show.
pub(super) fn by_data(
    sql: &mut dyn Sql,
    layer: &TileLayer,
    options: &TilesOptions,
    style: Style,
    seed: u64,
) -> Result<Vec<Vec<Tile>>, Error> {
    if layer.feature_tables.is_empty() {
        return Err(no_feature_table(layer));
    }
    let zooms = options.zooms.weighted();
    let mut lists: Vec<Vec<Tile>> = vec![Vec::new(); zooms.len()];
    let wanted = options.tiles_per_zoom as usize;
    let mut any: Vec<Point> = Vec::new();
    for (number, feature_table) in layer.feature_tables.iter().enumerate() {
        // Several tables share the number of tiles; the first ones get the remainder.
        let share =
            wanted / layer.feature_tables.len() + usize::from(number < wanted % layer.feature_tables.len());
        let of_zoom: Vec<String> =
            zooms.iter().map(|(z, _)| layer.size_filter(feature_table, *z, style)).collect();
        let mut filters = of_zoom.clone();
        filters.sort();
        filters.dedup();
        let features =
            Features { feature_table, within: &within(feature_table, options.bounds), limit: share, seed };
        let points = features.points(sql, &filters)?;
        for ((list, (z, _)), filter) in lists.iter_mut().zip(&zooms).zip(&of_zoom) {
            let points =
                filters.iter().position(|known| known == filter).map_or(&[][..], |at| &points[at][..]);
            list.extend(points.iter().map(|(x, y)| Tile::at(*z, *x, *y)));
        }
        any.extend(points.into_iter().flatten());
    }
    // A zoom that shows no feature is requested where other zooms show some.
    for (list, (z, _)) in lists.iter_mut().zip(&zooms).filter(|(list, _)| list.is_empty()) {
        list.extend(any.iter().take(wanted).map(|(x, y)| Tile::at(*z, *x, *y)));
    }
    Ok(lists)
}

/// Features within bounds, if given.
pub(super) fn within(feature_table: &FeatureTable, bounds: Option<[f64; 4]>) -> String {
    bounds.map_or_else(String::new, |[west, south, east, north]| {
        let FeatureTable { geometry, srid, .. } = feature_table;
        format!(" AND t.{geometry} && ST_Transform(ST_MakeEnvelope({west}, {south}, {east}, {north}, 4326), {srid})")
    })
}

/// The first features of a table, in the order of a hash of their identity and the seed, which unlike
/// `random()` always gives the same choice.
pub(super) struct Features<'g> {
    pub(super) feature_table: &'g FeatureTable,
    /// From [`within`].
    pub(super) within: &'g str,
    /// Number of features for each filter.
    pub(super) limit: usize,
    pub(super) seed: u64,
}

/// The features among which a filter is evaluated: those with a hash below a threshold, or all.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Among {
    filter: usize,
    /// Share of all hashes that are below, 0..=1.
    share: f64,
}

impl Among {
    /// `None` for all.
    fn below(self) -> Option<i64> {
        (self.share < 1.0).then_some((i64::MIN as f64 + self.share * (u64::MAX as f64)) as i64)
    }

    /// After `found` of `limit`: enough for the rest, with some to spare; after none, all.
    fn more(self, found: usize, limit: usize) -> Self {
        let times = SPARE * limit as f64 / found as f64;
        Self { share: self.share * times, ..self }
    }
}

impl Features<'_> {
    /// For each of these filters, points on the first features that pass, in metres of the map; fewer than
    /// requested if there are no more.
    ///
    /// The table is read once for all filters. Of a large one only features with a small hash are sorted: of
    /// the others not even the geometry is read. Filters with too few features are evaluated once more, among
    /// as many as necessary.
    pub(super) fn points(&self, sql: &mut dyn Sql, filters: &[String]) -> Result<Vec<Vec<Point>>, Error> {
        let rows = self.rows(sql)?;
        let share = if rows > LARGE { SPARE * self.limit as f64 / rows } else { 1.0 };
        let mut points: Vec<Vec<Option<Point>>> = vec![Vec::new(); filters.len()];
        let mut left: Vec<Among> = (0..filters.len()).map(|filter| Among { filter, share }).collect();
        while !left.is_empty() && self.limit > 0 {
            for among in &left {
                points[among.filter].clear();
            }
            for (filter, point) in self.look(sql, filters, &left)? {
                points[filter].push(point);
            }
            let found = |among: &Among| points[among.filter].len();
            left.retain(|among| among.below().is_some() && found(among) < self.limit);
            left = left.iter().map(|among| among.more(found(among), self.limit)).collect();
        }
        // A feature without a point counts as found.
        Ok(points.into_iter().map(|points| points.into_iter().flatten().collect()).collect())
    }

    /// Rows of the table; counted for one that was never analyzed, and for a view.
    fn rows(&self, sql: &mut dyn Sql) -> Result<f64, Error> {
        let FeatureTable { table, shown, rows, .. } = self.feature_table;
        if *rows > 0.0 {
            return Ok(*rows);
        }
        let counted = long(sql).scalar(&format!("SELECT count(*) FROM {table}"));
        let counted = counted.map_err(error::sql_error(format!("counting the rows of {shown}")))?;
        Ok(counted.and_then(|rows| rows.parse().ok()).unwrap_or(0.0))
    }

    /// One query of the table: points, as far as features have any, with the indexes of their filters.
    fn look(
        &self,
        sql: &mut dyn Sql,
        filters: &[String],
        among: &[Among],
    ) -> Result<Vec<(usize, Option<Point>)>, Error> {
        let rows = long(sql).rows(&self.query(filters, among));
        let rows =
            rows.map_err(error::sql_error(format!("picking tiles of {}", self.feature_table.shown)))?;
        let number = |value: &Option<String>| value.as_ref().and_then(|text| text.parse::<f64>().ok());
        let point = |row: &Vec<Option<String>>| {
            let filter = row.first()?.as_ref()?.parse().ok().filter(|filter| *filter < filters.len())?;
            Some((filter, number(row.get(1)?).zip(number(row.get(2)?))))
        };
        Ok(rows.iter().filter_map(point).collect())
    }

    /// Evaluates the filters of a feature once; then each takes its first ones by hash.
    fn query(&self, filters: &[String], among: &[Among]) -> String {
        let FeatureTable { table, geometry, identity, .. } = self.feature_table;
        // The seed is unsigned, SQL's bigint is signed: the same 64 bits.
        let hash = format!("hashint8extended({identity}, {})", self.seed as i64);
        let small = |hash: &str, among: &Among| {
            among.below().map_or_else(String::new, |below| format!(" AND {hash} < {below}"))
        };
        let kept = |among: &Among| format!("true{}", filters[among.filter]);
        let columns: String =
            among.iter().map(|of| format!(", ({}) AS kept_{}", kept(of), of.filter)).collect();
        let any: Vec<String> = among.iter().map(|of| format!("({}{})", kept(of), small(&hash, of))).collect();
        let firsts = among.iter().map(|of| {
            let (at, small) = (of.filter, small("h", of));
            format!(
                "(SELECT {at} AS k, g, h FROM features WHERE kept_{at} AND NOT ST_IsEmpty(g){small} \
                 ORDER BY h, ST_XMin(g), ST_YMin(g) LIMIT {})",
                self.limit
            )
        });
        // The planner does not know that few hashes are small, and would compile for longer than the scan
        // takes.
        format!(
            "SET LOCAL jit = off; WITH features AS (\
             SELECT t.{geometry} AS g, {hash} AS h{columns} FROM {table} AS t \
             WHERE t.{geometry} IS NOT NULL{} AND ({})) \
             SELECT k, ST_X(p), ST_Y(p) FROM (\
             SELECT k, {} AS p, h, ST_XMin(g) AS x, ST_YMin(g) AS y FROM ({}) AS f) AS points ORDER BY k, h, x, y",
            self.within,
            any.join(" OR "),
            self.feature_table.on_the_map("ST_PointOnSurface(g)"),
            firsts.collect::<Vec<_>>().join(" UNION ALL ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    /// A table with this many rows; its first filter passes enough of a few and its second does not.
    fn looked(rows: f64, answers: &[(&str, &[&[&str]])]) -> (Vec<Vec<Point>>, Vec<String>) {
        let feature_table = FeatureTable {
            shown: "areas".to_owned(),
            table: "\"public\".\"areas\"".to_owned(),
            identity: "t.osm_id::bigint".to_owned(),
            geometry: "\"way\"".to_owned(),
            srid: 3857,
            rows,
            ..FeatureTable::default()
        };
        let mut sql = FakeSql::new();
        answers.iter().for_each(|(part, rows)| sql.answer(part, rows));
        let features = Features { feature_table: &feature_table, within: "", limit: 2, seed: 1 };
        let filters = [" AND t.way_area >= 1", " AND t.way_area >= 9"].map(str::to_owned);
        (features.points(&mut sql, &filters).unwrap(), sql.asked)
    }

    #[test]
    fn all_filters_are_looked_for_in_one_scan_and_those_that_keep_few_in_one_more() {
        let (one, other, third) = (["0", "1", "1"], ["0", "NULL", "NULL"], ["1", "3", "3"]);
        // Both queries name the second filter; only the first query the first.
        let first: &[&[&str]] = &[&one, &other, &third];
        let second: &[&[&str]] = &[&third, &["1", "4", "4"]];
        let (points, asked) = looked(1e6, &[("kept_0", first), ("kept_1", second)]);
        assert_eq!(points, [vec![(1.0, 1.0)], vec![(3.0, 3.0), (4.0, 4.0)]]);
        assert_eq!(asked.len(), 2);
        // 8 of a million, then 64: one was found of two.
        let thresholds = [8e-6, 64e-6].map(|share| (i64::MIN as f64 + share * (u64::MAX as f64)) as i64);
        for (asked, below) in asked.iter().zip(thresholds) {
            assert!(
                asked.contains(&format!(
                    "(true AND t.way_area >= 9 AND hashint8extended(t.osm_id::bigint, 1) < {below})"
                )),
                "{asked}"
            );
        }
    }

    #[test]
    fn of_few_rows_all_are_looked_at_once() {
        let (points, asked) = looked(99.0, &[("kept_0", &[&["1", "3", "3"]])]);
        assert_eq!((points, asked.len()), (vec![vec![], vec![(3.0, 3.0)]], 1));
        assert!(!asked[0].contains(" < "), "{}", asked[0]);
        // A view has no estimate of rows.
        let (_, asked) = looked(0.0, &[("count(*)", &[&["1000000"]])]);
        assert!(asked[1].contains(" < -") && !asked[2].contains(" < "), "{asked:?}");
        assert_eq!(asked.len(), 3);
    }
}
