//! `pgdyno calibrate` and `pgdyno probe`: short runs that only check the form; the values depend on the
//! machine.

use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Place, Server, Watched, in_one_line, signal};

#[test]
fn a_host_is_calibrated_and_every_measurement_kept() {
    let place = Place::new();
    let done = place
        .run(["calibrate", "--seconds", "5", "--clients", "2,1", "--format", "csv"])
        .expect(0)
        .says(&["about ", "point read, 2 clients", "nothing to do at 5000/s", "results:"]);
    let lines: Vec<&str> = done.stdout.lines().collect();
    let (cells, others) =
        (8, ["nothing to do,64,", "start lag,64,", "highest clean rate,", "highest kept rate,"]);
    let first = ["what,clients,driver,cpu_us,per_s,", "\"null sink, simple\",1,"];
    let last_cell = lines.get(cells).is_some_and(|line| line.starts_with("prepared point read,2,"));
    assert!(last_cell, "{}", done.stdout);
    for (line, wanted) in lines.iter().zip(first).chain(lines[1 + cells..].iter().zip(others)) {
        assert!(line.starts_with(wanted), "{wanted}: {}", done.stdout);
    }
    // Then placements, each measured with two numbers of clients or not available for a reason, and the
    // advice.
    let about_placement = &lines[1 + cells + others.len()..];
    let two = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    for level in ["free", "same", "apart", "awake"] {
        let own: Vec<_> =
            about_placement.iter().filter(|line| line.contains(&format!(",{level},"))).collect();
        let told = own.iter().filter(|line| line.starts_with("placement,")).count();
        let not = own.iter().filter(|line| line.contains("not available: ")).count();
        assert!((told, not) == (2, 0) || (told, not) == (1, 1), "{level}: {}", done.stdout);
        assert!(level == "awake" || not == usize::from(!two), "{level}: {}", done.stdout);
    }
    let advice = about_placement.last().is_some_and(|line| line.starts_with("advised placement,"));
    assert_eq!(advice, two, "{}", done.stdout);
    let placed = place.sql("SELECT count(*) FROM v_run WHERE factors LIKE '%\"part\":\"placement\"%'");
    let placed: usize = placed.parse().unwrap();
    assert_eq!(placed > 0, two);
    let home = std::fs::read_to_string(place.home().join("host.json")).unwrap();
    assert_eq!(home.contains("\"level\""), two, "{home}");

    // A cost and a lateness for each of 8 cells, the start lag, two idle runs, and at least two tried rates.
    assert_eq!(place.sql("SELECT count(*) FROM v_run WHERE load = 'closed'"), (8 + placed).to_string());
    assert_eq!(place.sql("SELECT count(*) >= 13 FROM v_run WHERE load = 'rate'"), "1");
    // In the idle runs arrivals are counted, and nothing is received.
    let idle = "SELECT count(*), max(clients) FROM v_run WHERE workload = 'nothing to do' AND load = 'rate'";
    assert_eq!(place.sql(idle), "2,64");
    for figure in ["client_cpu_us_per_tx", "client_cpu_pct", "client_busiest_thread_pct"] {
        let query = format!(
            "SELECT count(*) FROM run_figure JOIN v_run USING (run_id) WHERE name = '{figure}' AND value > 0 AND ok > 0"
        );
        // On an overloaded machine a tried rate may have no successful transaction.
        assert_eq!(place.sql(&query), place.sql("SELECT count(*) FROM v_run WHERE ok > 0"), "{figure}");
    }
    let late = "SELECT count(DISTINCT name) FROM run_figure WHERE name IN ('timer_lateness_p50_us', \
                'timer_lateness_p99_us', 'start_lag_p50_us', 'start_lag_p99_us')";
    assert_eq!(place.sql(late), "4");
    assert_eq!(place.sql("SELECT count(*) FROM v_experiment WHERE name = 'calibrate' AND rounds = 1"), "1");

    // The page's headline has the verdict, and no process is left.
    let page = place.run(["report", "--output", "-"]).expect(0).stdout;
    assert!(page.contains("runs are valid") || page.contains("suspect ("), "no verdict in the page");
    place.wait_until_quiet(Duration::from_secs(10));
}

/// After a stop, the cost of an operation was stored without its lateness.
#[test]
fn a_stopped_calibration_keeps_whole_measurements() {
    let place = Place::new();
    let mut running =
        Watched::start(place.command(["calibrate", "--seconds", "20", "--clients", "1", "--verbose"]));
    // The first run of an operation's second measurement, after the placements.
    assert!(running.until("null sink, simple, 1 client:"), "{}", running.seen);
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "INT");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    let placed = place.sql("SELECT count(*) FROM v_run WHERE factors LIKE '%\"part\":\"placement\"%'");
    let whole = if placed == "0" { "2 of 8 measurements are kept" } else { "3 of 9 measurements are kept" };
    assert!(stderr.contains(whole), "{stderr}");
    let others = "SELECT count(*) FROM v_run WHERE factors NOT LIKE '%\"part\":\"placement\"%'";
    assert_eq!(place.sql(others), "4");
    place.wait_until_quiet(Duration::from_secs(10));
}

