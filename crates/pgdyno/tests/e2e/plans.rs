//! Plans of sampled transactions: `pgdyno run` end to end.

use crate::support::{self, Finished, Place, Server, in_one_line};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS public.t AS SELECT i AS id, i % 1000 AS x FROM generate_series(1, 20000) i;\n\
                     CREATE UNIQUE INDEX IF NOT EXISTS t_id ON public.t (id);\nANALYZE public.t;\n";

/// One lookup under two settings, which can take turns on one server.
const SETTINGS: &str = r#"
question = "What is the index worth?"
[target]
url = "$TEST_URL"
[prepare]
sql = ["table.sql"]
[workload.lookup]
pgbench = { files = ["lookup.sql"] }
[compare]
factor = "settings"
base = "usual"
[settings.usual]
[settings.scans]
enable_indexscan = "off"
enable_indexonlyscan = "off"
enable_bitmapscan = "off"
"#;

const WRITES: &str = r#"
question = "Does reading or writing take longer?"
[target]
url = "$TEST_URL"
[prepare]
sql = ["table.sql"]
[workload.reads]
pgbench = { files = ["lookup.sql"] }
[workload.writes]
pgbench = { files = ["update.sql"] }
[factors]
workload = ["reads", "writes"]
[compare]
factor = "workload"
base = "reads"
"#;

const MEASURE: &str = "[measure]\nwarmup = \"50ms\"\nduration = \"600ms\"\nrounds = 2\n";

fn run(place: &Place, server: &Server, file: &str) -> Finished {
    run_at(place, &server.url(), file)
}

fn run_at(place: &Place, url: &str, file: &str) -> Finished {
    place.write("table.sql", TABLE);
    place.write("lookup.sql", "\\set id random(1, 20000)\nSELECT x FROM public.t WHERE id = :id;\n");
    place.write("update.sql", "SELECT 1;\nUPDATE public.t SET x = -1 WHERE id = 1;\n");
    let file = place.write("plans.toml", file);
    let mut command = place.command(["run", file.to_str().unwrap(), "-v", "--report", "report.html"]);
    command.env("TEST_URL", url);
    let done = support::finish(command);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}\n{}", done.stdout, done.stderr);
    done
}

/// They were explained after the last turn, when the other arm's settings were active.
#[test]
fn each_arm_is_explained_under_its_own_settings() {
    let (place, server) = (Place::new(), Server::start());
    let done = run(&place, &server, &format!("{SETTINGS}{MEASURE}"));
    assert!(place.sql("select count(*) from slice").parse::<u32>().unwrap() > 0, "they took turns");
    let nodes = "select group_concat(distinct run.round || ' ' || arm || ' ' || node_type || index_name) \
                 from (select * from plan_node order by run_id) n join run using (run_id)";
    let found = place.sql(nodes);
    let mut found: Vec<&str> = found.trim_matches('"').split(',').collect();
    found.sort();
    assert_eq!(found, ["1 scans Seq Scan", "1 usual Index Scant_id"]);
    assert_eq!(place.sql("select count(distinct draw) || ' ' || count(*) from statement_plan"), "16 32");
    let sums = "select count(*) from (select run_id, draw, sum(own_ms) as ms from v_plan_part group by 1, 2) \
                join statement_plan p using (run_id, draw) where abs(ms - planning_ms - execution_ms) > 0.01";
    assert_eq!(place.sql(sums), "0");
    assert!(in_one_line(&done.stdout).contains("plans differ: scans:"), "{}", done.stdout);
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    let change = "With scans: Seq Scan on t instead of Index Scan using t_id on t.";
    assert!(report.contains(change), "the report does not say what changed");
    let table = support::finish(place.command(["table", "plans", "--format", "csv"]));
    assert!(table.stdout.contains(",seq_scan,") && table.stdout.contains(",index,"), "{}", table.stdout);
    let slowest = "select count(*) from artifact where name = 'plan/lookup.sql/2' and cast(bytes as text) like '%Execution Time%'";
    assert_eq!(place.sql(slowest), "2");
}

