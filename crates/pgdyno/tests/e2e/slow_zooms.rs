//! Maps with slow zooms, wrong reference systems, other ids and composed tiles, with real servers.

use crate::support::{Place, Server, in_one_line};

/// Paths in metres and in degrees, the same paths in degrees that are labelled as metres, and functions of each.
const DATA: &str = "
CREATE TABLE paths AS SELECT n AS path_id, n % 7 AS kind,
  ST_Transform(ST_SetSRID(ST_MakePoint(9 + (n % 60) / 90.0, 47 + (n / 60) / 90.0), 4326), 3857)::geometry(Point, 3857) AS geom
  FROM generate_series(0, 2999) AS n;
CREATE INDEX ON paths USING gist (geom);
CREATE TABLE lonlat AS SELECT path_id, ST_Transform(geom, 4326)::geometry(Point, 4326) AS geom FROM paths;
CREATE INDEX ON lonlat USING gist (geom);
CREATE TABLE mislabelled AS SELECT path_id, ST_SetSRID(geom, 3857)::geometry(Point, 3857) AS geom FROM lonlat;
CREATE INDEX ON mislabelled USING gist (geom);
CREATE TABLE bare AS SELECT * FROM paths;
CREATE FUNCTION slow_low(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT ST_AsMVT(t, 'paths') FROM (SELECT path_id, ST_AsMVTGeom(geom, ST_TileEnvelope(z, x, y)) AS geom
    FROM paths WHERE geom && ST_TileEnvelope(z, x, y)) AS t, pg_sleep(CASE WHEN z <= 6 THEN 0.9 ELSE 0 END) $$;
CREATE FUNCTION swapped(z integer, y integer, x integer) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT ST_AsMVT(t, 'paths') FROM (SELECT path_id, ST_AsMVTGeom(geom, ST_TileEnvelope(z, x, y)) AS geom
    FROM paths WHERE geom && ST_TileEnvelope(z, x, y)) AS t $$;
CREATE FUNCTION from_south(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT swapped(z, (1 << z) - 1 - y, x) $$;
CREATE FUNCTION composed(z integer, x integer, y integer) RETURNS bytea LANGUAGE plpgsql STABLE AS $$
DECLARE box geometry := ST_TileEnvelope(z, x, y); mvt bytea;
BEGIN
  SELECT ST_AsMVT(t, 'paths') INTO mvt FROM (SELECT path_id, ST_AsMVTGeom(geom, box) AS geom FROM paths WHERE geom && box) t;
  RETURN mvt || (SELECT ST_AsMVT(t, 'crossings') FROM (SELECT path_id, pg_sleep(0.004)::text, ST_AsMVTGeom(geom, box) AS geom
    FROM bare WHERE geom && box LIMIT 3) t);
END $$;
CREATE ROLE viewer LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO viewer;
";

fn prepared() -> (Place, Server) {
    (Place::new(), Server::start_with_map(DATA))
}

/// A short run of these layers, with more arguments.
fn tiles<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let short = ["tiles", "-d", url, "--warmup", "0.1", "--tiles", "10"];
    short.into_iter().chain(more.iter().copied()).collect()
}

/// Regression: of two zooms of 0.9 s, one had no request and the other no figure, and the slowest tile was a fast one.
#[test]
fn slow_zooms_are_named_with_what_is_known_of_them() {
    let (place, server) = prepared();
    let url = server.url();
    let options =
        ["slow_low()", "--pick-from", "paths", "-z", "4-12", "-T", "3", "--rounds", "1", "-c", "1", "-v"];
    let done = place.run(tiles(&url, &options)).expect(0);
    let slowest = done.stdout.split_once("\nSlowest tiles:\n").expect("the slowest").1;
    let first = slowest.lines().find(|line| line.contains('/')).expect("a tile");
    assert!(["4/", "5/", "6/"].iter().any(|zoom| first.starts_with(zoom)), "{}", done.stdout);
    let probed = "select count(*) from tile_probe p join script s on s.run_id = p.run_id and s.position = p.script \
                  where s.zoom <= 6 and p.mean_us > 850000";
    assert_eq!(place.sql(probed), "3");
    // Each has a mean, from one request on, or its probe.
    for zoom in ["z4", "z5", "z6"] {
        let line = done.stdout.lines().find(|line| line.starts_with(&format!("{zoom} ")));
        let line = line.expect(zoom);
        assert!(line.contains(" 9") || line.trim_end().ends_with("not"), "{}", done.stdout);
    }
    let missed =
        "select count(*) from script where zoom <= 6 and coalesce(json_extract(counts, '$.ok'), 0) = 0";
    let told = in_one_line(&done.stdout).contains("ended in the measured part; before the run");
    assert!(place.sql(missed) == "0" || told, "{}", done.stdout);
}

/// The check and the plans of slow zooms took minutes, without a word.
#[test]
fn the_check_and_the_plans_end_with_their_time_and_name_what_is_missing() {
    let (place, server) = prepared();
    let url = server.url();
    let options = [
        "slow_low()",
        "--pick-from",
        "paths",
        "-z",
        "4-9",
        "-T",
        "1",
        "--rounds",
        "1",
        "--check-time",
        "0.8",
    ];
    let done = place.run(tiles(&url, &options)).says(&[
        "          slow_low(), z9: ",
        "not checked within 0.8 s (measure.check_time, --check-time), or too large: slow_low(), z4",
    ]);
    done.says(&[
        " on average\n",
        "not explained within 0.8 s (measure.check_time, --check-time), or too large: slow_low(), z4",
    ]);
    for kind in ["remark", "no plans"] {
        let named =
            format!("select count(*) > 0 from event where kind = '{kind}' and detail like '%z4 to z%'");
        assert_eq!(place.sql(&named), "1", "{kind}");
    }
    let page = place.run(["report", "-o", "-"]).expect(0).stdout;
    assert!(
        page.contains("not checked within 0.8 s") && page.contains("not explained within 0.8 s"),
        "{page}"
    );
    // The server has no statement left that goes on.
    let going_on = "select count(*) from pg_stat_activity where query like '%slow_low%' and pid <> pg_backend_pid() and state = 'active'";
    assert_eq!(server.psql(going_on), "0");
}

#[test]
fn a_function_over_a_table_without_an_index_is_remarked() {
    let (place, server) = prepared();
    let url = server.url();
    let options = ["composed()", "--pick-from", "paths", "-z", "12", "-T", "1", "--rounds", "1"];
    let done = place.run(tiles(&url, &options)).expect(0);
    done.says(&["bare has no spatial index on \"geom\": composed() reads it; try CREATE INDEX ON"]);
}

#[test]
fn the_layers_of_a_function_are_told_apart() {
    let (place, server) = prepared();
    let url = server.url();
    let options = ["composed()", "--pick-from", "paths", "-z", "12", "-T", "1", "--rounds", "1", "-v"];
    let done = place.run(tiles(&url, &options)).expect(0);
    assert!(in_one_line(&done.stdout).contains("tiles: layer crossings takes "), "{}", done.stdout);
    let sources = "select group_concat(distinct source) || ' ' || replace(group_concat(distinct name), ',', ' ') from statement_layer \
                   where name <> 'outside of layers'";
    assert_eq!(place.sql(sources), "nested paths crossings");
    // Who may not load auto_explain measures each layer alone.
    let as_viewer = url.replace("postgres@", "viewer@").replace("user=postgres", "user=viewer");
    assert_ne!(as_viewer, url);
    let place = Place::new();
    let done = place.run(tiles(&as_viewer, &options)).expect(0);
    assert_eq!(place.sql(sources), "alone paths crossings");
    let most = "select name from statement_layer group by name order by sum(ms) desc limit 1";
    assert_eq!(place.sql(most), "crossings", "{}", done.stdout);
    // The layers of a query are in its plan.
    place.write(
        "union.sql",
        "SELECT string_agg(mvt, '') FROM (SELECT ST_AsMVT(a, 'a') AS mvt FROM (SELECT ST_AsMVTGeom(geom, :envelope) AS geom \
         FROM paths WHERE geom && :envelope) a UNION ALL SELECT ST_AsMVT(b, 'b') FROM (SELECT ST_AsMVTGeom(geom, :envelope) AS geom \
         FROM bare WHERE geom && :envelope) b) AS layers",
    );
    let place_of_union =
        place.run(tiles(&url, &["union.sql", "-z", "12", "-T", "1", "--rounds", "1", "-v"])).expect(0);
    assert!(
        in_one_line(&place_of_union.stdout).contains("tiles: layer b takes "),
        "{}",
        place_of_union.stdout
    );
}

/// Regression: "all probed tiles are empty" was all that was said of any of these.
#[test]
fn the_cause_of_empty_tiles_is_named() {
    let (place, server) = prepared();
    let url = server.url();
    let query = |table: &str, envelope: &str| {
        format!(
            "SELECT ST_AsMVT(t, 'a') FROM (SELECT ST_AsMVTGeom(geom, {envelope}) AS geom FROM {table} WHERE geom && {envelope}) t"
        )
    };
    place.write("degrees.sql", query("lonlat", ":envelope"));
    place.write("metres.sql", query("paths", "ST_Transform(:envelope, 4326)"));
    let empty = |layer: &[&str]| {
        let more = ["-z", "10-12", "-T", "1", "--rounds", "1"];
        place.run(tiles(&url, &[layer, &more].concat()))
    };
    let cases: [(&[&str], &str); 5] = [
        (&["degrees.sql"], "is in SRID 4326, and the envelope in 3857: && of two SRIDs finds nothing"),
        (&["metres.sql"], "is in SRID 3857, and the envelope in 4326: && of two SRIDs finds nothing"),
        (&["swapped()", "--pick-from", "paths"], "rows and columns are swapped"),
        (&["from_south()", "--pick-from", "paths"], "y is flipped"),
        (&["mislabelled"], "all features of mislabelled lie within 49 m of 0° N 0° E"),
    ];
    for (layer, wanted) in cases {
        let done = empty(layer);
        assert!(done.stderr.contains(wanted), "{layer:?}: {}", done.stderr);
    }
}

#[test]
fn other_ids_and_names_are_reported_and_features_are_paired_by_them() {
    let (place, server) = prepared();
    let url = server.url();
    let query = |layer: &str, filter: &str, kind: &str| {
        format!(
            "SELECT ST_AsMVT(t, '{layer}') FROM (SELECT path_id, {kind} AS kind, \
             ST_AsMVTGeom(ST_SnapToGrid(geom, 4000), :envelope) AS geom FROM paths WHERE geom && :envelope AND {filter}) t"
        )
    };
    place.write("old.sql", query("paths", "path_id % 5 <> 0", "kind"));
    place.write("new.sql", query("ways", "path_id % 4 <> 0", "CASE WHEN path_id = 1 THEN 99 ELSE kind END"));
    let options =
        ["old.sql", "--against", "new.sql", "-z", "6", "-T", "1", "--rounds", "2", "--slices", "false"];
    let done = place.run(tiles(&url, &options));
    // Of 3,000 paths: those of one arm by their numbers, and one with another kind.
    done.says(&[
        "450 features only here",
        "600 only in old.sql",
        "1 with other attributes",
        "layer ways is called paths in old.sql",
    ]);
}
