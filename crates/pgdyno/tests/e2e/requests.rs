//! `pgdyno tiles` with what users bring: their tables, published lists of requests, queries of configurations.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Place, Server};

/// 900 parcels in a degree, with a long text, a second geometry and no trace of OpenStreetMap; the same in degrees.
const DATA: &str = "
CREATE TABLE parcels AS SELECT n AS parcel, 'owner number ' || n AS owner, repeat(md5(n::text), 8) AS deed, n % 3 = 0 AS built,
  ST_Expand(p, 200)::geometry(Polygon, 3857) AS shape, p::geometry(Point, 3857) AS sign_at
  FROM (SELECT n, ST_Transform(ST_SetSRID(ST_MakePoint(10 + (n % 30) / 30.0, 47 + (n / 30) / 40.0), 4326), 3857) AS p
        FROM generate_series(0, 899) AS n) AS points;
CREATE INDEX ON parcels USING gist (shape);
CREATE TABLE degrees AS SELECT parcel, owner, ST_Transform(shape, 4326)::geometry(Polygon, 4326) AS geom FROM parcels;
CREATE INDEX ON degrees USING gist (geom);
";

/// As in a project of carto.
const CARTO: &str = "(SELECT shape, owner, parcel FROM parcels
  WHERE shape && !bbox! AND ST_Area(shape) > 0.1*!pixel_width!::real*!pixel_height!::real) AS \"parcels of all\"\n";

/// As in a configuration of tegola, in degrees.
const TEGOLA: &str =
    "SELECT ST_AsBinary(geom) AS geom, parcel, owner FROM degrees WHERE geom && !BBOX! AND !ZOOM! > 3;\n";

fn prepared() -> (Place, Server) {
    (Place::new(), Server::start_with_map(DATA))
}

fn tiles<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let short = ["tiles", "-d", url, "-T", "1", "--warmup", "0.1", "--rounds", "2", "--tiles", "10"];
    short.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_users_table_has_its_columns_in_its_tiles_and_no_attribution() {
    let (place, server) = prepared();
    let url = server.url();
    let done = place.run(tiles(&url, &["parcels", "-z", "11", "--report", "own.html"])).expect(0);
    let all = done.words();
    for words in ["% deed", "% owner", "% built", "left out: sign_at (a further geometry)"] {
        assert!(all.contains(words), "no {words:?} in:\n{all}");
    }
    let page = std::fs::read_to_string(place.path().join("own.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("OpenStreetMap contributors"), "of parcels");
    let with = "(select avg(bytes) from v_tile where experiment_id = 1)";
    place.run(tiles(&url, &["parcels", "-z", "11", "--columns", "owner"])).expect(0);
    let without = "(select avg(bytes) from v_tile where experiment_id = 2)";
    assert_eq!(place.sql(&format!("select {with} > 2 * {without}")), "1");
    let done = place.run(tiles(&url, &["parcels", "--columns", "onwer"]));
    done.expect(68).says(&["no layer has a column \"onwer\"; did you mean \"owner\"?"]);
}

#[test]
fn queries_of_configurations_make_tiles() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("carto.sql", CARTO);
    place.write("tegola.sql", TEGOLA);
    place.write("list.txt", "11/1082/717\n11/1083/717\n11/1084/716\n12/2166/1434\n12/2167/1434\n");
    let queries = ["carto.sql", "tegola.sql", "--trace", "list.txt", "--report", "maps.html"];
    let done = place.run(tiles(&url, &queries)).expect(0);
    let features = "select count(*) = 4 and min(features_out) > 0 from (select script, sum(features_out) as features_out from tile_sample
                    where run_id = (select max(run_id) from tile_sample) group by script)";
    assert_eq!(place.sql(features), "1", "{}", done.stderr);
    // The same features from both, whatever the table's projection.
    let by_layer =
        "select group_concat(features, ' ') from (select sum(features_out) as features from tile_sample s
                    join script c on c.run_id = s.run_id and c.position = s.script
                    where s.run_id = (select max(run_id) from tile_sample) group by c.layer)";
    let found = place.sql(by_layer);
    let counts: Vec<f64> = found.split(' ').map(|count| count.parse().unwrap()).collect();
    assert!((counts[0] / counts[1] - 1.0).abs() < 0.1, "{found}");
    let page = std::fs::read_to_string(place.path().join("maps.html")).unwrap();
    assert!(page.contains("parcels of all"), "the name of the subquery is that of the layer");
}

