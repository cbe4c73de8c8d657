//! Arms on copies of a private server: their assignment, what is kept, and cleanup.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::{self, Place, Server, Watched, line_of, signal};

/// Time limit for watchdogs.
const BOUND: Duration = Duration::from_secs(10);

/// Two arms that need a restart.
const BUFFERS: &str = r#"
question = "Do larger buffers help?"
[target]
managed = { name = "sides" }
[prepare]
pgbench = { scale = 1 }
[workload.lookup]
pgbench = { builtin = "select-only" }
[factors]
clients = 2
[compare]
factor = "settings"
base = "small"
[settings.small]
shared_buffers = "8MB"
[settings.large]
shared_buffers = "32MB"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 4
"#;

/// An index, with UNDO as placeholder.
const INDEX: &str = r#"
question = "Does the index help?"
[target]
TARGET
[prepare]
sql = ["table.sql"]
[workload.lookup]
pgbench = { files = ["lookup.sql"] }
[factors]
clients = 2
[change.index.without]
check = "SELECT to_regclass('public.t_x') IS NULL"
[change.index.with]
do = "CREATE INDEX t_x ON public.t (x)"
UNDO
check = "SELECT to_regclass('public.t_x') IS NOT NULL"
[compare]
factor = "index"
base = "without"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 4
"#;

fn index(place: &Place, target: &str, undo: &str) -> PathBuf {
    place.write(
        "table.sql",
        "CREATE TABLE IF NOT EXISTS public.t AS SELECT i AS id, i % 1000 AS x FROM generate_series(1, 30000) i;\n\
         ANALYZE public.t;\n",
    );
    place.write("lookup.sql", "\\set x random(0, 999)\nSELECT count(id) FROM public.t WHERE x = :x;\n");
    place.write("index.toml", INDEX.replace("TARGET", target).replace("UNDO", undo))
}

/// The server of each arm's runs, by round.
fn turns(place: &Place) -> String {
    let runs = "select r.round, r.arm || ' ' || substr(e.detail, 1, 6) as what from run r join event e using (run_id) \
                where e.kind = 'server' and r.kind = 'client' order by r.round, r.sequence";
    let rounds = format!("select round, group_concat(what, ', ') as turn from ({runs}) group by round");
    place.sql(&format!("select group_concat(turn, '; ') from ({rounds})")).trim_matches('"').to_owned()
}

