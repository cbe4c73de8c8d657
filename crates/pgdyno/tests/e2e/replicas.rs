//! Replicas of private servers and of servers by URL, scripts that go to them, and Pgpool-II in front of them.

use std::process::Command;
use std::time::Duration;

use crate::support::{self, Place, Server, Watched, finish, in_one_line, programs, signal};

/// Both scripts fail on the wrong server.
const ROUTED: &str = r#"
question = "Does a replica help my reads, and how old are they?"
[target]
managed = {}
replicas = 2
replication = "REPLICATION"
[prepare]
sql = ["table.sql"]
[workload.mix]
pgbench = { scripts = [
  { name = "read", text = "SELECT 1 / pg_is_in_recovery()::int FROM public.t WHERE id = 5;", weight = 3, target = "replica" },
  { name = "write", text = "UPDATE public.t SET x = 1 / (NOT pg_is_in_recovery())::int + :client_id WHERE id = 1;", target = "primary" },
] }
[factors]
clients = 3
[measure]
warmup = "200ms"
duration = "2s"
rounds = 1
"#;
const TABLE: &str = "CREATE TABLE IF NOT EXISTS public.t AS SELECT i AS id, 0 AS x FROM generate_series(1, 100) i;\n\
     CREATE OR REPLACE FUNCTION public.touch() RETURNS int LANGUAGE sql AS 'UPDATE public.t SET x = 1 WHERE id = 2 RETURNING 1';\n";

fn place() -> Place {
    let place = Place::with_private("default");
    place.write("table.sql", TABLE);
    place
}

/// Nothing of a replica or pooler is in the home.
#[track_caller]
fn nothing_is_left(place: &Place) {
    for folder in ["replicas", "poolers"] {
        let left = std::fs::read_dir(place.home().join(folder)).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{folder}");
    }
}

#[test]
fn scripts_go_to_their_server_and_lag_is_told() {
    let place = place();
    let file = place.write("e.toml", ROUTED.replace("REPLICATION", "remote_apply"));
    let done = place.run(["run".as_ref(), file.as_os_str(), "-v".as_ref()]).expect(0);
    assert!(in_one_line(&done.stdout).contains("what replicas showed was at most"), "{}", done.stdout);
    nothing_is_left(&place);
    place.wait_until_quiet(Duration::from_secs(10));
    let events =
        "select count(*) from event where kind = 'replica' and detail like 'pgdyno_replica_%temp_slot = on%'";
    assert_eq!(place.sql(events), "2");
    let settings = "select group_concat(value, ' ') from (select value from v_run_setting where name in \
                    ('synchronous_commit', 'synchronous_standby_names') order by name)";
    assert_eq!(place.sql(settings), "\"remote_apply FIRST 2 (pgdyno_replica_1, pgdyno_replica_2)\"");
    let figures = "select count(*) from run_figure where name glob '*_lag_*_bytes' or name glob '*_lag_*_ms'";
    assert_eq!(place.sql(figures), "12");
    let samples = "select count(distinct source) || ' ' || count(distinct name) from sample where source like 'replica %'";
    assert_eq!(place.sql(samples), "2 6");
    let rows = place.run(["table", "lag", "--format", "json"]).expect(0).stdout;
    assert!(rows.contains("\"replay\"") && rows.contains("lag_end_ms"), "{rows}");
    let page = place.run(["report", "-o", "page.html"]);
    page.expect(0);
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert!(page.contains("Lag of replicas"));
}

#[test]
fn a_script_that_writes_is_refused_on_a_replica_before_any_run() {
    let place = place();
    let of = |script: &str| {
        ROUTED
            .replace("REPLICATION", "async")
            .replace("SELECT 1 / pg_is_in_recovery()::int FROM public.t WHERE id = 5;", script)
    };
    for (script, words) in [
        ("DELETE FROM public.t;", "read, line 1, writes, and a replica takes no writes"),
        ("WITH w AS (DELETE FROM public.t RETURNING 1) SELECT 1 FROM w;", "a replica takes no writes"),
        ("SELECT public.touch();", "read, line 1, writes, and a replica takes no writes"),
    ] {
        let file = place.write("w.toml", of(script));
        let done = place.run(["run".as_ref(), file.as_os_str()]);
        assert_eq!(done.status.code(), Some(65), "{script}: {}", done.stderr);
        assert!(
            done.stderr.contains(words) && done.stderr.contains("send it to the primary"),
            "{}",
            done.stderr
        );
        nothing_is_left(&place);
    }
    // bench tries no script first, but those for a replica.
    let read = place.write("touch.sql", "SELECT public.touch();\n").display().to_string();
    let options =
        ["--managed", "--prepare", "table.sql", "--replicas", "1", "--target", "replica", "-T", "1"];
    let done = place.run(["bench", "-f", &read].iter().chain(&options));
    assert_eq!(done.status.code(), Some(65), "{}", done.stderr);
    assert!(done.stderr.contains("writes, and a replica takes no writes"), "{}", done.stderr);
    let runs = place.run(["sql", "--format", "csv", "select count(*) from run where kind = 'client'"]);
    assert!(!runs.status.success() || runs.stdout.trim().ends_with('0'), "{}", runs.stdout);
}