#[test]
fn published_lists_are_drawn_by_their_numbers() {
    let (place, server) = prepared();
    let url = server.url();
    // Both hold parcels; one is asked for nineteen times as often.
    let list = "11/1082/717.pbf 1900000000\n11/1083/717 100000000\n";
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(list.as_bytes()).unwrap();
    place.write("log.gz", encoder.finish().unwrap());
    place
        .run(tiles(&url, &["parcels", "--trace", "log.gz"]))
        .expect(0)
        .says(&["2000000000 requests for 2 tiles"]);
    let share = |experiment: u32| {
        let of = |wanted: &str| format!("sum(requests) filter (where {wanted})");
        let query = format!(
            "select {} * 1.0 / sum(requests) from v_tile where experiment_id = {experiment}",
            of("x = 1082")
        );
        place.sql(&query).parse::<f64>().unwrap()
    };
    assert!((0.9..0.99).contains(&share(1)), "{}", share(1));
    // The same through a pipe, which can be read once.
    let mut command = place.command(tiles(&url, &["parcels", "--trace", "-"]));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!((0.9..0.99).contains(&share(2)), "{}", share(2));
}

/// 1 + 4 + … tiles around the parcels.
#[test]
fn each_tile_is_asked_for_once_and_written() {
    let (place, server) = prepared();
    let url = server.url();
    let once = ["tiles", "-d", &url, "parcels", "--once", "-z", "8-12", "-c", "3"];
    let done = place.run(once.iter().chain(&["--mbtiles", "p.mbtiles"])).expect(0);
    let all = done.words();
    for words in ["z8: ", "z12: ", "p.mbtiles has ", "slowest tiles: ", "z13 ("] {
        assert!(all.contains(words), "no {words:?} in:\n{all}");
    }
    let asked = "select sum(json_extract(counts, '$.ok')) from script where zoom = 12";
    let of_zoom: u64 = place.sql(asked).parse().unwrap();
    // A degree of longitude is 11.4 tiles wide.
    assert!((100..400).contains(&of_zoom), "{of_zoom}");
    let file = rusqlite::Connection::open(place.path().join("p.mbtiles")).unwrap();
    let kept: i64 = file.query_row("select count(*) from tiles", [], |row| row.get(0)).unwrap();
    let filled = place.sql("select sum(json_extract(counts, '$.rows')) from script where zoom is not null");
    assert_eq!(filled, kept.to_string());
    let json: String =
        file.query_row("select value from metadata where name = 'json'", [], |row| row.get(0)).unwrap();
    assert!(json.contains("\"owner\":\"String\"") && json.contains("\"built\":\"Boolean\""), "{json}");
    // A finished file is not gone on with.
    let again = place.run(once.iter().chain(&["--mbtiles", "p.mbtiles", "--again"]));
    again.expect(65).says(&["not an unfinished file of pgdyno"]);
}

#[test]
fn failed_tiles_are_listed_and_the_rest_is_estimated() {
    let (place, server) = prepared();
    let url = server.url();
    // A tile fails, and each takes a moment.
    place.write(
        "some.sql",
        "SELECT ST_AsMVT(t, 'p') FROM (SELECT ST_AsMVTGeom(shape, :envelope) AS geom FROM parcels
           WHERE shape && :envelope AND 1 / (CASE WHEN :z = 11 AND :x = 1086 AND :y = 718 THEN 0 ELSE 1 END) = 1) AS t, pg_sleep(0.05)",
    );
    let once = ["tiles", "-d", &url, "some.sql", "--once", "-z", "8-11"];
    let done = place.run(once.iter().chain(&["-T", "1"])).expect(0);
    let all = done.words();
    assert!(all.contains("the other ") && all.contains("would take"), "{all}");
    let kept = || std::fs::read_dir(place.home().join("kept")).unwrap().count();
    assert_ne!(kept(), 0);
    // The same tiles, gone on with to the end; other tiles have a state of their own.
    place.run(["tiles", "-d", &url, "some.sql", "--once", "-z", "8-9"]).expect(0);
    let done = place.run(once.iter().chain(&["-c", "8"])).expect(0);
    let all = done.words();
    assert!(all.contains("goes on: ") && all.contains("failed: 11/1086/718 ("), "{all}");
    assert!(all.contains("division by zero") && all.contains("1 connection ("), "{all}");
    let listed = place.sql("select count(*) from artifact where name = 'failed tiles'");
    assert_ne!(listed, "0");
    let doubt =
        "select count(*) from run_doubt where reason = 'errors' and detail like '1 of % tiles failed'";
    assert_ne!(place.sql(doubt), "0");
}

