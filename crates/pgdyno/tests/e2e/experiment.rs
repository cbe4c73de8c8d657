//! `pgdyno run` end to end: managed and URL targets, resuming, kills at every step, reports, bad files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::{self, Place, Server, Watched, extract, signal};

/// Two arms that need a restart, two workloads, two rounds.
const MANAGED: &str = r#"
question = "Does a small buffer pool slow pgbench down?"

[target]
managed = { name = "tiny" }

[prepare]
pgbench = { scale = 1 }

[workload.reads]
pgbench = { builtin = "select-only", mode = "prepared" }
[workload.writes]
pgbench = { builtin = "tpcb-like" }

[factors]
workload = ["reads", "writes"]
clients = [1, 4]

[compare]
factor = "settings"
base = "stock"
[settings.stock]
[settings.small]
shared_buffers = "1MB"

[measure]
warmup = "100ms"
duration = "500ms"
rounds = 2
"#;

#[test]
fn a_killed_experiment_leaves_nothing_running_and_goes_on() {
    let place = Place::new();
    let file = place.write("small.toml", MANAGED);
    let file = file.to_str().unwrap();
    let mut finished = 0;
    // Every named step of a run, in order; the run is killed at each.
    for step in [
        "target", "results", "prepare", "copy", "start", "guard", "settings", "reset", "warm-up", "measure",
        "collect", "store", "restore",
    ] {
        let mut running = Watched::start(place.command(["run", "--verbose", file]));
        assert!(running.until(&format!("step: {step}")), "{step} never came:\n{}", running.seen);
        signal(running.child.id(), "KILL");
        running.end();
        place.wait_until_quiet(Duration::from_secs(10));
        if place.results().exists() {
            assert_eq!(place.sql("select integrity_check from pragma_integrity_check"), "ok", "{step}");
            let now = place.sql("select count(*) from v_run where kind = 'client'").parse::<i32>().unwrap();
            assert!(now >= finished, "{step}: finished runs were lost");
            finished = now;
        }
    }
    assert_eq!(place.sql("select count(*) from v_run where kind = 'client'"), "16", "each run once");
    assert_eq!(place.sql("select count(*) from v_experiment"), "1");
    assert_eq!(
        place.sql(
            "select count(distinct value) || ' ' || sum(arm = 'small' and value = '1MB') || ' ' || sum(arm = 'stock' and value = '1MB') \
             from v_run join v_run_setting using (run_id) where name = 'shared_buffers' and kind = 'client'"
        ),
        "2 8 0",
        "no half-written settings"
    );
    place.run(["run", file]).expect(64).says(&["finished", "--again"]);
    assert_eq!(place.clusters(), ["tiny"], "no copy is left of what is finished");

    // More rounds extend the experiment; any other change makes a new one.
    place.write("small.toml", MANAGED.replace("rounds = 2", "rounds = 4"));
    let mut more = Watched::start(place.command(["run", "--verbose", file]));
    assert!(more.until("step: store"), "{}", more.seen);
    signal(more.child.id(), "INT");
    let (status, stderr) = more.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    place.wait_until_quiet(Duration::from_secs(10));
    let kept = place.sql("select count(*) from v_run where kind = 'client'").parse::<i32>().unwrap();
    assert!(kept > 16 && kept < 32, "{kept}");
    let mut last = Watched::start(place.command(["run", "--verbose", file]));
    assert!(last.until("step: stop"), "{}", last.seen);
    signal(last.child.id(), "KILL");
    last.end();
    place.wait_until_quiet(Duration::from_secs(10));
    assert_eq!(place.sql("select count(*) from v_run where kind = 'client'"), "32");
    assert_eq!(place.sql("select count(*) from v_experiment"), "1");
    place.run(["target", "destroy", "tiny"]).expect(0);
}

