//! Map tiles with real servers: layers of all kinds, ways to get tiles, and errors before measurement.

use crate::support::{Finished, Place, in_one_line};

/// Polygons and points around one place, with valid and invalid tile functions.
const DATA: &str = "
CREATE TABLE IF NOT EXISTS areas (id integer PRIMARY KEY, name text, geom geometry(Polygon, 3857));
TRUNCATE areas;
INSERT INTO areas SELECT n, 'area ' || n, ST_Buffer(ST_SetSRID(ST_MakePoint(1600000 + n % 100 * 200, 4280000 + n / 100 * 200), 3857), 60)
  FROM generate_series(0, 4999) AS n;
CREATE INDEX IF NOT EXISTS areas_geom ON areas USING gist (geom);
DROP TABLE IF EXISTS \"My Points\";
CREATE TABLE \"My Points\" AS SELECT id, name, ST_Transform(ST_Centroid(geom), 4326)::geometry(Point, 4326) AS \"Geom\" FROM areas;
CREATE INDEX ON \"My Points\" USING gist (\"Geom\");
DROP TABLE IF EXISTS mixed;
CREATE TABLE mixed AS SELECT id, geom::geometry(Geometry, 3857) AS geom FROM areas
  UNION ALL SELECT id, ST_Centroid(geom) FROM areas;
CREATE OR REPLACE FUNCTION area_tiles(z integer, x integer, y integer, query_params json) RETURNS bytea AS $$
DECLARE tile bytea;
BEGIN
  SELECT ST_AsMVT(t, 'areas', 4096, 'geom') INTO tile FROM (
    SELECT ST_AsMVTGeom(geom, ST_TileEnvelope(z, x, y)) AS geom FROM areas WHERE geom && ST_TileEnvelope(z, x, y)) t;
  RETURN tile;
END $$ LANGUAGE plpgsql STABLE;
CREATE OR REPLACE FUNCTION no_tiles(z integer, x integer, y integer) RETURNS text AS 'SELECT ''a text''' LANGUAGE sql;
ANALYZE areas, \"My Points\", mixed;
";

const ALL: &str = "SELECT ST_AsMVT(t, 'areas', 4096, 'geom') FROM (SELECT id, ST_AsMVTGeom(geom, :envelope) AS geom \
                   FROM areas WHERE geom && :envelope) t;\n";
const HALF: &str = "SELECT ST_AsMVT(t, 'areas', 4096, 'geom') FROM (SELECT id, ST_AsMVTGeom(geom, ST_TileEnvelope(:z, :x, :y)) AS geom \
                    FROM areas WHERE geom && :envelope AND id % 2 = 0) t\n";

fn place() -> Place {
    let place = Place::with_private_postgis("maps");
    for (name, text) in [("data.sql", DATA), ("all.sql", ALL), ("half.sql", HALF)] {
        place.write(name, text);
    }
    place
}

fn experiment(place: &Place, target: &str, tiles: &str, more: &str) -> Finished {
    let text = format!(
        "question = \"?\"\n[target]\nmanaged = {{ name = \"maps\", extensions = [\"postgis\"], redis = true }}\n{target}\
         [prepare]\nsql = \"data.sql\"\n[workload.map]\ntiles = {{ {tiles}, tiles_per_zoom = 20 }}\n{more}\
         [measure]\nwarmup = \"50ms\"\nduration = \"300ms\"\nrounds = 2\nslices = false\n"
    );
    let file = place.write("maps.toml", &text);
    place.run(["run", file.to_str().unwrap(), "--again", "--report", "maps.html"])
}

fn arms(factor: &str, levels: &str) -> String {
    let base = levels.split(',').next().unwrap_or_default().trim_start_matches('[');
    format!(
        "[factors]\nclients = 2\n\"map.{factor}\" = {levels}\n[compare]\nfactor = \"map.{factor}\"\nbase = {base}\n"
    )
}