#[test]
fn a_calibration_that_cannot_be_stored_is_printed_all_the_same() {
    let (place, results) = (Place::new(), Place::new());
    let file = results.results();
    let done = std::thread::scope(|scope| {
        let (seconds, to) = ("10", file.to_str().unwrap());
        let args = ["calibrate", "--seconds", seconds, "--clients", "1", "--results", to];
        let running = scope.spawn(move || place.run(args));
        let start = Instant::now();
        let count = ["sql", "--format", "csv", "SELECT count(*) > 0 FROM run"];
        while !(file.exists() && results.run(count).stdout.lines().nth(1) == Some("1")) {
            assert!(start.elapsed() < PATIENCE && !running.is_finished());
            std::thread::sleep(Duration::from_millis(20));
        }
        rusqlite::Connection::open(&file).unwrap().execute_batch("DROP TABLE run_figure").unwrap();
        running.join().unwrap()
    });
    let done = done.expect(74).says(&["the result above is not stored", "run_figure"]);
    assert!(
        in_one_line(&done.stdout).contains("point read") || in_one_line(&done.stdout).contains("start lag"),
        "{}",
        done.stdout
    );
    assert!(
        in_one_line(&done.stdout).contains("it is limited by ") && !done.stderr.contains("results:"),
        "{}",
        done.stdout
    );
}