#[test]
fn what_writes_is_not_explained_and_nothing_is_where_that_is_not_wanted() {
    let (place, server) = (Place::new(), Server::start());
    let done = run(&place, &server, &format!("{WRITES}{MEASURE}"));
    assert_eq!(
        place.sql("select count(*) || ' ' || min(arm) from statement_plan join run using (run_id)"),
        "16 reads"
    );
    let said = "select group_concat(distinct arm || ': ' || detail) from event join run using (run_id) \
                where event.kind = 'no plans' and detail like '%writes'";
    assert_eq!(place.sql(said), "writes: update.sql writes");
    assert!(!in_one_line(&done.stdout).contains("plans differ"), "{}", done.stdout);
    let (place, server) = (Place::new(), Server::start());
    run(&place, &server, &format!("{SETTINGS}{MEASURE}explain = false\n"));
    assert_eq!(place.sql("select count(*) from statement_plan"), "0");
}

/// A tile of 10,000 boxes, as separate parts and as one function.
const BOXES: &str = "CREATE EXTENSION IF NOT EXISTS postgis;\n\
    CREATE TABLE IF NOT EXISTS public.box AS SELECT i, ST_Transform(ST_MakeEnvelope(14.2 + i % 100 * 0.002, \
    35.8 + i / 100 * 0.002, 14.2015 + i % 100 * 0.002, 35.8015 + i / 100 * 0.002, 4326), 3857) AS way \
    FROM generate_series(0, 9999) i;\n\
    CREATE OR REPLACE FUNCTION public.layer(envelope geometry) RETURNS bytea LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN \
    (SELECT ST_AsMVT(t, 'x') FROM (SELECT i, ST_AsMVTGeom(ST_Transform(ST_Transform(way, 4326), 3857), envelope) AS g \
    FROM public.box WHERE way && envelope) t); END $$;\nANALYZE public.box;\n";

const TILE: &str = "SELECT ST_AsMVT(t, 'x') FROM (SELECT i, ST_AsMVTGeom(ST_Transform(ST_Transform(way, 4326), 3857), \
    ST_TileEnvelope(11, 1105, 804)) AS g FROM public.box WHERE way && ST_TileEnvelope(11, 1105, 804)) t;\n";

const TILES: &str = r#"
question = "What does a function around a tile cost?"
[target]
url = "$TEST_URL"
[workload.inline]
pgbench = { files = ["tile.sql"] }
[workload.layer]
pgbench = { files = ["layer.sql"] }
[factors]
workload = ["inline", "layer"]
[compare]
factor = "workload"
base = "inline"
"#;