#[test]
fn layers_are_tables_functions_and_queries() {
    let place = place();
    // Another projection, capitals and blanks; several separate layers.
    let layers = "layers = ['\"My Points\"', 'area_tiles()', 'all.sql'], zooms = { 14 = 1, 15 = 3 }, pick_from = 'areas'";
    let done = experiment(&place, "", layers, "");
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(done.stderr.contains("is in SRID 4326: each geometry is transformed"), "{}", done.stderr);
    let parts = "select group_concat(part, ';') from (select distinct layer || ' ' || zoom as part from script where layer is not null \
                 order by part)";
    let parts = place.sql(parts);
    for part in ["My Points", "area_tiles() 14", "area_tiles() 15", "all.sql 14", "all.sql 15"] {
        assert!(parts.contains(part), "{parts}");
    }
    // The mix of zooms is kept, no tile is empty, and their content is recorded.
    let share = "select sum(json_extract(counts, '$.ok')) filter (where zoom = 15) * 1.0 / sum(json_extract(counts, '$.ok')) between 0.6 and 0.9 \
                 from script where layer is not null";
    assert_eq!(place.sql(share), "1");
    let tiles = "select min(requests) > 0 and min(bytes) > 0 and count(distinct z) = 2 from v_tile";
    assert_eq!(place.sql(tiles), "1");
    let sample = "select min(features_out) > 0 and sum(features_in is null) > 0 and sum(features_in >= features_out) > 0 from tile_sample";
    assert_eq!(place.sql(sample), "1");

    // All in one tile, by users who pan and zoom, some of them where nothing is.
    let sessions = "layers = ['areas', 'all.sql'], together = true, zooms = [13, 16], picker = { sessions = { views = 4, links = 3, count = 5 } }, \
                    may_be_empty = true";
    let done = experiment(&place, "", sessions, "");
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let newest = "(select max(experiment_id) from v_experiment)";
    let views = format!(
        "select min(queries * 1.0 / ok) > 1 from (select (select value from run_count where run_id = r.run_id and name = 'queries') as queries, ok \
         from v_run r where experiment_id = {newest} and clients > 0)"
    );
    assert_eq!(place.sql(&views), "1", "a view asks for several tiles");
    let failed = format!("select sum(failed) from v_run where experiment_id = {newest}");
    assert_eq!(place.sql(&failed), "0");

    // The study's random boxes.
    let done = experiment(&place, "", "table = 'areas', variant = 'historic'", "");
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(done.stderr.contains("random boxes of areas"), "{}", done.stderr);
    place.run(["target", "destroy", "maps"]).expect(0);
}

#[test]
fn two_queries_are_compared_as_maps_before_their_speeds() {
    let place = place();
    let done = experiment(
        &place,
        "",
        "query = 'all.sql', zooms = [14, 15]",
        &arms("query", "['all.sql', 'half.sql']"),
    );
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(done.stderr.contains("half.sql shows another map than all.sql"), "{}", done.stderr);
    assert!(done.stderr.contains("features only in all.sql"), "{}", done.stderr);
    let kept = "select count(*) > 0 from artifact where name like 'plan/all.sql/1_/%'";
    assert_eq!(place.sql(kept), "1", "plans of the slowest tiles");
    place.run(["target", "destroy", "maps"]).expect(0);
}

#[test]
fn arms_by_search_path_ask_each_for_their_own_table() {
    let place = place();
    let schemas = "DROP SCHEMA IF EXISTS whole, half CASCADE; CREATE SCHEMA whole; CREATE SCHEMA half;
        CREATE TABLE whole.parts AS SELECT * FROM areas; CREATE TABLE half.parts AS SELECT * FROM areas WHERE id % 2 = 0;
        CREATE INDEX ON whole.parts USING gist (geom); CREATE INDEX ON half.parts USING gist (geom);
        ANALYZE whole.parts, half.parts;\n";
    place.write("data.sql", format!("{DATA}{schemas}"));
    let arms = "[settings.whole]\nsearch_path = \"whole, public\"\n[settings.half]\nsearch_path = \"half, public\"\n\
                [compare]\nfactor = \"settings\"\nbase = \"whole\"\n";
    for via in ["", ", via = 'redis', cache_warm = true"] {
        let tiles = format!("table = 'parts', zooms = [14, 15]{via}");
        let done = experiment(&place, "", &tiles, arms);
        assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
        assert!(done.stderr.contains("half shows another map than whole"), "{}", done.stderr);
        // The tiles in the runs differ too: from the database, and from the cache.
        let newest = "(select max(experiment_id) from v_experiment)";
        let of = |arm: &str| {
            format!("(select avg(bytes) from v_tile where experiment_id = {newest} and arm = '{arm}')")
        };
        assert_eq!(place.sql(&format!("select {} < 0.8 * {}", of("half"), of("whole"))), "1", "{via}");
    }
    place.run(["target", "destroy", "maps"]).expect(0);
}

