//! An arm that fails before anything is measured: the others are compared, and it is named with its reason.

use crate::support::{Finished, Place, Server, in_one_line};

/// Asserts that two arms were compared, and that all outputs name the third one with this reason.
#[track_caller]
fn left_out(place: &Place, done: &Finished, arm: &str, reason: &str) {
    assert!(matches!(done.status.code(), Some(0..=2)), "{}\n{}", done.stdout, done.stderr);
    let said = in_one_line(&done.stderr);
    assert!(said.contains(&format!("{arm} is left out: ")) && said.contains(reason), "{}", done.stderr);
    let answer = in_one_line(&done.stdout);
    assert!(answer.contains(&format!("not run: {arm}: ")) && answer.contains(reason), "{}", done.stdout);
    assert_eq!(
        place.sql("select count(distinct arm) from run where kind = 'client' and arm is not null"),
        "2"
    );
    assert_eq!(place.sql("select count(*) from run where validity = 'invalid'"), "0");
    let json = place.run(["compare", "--format", "json"]).stdout;
    assert!(json.contains("not run") && in_one_line(&json).contains(reason), "{json}");
    let csv = place.run(["compare", "--format", "csv"]).stdout;
    assert!(csv.contains(&format!("{arm}\"")) || csv.contains(&format!("{arm},")), "{csv}");
    let page = place.path().join("page.html");
    place.run(["report", "-o", page.to_str().expect("UTF-8")]).expect(0);
    let page = std::fs::read_to_string(page).expect("the page");
    assert!(page.contains(&format!("Not run: {arm}")), "the page names it");
}

const SPOTS: &str = "
CREATE TABLE spots AS SELECT n AS id, ST_Transform(ST_SetSRID(ST_MakePoint(14 + (n % 30) / 60.0, 35.5 + n / 30 / 60.0), 4326), 3857)
  ::geometry(Point, 3857) AS way FROM generate_series(0, 899) AS n;