#[test]
fn arms_that_need_a_restart_stand_side_by_side_and_swap() {
    let place = Place::new();
    let file = place.write("buffers.toml", BUFFERS);
    let file = file.to_str().unwrap();
    let undecided = ["side by side on 2 copies", "swap every round", "once the data are prepared"];
    place.run(["run", "--dry-run", file]).expect(0).says(&undecided);
    assert!(!place.home().exists(), "a dry run makes nothing");

    let done = place.run(["run", file, "--report", "report.html"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(done.stderr.contains("60 % of memory is") && done.stderr.contains("copy 2:"), "{}", done.stderr);
    let swapped = ["small copy 1, large copy 2", "large copy 1, small copy 2"];
    assert_eq!(turns(&place), [swapped, swapped].concat().join("; "));
    let in_force = "select group_concat(arm || ' ' || value, ', ') from (select distinct arm, value from v_run \
                    join v_run_setting using (run_id) where name = 'shared_buffers' and kind = 'client' order by arm)";
    assert_eq!(place.sql(in_force).trim_matches('"'), "large 32MB, small 8MB");
    // Restarted every round: as many starts as arms and rounds.
    let starts = "select count(distinct value) from v_run join v_run_setting using (run_id) \
                  where name = 'shared_buffers' and kind = 'client'";
    assert_eq!(place.sql(starts), "2");
    assert_eq!(place.sql("select order_scheme from experiment"), "pairs");
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(report.contains("What ran on what") && report.contains("copy 2: host="));
    assert_eq!(place.clusters(), ["sides"], "the copies are gone");
    place.wait_until_quiet(BOUND);
    // The size of the prepared data is known before the next experiment.
    place.run(["run", "--dry-run", "--again", file]).expect(0).says(&["60 % of memory is"]);

    // One arm alone fills memory: half-rounds, with the figures; no copy is started.
    let large = BUFFERS.replace("32MB", "70% of memory");
    let large = place.write("large.toml", large);
    place.run(["run", "--dry-run", large.to_str().unwrap()]).expect(0).says(&[
        "half-rounds",
        "2 copies with data of",
        "; 60 % of memory is",
    ]);
    // Late writes of the idle server would disturb the other arm.
    let log = BUFFERS.replace("shared_buffers", "wal_buffers").replace("select-only", "tpcb-like");
    let log = place.write("log.toml", log);
    place
        .run(["run", "--dry-run", log.to_str().unwrap()])
        .expect(0)
        .says(&["half-rounds", "lookup writes and the arms differ in wal_buffers"]);
    place.run(["target", "destroy", "sides"]).expect(0);
}

/// Workloads that only read are compared next to each other; for a writing workload only one server is
/// active.
#[test]
fn a_workload_that_writes_is_alone_with_its_server() {
    let place = Place::with_private("sides");
    let both = BUFFERS
        .replace("[factors]", "[workload.change]\npgbench = { builtin = \"simple-update\" }\n[factors]")
        .replace("clients = 2", "workload = [\"lookup\", \"change\"]\nclients = 2")
        .replace("shared_buffers = \"8MB\"", "wal_buffers = \"1MB\"")
        .replace("shared_buffers = \"32MB\"", "wal_buffers = \"4MB\"");
    // By TCP: each copy has a separate port.
    let both = both.replace("clients = 2", "clients = 2\nconnection = \"tcp\"");
    let file = place.write("both.toml", both.replace("rounds = 4", "rounds = 2"));
    let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
    let mut up = Vec::new();
    for _ in 0..4 {
        assert!(running.until("step: measure"), "{}", running.seen);
        let data = |line: &String| line.contains("/bin/postgres -D") && !line.contains("watchdog");
        up.push(place.processes().iter().filter(|line| data(line)).count());
    }
    assert_eq!(up, [2, 2, 1, 1], "{}", running.seen);
    let (status, seen) = running.end();
    assert!(matches!(status.code(), Some(0..=2)), "{seen}");
    assert!(seen.contains("half-rounds for change: change writes"), "{seen}");
    assert_eq!(
        place
            .sql("select count(*) from v_run where kind = 'client' and failed = 0 and validity <> 'invalid'"),
        "8"
    );
    place.run(["target", "destroy", "sides"]).expect(0);
}

#[test]
fn what_is_thrown_away_needs_no_undo() {
    let place = Place::with_private("sides");
    let file = index(&place, "managed = { name = \"sides\" }", "");
    let path = file.to_str().unwrap();
    let mut running = Watched::start(place.command(["run", "--verbose", path]));
    // The first arm with the index is measured; then all processes are killed.
    for _ in 0..2 {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(BOUND);
    assert_eq!(place.clusters(), ["sides", "sides.1", "sides.2"], "to go on with");
    let mut again = Watched::start(place.command(["run", "--verbose", path]));
    again.until("step: stop");
    let (status, seen) = again.end();
    assert_eq!(status.code(), Some(0), "{seen}");
    assert_eq!(seen.matches("step: change: index with").count(), 0, "it was made once:\n{seen}");
    let turn = ["without copy 1, with copy 2", "with copy 2, without copy 1"];
    assert_eq!(turns(&place), [turn, turn].concat().join("; "));
    assert_eq!(place.clusters(), ["sides"]);
    place.run(["target", "restore", "sides"]).expect(0).says(&["nothing to put back"]);

    // If copies are not possible, the undo is required, with the line in the file, before any change.
    let url = place.run(["target", "start", "sides"]).expect(0).stdout;
    let psql = |sql: &str| {
        let done = std::process::Command::new(support::programs().join("psql"))
            .args(["-XAtqc", sql, url.trim()])
            .output()
            .expect("psql");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    assert_eq!(psql("SELECT to_regclass('public.t_x') IS NULL"), "t", "the server itself was never changed");
    psql("SELECT pg_create_physical_replication_slot('held')");
    let line = line_of(&file, "[change.index.with]");
    place.run(["run", "--again", path]).expect(65).says(&[
        &line,
        "has no undo",
        "cannot be copied",
        "replication slots",
        "held",
    ]);
    psql("SELECT pg_drop_replication_slot('held')");
    place.run(["target", "destroy", "sides"]).expect(0);
    let command = INDEX.replace("TARGET", "managed = {}").replace("UNDO\n", "");
    let command = command.replace("do = \"CREATE INDEX t_x ON public.t (x)\"", "do = { command = \"true\" }");
    let file = place.write("command.toml", command);
    place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(65).says(&["command.toml", "has no undo"]);
}

#[test]
fn who_stops_goes_on_with_the_copies_and_who_finishes_leaves_none() {
    let place = Place::with_private("sides");
    let file = place.write("buffers.toml", BUFFERS);
    let path = file.to_str().unwrap();
    let mut running = Watched::start(place.command(["run", "--verbose", path]));
    for _ in 0..3 {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    signal(running.child.id(), "INT");
    let (status, seen) = running.end();
    assert_eq!(status.code(), Some(75), "{seen}");
    assert!(seen.contains("the copies that arms stood on stay"), "{seen}");
    let status = place.run(["target", "status", "--format", "csv"]).expect(0).stdout;
    assert!(status.contains("sides.1,stopped") && status.contains("sides.2,stopped"), "{status}");
    let made = |number: u32| {
        let folder = place.home().join(format!("clusters/sides.{number}/data/PG_VERSION"));
        std::fs::metadata(folder).expect("a copy").modified().expect("a time")
    };
    let before = [made(1), made(2)];

    // The second time everything is killed: pgdyno, and the watchdogs that would stop its servers.
    let mut running = Watched::start(place.command(["run", "--verbose", path]));
    assert!(running.until("step: measure"), "{}", running.seen);
    assert_eq!([made(1), made(2)], before, "the copies are used again");
    kill_all(&place, &running);
    running.end();
    // The next command stops the servers that the kernel did not.
    place.run(["target", "status"]).expect(0);
    place.wait_until_quiet(BOUND);

    let done = place.run(["run", path]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let swapped = ["small copy 1, large copy 2", "large copy 1, small copy 2"];
    assert_eq!(turns(&place), [swapped, swapped].concat().join("; "), "as it began");
    assert_eq!(place.sql("select count(distinct experiment_id) from v_run"), "1");
    assert_eq!(place.clusters(), ["sides"]);
    place.run(["target", "destroy", "sides"]).expect(0);
}

/// Kills the watchdogs of a run first, so that none sees its end, then the run.
fn kill_all(place: &Place, running: &Watched) {
    signal(running.child.id(), "STOP");
    let dogs = place.processes().into_iter().filter(|line| line.contains("watchdog"));
    for dog in dogs {
        signal(dog.split(':').next().and_then(|pid| pid.parse().ok()).expect("a pid"), "KILL");
    }
    signal(running.child.id(), "KILL");
}

/// At each step with two servers running: if only pgdyno is killed, nothing is left; if its watchdogs too,
/// nothing after the next command.
#[test]
fn nothing_is_left_of_two_servers_whoever_is_killed() {
    let place = Place::with_private("sides");
    let file = index(&place, "managed = { name = \"sides\" }", "undo = \"DROP INDEX IF EXISTS public.t_x\"");
    let path = file.to_str().unwrap();
    for (step, with_watchdogs) in [
        ("copy: sides: copy 2", false),
        ("start: copy 2", true),
        ("guard", false),
        ("change: index with", true),
        ("settings", false),
        ("warm-up", true),
        ("measure", false),
        ("collect", true),
        ("restore", true),
    ] {
        let mut running = Watched::start(place.command(["run", "--verbose", path]));
        if !running.until(&format!("step: {step}")) {
            panic!("{step} never came:\n{}", running.seen);
        }
        match with_watchdogs {
            true => kill_all(&place, &running),
            false => signal(running.child.id(), "KILL"),
        }
        let killed = Instant::now();
        running.end();
        if with_watchdogs {
            place.run(["target", "status"]).expect(0);
        }
        place.wait_until_quiet(BOUND.saturating_sub(killed.elapsed()) + Duration::from_millis(500));
    }
    let runs = "select count(*) || ' ' || count(distinct round || arm) from v_run where kind = 'client'";
    assert_eq!(place.sql(runs), "8 8", "each run once");
    place.run(["run", path]).expect(64).says(&["finished"]);
    assert_eq!(place.clusters(), ["sides"], "what was left of the finished one is gone by now");
    place.run(["target", "destroy", "sides"]).expect(0);
}

/// A change on a user's server, if all our processes were killed.
#[test]
fn a_change_in_force_on_a_users_server_is_undone_by_the_next_command() {
    let (place, server) = (Place::new(), Server::start());
    let there = || server.psql("SELECT to_regclass('public.t_x') IS NOT NULL") == "t";
    let file = index(
        &place,
        "url = \"$TEST_URL\"\nchange_server = true",
        "undo = \"DROP INDEX IF EXISTS public.t_x\"",
    );
    let mut command = place.command(["run", "--verbose", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    let mut running = Watched::start(command);
    while !there() {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    kill_all(&place, &running);
    running.end();
    place.wait_until_quiet(BOUND);
    assert!(there(), "nobody was left to undo it");
    place.write("one.sql", "SELECT 1;\n");
    place
        .run(["bench", "-t", "1", "-n", "-f", "one.sql", &server.url()])
        .expect(0)
        .says(&["a pgdyno that was killed", "undone: "]);
    assert!(!there());
}