#[test]
fn the_same_list_goes_by_several_ways() {
    let place = place();
    let ways = arms("via", "['sql', 'tipg', 'redis']");
    let done = experiment(&place, "tile_servers = ['tipg']\n", "table = 'areas', zooms = [14, 15]", &ways);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql("select sum(failed) from v_run"), "0");
    // Cached tiles do not count as the database's speed.
    let cached = "select group_concat(cached, ' ') from (select distinct cached from v_tile where arm = 'redis' order by cached)";
    assert_eq!(place.sql(cached), "0 1");
    let apart = "select (select avg(mean_us) from v_tile where cached = 1) < (select avg(mean_us) from v_tile where cached = 0)";
    assert_eq!(place.sql(apart), "1");
    let hits = "select min(value) > 0 and max(value) < 100 from run_figure where name = 'hit_pct'";
    assert_eq!(place.sql(hits), "1");

    // An arm that had filled its cache in the warm-up was reported as 126 times as fast as the database.
    let warmups = "select group_concat(warmup_s > 0, ' ') from (select arm, max(warmup_s) as warmup_s from run where arm is not null group by arm order by arm)";
    assert_eq!(place.sql(warmups), "0 1 1", "redis, sql, tipg");
    let said = in_one_line(&done.stdout);
    assert!(
        said.contains("of its tiles came from the cache, and do not show the speed of the database"),
        "{said}"
    );

    let share = arms("cache_hit_pct", "[25, 75]");
    let done = experiment(&place, "", "table = 'areas', zooms = [14, 15], via = 'redis'", &share);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let near = "select max(abs(value - arm)) < 12 from run_figure join v_run using (run_id) \
                where name = 'hit_pct' and experiment_id = (select max(experiment_id) from v_experiment)";
    assert_eq!(place.sql(near), "1");
    place.run(["target", "destroy", "maps"]).expect(0);
}

#[test]
fn what_is_no_tile_is_told_before_anything_is_timed() {
    let place = place();
    place.write("no-places.sql", "SELECT 1\n");
    place.write("text.sql", "SELECT 'a text' AS words, :z\n");
    place.write("rows.sql", "SELECT ST_AsMVT(t) FROM areas t WHERE geom && :envelope GROUP BY id\n");
    place.write("off.txt", "14/8851/6439\n14/99999/1\n");
    place.write(
        "access.log",
        "127.0.0.1 - - [23/Nov/2026:10:00:00 +0000] \"GET /a/14/99999/1.pbf HTTP/1.1\" 200 9\n",
    );
    let refused = [
        ("query = 'no-places.sql'", "no-places.sql: does not depend on the tile"),
        ("query = 'text.sql'", "the first column of text.sql, words, is text, and a tile is bytea"),
        ("query = 'rows.sql'", "rows.sql returned"),
        ("function = 'no_tiles'", "returns text, and a tile is bytea"),
        ("function = 'area_tile'", "did you mean area_tiles()?"),
        ("function = 'area_tiles', picker = 'uniform'", "does not say where its features are"),
        (
            "table = 'areas', picker = { trace = 'off.txt' }",
            "off.txt: line 2: tile 14/99999/1 is outside the world",
        ),
        ("table = 'areas', picker = { trace = 'access.log' }", "access.log: names no tile"),
        ("table = 'areas', via = 'tipg'", "goes through tipg, and the target has none"),
        ("table = 'areas', via = { http = 'http://127.0.0.1:1/{z}/{x}/{y}' }", "127.0.0.1:1"),
        ("table = 'areas', cache_ttl_s = 9", "needs a cache"),
    ];
    for (tiles, wanted) in refused {
        let done = experiment(&place, "", tiles, "");
        assert!(
            done.status.code().is_some_and(|code| code >= 64),
            "{tiles}: {:?}\n{}",
            done.status,
            done.stderr
        );
        assert!(done.stderr.contains(wanted), "{tiles}: {}", done.stderr);
    }
    // Mixed geometries are not an error, but are reported.
    let done = experiment(&place, "", "table = 'mixed', zooms = [14, 14]", "");
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(done.stderr.contains("mixed mixes geometries"), "{}", done.stderr);
    assert!(done.stderr.contains("mixed has no spatial index"), "{}", done.stderr);
    place.run(["target", "destroy", "maps"]).expect(0);
}
