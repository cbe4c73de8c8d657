//! `pgdyno tiles`: tables, functions and queries with real servers, the output, and errors.

use crate::support::{Place, Server, in_one_line};

/// Two tables with 4,000 points and 4,000 squares within a degree, with valid and invalid tile functions.
const DATA: &str = "
CREATE TABLE spots AS SELECT n AS osm_id, 'spot ' || n AS name,
  ST_Transform(ST_SetSRID(ST_MakePoint(14 + (n % 80) / 160.0, 35.5 + (n / 80) / 120.0), 4326), 3857)::geometry(Point, 3857) AS way
  FROM generate_series(0, 3999) AS n;
CREATE TABLE squares AS SELECT osm_id, name, ST_Expand(way, 100)::geometry(Polygon, 3857) AS way, 40000.0::real AS way_area FROM spots;
CREATE INDEX ON spots USING gist (way);
CREATE INDEX ON squares USING gist (way);
CREATE TABLE \"Old Spots\" AS SELECT osm_id, ST_Transform(way, 4326)::geometry(Point, 4326) AS way FROM spots;
CREATE INDEX ON \"Old Spots\" USING gist (way);
CREATE TABLE geographic AS SELECT osm_id, ST_Transform(way, 4326)::geography AS way FROM spots;
CREATE FUNCTION spot_tile(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT ST_AsMVT(t, 'spots') FROM (SELECT osm_id, name, ST_AsMVTGeom(way, ST_TileEnvelope(z, x, y)) AS geom
    FROM spots WHERE way && ST_TileEnvelope(z, x, y)) AS t $$;
CREATE FUNCTION too_few(z integer, x integer) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$;
CREATE FUNCTION a_text(z integer, x integer, y integer) RETURNS text LANGUAGE sql AS $$ SELECT 'tile' $$;
";

const QUERY: &str = "SELECT ST_AsMVT(t, 'spots', 4096, 'geom') FROM (
  SELECT osm_id, name, ST_AsMVTGeom(way, :envelope) AS geom FROM spots WHERE way && :envelope) AS t\n";

fn prepared() -> (Place, Server) {
    (Place::new(), Server::start_with_map(DATA))
}

/// A short run of these layers, with more arguments.
fn tiles<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let short = ["tiles", "-d", url, "-T", "1", "--warmup", "0.1", "--rounds", "2", "--tiles", "20"];
    short.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_table_is_shown_by_zoom_with_its_slowest_tiles_and_where_the_time_goes() {
    let (place, server) = prepared();
    let url = server.url();
    let done = place.run(tiles(&url, &["spots", "-z", "10-12", "--save", "spots.toml", "-v"])).expect(0);
    for wanted in [
        "How fast are tiles of spots, and where does the time go?",
        "\nBy layer and zoom:\n",
        "\nspots, z10",
        "\nspots, z12",
        "\nWhere the time goes in a sample",
        " tiles per second",
        "\nSlowest tiles:\n",
        "different tiles were asked for",
    ] {
        assert!(done.stdout.contains(wanted), "no {wanted:?} in:\n{}", done.stdout);
    }
    let slowest = done.stdout.lines().filter(|line| line.starts_with(char::is_numeric) && line.contains('/'));
    assert_eq!(slowest.count(), 5, "{}", done.stdout);
    // All tiles are from the list, and zooms have equal shares within chance.
    assert_eq!(place.sql("select count(distinct z) from v_tile where z between 10 and 12"), "3");
    assert!(done.stdout.contains("    pgdyno report -e ") || done.stdout.contains("next: pgdyno report -e "));
    // The same as JSON, one line for each zoom.
    let json =
        place.run(tiles(&url, &["spots", "-z", "10-12", "--again", "--format", "json"])).expect(0).stdout;
    assert_eq!(json.matches("\"layer\": \"spots\", \"zoom\": 1").count(), 3, "{json}");
    // Markdown has the terminal's tables, not the 34 columns for programs.
    let md = place.run(tiles(&url, &["spots", "-z", "10-12", "--again", "--format", "md"])).expect(0).stdout;
    assert!(md.contains("\n| zoom") && md.contains("Where the time goes") && !md.contains("holm_p"), "{md}");
    // The saved file is the same experiment.
    place.run(["run", "spots.toml"]).expect(64).says(&["is finished"]);
}