/// A stop between the runs of a pair stored one of them, later paired with a run from another hour.
#[test]
fn a_pair_is_stored_whole_or_not_at_all() {
    let place = Place::with_private("tiny");
    let pairs = MANAGED.replace("shared_buffers = \"1MB\"", "work_mem = \"1MB\"");
    let file = place.write("pairs.toml", pairs);
    let file = file.to_str().unwrap();
    let runs = "select count(*) from v_run where kind = 'client'";

    // One signal in the first run: its pair is completed.
    let mut running = Watched::start(place.command(["run", "--verbose", file]));
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "INT");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    assert_eq!(place.sql(runs), "2", "{stderr}");
    place.wait_until_quiet(Duration::from_secs(10));

    // Killed in the second run of a pair: neither is stored.
    let mut running = Watched::start(place.command(["run", "--verbose", file]));
    for _ in 0..2 {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(10));
    assert_eq!(place.sql(runs), "2");

    let last = place.run(["run", file]);
    assert!(last.status.code().is_some_and(|code| code <= 3), "{}", last.stderr);
    assert_eq!(place.sql(runs), "16");
    let over_two = "select count(*) from (select cell_id, round from run where arm is not null \
                    group by cell_id, round having count(distinct invocation) > 1)";
    assert_eq!(place.sql(over_two), "0", "a pair is of one invocation");
    place.run(["target", "destroy", "tiny"]).expect(0);
}

#[test]
fn ctrl_c_twice_stops_at_once() {
    let place = Place::with_private("tiny");
    let file = place.write("long.toml", MANAGED.replace("duration = \"500ms\"", "duration = \"60s\""));
    let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "INT");
    std::thread::sleep(Duration::from_millis(100));
    signal(running.child.id(), "INT");
    let start = std::time::Instant::now();
    let (status, stderr) = running.end();
    assert!(start.elapsed() < Duration::from_secs(5), "{stderr}");
    assert_eq!(status.code(), Some(75), "{stderr}");
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn tiles_and_redis_on_real_data_make_a_report_that_needs_nothing() {
    let place = Place::with_private_postgis("tiles");
    let file = place.write(
        "tiles.toml",
        r#"
question = "Which random_page_cost serves Malta's points?"
[target]
managed = { name = "tiles", extensions = ["postgis"], redis = true }
[prepare]
osm = { extract = "$PGDYNO_DATA" }
[workload.points]
tiles = { table = "planet_osm_point", zooms = [12, 16], picker = "data" }
[workload.cache]
redis = { command = "get", value_bytes = 32000, keys = 100 }
[factors]
workload = ["points"]
clients = [1, 2]
[beside]
workload = ["cache"]
clients = [4]
[compare]
factor = "settings"
base = "four"
[settings.four]
random_page_cost = 4
[settings.one]
random_page_cost = 1.0
[settings.unsafe]
synchronous_commit = "off"
[measure]
warmup = "100ms"
duration = "1s"
rounds = 2
"#,
    );
    let report = place.path().join("report.html");
    let mut command = place.command(["run", file.to_str().unwrap(), "--report", report.to_str().unwrap()]);
    command.arg("--data").arg(extract());
    let done = support::finish(command);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    place.wait_until_quiet(Duration::from_secs(10));
    assert_eq!(place.sql("select count(*) from v_run where kind = 'client' and arm is not null"), "12");
    assert_eq!(place.sql("select count(*) > 0 from v_run where workload = 'cache'"), "1");
    assert_eq!(place.sql("select count(*) from v_run where kind = 'client' and bytes = 0"), "0");
    let phases = place.run(["table", "phases", "--format", "csv"]).expect(0).stdout;
    for phase in ["node", "way", "relation", "planet_osm_polygon"] {
        assert!(phases.contains(phase), "no {phase} in:\n{phases}");
    }
    let sizes = place.run(["table", "sizes", "--format", "json"]).expect(0).stdout;
    assert!(sizes.contains("planet_osm_polygon_way_idx"), "{sizes}");

    let html = std::fs::read_to_string(&report).unwrap();
    for wanted in
        ["random_page_cost", "OpenStreetMap contributors", "synchronous_commit", "not crash-safe", "<svg"]
    {
        assert!(html.contains(wanted), "the report lacks {wanted}");
    }
    // A link to the map is only followed by the reader.
    let html = html.replace("<a href=\"https://www.openstreetmap.org/#map", "");
    for banned in ["src=\"http", "href=\"http", "url(http", "@import", "<script src"] {
        assert!(!html.contains(banned), "the report has {banned}");
    }
    for (args, wanted) in [
        (vec!["compare", "--format", "md"], "| "),
        (vec!["compare", "--metric", "p99"], "p99"),
        (vec!["table", "crosstab"], "geometric"),
        (vec!["table", "cells", "--format", "json"], "\"arm\""),
    ] {
        let done = place.run(&args);
        assert!(done.stdout.contains(wanted), "{args:?}:\n{}{}", done.stdout, done.stderr);
    }
    screenshot(&place, &report);
    charts_stand_alone(&place);
    place.run(["target", "destroy", "tiles"]).expect(0);
}