#[test]
fn what_cannot_stand_with_replicas_is_named() {
    let place = place();
    for (change, with, words) in [
        ("replicas = 2", "replicas = \"postgres://h\"", "must be a number for a managed server"),
        ("replicas = 2", "", "sends scripts to a replica, and the target has none"),
        ("clients = 3", "clients = 3\ncache = \"warm\"", "`cache` and replicas cannot be combined"),
        ("clients = 3", "clients = 3\nconnection = \"tls\"", "which is not reached by tls"),
        ("clients = 3", "clients = 3\nreplicas = [0, 9]", "`factors.replicas` must be from 0 to 8"),
        ("clients = 3", "clients = 3\nreplication = \"syncs\"", "did you mean `sync`?"),
        ("[measure]", "[settings.a]\nwal_level = \"minimal\"\n[measure]", "wal_level = minimal and replicas"),
        ("[measure]", "[settings.a]\nmax_wal_senders = 2\n[measure]", "max_wal_senders is 2"),
        ("[measure]", "[settings.a]\nsynchronous_commit = \"off\"\n[measure]", "which this would override"),
        ("target = \"primary\"", "target = \"pooler\"", "there are runs without one"),
        ("target = \"primary\"", "target = \"standby\"", "standby"),
        (
            "[measure]",
            "[pooler.p]\nkind = \"pgpool\"\npool_size = 3\n[measure]",
            "keeps a session for each client",
        ),
        (
            "[measure]",
            "[pooler.p]\nkind = \"pgpool\"\nsettings = { failover_command = \"x\" }\n[measure]",
            "runs no command",
        ),
    ] {
        let text = ROUTED.replace("REPLICATION", "sync").replace(change, with);
        let file = place.write("bad.toml", text);
        let done = place.run(["run".as_ref(), file.as_os_str()]);
        assert!(done.status.code().is_some_and(|code| code >= 64), "{with}: {}", done.stderr);
        assert!(done.stderr.contains(words), "{with}:\n{}", done.stderr);
    }
}