CREATE INDEX ON spots USING gist (way);
CREATE FUNCTION whole(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT ST_AsMVT(t, 'spots') FROM (SELECT id, ST_AsMVTGeom(way, ST_TileEnvelope(z, x, y)) AS geom
    FROM spots WHERE way && ST_TileEnvelope(z, x, y)) AS t $$;
CREATE FUNCTION same(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql STABLE AS $$ SELECT whole(z, x, y) $$;
CREATE FUNCTION torn(z integer, x integer, y integer) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN IF z > 10 THEN RAISE 'no plan for zoom %', z; END IF; RETURN whole(z, x, y); END $$;
CREATE FUNCTION hollow(z integer, x integer, y integer) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$;
VACUUM ANALYZE spots;
";

/// A function that fails at one zoom ended the comparison of the two others.
#[test]
fn a_tile_function_that_fails_in_one_arm_is_left_out() {
    let (place, server) = (Place::new(), Server::start_with_postgis());
    for sql in SPOTS.split_inclusive("$$;\n") {
        server.psql(sql);
    }
    let url = server.url();
    let tiles = |layers: &[&str]| {
        let short = [
            "tiles", "-d", &url, "-z", "10-11", "-T", "1", "--warmup", "0.1", "--rounds", "2", "--tiles",
            "10",
        ];
        place.run(short.iter().chain(layers))
    };
    let of_three = ["whole()", "--pick-from", "spots", "--against", "same()", "--against", "torn()"];
    let done = tiles(&of_three);
    left_out(&place, &done, "tiles.function torn()", "no plan for zoom 11");
    // It goes on without the arm.
    let more = tiles(&[&of_three[..], &["--rounds", "4"]].concat());
    assert!(matches!(more.status.code(), Some(0..=2)), "{}", more.stderr);
    assert_eq!(place.sql("select count(*) from run where kind = 'client'"), "8");
    assert!(
        in_one_line(&more.stdout).contains("not run: ") && !more.stderr.contains("is left out"),
        "{}",
        more.stderr
    );
    // With two arms nothing is left to compare.
    let two = tiles(&["whole()", "--pick-from", "spots", "--against", "torn()"]);
    assert!(!matches!(two.status.code(), Some(0..=2)), "{}", two.stdout);
    assert!(!two.stderr.contains("is left out: ") && two.stdout.is_empty(), "{}", two.stderr);
    let errors = two.stderr.lines().filter(|line| line.contains("no plan for zoom 11"));
    assert_eq!(errors.count(), 1, "{}", two.stderr);
    // A base that fails ends all.
    let base = tiles(&["torn()", "--pick-from", "spots", "--against", "same()", "--against", "whole()"]);
    assert!(
        !matches!(base.status.code(), Some(0..=2)) && !base.stderr.contains("is left out: "),
        "{}",
        base.stderr
    );
}

#[test]
fn an_arm_of_empty_tiles_is_left_out() {
    let (place, server) = (Place::new(), Server::start_with_postgis());
    for sql in SPOTS.split_inclusive("$$;\n") {
        server.psql(sql);
    }
    let url = server.url();
    let done = place.run([
        "tiles",
        "-d",
        &url,
        "-z",
        "10-11",
        "-T",
        "1",
        "--warmup",
        "0.1",
        "--rounds",
        "2",
        "--tiles",
        "10",
        "whole()",
        "--pick-from",
        "spots",
        "--against",
        "hollow(),same()",
    ]);
    left_out(&place, &done, "tiles.function hollow()", "it does nothing: all");
}

const SETTINGS: &str = r#"
question = "Which settings are faster?"
[target]
TARGET
[workload.one]
pgbench = { files = ["one.sql"] }
[compare]
factor = "settings"
base = "stock"
[settings.stock]
[settings.wide]
work_mem = "16MB"
[settings.huge]
BAD
[measure]
warmup = "50ms"
duration = "200ms"
rounds = 2
"#;

/// It is known, within its limits, and too much for this machine: the server does not start.
#[test]
fn settings_that_a_server_refuses_leave_the_other_arms() {
    let place = Place::with_private("private");
    place.write("one.sql", "SELECT 1;\n");
    let text = SETTINGS.replace("TARGET", "managed = { name = \"private\" }");
    let file = |bad: &str| place.write("e.toml", text.replace("BAD", bad)).to_str().unwrap().to_owned();
    let done = place.run(["run", &file("shared_buffers = \"6000GB\"")]);
    left_out(&place, &done, "settings huge", "to start with these settings");
    place.run(["target", "destroy", "private"]).expect(0);
}

#[test]
fn settings_that_a_server_does_not_know_leave_the_other_arms() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let target = format!("url = \"{}\"", server.url());
    let text = SETTINGS.replace("TARGET", &target);
    let file = |bad: &str| place.write("e.toml", text.replace("BAD", bad)).to_str().unwrap().to_owned();
    let bad = file("work_mem_x = \"8MB\"");
    let dry = place.run(["run", "--dry-run", &bad]).expect(0);
    dry.says(&["settings huge is left out: ", "work_mem_x", "accepts the settings of the other arms"]);
    let done = place.run(["run", &bad]);
    left_out(&place, &done, "settings huge", "work_mem_x");
    // All wrong lines are in one error where nothing is left.
    let both =
        text.replace("BAD", "work_mem_x = \"8MB\"").replace("work_mem = \"16MB\"", "work_men = \"16MB\"");
    let both = place.run(["run", place.write("both.toml", both).to_str().unwrap()]);
    assert!(!matches!(both.status.code(), Some(0..=2)), "{}", both.stdout);
    both.says(&["[settings.wide]", "[settings.huge]", "work_men", "work_mem_x"]);
}

#[test]
fn a_server_that_does_not_answer_leaves_the_other_arms() {
    let (place, one, other) = (Place::new(), Server::start(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = format!(
        "question = \"?\"\n[server.near]\nurl = \"{}\"\n[server.far]\nurl = \"{}\"\n[server.gone]\n\
         url = \"host=127.0.0.1 port={free} user=me dbname=x\"\n[workload.one]\npgbench = {{ files = [\"one.sql\"] }}\n\
         [factors]\nserver = [\"near\", \"far\", \"gone\"]\n[compare]\nfactor = \"server\"\nbase = \"near\"\n\
         [measure]\nwarmup = \"50ms\"\nduration = \"200ms\"\nrounds = 2\n",
        one.url(),
        other.url()
    );
    let done = place.run(["run", place.write("e.toml", &text).to_str().unwrap()]);
    left_out(&place, &done, "server gone", "127.0.0.1");
    let far = text.split_once("[server.far]").unwrap().1.split_once("[server.gone]").unwrap().0.to_owned();
    let two = text.replace(&format!("[server.far]{far}"), "").replace("\"far\", ", "");
    let two = place.run(["run", place.write("two.toml", two).to_str().unwrap()]).expect(66);
    assert!(!two.stderr.contains("is left out: "), "{}", two.stderr);
}

#[test]
fn a_script_that_fails_at_once_leaves_the_other_arms() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("create table orders as select id, id % 7 as kind from generate_series(1, 1000) id");
    place.write("all.sql", "SELECT count(*) FROM orders;\n");
    place.write("some.sql", "SELECT count(*) FROM orders WHERE kind < 9;\n");
    place.write("none.sql", "SELECT count(*) FROM invoices;\n");
    let text = format!(
        "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.all]\npgbench = {{ files = [\"all.sql\"] }}\n\
         [workload.some]\npgbench = {{ files = [\"some.sql\"] }}\n[workload.none]\npgbench = {{ files = [\"none.sql\"] }}\n\
         [factors]\nworkload = [\"all\", \"some\", \"none\"]\n[compare]\nfactor = \"workload\"\nbase = \"all\"\n\
         [measure]\nwarmup = \"50ms\"\nduration = \"200ms\"\nrounds = 2\n",
        server.url()
    );
    let done = place.run(["run", place.write("e.toml", text).to_str().unwrap()]);
    left_out(&place, &done, "workload none", "none.sql, line 1: the first execution failed; ERROR: relation");
}