/// Each chart is a separate file, named by its content.
fn charts_stand_alone(place: &Place) {
    let listed = place.run(["report", "--chart", "--format", "csv"]).expect(0).stdout;
    assert!(listed.starts_with("chart,shows\r\n"), "{listed}");
    for name in ["points-throughput-over-clients", "one-against-four-change-of-throughput", "osm-phases"] {
        assert!(listed.contains(&format!("\n{name},")), "no {name} in:\n{listed}");
        for (end, begins) in [("svg", &b"<svg xmlns"[..]), ("png", b"\x89PNG")] {
            let file = format!("{name}.{end}");
            place.run(["report", "--chart", &file]).expect(0).says(&[&format!("chart: {file}")]);
            let bytes = std::fs::read(place.path().join(&file)).expect("the chart");
            assert!(bytes.starts_with(begins), "{file}");
        }
    }
    place.run(["report", "--chart", "osm.svg", "-o", "mail.svg"]).expect(0).says(&["chart: mail.svg"]);
    let unknown = place.run(["report", "--chart", "nothing.png"]).expect(64);
    unknown.says(&["no chart has that name", "osm-phases"]);
    place.run(["report", "--chart", "osm-phases"]).expect(64).says(&[".svg or .png"]);
    place
        .run(["report", "--chart", "nowhere/osm-phases.png"])
        .expect(74)
        .says(&["the chart nowhere/osm-phases.png"]);
}