/// A file does the same as the command, and each calibration is an experiment: the machine may have changed.
#[test]
fn a_file_calibrates_and_never_goes_on() {
    let place = Place::new();
    let text = "question = \"?\"\n[target]\nmanaged = { name = \"calibrate\" }\n[prepare.pgbench]\n[calibrate]\n\
                time = \"5s\"\nclients = 1\n";
    let file = place.write("host.toml", text);
    let file = file.to_str().unwrap();
    let dry = place.run(["run", "--dry-run", file]).expect(0);
    assert!(in_one_line(&dry.stdout).contains("start lag") && !place.results().exists(), "{}", dry.stdout);
    for _ in 0..2 {
        let done = place.run(["run", file]).expect(0).says(&["point read, 1 client", "results:"]);
        let said = in_one_line(&done.stdout);
        assert!(said.contains("placement clients per_s") && said.contains("it is limited by "), "{said}");
    }
    assert_eq!(place.sql("SELECT count(*), max(rounds) FROM v_experiment WHERE name = 'host'"), "2,1");
    let seeds = "SELECT count(DISTINCT seed) FROM experiment";
    assert_eq!(place.sql(seeds), "2");
    place.run(["run", "--rounds", "2", file]).expect(64).says(&["--rounds"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let place = Place::new();
    place.run(["calibrate", "--seconds", "1"]).expect(64).says(&["--seconds"]);
    place.run(["calibrate", "--clients", "0"]).expect(64).says(&["--clients"]);
    place.run(["calibrate", "--pg-bin", "/nowhere"]).expect(68);
}

const LEFT: &str = "select count(*) from pg_namespace where nspname like 'pgdyno\\_probe\\_%'";

/// `figure|state` of each figure of a CSV, in order.
fn states(csv: &str) -> Vec<String> {
    let figures = csv.lines().filter(|line| line.starts_with("figure,"));
    let state = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{}|{}", fields[1], fields[10])
    };
    figures.map(state).collect()
}

/// One server for all checks: starting a server and probing take seconds.
#[test]
fn a_server_is_probed_as_far_as_it_may_be_and_nothing_stays() {
    let (place, server) = (Place::new(), Server::start_with(&["shared_buffers=16MB"]));
    let url = server.url();
    all_parts(&place, &server, &url);
    nothing_is_written_where_it_was_asked(&place, &server, &url);
    a_role_without_rights_gets_what_it_may(&place, &server);
    an_interrupted_probe_clears_away(&place, &server, &url);
    a_killed_probe_leaves_nothing(&place, &server, &url);
    what_a_probe_left_goes_with_the_next(&place, &server, &url);
    stored_probes_stand_side_by_side(&place);
}

fn all_parts(place: &Place, server: &Server, url: &str) {
    let done = place.run(["probe", url, "--time", "5s", "--space", "64MB", "--format", "csv"]).expect(0);
    let csv = &done.stdout;
    let found = states(csv);
    assert_eq!(found.len(), 13, "{csv}");
    for (state, line) in found.iter().zip(csv.lines().skip(1)) {
        // A slow machine has no time for all shots or parts.
        let has_figure = state.ends_with("|measured") || state.ends_with("|cut");
        assert!(has_figure || line.contains(",not available,cut: "), "{csv}");
    }
    for fact in ["fact,CPUs", "fact,memory", "fact,shared_buffers", "fact,steal"] {
        assert!(csv.contains(fact), "{fact} in {csv}");
    }
    assert_eq!(server.psql(LEFT), "0");
    let shots = "SELECT count(*) > 100 AND min(value) > 0 FROM sample WHERE source = 'probe'";
    assert_eq!(place.sql(shots), "1");
    let medians =
        "SELECT count(*) FROM run_figure WHERE name IN ('commit_us', 'cpu_one_rows_per_s', 'round_trip_us')";
    assert_eq!(place.sql(medians), "3");
}

fn nothing_is_written_where_it_was_asked(place: &Place, server: &Server, url: &str) {
    let objects = "select count(*) from pg_class";
    let before = server.psql(objects);
    let args = ["probe", url, "--time", "2s", "--read-only", "--backends", "2", "--format", "csv"];
    let done = place.run(args).expect(0);
    let left_out = done.stdout.matches("\"it writes, and read-only was asked for\"").count();
    assert_eq!((states(&done.stdout).len(), left_out), (13, 7), "{}", done.stdout);
    assert_eq!(server.psql(objects), before);
}

fn a_role_without_rights_gets_what_it_may(place: &Place, server: &Server) {
    server.psql("create role joe login");
    server.psql("revoke all on database postgres from public");
    server.psql("grant connect on database postgres to joe");
    let url = server.url().replace("user=postgres", "user=joe");
    let done = place.run(["probe", &url, "--time", "2s", "--format", "csv"]).expect(0);
    let done = done.says(&["role joe may not create a schema or a temporary table in database postgres"]);
    assert!(
        done.stdout.contains("fact,CPU,,,,,,,,,not available,the role may not read files of the host"),
        "{}",
        done.stdout
    );
    // The number of backends grows while it helps, if the number of CPUs is unknown.
    assert!(in_one_line(&done.stdout).contains("the host's CPUs are not known"), "{}", done.stdout);
    let none = place.run(["probe", &server.url().replace("user=postgres", "user=nobody")]).expect(67);
    assert!(none.stdout.is_empty());
}

fn an_interrupted_probe_clears_away(place: &Place, server: &Server, url: &str) {
    let mut running = Watched::start(place.command(["probe", url, "--time", "4s"]));
    assert!(running.until("commits"), "{}", running.seen);
    assert_eq!(server.psql(LEFT), "1");
    signal(running.child.id(), "INT");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    assert_eq!(server.psql(LEFT), "0");
}

/// Its schema stayed until the next probe.
fn a_killed_probe_leaves_nothing(place: &Place, server: &Server, url: &str) {
    let mut running = Watched::start(place.command(["probe", url, "--time", "12s"]));
    assert!(running.until("reading pages"), "{}", running.seen);
    assert_eq!(server.psql(LEFT), "1");
    signal(running.child.id(), "KILL");
    running.end();
    let start = Instant::now();
    while server.psql(LEFT) != "0" {
        assert!(start.elapsed() < Duration::from_secs(12), "the killed probe's schema stays");
        std::thread::sleep(Duration::from_millis(100));
    }
    place.wait_until_quiet(Duration::from_secs(10));
    place.run(["target", "status"]).expect(0).says(&["no private server"]);
}

/// As the watchdog leaves it if it is killed, too.
fn what_a_probe_left_goes_with_the_next(place: &Place, server: &Server, url: &str) {
    server.psql("create schema pgdyno_probe_left");
    let mark =
        "scratch data of pgdyno probe, to be dropped by it: backend 1 since 1.000, no longer than 2.000";
    server.psql(&format!("comment on schema pgdyno_probe_left is '{mark}'"));
    // A schema with such a name, but without our mark, belongs to somebody else.
    server.psql("create schema pgdyno_probe_mine");
    let done = place.run(["probe", url, "--time", "2s", "--space", "64MB"]).expect(0);
    assert!(
        in_one_line(&done.stdout).contains("which an earlier probe had left, was dropped"),
        "{}",
        done.stdout
    );
    assert_eq!(server.psql(LEFT), "1");
    assert_eq!(
        server.psql("select nspname from pg_namespace where nspname like 'pgdyno%'"),
        "pgdyno_probe_mine"
    );
}

fn stored_probes_stand_side_by_side(place: &Place) {
    let results = place.results().display().to_string();
    let text = place.run(["probe", "--compare", "1", &results]).expect(0).stdout;
    assert!(text.contains("CPU, one backend") && text.contains("times as good as the first"), "{text}");
    let json = place.run(["probe", "--compare", "1", "--format", "json"]).expect(0).stdout;
    assert!(json.contains("\"what\": \"cpu_all_rows_per_s\""), "{json}");
    place.run(["probe", "--compare", "nothing.sqlite"]).expect(65);
    place.run(["report", "-e", "1"]).expect(65).says(&["a probe has no report"]);
    let wrong = place.run(["probe", "--time", "1s"]).expect(64);
    assert!(wrong.stderr.contains("from 2s to 1h"), "{}", wrong.stderr);
}
