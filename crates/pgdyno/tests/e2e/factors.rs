//! User-defined factors, connections as a factor, and several queries: `pgdyno run` end to end.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{self, Finished, Place, Server, Watched, in_one_line, line_of, signal};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS public.t AS SELECT i AS id, i % 1000 AS x FROM generate_series(1, 50000) i;\n\
                     ANALYZE public.t;\n";

/// The effect of an index on a lookup, with the target in place of TARGET.
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
undo = "DROP INDEX IF EXISTS public.t_x"
check = "SELECT to_regclass('public.t_x') IS NOT NULL"
[compare]
factor = "index"
base = "without"
[measure]
warmup = "50ms"
duration = "400ms"
rounds = 4
"#;

/// The file of the index experiment, with its inputs.
fn index(place: &Place, target: &str) -> PathBuf {
    place.write("table.sql", TABLE);
    place.write("lookup.sql", "\\set x random(0, 999)\nSELECT count(id) FROM public.t WHERE x = :x;\n");
    place.write("index.toml", INDEX.replace("TARGET", target))
}

/// Runs a file with TEST_URL set to the server.
fn run_at(place: &Place, server: &Server, args: &[&str]) -> Finished {
    support::finish(command_at(place, server, args))
}

fn command_at(place: &Place, server: &Server, args: &[&str]) -> Command {
    let mut command = place.command(args);
    command.env("TEST_URL", server.url());
    command
}

/// Relations with this name that the runs of each arm recorded.
fn recorded_in(place: &Place, relation: &str) -> String {
    let runs = format!("select count(*) from relation where name like '%{relation}' and run_id = run.run_id");
    place.sql(&format!(
        "select group_concat(distinct arm || ' ' || ({runs})) from (select * from run where kind = 'client' order by arm) run"
    ))
}

/// Whether the table of a private server has its index.
fn indexed(place: &Place, name: &str) -> bool {
    let url = place.run(["target", "start", name]).expect(0).stdout;
    let psql = Command::new(support::programs().join("psql"))
        .args(["-XAtqc", "SELECT to_regclass('public.t_x') IS NOT NULL", url.trim()])
        .output()
        .expect("psql");
    String::from_utf8_lossy(&psql.stdout).trim() == "t"
}

/// The answer, and the cleanup, on a server that pgdyno started.
#[test]
fn an_index_is_a_factor_and_is_gone_afterwards() {
    let place = Place::with_private("indexed");
    let file = index(&place, "managed = { name = \"indexed\" }");
    let plan = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(0);
    assert!(plan.stderr.contains("CREATE INDEX t_x") && !place.results().exists(), "{}", plan.stderr);

    let done = place.run(["run", file.to_str().unwrap(), "--report", "report.html"]);
    assert_eq!(done.status.code(), Some(0), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("faster"), "{}", done.stdout);
    let speeds = "select avg(tps) filter (where arm = 'with') > 5 * avg(tps) filter (where arm = 'without') from v_run";
    assert_eq!(place.sql(speeds), "1", "{}", done.stdout);
    assert_eq!(recorded_in(&place, "t_x").trim_matches('"'), "with 1,without 0");
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(report.contains("CREATE INDEX t_x"), "what the arm did stands in the report");

    assert!(!indexed(&place, "indexed"), "the index is gone");
    place.run(["target", "destroy", "indexed"]).expect(0);
}