/// Opens the report in a real browser, offline, and checks that something was drawn.
fn screenshot(place: &Place, report: &Path) {
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        std::process::Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success())
    }) else {
        support::not_available("a browser to open the report", "no Chromium");
        return;
    };
    let picture = place.path().join("report.png");
    let done = std::process::Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-sync",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--window-size=400,3000"])
        .arg(format!("--user-data-dir={}", place.path().join("browser").display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", report.display()))
        .output()
        .expect("the browser starts");
    let size = std::fs::metadata(&picture).map_or(0, |file| file.len());
    assert!(size > 50_000, "{size} bytes; {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_url_target_keeps_its_settings() {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "--results", "tables.sqlite", &server.url()]).expect(0);
    let before = server.psql("select md5(string_agg(name || setting, ',' order by name)) from pg_settings");
    let file = place.write(
        "url.toml",
        r#"
question = "Which work_mem?"
[target]
url = "$TEST_URL"
[workload.sort]
pgbench = { files = ["sort.sql"] }
[factors]
workload = ["sort"]
clients = [1, 2]
[compare]
factor = "settings"
base = "small"
[settings.small]
work_mem = "64kB"
[settings.middle]
work_mem = "1MB"
[settings.large]
work_mem = "16MB"
[measure]
warmup = "100ms"
duration = "1s"
rounds = 2
"#,
    );
    place.write("sort.sql", "SELECT count(*) FROM (SELECT abalance FROM pgbench_accounts WHERE aid < 5000 ORDER BY filler, aid DESC) s;\n");
    let mut dry = place.command(["run", "--dry-run", file.to_str().unwrap()]);
    dry.env("TEST_URL", server.url());
    let plan = support::finish(dry).expect(0);
    assert!(plan.stdout.contains("middle") && !place.results().exists(), "{}", plan.stdout);
    let mut command = place.command(["run", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    let done = support::finish(command);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(place.sql("select count(*) from v_run"), "12");
    assert_eq!(
        before,
        server.psql("select md5(string_agg(name || setting, ',' order by name)) from pg_settings")
    );
    assert_eq!(
        place.sql("select group_concat(distinct arm || '=' || value) from v_run join v_run_setting using (run_id) where name = 'work_mem'")
            .trim_matches('"').split(',').collect::<std::collections::BTreeSet<_>>(),
        ["small=64kB", "middle=1MB", "large=16MB"].into()
    );
}

#[test]
fn a_server_that_dies_in_a_run_is_told_and_finished_runs_stay() {
    let place = Place::with_private("tiny");
    // Stopped at once by somebody else, it ends the experiment; the error names its log.
    for (number, how) in ["QUIT", "KILL"].into_iter().enumerate() {
        let text = MANAGED.replace("duration = \"500ms\"", &format!("duration = \"{}s\"", number + 2));
        let file = place.write("dies.toml", text);
        let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
        assert!(running.until("step: store") && running.until("step: measure"), "{}", running.seen);
        let status = place.run(["target", "status", "--format", "csv"]).expect(0).stdout;
        // The base arm is first in the first round, on the first copy.
        let server: u32 = status
            .lines()
            .find(|line| line.starts_with("tiny.1,"))
            .and_then(|line| line.split(',').find_map(|cell| cell.parse().ok()))
            .expect("a pid");
        signal(server, how);
        let (status, stderr) = running.end();
        place.wait_until_quiet(Duration::from_secs(10));
        if how == "KILL" {
            // It crashed: that is a result, and the other runs follow.
            assert!(matches!(status.code(), Some(0..=2)), "{stderr}");
            assert!(stderr.contains("stock crashed in round 1 (signal 9)"), "{stderr}");
            continue;
        }
        assert!(matches!(status.code(), Some(66 | 71)), "{stderr}");
        assert!(stderr.contains("error:") && stderr.contains("server"), "{stderr}");
        assert!(stderr.contains("tiny.1/server.log"), "{how}: {stderr}");
        assert!(place.home().join("clusters/tiny.1/server.log").exists(), "it is there to be read");
    }
    assert_eq!(place.sql("select count(*) > 0 from v_run where kind = 'client'"), "1");
    assert_eq!(place.sql("select count(*) from run_doubt where reason = 'crashed'"), "1");
}

#[test]
fn a_password_in_an_experiment_file_is_kept_nowhere() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let url = server.network_url("scram", "geheim", "?sslmode=disable");
    let file = place.write(
        "secret.toml",
        format!(
            "question = \"Quiet?\"\n[target]\nurl = \"{url}\"\n\
             [workload.one]\npgbench = {{ files = [\"one.sql\"] }}\n[factors]\nworkload = [\"one\"]\nclients = [1]\n\
             [measure]\nwarmup = \"0s\"\nduration = \"1s\"\nrounds = 1\n"
        ),
    );
    let report = place.path().join("secret.html");
    let done = place.run(["run", file.to_str().unwrap(), "--report", report.to_str().unwrap()]).expect(0);
    let log = server.log();
    for (what, text) in [
        ("standard output", done.stdout.into_bytes()),
        ("standard error", done.stderr.into_bytes()),
        ("the report", std::fs::read(&report).unwrap()),
        ("the results", std::fs::read(place.results()).unwrap()),
        ("the server's log", log.into_bytes()),
    ] {
        assert!(!text.windows(6).any(|window| window == b"geheim"), "the password stands in {what}");
    }
}

#[test]
fn names_from_outside_cannot_act_in_a_report() {
    let (place, server) = (Place::new(), Server::start());
    let hostile = "<script>alert(1)</script>.sql";
    // The slash makes the first half a folder.
    std::fs::create_dir(place.path().join("<script>alert(1)<")).unwrap();
    place.write(hostile, "SELECT 1;\n");
    place.run(["bench", "-t", "50", "-n", "-f", hostile, &server.url()]).expect(0);
    place.run(["report", "-o", "page.html"]).expect(0);
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("alert(1)") && !page.contains("<script>"), "the script's name is text");
}

#[test]
fn bad_experiment_files_are_explained() {
    let place = Place::new();
    let cases = [
        ("rounds", "ruonds", "rounds"),
        ("duration", "durations", "duration"),
        ("[workload.reads]", "[wrokload.reads]", "workload"),
        ("\"select-only\"", "\"select-onyl\"", "select-only"),
        ("[\"reads\", \"writes\"]", "[\"reads\", \"wirtes\"]", "writes"),
        ("base = \"stock\"", "base = \"stoc\"", "stock"),
        ("shared_buffers", "shared_bufers", "shared_buffers"),
        ("\"500ms\"", "\"1 parsec\"", "duration"),
        ("clients = [1, 4]", "clients = [0]", "clients"),
        ("clients = [1, 4]", "clients = [1, 4", "expected"),
    ];
    for (right, wrong, hint) in cases {
        let file = place.write("bad.toml", MANAGED.replacen(right, wrong, 1));
        let done = place.run(["run", file.to_str().unwrap()]).expect(65);
        assert!(done.stderr.contains(hint), "{wrong}:\n{}", done.stderr);
        // An error that only the server detects has no line in the file.
        assert!(done.stderr.contains("bad.toml") || hint == "shared_buffers", "{wrong}:\n{}", done.stderr);
        assert!(
            !place.results().exists() || place.sql("select count(*) from v_run where kind = 'client'") == "0",
            "{wrong}"
        );
    }
    place.run(["run", "absent.toml"]).expect(65).says(&["absent.toml"]);
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn broken_extracts_and_missing_things_are_explained() {
    let (place, server) = (Place::new(), Server::start());
    place.write("empty.osm.pbf", "");
    place.write("broken.osm.pbf", "not a map at all, only words");
    let mut cut = std::fs::read(extract()).unwrap();
    cut.truncate(cut.len() / 2);
    place.write("cut.osm.pbf", cut);
    let url = server.url();
    place.run(["osm", "load", "empty.osm.pbf", "-d", &url]).expect(65).says(&["empty.osm.pbf"]);
    place.run(["osm", "load", "broken.osm.pbf", "-d", &url]).expect(65).says(&["broken.osm.pbf"]);
    place.run(["osm", "load", "absent.osm.pbf", "-d", &url]).expect(65).says(&["absent.osm.pbf"]);
    // No PostGIS in this database.
    let good = extract();
    place.run(["osm", "load", good.to_str().unwrap(), "-d", &url]).expect(68).says(&["postgis"]);
    server.psql("create extension postgis");
    let done = place.run(["osm", "load", "cut.osm.pbf", "-d", &url]);
    assert!(matches!(done.status.code(), Some(65 | 71)), "{}", done.stderr);
    assert!(done.stderr.contains("cut.osm.pbf") || done.stderr.contains("osm2pgsql"), "{}", done.stderr);

    let tiles = |table: &str| {
        format!(
            "question = \"?\"\n[target]\nurl = \"{url}\"\n[workload.t]\ntiles = {{ table = \"{table}\", zooms = [12, 14], picker = \"data\" }}\n\
             [factors]\nworkload = [\"t\"]\nclients = [1]\n[measure]\nwarmup = \"0s\"\nduration = \"1s\"\nrounds = 1\n"
        )
    };
    let file = place.write("tiles.toml", tiles("planet_osm_polygon"));
    place.run(["run", file.to_str().unwrap()]).expect(68).says(&["planet_osm_polygon"]);
    server.psql("create table empty_layer (osm_id bigint, way geometry(Point, 3857)); create table wrong_layer (osm_id bigint, way geometry(Point)); insert into wrong_layer values (1, ST_MakePoint(14.5, 35.9));");
    let file = place.write("empty.toml", tiles("empty_layer"));
    place.run(["run", file.to_str().unwrap()]).expect(68).says(&["empty_layer"]);
    let file = place.write("wrong.toml", tiles("wrong_layer"));
    let done = place.run(["run", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(68 | 69)), "{}", done.stderr);
    assert!(done.stderr.contains("has SRID 0"), "{}", done.stderr);
    assert!(!place.processes().iter().any(|line| line.contains("osm2pgsql")), "{:?}", place.processes());
}

#[test]
fn a_full_disk_is_said_and_loses_nothing() {
    if !support::is_root() {
        support::not_available("a full disk", "mounting a small file system needs root");
        return;
    }
    let place = Place::new();
    let small = place.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k,mode=755", "tmpfs"])
        .arg(&small)
        .status()
        .unwrap();
    if !mounted.success() {
        support::not_available("a full disk", "tmpfs cannot be mounted here");
        return;
    }
    let unmount = Unmount(small.clone());
    let server = Server::start();
    place.write("one.sql", "SELECT 1;\n");
    let results = small.join("results.sqlite");
    let mut code = Some(0);
    for _ in 0..200 {
        let done = place.run([
            "bench",
            "-T",
            "1",
            "-n",
            "-f",
            "one.sql",
            "--results",
            results.to_str().unwrap(),
            &server.url(),
        ]);
        code = done.status.code();
        if code != Some(0) {
            assert!(
                done.stderr.contains("full") && done.stderr.contains("results.sqlite"),
                "{}",
                done.stderr
            );
            break;
        }
        // Not a test of large writes: fill most of the space.
        let _ = std::fs::write(small.join("filler"), vec![0u8; 300_000]);
    }
    assert_eq!(code, Some(74));
    std::fs::remove_file(small.join("filler")).unwrap();
    let kept = place.run([
        "sql",
        "select count(*) > 0 from v_run",
        "--format",
        "csv",
        "--results",
        results.to_str().unwrap(),
    ]);
    assert!(kept.expect(0).stdout.contains('1'));

    // The same for a private server in a folder that is too small.
    let mut command = place.command(["target", "start", "full"]);
    command.env("PGDYNO_HOME", small.join("home"));
    let done = support::finish(command);
    assert_eq!(done.status.code(), Some(74), "{}", done.stderr);
    assert!(done.stderr.contains("space"), "{}", done.stderr);
    place.wait_until_quiet(Duration::from_secs(10));
    drop(unmount);
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn shipped_experiments_are_valid() {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "toml"))
    {
        for full in [false, true] {
            let mut command = place.command(["run", "--dry-run"]);
            command
                .arg(entry.path())
                .arg("--data")
                .arg(extract())
                .env("DATABASE_URL", "postgres://localhost/x");
            if full && std::fs::read_to_string(entry.path()).unwrap().contains("[full") {
                command.arg("--full");
            }
            let done = support::finish(command);
            // A study's own data may need more disk than this machine has.
            let is_too_large =
                full && done.stderr.contains("choose a smaller scale, or a server with a larger disk");
            let done = done.expect(if is_too_large { 74 } else { 0 });
            assert!(is_too_large || done.stdout.lines().count() > 5, "{}", done.stdout);
        }
        seen += 1;
    }
    assert!(seen >= 5);
}

/// A machine that stalls during a run is noticed with only a connection, and the run is measured again.
#[test]
fn a_run_whose_server_stood_still_is_named_and_measured_again() {
    let (place, server) = (Place::new(), Server::start());
    place.write("wait.sql", "SELECT pg_sleep(0.002);\n");
    let file = place.write(
        "still.toml",
        format!(
            "question = \"Is it noticed?\"\n[target]\nurl = \"{}\"\n[workload.wait]\npgbench = {{ files = [\"wait.sql\"] }}\n\
             [factors]\nworkload = [\"wait\"]\nclients = [2]\n[measure]\nwarmup = \"100ms\"\nduration = \"12s\"\nrounds = 1\n",
            server.url()
        ),
    );
    let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
    assert!(running.until("step: measure"), "it never began:\n{}", running.seen);
    std::thread::sleep(Duration::from_millis(3500));
    let backends = server.psql(
        "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
    let backends: Vec<u32> = backends.lines().map(|pid| pid.trim().parse().expect("a pid")).collect();
    assert!(backends.len() >= 2, "{backends:?}");
    backends.iter().for_each(|pid| signal(*pid, "STOP"));
    std::thread::sleep(Duration::from_millis(4600));
    backends.iter().for_each(|pid| signal(*pid, "CONT"));
    let (status, seen) = running.end();
    assert!(status.success(), "{seen}");
    // Independent of other activity on the host.
    let named = "transactions per second went from ";
    assert!(seen.contains(named) && seen.contains("measured again, 1 of 2 times at most"), "{seen}");
    let runs = place.run(["table", "runs", "-e", "still", "--format", "csv"]).expect(0).stdout;
    assert!(runs.contains("measured again"), "{runs}");
    // Independent of other activity: one of the two runs counts, and the other has its reason.
    let count = |what: &str| place.sql(&format!("select count(*) from {what}"));
    assert_eq!(count("v_run where kind = 'client'"), "2");
    assert_eq!(count("v_run where set_aside like 'wait, round 1: %' and validity = 'invalid'"), "1");
    assert_eq!(count("event where kind = 'measured again' and detail like 'wait, round 1: %'"), "1");
    assert_eq!(count("run_figure where name in ('probe_before_ms', 'probe_after_ms')"), "4");
    assert_eq!(count("v_cell where runs = 1"), "1");
}