#[test]
fn two_queries_a_function_and_a_quoted_table_are_compared() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("plain.sql", QUERY);
    let slow = QUERY.replace("ST_AsMVTGeom(way", "ST_AsMVTGeom(ST_Transform(ST_Transform(way, 4326), 3857)");
    place.write("slow.sql", slow.replace("FROM spots", "FROM spots, pg_sleep(0.002)"));
    let two =
        tiles(&url, &["plain.sql", "-z", "10-11", "--against", "slow.sql", "--report", "two.html", "-v"]);
    // Four rounds, so that there is a verdict: it is far slower.
    let two: Vec<&str> = two.iter().map(|word| if *word == "2" { "4" } else { *word }).collect();
    let done = place.run(&two).expect(1);
    for wanted in ["slow.sql are slower than", "where the time goes", "Slowest tiles:"] {
        assert!(done.stdout.to_lowercase().contains(&wanted.to_lowercase()), "{wanted}: {}", done.stdout);
    }
    for arm in ["plain.sql", "slow.sql"] {
        let slowest = done.stdout.lines().filter(|line| line.starts_with(arm) && line.contains('/'));
        assert_eq!(slowest.count(), 5, "{}", done.stdout);
    }
    let page = std::fs::read_to_string(place.path().join("two.html")).unwrap();
    assert!(page.contains("Are tiles by slow.sql faster than those by plain.sql, and at which zoom?"));
    let arms = ["spots", "-z", "11", "--against", "spot_tile(),plain.sql", "--against", "\"Old Spots\""];
    let done = place.run(tiles(&url, &arms));
    assert!([0, 1, 2].contains(&done.status.code().unwrap()), "{}", done.stderr);
    let arms = place.sql("select group_concat(distinct arm) from v_run where experiment_id = 2");
    for arm in ["spots", "spot_tile()", "plain.sql", "\"Old Spots\""] {
        assert!(arms.contains(arm), "{arms}");
    }
    // The same list of tiles for all arms.
    let lists = "select count(distinct places) from (select arm, group_concat(z || '/' || x || '/' || y) as places from
                 (select distinct arm, z, x, y from v_tile where experiment_id = 2 order by 1, 2, 3, 4) group by arm)";
    assert_eq!(place.sql(lists), "1", "{}", done.stderr);
    let done =
        place.run(tiles(&url, &["squares", "-z", "11", "--against", "jit=off", "--dry-run"])).expect(0);
    assert!(in_one_line(&done.stdout).contains("jit off"), "{}", done.stdout);
}

#[test]
fn tiles_go_by_a_tile_server_and_ways_are_compared() {
    let (place, server) = prepared();
    let url = server.url();
    let ways = ["spots", "-z", "11", "--against", "via: tipg", "--save", "ways.toml"];
    let done = place.run(tiles(&url, &ways));
    assert!([0, 1, 2].contains(&done.status.code().unwrap()), "{}", done.stderr);
    let arms = "select group_concat(arm, ' ') from (select distinct arm from v_run order by arm)";
    assert_eq!(place.sql(arms), "sql tipg");
    place.run(["run", "ways.toml"]).expect(64).says(&["is finished"]);
    // A user's view uses several connections, and each of its tiles has a separate time. Long enough for some
    // tiles of each layer and zoom, even if ten programs share a CPU.
    let users = ["spots", "squares", "-z", "10-12", "--via", "tipg", "--picker", "sessions"];
    let long = ["tiles", "-d", &url, "-T", "5", "--warmup", "0.1", "--rounds", "2", "--tiles", "20"];
    let done = place.run(long.iter().chain(&users)).expect(0);
    assert!(done.stdout.starts_with("spots and squares: "), "{}", done.stdout);
    let newest = "experiment_id = 2";
    let views = format!(
        "select sum(failed) = 0 and min(queries * 1.0 / ok) > 2 from (select failed, ok, \
         (select value from run_count where run_id = r.run_id and name = 'queries') as queries from v_run r where {newest})"
    );
    assert_eq!(place.sql(&views), "1");
    let single = format!("select count(*) > 5 and min(mean_us) > 0 from v_tile where {newest}");
    assert_eq!(place.sql(&single), "1");
}

#[test]
fn what_cannot_be_asked_for_is_told_with_what_to_try() {
    let (place, server) = prepared();
    let url = server.url();
    place.write("constant.sql", "SELECT ''::bytea\n");
    place.write("off.txt", "11/1104/802\n11/4000/0\n");
    for (more, code, wanted) in [
        (&["sports"][..], 68, "table sports does not exist in this database; did you mean spots?"),
        (&["spot_tile"], 68, "there is a function of that name: write spot_tile()"),
        (&["geographic"], 68, "table geographic has no geometry column"),
        (&["too_few()"], 68, "a tile function takes zoom, column and row"),
        (&["a_text()"], 68, "returns text, and a tile is bytea"),
        (&["none()"], 68, "function none() does not exist in this database; make it by --sql FILE"),
        (&["spot_tile()"], 68, "name a table with --pick-from, or give --trace FILE"),
        (&["constant.sql"], 65, "LAYER: constant.sql: does not depend on the tile"),
        (&["spots", "--against", "constant.sql"], 65, "--against: constant.sql: does not depend on the tile"),
        (
            &["spots", "--trace", "off.txt"],
            65,
            "--trace: off.txt: line 2: tile 11/4000/0 is outside the world",
        ),
        (&["spots", "-z", "12-23"], 64, "--zooms: invalid range [12, 23]; it must be within 0..22"),
        (&["spots", "--osm", "x.osm.pbf"], 64, "--osm puts data on a private server"),
    ] {
        place.run(tiles(&url, more)).expect(code).says(&[wanted]);
    }
    let nobody = "postgres://postgres@127.0.0.1:1/gis";
    place
        .run(tiles(nobody, &["spots"]))
        .expect(66)
        .says(&["connection to server at 127.0.0.1, port 1 failed"]);
}

#[test]
fn without_a_database_it_has_a_private_one() {
    let place = Place::new();
    place.write("data.sql", DATA);
    let command =
        ["tiles", "spot_tile()", "--sql", "data.sql", "--pick-from", "spots", "-z", "11", "-c", "2"];
    let short = ["-T", "1", "--warmup", "0.1", "--rounds", "1"];
    let done = place.run(command.iter().chain(&short)).expect(0);
    assert!(in_one_line(&done.stdout).contains("spot_tile(), z11"), "{}", done.stdout);
    place.run(["target", "destroy", "default"]).expect(0);
}