/// A pass whose tiles failed was the faster one, and maps were not compared.
#[test]
fn a_pass_of_another_map_or_of_errors_is_not_simply_faster() {
    let (place, server) = prepared();
    let url = server.url();
    let text = |rest: &str| {
        format!(
            "SELECT ST_AsMVT(t, 'p') FROM (SELECT ST_AsMVTGeom(shape, :envelope) AS geom FROM parcels
               WHERE shape && :envelope {rest}) AS t"
        )
    };
    place.write("all.sql", text(""));
    place.write("few.sql", text("LIMIT 2"));
    place.write("bad.sql", text("AND 1 / (CASE WHEN :z = 12 AND :y % 3 = 0 THEN 0 ELSE 1 END) = 1"));
    let against = |other: &str, results: &str| {
        let once = ["tiles", "-d", &url, "all.sql", "--once", "-z", "9-12", "--rounds", "2"];
        place.run(once.iter().chain(&["--against", other, "--results", results]))
    };
    let done = against("few.sql", "few.sqlite");
    let all = done.words();
    assert!(all.contains("do not do the same") && all.contains("features only in"), "{all}");
    let done = against("bad.sql", "bad.sqlite");
    let all = done.words();
    assert!(all.contains("tiles failed") && !all.contains("faster"), "{all}");
    done.expect(69);
}

/// One tile at which the connection ends ended every pass, for ever.
#[test]
fn a_tile_that_ends_its_connection_is_one_failed_tile() {
    let (place, server) = prepared();
    let url = server.url();
    server.psql(
        "CREATE FUNCTION odd(z int, x int, y int) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN
           IF z = 11 AND x = 1083 AND y = 715 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
           RETURN (SELECT ST_AsMVT(t, 'p') FROM (SELECT ST_AsMVTGeom(shape, ST_TileEnvelope(z, x, y)) FROM parcels
                   WHERE shape && ST_TileEnvelope(z, x, y)) AS t); END $$",
    );
    let once = ["tiles", "-d", &url, "odd()", "--once", "-z", "9-11", "--pick-from", "parcels", "-c", "2"];
    let done = place.run(once.iter().chain(&["--mbtiles", "odd.mbtiles"])).expect(0);
    let all = done.words();
    assert!(all.contains("1 tile failed: 11/1083/715 (the connection ended at it"), "{all}");
    let file = rusqlite::Connection::open(place.path().join("odd.mbtiles")).unwrap();
    let kept = |table: &str| -> i64 {
        file.query_row(&format!("select count(*) from {table}"), [], |row| row.get(0)).unwrap()
    };
    // It can be asked for again, and the file can be used meanwhile.
    assert!(kept("tiles") > 50 && kept("metadata") > 5 && kept("pgdyno_progress") == 1);
    let again = place.run(once.iter().chain(&["--mbtiles", "odd.mbtiles", "--again", "-v"]));
    again.expect(0).says(&["goes on: ", "1 of 71 tiles failed"]);
}

/// As in a pipe of a shell: `uniq -c` writes the number first.
#[test]
fn what_uniq_counts_is_a_list() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("paths.txt", "11/1082/717\n11/1083/717\n11/1082/717\n");
    let mut counted = Command::new("uniq");
    counted.arg("-c").arg("paths.txt").current_dir(place.path());
    place.write("counted.txt", counted.output().unwrap().stdout);
    place.run(tiles(&url, &["parcels", "--trace", "counted.txt"])).expect(0);
    assert_eq!(place.sql("select count(*) from (select distinct x, y from v_tile)"), "2");
}