fn lines(place: &Place, query: &str) -> Vec<String> {
    let done = place.run(["sql", "--format", "csv", query]).expect(0);
    done.stdout.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn time_of_functions_is_told_apart_where_the_role_may_count() {
    let (place, server) = (Place::new(), Server::start());
    server.psql(BOXES);
    place.write("tile.sql", TILE);
    place.write("layer.sql", "SELECT public.layer(ST_TileEnvelope(11, 1105, 804));\n");
    let done = run(&place, &server, &format!("{TILES}{MEASURE}"));
    assert!(!in_one_line(&done.stdout).contains("not told apart"), "{}", done.stdout);
    let sums = "select count(*) from (select run_id, draw, sum(own_ms) as ms from v_plan_part group by 1, 2) \
                join statement_plan p using (run_id, draw) where abs(ms - planning_ms - execution_ms) > 0.01";
    assert_eq!(place.sql(sums), "0");
    let parts = lines(&place, "select distinct arm || ' ' || part from v_plan_part where own_ms > 0.1");
    for wanted in [
        "inline geometry",
        "inline transform",
        "inline mvt",
        "layer geometry",
        "layer transform",
        "layer functions",
    ] {
        assert!(parts.iter().any(|part| part == wanted), "no {wanted} in {parts:?}");
    }
    // Each row is transformed twice.
    let calls = "select count(*) from statement_function t join statement_function g using (run_id, position) \
                 where t.name = 'st_transform' and g.name = 'st_asmvtgeom' and t.calls = 2 * g.calls \
                 and g.calls > 1000 and t.booked_ms > 0";
    assert_eq!(place.sql(calls), "32");
    // Its operator stays in the scan.
    let inline = "select count(*) || ' ' || sum(booked_ms) from statement_function join run using (run_id) \
                  where name = 'geometry_overlaps' and arm = 'inline'";
    assert_eq!(place.sql(inline), "16 0.0");
    let table = support::finish(place.command(["table", "plans", "--format", "csv"]));
    assert!(table.stdout.contains(",mvt,") && table.stdout.contains(",st_asmvtgeom,"), "{}", table.stdout);
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(report.contains("making tiles (MVT)") && report.contains("transforming coordinates"));
}

#[test]
fn a_role_that_may_not_count_functions_is_told_so() {
    let (place, server) = (Place::new(), Server::start());
    server.psql(BOXES);
    server.psql("CREATE ROLE reader LOGIN; GRANT CREATE ON SCHEMA public TO reader");
    place.write("tile.sql", TILE);
    place.write("layer.sql", "SELECT public.layer(ST_TileEnvelope(11, 1105, 804));\n");
    server.psql("GRANT SELECT ON public.box TO reader");
    let url = server.url().replace("user=postgres", "user=reader");
    let done = run_at(&place, &url, &format!("{TILES}{MEASURE}"));
    let why = "functions are not told apart: permission denied to set parameter";
    let said = place.sql("select group_concat(distinct detail) from event where kind = 'no plans'");
    assert!(said.contains(why) && said.contains("GRANT SET ON PARAMETER track_functions"), "{said}");
    assert_eq!(place.sql("select count(*) from statement_plan"), "32", "{}", done.stdout);
    let parts = lines(&place, "select distinct part from v_plan_part where arm = 'inline'");
    assert!(parts.contains(&"aggregate".to_owned()) && !parts.contains(&"mvt".to_owned()), "{parts:?}");
}

/// Two servers without PostGIS that report the time of serialization.
const NEWER: &str = r#"
question = "Is 18 faster?"
[target]
managed = {}
[prepare]
sql = ["half.sql"]
[workload.rows]
pgbench = { files = ["rows.sql"] }
[factors]
version = [17, 18]
[compare]
factor = "version"
base = 17
"#;

const HALF: &str = "CREATE TABLE t AS SELECT i AS id, repeat('x', i % 50) AS text FROM generate_series(1, 5000) i;\n\
    CREATE FUNCTION half(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i / 2; END';\n";

#[test]
fn newer_servers_tell_serialization_and_functions() {
    // Only where `make versions` has installed them.
    let is_there = |version: u32| {
        std::path::Path::new(&format!("/opt/pgdyno/postgresql/{version}/bin/postgres")).exists()
    };
    if !(is_there(17) && is_there(18)) {
        return;
    }
    let place = Place::new();
    place.write("half.sql", HALF);
    place.write("rows.sql", "SELECT half(id), text FROM t;\n");
    run_at(&place, "", &format!("{NEWER}{MEASURE}"));
    let parts = lines(&place, "select distinct arm || ' ' || part from v_plan_part where own_ms > 0.01");
    for wanted in ["17 serialization", "17 functions", "18 serialization", "18 functions"] {
        assert!(parts.iter().any(|part| part == wanted), "no {wanted} in {parts:?}");
    }
    let calls = "select distinct arm || ' ' || name || ' ' || calls from statement_function join run using (run_id) order by 1";
    assert_eq!(lines(&place, calls), ["17 half 5000", "18 half 5000"]);
}