/// The socket folder of the first replica that runs for this place, once there is one.
fn replica_socket(place: &Place) -> String {
    for _ in 0..600 {
        let found = place.processes().into_iter().find(|line| line.contains("cluster_name=pgdyno_replica_1"));
        if let Some(line) = found {
            let mut words = line.split(' ').skip_while(|word| *word != "-k");
            return words.nth(1).expect("a socket folder").to_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no replica")
}

#[test]
fn a_promoted_replica_makes_its_run_invalid_and_the_next_one_gets_another() {
    let place = place();
    let text = ROUTED.replace("REPLICATION", "async").replace("replicas = 2", "replicas = 1");
    let text = text.replace("duration = \"2s\"", "duration = \"3s\"").replace("rounds = 1", "rounds = 2");
    let file = place.write("e.toml", text);
    let mut run = Watched::start(place.command(["run".as_ref(), file.as_os_str()]));
    let socket = replica_socket(&place);
    assert!(run.until("2 runs; about"));
    std::thread::sleep(Duration::from_millis(1500));
    let mut promote = Command::new(programs().join("psql"));
    promote.args(["-X", "-U", "postgres", "-d", "postgres", "-h", &socket, "-c", "SELECT pg_promote()"]);
    finish(promote).expect(0);
    let (_, said) = run.end();
    let doubts = place.sql("select group_concat(round || ' ' || reason, ' ') from run join run_doubt using (run_id) where reason like 'replica%'");
    assert_eq!(doubts.trim_matches('"'), "1 replica_promoted", "{said}");
    nothing_is_left(&place);
}

#[test]
fn a_kill_leaves_no_replica_slot_or_pooler() {
    let place = place();
    let mut text = ROUTED.replace("REPLICATION", "sync").replace("duration = \"2s\"", "duration = \"60s\"");
    let pools = has_pgpool();
    if pools {
        text = text.replace("clients = 3", "clients = 3\nconnection = \"p\"\n[pooler.p]\nkind = \"pgpool\"");
    }
    let file = place.write("e.toml", text);
    let mut command = place.command(["run".as_ref(), file.as_os_str()]);
    command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut run = command.spawn().expect("the program");
    replica_socket(&place);
    std::thread::sleep(Duration::from_secs(4));
    signal(run.id(), "KILL");
    let _ = run.wait();
    place.wait_until_quiet(Duration::from_secs(20));
    nothing_is_left(&place);
    // The primary waits for nobody, and keeps nothing for anybody.
    let start = place.run(["target", "start"]).expect(0);
    let socket = place
        .processes()
        .into_iter()
        .find_map(|line| line.split(" -k ").nth(1)?.split(' ').next().map(str::to_owned));
    let mut look = Command::new(programs().join("psql"));
    look.args(["-XAt", "-U", "postgres", "-d", "postgres", "-h", &socket.expect(&start.stdout), "-c"]);
    look.arg("SELECT current_setting('synchronous_standby_names') || count(*) FROM pg_replication_slots");
    assert_eq!(finish(look).expect(0).stdout.trim(), "0");
    place.run(["target", "stop"]).expect(0);
}

fn has_pgpool() -> bool {
    let found =
        ["/usr/sbin/pgpool", "/usr/bin/pgpool"].iter().any(|path| std::path::Path::new(path).is_file());
    if !found {
        support::not_available("clients through Pgpool-II", "pgpool is not installed");
    }
    found
}

#[test]
fn pgpool_spreads_reads_and_says_where_they_went() {
    if !has_pgpool() {
        return;
    }
    let place = place();
    let text = r#"
question = "Should Pgpool-II spread the reads?"
[target]
managed = {}
replicas = 1
[prepare]
sql = ["table.sql"]
[workload.read]
pgbench = { scripts = [{ text = "SELECT x FROM public.t WHERE id = :client_id + 1;" }] }
[pooler.p]
kind = "pgpool"
balance = "statement"
settings = { disable_load_balance_on_write = "always" }
[factors]
clients = 4
connection = ["direct", "p"]
[settings.s]
work_mem = "7MB"
[measure]
warmup = "200ms"
duration = "1s"
rounds = 1
"#;
    let file = place.write("p.toml", text);
    place.run(["run".as_ref(), file.as_os_str()]).expect(0);
    let through = "select substr(detail, 1, 7) from event where kind = 'version'";
    assert_eq!(place.sql(through), "pgpool ");
    let share: f64 =
        place.sql("select value from run_figure where name = 'balanced_to_replicas_pct'").parse().unwrap();
    assert!((30.0..70.0).contains(&share), "{share}");
    let sent = place.sql("select detail from event where kind = 'pooler'");
    assert!(sent.contains("SELECT statements to primary, ") && sent.contains(" to replica 1"), "{sent}");
    let used = "select count(*) from run_figure where name = 'pooler_cpu_s' and value > 0";
    assert_eq!(place.sql(used), "1");
    nothing_is_left(&place);
}

#[test]
fn replicas_by_url_are_checked_before_anything_is_measured() {
    let (place, server, other) = (Place::new(), Server::start(), Server::start_anew());
    server.psql("CREATE TABLE t AS SELECT i AS id FROM generate_series(1, 100) i");
    let replica = server.replica("shop_replica");
    let foreign = other.replica("foreign");
    let text = |replica: &str, more: &str| {
        format!(
            "question = \"?\"\n[target]\nurl = \"{}\"\nreplicas = [\"{replica}\"]\n[workload.w]\npgbench = {{ scripts = [\n\
             {{ text = \"SELECT 1 / pg_is_in_recovery()::int FROM t WHERE id = 5;\", target = \"replica\" }},\n\
             {{ text = \"INSERT INTO t VALUES (5);\", target = \"primary\" }}] }}\n\
             [factors]\nclients = 2\n{more}\n[measure]\nwarmup = \"100ms\"\nduration = \"2s\"\nrounds = 1\n",
            server.url()
        )
    };
    for (url, words) in [
        (foreign.url(), "replicates another server: its system identifier is"),
        (server.url(), "is not a replica: it is not in recovery"),
        ("postgres:///postgres?host=/nowhere&user=me&password=geheim".to_owned(), "replica 1: "),
    ] {
        let file = place.write("bad.toml", text(&url, ""));
        let done = place.run(["run".as_ref(), file.as_os_str()]);
        assert!(done.status.code().is_some_and(|code| code >= 64), "{}", done.stderr);
        assert!(done.stderr.contains(words) && !done.stderr.contains("geheim"), "{}", done.stderr);
    }
    let file = place.write("turned.toml", text(&replica.url(), "").replace(&server.url(), &replica.url()));
    place.run(["run".as_ref(), file.as_os_str()]).says(&["the target is a replica itself"]);
    let file = place.write("many.toml", text(&replica.url(), "replicas = 2"));
    place
        .run(["run".as_ref(), file.as_os_str()])
        .says(&["2 replicas are asked for, and a server given by URL names 1"]);
    let file = place.write("good.toml", text(&replica.url(), ""));
    place.run(["run".as_ref(), file.as_os_str()]).expect(0);
    assert_eq!(place.sql("select count(*) from run_figure where name = 'replay_lag_max_bytes'"), "1");
    let event = place.sql("select detail from event where kind = 'replica'");
    assert!(event.contains("replica 1: host="), "{event}");
    // A role that may not read pg_stat_replication.
    server.psql("CREATE ROLE plain LOGIN; GRANT ALL ON t TO plain");
    let as_plain = |url: String| url.replace("user=postgres", "user=plain");
    let file = place.write("plain.toml", as_plain(text(&replica.url(), "")));
    place.run(["run".as_ref(), file.as_os_str(), "--again".as_ref()]).expect(0);
    let remarks = place.sql("select count(*) from event where kind = 'remark' and detail like 'lag of replica 1 is not available:%GRANT pg_monitor%'");
    assert_eq!(remarks, "1");
}