/// The first request for TCP gives a new port, so the server was taken for another one, and nobody could undo
/// the change.
#[test]
fn what_was_left_on_a_private_server_is_undone_also_when_its_port_changed() {
    let place = Place::with_private("moved");
    let file = index(&place, "managed = { name = \"moved\" }");
    // With another user-defined factor, one server is enough for both arms.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "[change.beside.as_it_is]\ncheck = \"SELECT true\"\n").unwrap();
    let mut running = Watched::start(place.command(["run", "--verbose", file.to_str().unwrap()]));
    for _ in 0..2 {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(Duration::from_secs(10));
    place.run(["target", "status"]).expect(0).says(&["CREATE INDEX t_x", "pgdyno target restore moved"]);

    let text = std::fs::read_to_string(&file).unwrap();
    let by_tcp = place.write("tcp.toml", text.replace("clients = 2", "clients = 2\nconnection = \"tcp\""));
    let done = place.run(["run", by_tcp.to_str().unwrap()]).expect(0);
    assert!(!done.stderr.contains("not put back"), "{}", done.stderr);
    assert!(!indexed(&place, "moved"), "{}", done.stderr);
    place.run(["target", "destroy", "moved"]).expect(0);
}

/// A user's server: no change without consent, and none left after pgdyno is killed.
#[test]
fn an_index_on_a_server_by_url_is_undone_when_pgdyno_is_killed() {
    let (place, server) = (Place::new(), Server::start());
    let there = || server.psql("SELECT to_regclass('public.t_x') IS NOT NULL") == "t";
    let file = index(&place, "url = \"$TEST_URL\"");
    let refused = run_at(&place, &server, &["run", file.to_str().unwrap()]).expect(65);
    let line = line_of(&file, "[change.index.with]");
    refused.says(&[&line, "change_server = true"]);
    assert_eq!(server.psql("SELECT to_regclass('public.t') IS NULL"), "t", "nothing was prepared");

    let file = index(&place, "url = \"$TEST_URL\"\nchange_server = true");
    let again = ["run", "--verbose", file.to_str().unwrap()];
    let mut running = Watched::start(command_at(&place, &server, &again));
    while !there() {
        assert!(running.until("step: measure"), "{}", running.seen);
    }
    signal(running.child.id(), "KILL");
    let killed = Instant::now();
    running.end();
    while there() {
        assert!(killed.elapsed() < Duration::from_secs(10), "the index is still there");
        std::thread::sleep(Duration::from_millis(100));
    }
    place.wait_until_quiet(Duration::from_secs(10));
    let kept = place.sql("select count(*) from v_run where kind = 'client'").parse::<u32>().unwrap();
    assert!(kept > 0 && kept < 8, "{kept} runs");

    let done = run_at(&place, &server, &again);
    assert_eq!(done.status.code(), Some(0), "{}", done.stderr);
    let runs = "select count(*) || ' ' || count(distinct experiment_id) || ' ' || count(distinct invocation) \
                from v_run where kind = 'client'";
    assert_eq!(place.sql(runs), "8 1 2", "the same command went on");
    assert_eq!(recorded_in(&place, "t_x").trim_matches('"'), "with 1,without 0");
    assert!(!there());
    place.wait_until_quiet(Duration::from_secs(10));
}

/// An experiment with one change at a user's server.
fn one_change(place: &Place, change: &str) -> String {
    place.write("one.sql", "SELECT 1;\n");
    let text = format!(
        "question = \"?\"\n[target]\nurl = \"$TEST_URL\"\nchange_server = true\n[workload.one]\n\
         pgbench = {{ files = [\"one.sql\"] }}\n[change.it.without]\n[change.it.with]\n{change}\n\
         [compare]\nfactor = \"it\"\nbase = \"without\"\n[measure]\nwarmup = \"0s\"\nduration = \"200ms\"\nrounds = 2\n"
    );
    place.write("change.toml", text).display().to_string()
}

/// A misspelt table locked the server out until somebody removed the journal.
#[test]
fn a_statement_that_failed_changed_nothing_and_locks_nobody_out() {
    let (place, server) = (Place::new(), Server::start());
    let file = one_change(
        &place,
        "do = \"ALTER TABLE vistors ADD seen int; CREATE TABLE half (a int)\"\nundo = \"ALTER TABLE vistors DROP seen\"",
    );
    let failed = run_at(&place, &server, &["run", &file, "--allow-commands"]).expect(68);
    assert!(!failed.stderr.contains("could not be undone"), "{}", failed.stderr);
    failed.says(&["vistors"]);
    place.run(["target", "status"]).expect(0).says(&["no private server"]);
    place.run(["bench", "-f", "one.sql", "-n", "-T", "1", &server.url()]).expect(0);
}

#[test]
fn a_change_that_nobody_can_undo_is_forgotten_on_request() {
    let (place, server) = (Place::new(), Server::start());
    let file = one_change(&place, "do = { command = \"exit 3\" }\nundo = { command = \"exit 4\" }");
    let again = ["run", &file, "--allow-commands"];
    let failed = run_at(&place, &server, &again);
    failed.says(&["exit 4", "pgdyno target restore"]);
    run_at(&place, &server, &again).expect(69);
    let elsewhere = format!("host=127.0.0.1 port={}", server.port - 1);
    place.run(["target", "restore", "--forget", &elsewhere]).expect(0).says(&["nothing to forget"]);
    let forgotten = place.run(["target", "restore", "--forget", &server.url()]).expect(0);
    forgotten.says(&["not undone; what may be left: command \"exit 3\" (undo: command \"exit 4\")"]);
    place.run(["target", "restore"]).expect(0).says(&["nothing to put back"]);
    run_at(&place, &server, &again).says(&["exit 4"]);
}

/// Ctrl-C during a hanging undo started the same undo again, without end, and the final message did not
/// mention the remaining change.
#[test]
fn an_undo_that_is_not_waited_for_is_left_and_told() {
    let (place, server) = (Place::new(), Server::start());
    let there = || server.psql("SELECT to_regclass('public.left_there') IS NOT NULL") == "t";
    place.write("one.sql", "SELECT 1;\n");
    let hangs = place.write("hangs", "");
    let file = place.write(
        "undo.toml",
        r#"
question = "What does a table cost that nobody asks?"
[target]
url = "$TEST_URL"
change_server = true
[workload.one]
pgbench = { files = ["one.sql"] }
[change.table.without]
[change.table.with]
do = "CREATE TABLE IF NOT EXISTS left_there (a int)"
undo = { command = "while test -e hangs; do sleep 0.1; done; psql -X -c 'DROP TABLE IF EXISTS left_there'" }
[compare]
factor = "table"
base = "without"
[measure]
warmup = "100ms"
duration = "200ms"
rounds = 2
"#,
    );
    let run = ["run", "--verbose", "--allow-commands", file.to_str().unwrap()];
    let mut running = Watched::start(command_at(&place, &server, &run));
    assert!(running.until("table with: undo"), "{}", running.seen);
    std::thread::sleep(Duration::from_millis(300));
    signal(running.child.id(), "INT");
    let pressed = Instant::now();
    let (status, said) = running.end();
    assert!(pressed.elapsed() < Duration::from_secs(8), "it ended after {:?}", pressed.elapsed());
    assert_eq!(status.code(), Some(75), "{said}");
    assert!(said.contains("target restore") && there(), "{said}");
    std::fs::remove_file(hangs).unwrap();
    while there() {
        assert!(pressed.elapsed() < Duration::from_secs(20), "the watchdog did not undo it");
        std::thread::sleep(Duration::from_millis(100));
    }
    place.wait_until_quiet(Duration::from_secs(10));
}

/// Two scripts as arms, with TEST_URL set to the server.
fn two_queries(place: &Place, [first, second]: [&str; 2]) -> PathBuf {
    place.write("first.sql", first);
    place.write("second.sql", second);
    place.write(
        "queries.toml",
        r#"
question = "Which query is faster?"
[target]
url = "$TEST_URL"
[workload.first]
pgbench = { files = ["first.sql"] }
[workload.second]
pgbench = { files = ["second.sql"] }
[factors]
workload = ["first", "second"]
[compare]
factor = "workload"
base = "first"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 2
"#,
    )
}

#[test]
fn scripts_that_answer_differently_are_told_wherever_speeds_are() {
    let (place, server) = (Place::new(), Server::start());
    let scripts = [
        "\\set x random(1, 9)\nSELECT generate_series(1, 5 + :x);\n",
        "\\set x random(1, 9)\nSELECT generate_series(1, 4 + :x);\n",
    ];
    let file = two_queries(&place, scripts);
    let done = run_at(&place, &server, &["run", file.to_str().unwrap(), "--report", "report.html"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let told = "returns 16 rows fewer than first";
    let (warned, began) = (done.stderr.find(told), done.stderr.find("1/4"));
    assert!(warned.is_some() && warned < began, "before any speed:\n{}", done.stderr);
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    for (what, text) in [("summary", &done.stdout), ("report", &report)] {
        let flat = in_one_line(text);
        assert!(
            flat.contains("he arms do not do the same") && flat.contains(told),
            "no word in the {what}:\n{text}"
        );
    }
    let events = "select group_concat(distinct arm || ' ' || (detail like '%16 rows fewer%')) \
                  from run join event using (run_id) where event.kind = 'other answers'";
    assert_eq!(place.sql(events), "second 1");
}

/// Areas 5, 6, 7, … against 4, 5, 6, … of one row each: the relative error depends on the drawn row.
#[test]
fn how_far_answers_are_off_is_measured_for_each_script_and_column() {
    let (place, server) = (Place::new(), Server::start());
    for (name, text) in [
        ("same.sql", "\\set x random(1, 9)\nSELECT :x AS id;\n"),
        ("exact.sql", "SELECT 'way' AS kind, 8.0 AS area, 3::float8 AS length, 'a' AS name;\n"),
        ("coarse.sql", "SELECT 'way' AS kind, 10 AS area, 3::float8 AS length, 'b' AS name;\n"),
    ] {
        place.write(name, text);
    }
    let file = place.write(
        "coarse.toml",
        format!(
            "question = \"What do coarse shapes save?\"\n[target]\nurl = \"{}\"\n\
             [workload.exact]\npgbench = {{ files = [\"same.sql\", \"exact.sql\"] }}\n\
             [workload.coarse]\npgbench = {{ files = [\"same.sql\", \"coarse.sql\"] }}\n\
             [factors]\nworkload = [\"exact\", \"coarse\"]\n[compare]\nfactor = \"workload\"\nbase = \"exact\"\n\
             [measure]\nwarmup = \"50ms\"\nduration = \"300ms\"\nrounds = 2\n",
            server.url()
        ),
    );
    let done = place.run(["run", file.to_str().unwrap(), "--report", "report.html"]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let told = "returns other values than exact in 16 of 16 transactions, and as many rows (script coarse.sql): \
                area is off by 25 % in the median, 25 % at most; name has other values";
    let report = std::fs::read_to_string(place.path().join("report.html")).unwrap();
    assert!(!report.contains("answer difference"), "words, no JSON");
    for (what, text) in [("warning", &done.stderr), ("summary", &done.stdout), ("report", &report)] {
        assert!(in_one_line(text).contains(told), "no word in the {what}:\n{text}");
    }
    let table = place.run(["table", "answers", "--format", "csv"]).expect(0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    let [head, area, name] = lines[..] else { panic!("{table}") };
    assert!(
        head.starts_with("workload,cell,arm,script,transactions,differ,rows,base_rows,rows_differ,column,"),
        "{head}"
    );
    assert_eq!(area, "exact / coarse,,coarse,coarse.sql,16,16,16,16,0,area,16,25,25,0");
    assert_eq!(name, "exact / coarse,,coarse,coarse.sql,16,16,16,16,0,name,16,,,");
    let in_sql = "select json_extract(detail, '$.columns[0].error.median') from event where kind = 'answer difference'";
    assert_eq!(place.sql(in_sql), "0.25");
    let compared = place.run(["compare", "--format", "json"]);
    assert!(in_one_line(&compared.stdout).contains("area is off by 25 %"), "{}", compared.stdout);
}

#[test]
fn arms_that_look_for_tables_elsewhere_are_seen_to_answer_alike_or_not() {
    let (place, server) = (Place::new(), Server::start());
    place.write("count.sql", "\\set x random(1, 9)\nSELECT number FROM counted WHERE number < 10 + :x;\n");
    place.write(
        "schemas.sql",
        "CREATE SCHEMA IF NOT EXISTS whole; CREATE SCHEMA IF NOT EXISTS copied; CREATE SCHEMA IF NOT EXISTS cut;
         DROP TABLE IF EXISTS whole.counted, copied.counted, cut.counted;
         CREATE TABLE whole.counted AS SELECT generate_series(1, 100) AS number;
         CREATE TABLE copied.counted AS SELECT number FROM whole.counted ORDER BY -number;
         CREATE TABLE cut.counted AS SELECT number FROM whole.counted WHERE number > 1;",
    );
    let file = place.write(
        "schemas.toml",
        r#"
question = "Which schema is faster?"
[target]
url = "$TEST_URL"
[prepare]
sql = "schemas.sql"
[workload.count]
pgbench = { files = ["count.sql"] }
[compare]
factor = "settings"
base = "whole"
[settings.whole]
search_path = "whole, public"
[settings.copied]
search_path = "copied, public"
[settings.cut]
search_path = "cut, public"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 2
"#,
    );
    let done = run_at(&place, &server, &["run", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    done.says(&["copied answers as whole does", "returns 16 rows fewer than whole"]);
    let told = "select group_concat(distinct arm) from run join event using (run_id) where event.kind = 'other answers'";
    assert_eq!(place.sql(told), "cut");
}

#[test]
fn equal_scripts_are_refused_unless_that_is_meant() {
    let (place, server) = (Place::new(), Server::start());
    let file = two_queries(&place, ["SELECT 1;\n"; 2]);
    let run = ["run", file.to_str().unwrap()];
    run_at(&place, &server, &run).expect(65).says(&[
        "queries.toml",
        "first and second are the same",
        "--same",
    ]);
    run_at(&place, &server, &["run", "--dry-run", file.to_str().unwrap()]).expect(65).says(&["--same"]);
    let done = run_at(&place, &server, &["run", "--same", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert!(!in_one_line(&done.stdout).contains("do not do the same"), "{}", done.stdout);
}

/// Lookups by all kinds of connections.
const CONNECTIONS: &str = r#"
question = "What does the way to connect cost?"
[target]
managed = { name = "ways" }
[prepare]
pgbench = { scale = 1 }
[workload.lookup]
pgbench = { builtin = "select-only" }
[factors]
clients = 2
connection = ["socket", "tcp", "tls", "bouncer"]
[pooler.bouncer]
pool_mode = "transaction"
pool_size = 2
[compare]
factor = "connection"
base = "socket"
[measure]
warmup = "50ms"
duration = "300ms"
rounds = 2
"#;

fn has_pgbouncer() -> bool {
    let found = Command::new("pgbouncer").arg("--version").output().is_ok_and(|done| done.status.success());
    if !found {
        support::not_available("clients through PgBouncer", "pgbouncer is not installed");
    }
    found
}

#[test]
fn clients_connect_by_socket_tcp_tls_and_pgbouncer() {
    if !has_pgbouncer() {
        return;
    }
    let place = Place::with_private("ways");
    let file = place.write("ways.toml", CONNECTIONS);
    place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(0);
    let done = place.run(["run", file.to_str().unwrap()]);
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let arms = "select group_concat(arm || ' ' || runs, ', ') from \
                (select arm, count(*) as runs from v_run where kind = 'client' and ok > 0 and failed = 0 group by arm order by arm)";
    assert_eq!(place.sql(arms).trim_matches('"'), "bouncer 2, socket 2, tcp 2, tls 2");
    let through = "select group_concat(distinct arm || ' ' || substr(detail, 1, 12)) \
                   from run join event using (run_id) where event.kind = 'version'";
    assert_eq!(place.sql(through), "bouncer pgbouncer 1.", "version of what is between");
    let encrypted = "select group_concat(distinct arm || ' ' || substr(detail, 1, 18)) \
                     from run join event using (run_id) where event.kind = 'connection'";
    assert_eq!(place.sql(encrypted), "tls 2 connections: TLS", "the server's own word");
    let arm = "select json_extract(arm.value, '$.settings.pool_mode') || ' ' || json_extract(arm.value, '$.settings.pool_size') \
               || ' ' || substr(json_extract(arm.value, '$.settings.pooler'), 1, 12) \
               from experiment, json_each(experiment.arms) arm where json_extract(arm.value, '$.name') = 'bouncer'";
    assert_eq!(place.sql(arm), "transaction 2 PgBouncer 1.", "a stored arm of a pooler says what it is");
    place.with_fact("{\"program_version\"%", "'$.program_version.version', '1.0.0'", || {
        let other = place.run(["run", file.to_str().unwrap(), "--rounds", "9"]).expect(64);
        other.says(&["began with PgBouncer 1.0.0, and that is 1.", "--again"]);
    });
    place.wait_until_quiet(Duration::from_secs(10));
    place.run(["target", "destroy", "ways"]).expect(0);
}

/// The effect of PgBouncer's version is only known where it is installed.
#[test]
fn prepared_statements_that_pgbouncer_loses_are_told_and_no_run_is_full_of_errors() {
    if !has_pgbouncer() {
        return;
    }
    let place = Place::with_private("ways");
    let text = CONNECTIONS.replace("\"select-only\"", "\"select-only\", mode = \"prepared\"");
    let file = place.write("lost.toml", text.replace("\"ways\"", "\"lost\""));
    let done = place.run(["run", file.to_str().unwrap()]);
    if done.status.code() != Some(68) {
        let kept = matches!(done.status.code(), Some(0..=2));
        assert!(kept, "PgBouncer 1.24 and newer keep them by themselves:\n{}", done.stderr);
    } else {
        let done = done.says(&["prepared statements do not go through PgBouncer", "pool_mode = session"]);
        assert!(!done.stderr.contains("does not exist"), "{}", done.stderr);
    }
    assert_eq!(place.sql("select count(*) from v_run where kind = 'client' and failed > 0"), "0");
    place.wait_until_quiet(Duration::from_secs(10));
    place.run(["target", "destroy", "lost"]).expect(0);
}

/// A single error in an otherwise valid file.
struct Mistake {
    right: &'static str,
    wrong: &'static str,
    /// Text of the line that the message names.
    at: &'static str,
    says: &'static [&'static str],
}

#[test]
fn mistakes_in_factors_are_one_message_with_their_line() {
    let place = Place::new();
    index(&place, "");
    let text = INDEX
        .replace("TARGET", "managed = {}")
        .replace("clients = 2", "connection = [\"direct\", \"bouncer\"]\nclients = 2")
        .replace("[compare]", "[pooler.bouncer]\npool_mode = \"transaction\"\npool_size = 2\n[compare]");
    for Mistake { right, wrong, at, says } in [
        Mistake {
            right: "do = \"CREATE INDEX t_x ON public.t (x)\"\nundo = \"DROP INDEX IF EXISTS public.t_x\"\n",
            wrong: "do = { command = \"true\" }\n",
            at: "[change.index.with]",
            says: &["has no undo", "DROP INDEX IF EXISTS"],
        },
        Mistake {
            right: "do = \"CREATE INDEX t_x ON public.t (x)\"\n",
            wrong: "",
            at: "[change.index.with]",
            says: &["undo without a do"],
        },
        Mistake {
            right: "base = \"without\"",
            wrong: "base = \"wihtout\"",
            at: "wihtout",
            says: &["there is no [change.index.wihtout]", "did you mean `without`?"],
        },
        Mistake {
            right: "[change.index.without]\ncheck",
            wrong: "[change.clients.x]\n[change.index.without]\ncheck",
            at: "[change.clients.x]",
            says: &["a change cannot be called `clients`"],
        },
        Mistake {
            right: "[change.index.without]\ncheck",
            wrong: "[change.\"a.b\".x]\n[change.index.without]\ncheck",
            at: "[change.\"a.b\".x]",
            says: &["a change cannot be called `a.b`", "a point"],
        },
        Mistake {
            right: "pool_size = 2",
            wrong: "pool_size = 0",
            at: "[pooler.bouncer]",
            says: &["pool_size", "1 to 10000"],
        },
        Mistake {
            right: "[\"direct\", \"bouncer\"]",
            wrong: "[\"direct\", \"boucner\"]",
            at: "boucner",
            says: &["known here: direct, socket, tcp, tls, bouncer, and the name of a table [pooler.NAME]"],
        },
        Mistake {
            right: "\"bouncer\"]\nclients = 2\n",
            wrong: "\"bouncer\", \"tcp\"]\nclients = 2\n[pooler.tcp]\npool_mode = \"session\"\npool_size = 1\n",
            at: "[pooler.tcp]",
            says: &["a pooler cannot be called `tcp`"],
        },
        Mistake {
            right: "pool_mode = \"transaction\"",
            wrong: "pool_mode = \"transactions\"",
            at: "transactions",
            says: &["cannot be \"transactions\"", "did you mean `transaction`?"],
        },
        Mistake {
            right: "managed = {}\n[prepare]\nsql = [\"table.sql\"]\n[workload.lookup]\n\
                    pgbench = { files = [\"lookup.sql\"] }\n[factors]\nconnection = [\"direct\",",
            wrong: "url = \"postgres://127.0.0.1:1/x\"\nchange_server = true\n[workload.lookup]\n\
                    pgbench = { files = [\"lookup.sql\"] }\n[factors]\nconnection = [\"tcp\",",
            at: "connection =",
            says: &["\"tcp\" is for managed servers", "\"direct\""],
        },
        Mistake {
            right: "factor = \"index\"\nbase = \"without\"",
            wrong: "factor = \"clients\"\nbase = 2",
            at: "factor = \"clients\"",
            says: &["at least two arms", "list its levels in [factors]"],
        },
        Mistake {
            right: "factor = \"index\"",
            wrong: "factor = \"indx\"",
            at: "factor = \"indx\"",
            says: &["`compare.factor` cannot be \"indx\"", "did you mean `index`?"],
        },
        Mistake {
            right: "do = \"CREATE",
            wrong: "dew = \"CREATE",
            at: "dew",
            says: &["unknown key", "known here: do, undo, check"],
        },
    ] {
        let changed = text.replacen(right, wrong, 1);
        assert_ne!(changed, text, "{right}");
        let file = place.write("wrong.toml", changed);
        let line = line_of(&file, at);
        let done = place.run(["run", "--dry-run", file.to_str().unwrap()]).expect(65);
        assert!(done.stderr.contains(&line), "{wrong}: no {line} in:\n{}", done.stderr);
        let done = done.says(says);
        assert_eq!(done.stderr.matches("wrong.toml:").count(), 1, "{wrong}:\n{}", done.stderr);
    }
    assert!(!place.results().exists() && !place.home().exists());
}
