//! Servers behind a user's PgBouncer, and arms that share a server.

use std::process::Command;
use std::time::Duration;

use crate::support::pooler::Pooler;
use crate::support::{Finished, Place, Server, Watched, finish, in_one_line, programs, signal};

/// One server connection for all clients.
const ONE: &str = "pool_mode = transaction\ndefault_pool_size = 1";

/// State of a server connection that an application sees: settings, prepared statements, locks, channels.
const STATE: &str = "SELECT name || '=' || setting FROM pg_settings WHERE name <> 'application_name' \
     UNION ALL SELECT 'statement ' || name FROM pg_prepared_statements \
     UNION ALL SELECT 'lock ' || objid FROM pg_locks WHERE locktype = 'advisory' \
     UNION ALL SELECT 'listens ' || c FROM pg_listening_channels() c ORDER BY 1";

/// A server with a table, and a pooler in front of it.
fn pooled(more: &str) -> (Place, Server, Pooler) {
    let (place, server) = (Place::new(), Server::start());
    server.psql("CREATE TABLE news (id int); INSERT INTO news SELECT generate_series(1, 1000)");
    let pooler = Pooler::start(&server, more);
    (place, server, pooler)
}

#[track_caller]
fn application(pooler: &Pooler, sql: &str) -> String {
    let mut command = Command::new(programs().join("psql"));
    command.args(["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, &pooler.url()]);
    finish(command).expect(0).stdout
}

/// The command reached a verdict, whichever it is.
#[track_caller]
fn is_verdict(done: Finished) -> Finished {
    assert!([0, 1, 2].contains(&done.status.code().unwrap_or(-1)), "{}\n{}", done.stdout, done.stderr);
    done
}

/// Session settings stayed: the application's next INSERT failed.
#[test]
fn nothing_of_pgdyno_stays_on_a_pooled_connection() {
    let (place, _server, pooler) = pooled(ONE);
    let before = application(&pooler, STATE);
    let url = pooler.url();
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n");
    let other = place.write("other.sql", "BEGIN;\nSELECT count(*) FROM news WHERE id < 6;\nEND;\n");
    let (find, against) = (find.display().to_string(), format!("script: {}", other.display()));
    let commands: [&[&str]; 4] = [
        &["bench", "-f", &find, "-c", "2", "-T", "1", &url],
        &["bench", "-f", &find, "-T", "1", "--rounds", "2", &url, "--against", &against],
        &["ladder", "-f", &find, "--clients", "1,2", "--rounds", "1", "-T", "1", "--warmup", "0", &url],
        &[
            "limit",
            "-f",
            &find,
            "--promise",
            "p99 < 200ms",
            "--lowest",
            "10",
            "--highest",
            "20",
            "--width",
            "20",
            "-T",
            "1",
            "--warmup",
            "0",
            &url,
        ],
    ];
    for command in commands {
        let done = place.run(command);
        assert!(
            done.status.code().is_some_and(|code| code < 64),
            "{command:?}\n{}\n{}",
            done.stdout,
            done.stderr
        );
        assert!(done.stderr.contains("transaction pooler"), "{command:?}:\n{}", done.stderr);
        assert!(!done.stderr.contains("somebody changed"), "{}", done.stderr);
        application(&pooler, "INSERT INTO news VALUES (0)");
        assert_eq!(application(&pooler, STATE), before, "after {command:?}");
    }
    let stored = place.sql("SELECT count(*) FROM v_run WHERE round > 0");
    assert_ne!(stored, "0");
    let said = place.sql("SELECT count(*) FROM event WHERE detail LIKE '%transaction pooler%'");
    assert_ne!(said, "0", "each run says what it went through");
}

#[test]
fn nor_when_it_is_killed() {
    let (place, _server, pooler) = pooled(ONE);
    let before = application(&pooler, STATE);
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n");
    let other = place.write("other.sql", "SELECT count(*) FROM news WHERE id < 6;\n");
    let (find, against) = (find.display().to_string(), format!("script: {}", other.display()));
    for pause_ms in [300, 700, 1500] {
        let url = pooler.url();
        let command =
            place.command(["bench", "-f", &find, "-T", "3", "--rounds", "2", &url, "--against", &against]);
        let watched = Watched::start(command);
        std::thread::sleep(Duration::from_millis(pause_ms));
        signal(watched.child.id(), "KILL");
        watched.end();
        application(&pooler, "INSERT INTO news VALUES (0)");
        assert_eq!(application(&pooler, STATE), before, "after {pause_ms} ms");
    }
}

#[test]
fn what_does_not_go_through_a_transaction_pooler_is_refused_by_name() {
    let (place, server, pooler) = pooled(&format!("{ONE}\nignore_startup_parameters = options"));
    let before = application(&pooler, STATE);
    let url = pooler.url();
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n");
    let listen = place.write("listen.sql", "SELECT 1;\nLISTEN news;\n");
    let (find, listen) = (find.display().to_string(), listen.display().to_string());
    let with_options = format!("{url}?options=-c%20jit%3Doff");
    let cases: [(&[&str], &str); 4] = [
        (&["bench", "-M", "prepared", "-f", &find, "-T", "1", &url], "prepared statements do not go through"),
        (&["bench", "-f", &listen, "-T", "1", &url], "listen.sql, line 2: LISTEN news;"),
        (
            &["bench", "-f", &find, "-T", "1", &url, "--against", "settings: work_mem=64MB"],
            "work_mem: a setting of the session does not go through a transaction pooler",
        ),
        (&["bench", "-f", &find, "-T", "1", &with_options], "the startup parameter \"options\""),
    ];
    for (command, words) in cases {
        place.run(command).expect(68).says(&[words]);
        assert_eq!(application(&pooler, STATE), before, "after {command:?}");
    }
    let doctor = in_one_line(&place.run(["doctor", &url]).stdout);
    assert!(doctor.contains("; behind a transaction pooler"), "{doctor}");
    // A direct connection has no such limits.
    place.run(["bench", "-M", "prepared", "-f", &find, "-T", "1", &server.url()]).expect(0);
}

/// It was reported as a transaction pooler, and pgdyno's own transaction was blamed on the script.
#[test]
fn a_statement_pooler_is_named_and_what_needs_a_transaction_is_refused() {
    let (place, _server, pooler) = pooled("pool_mode = statement\ndefault_pool_size = 2");
    let url = pooler.url();
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n").display().to_string();
    let other = place.write("other.sql", "SELECT count(*) FROM news WHERE id < 6;\n");
    let done = place.run(["bench", "-f", &find, "-T", "1", &url]).expect(0);
    assert!(done.stderr.contains("a statement pooler"), "{}", done.stderr);
    let against = format!("script: {}", other.display());
    let args = ["bench", "-f", &find, "-T", "1", "--rounds", "2", &url, "--against", &against];
    place.run(args).expect(68).says(&["does not go through a statement pooler"]);
}

/// Another program's prepared statement was measured in place of the script's.
#[test]
fn a_statement_of_another_program_is_not_measured_in_its_place() {
    let (place, _server, pooler) = pooled("pool_mode = session\ndefault_pool_size = 4\nserver_reset_query =");
    let prepares = "PREPARE \"P_0\" AS SELECT 'another program'; SELECT pg_sleep(1)";
    std::thread::scope(|scope| {
        // At the same time, so that each has a server connection.
        (0..4).for_each(|_| drop(scope.spawn(|| application(&pooler, prepares))));
    });
    let script = place.write("b.sql", "SELECT count(*), pg_sleep(0.02) FROM (SELECT 1) s;\n");
    let script = script.display().to_string();
    let done = place.run(["bench", "-M", "prepared", "-f", &script, "-T", "1", &pooler.url()]).expect(0);
    let tps = done.stdout.lines().find_map(|line| line.strip_prefix("tps = ")).expect("a rate");
    let tps: f64 = tps.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number");
    assert!(tps < 51.0, "its own statement takes 20 ms: {tps}");
}

/// The server's error and hint were lost, and the message suspected a hanging server.
#[test]
fn a_statement_that_cannot_be_prepared_is_told_with_the_server_s_hint() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("CREATE TABLE news (balance int)");
    let script = place.write("typo.sql", "SELECT 1;\nSELECT balanse FROM news;\n");
    let script = script.display().to_string();
    for clients in ["1", "3"] {
        let done = place
            .run(["bench", "-M", "prepared", "-c", clients, "-f", &script, "-T", "2", &server.url()])
            .expect(69)
            .says(&["column \"balanse\" does not exist", "try: ", "news.balance"]);
        let all = format!("{}{}", done.stdout, done.stderr);
        for false_word in ["prepared statement", "does the server hang", "unfinished"] {
            assert!(!all.contains(false_word), "{false_word}:\n{all}");
        }
    }
}

/// The answer to both was "base and other are one server".
#[test]
fn arms_at_urls_may_share_a_server() {
    let (place, server, pooler) = pooled("pool_mode = transaction\ndefault_pool_size = 4");
    server.psql("CREATE DATABASE ff100");
    let find = place.write("find.sql", "SELECT 1;\n").display().to_string();
    let other = |url: &str| format!("url: {url}");
    for (with, shared) in [
        (pooler.url(), "share one server and its database postgres"),
        (pooler.url_of("alias"), "share one server and its database postgres"),
        (server.url_of("ff100"), "share one server, base in its database postgres and other in ff100"),
    ] {
        let (own, against) = (server.url(), other(&with));
        let done = place.run(["bench", "-f", &find, "-T", "1", "--rounds", "2", &own, "--against", &against]);
        let done = is_verdict(done);
        assert!(in_one_line(&done.stderr).contains(shared), "{}", done.stderr);
        assert!(in_one_line(&done.stdout).contains(shared), "the answer says so: {}", done.stdout);
        place.run(["report", "-o", "shared.html"]).expect(0);
        let page = std::fs::read_to_string(place.path().join("shared.html")).expect("a report");
        assert!(page.contains("share one server"));
    }
    // Settings of the whole server would apply to both.
    let file = place.write(
        "both.toml",
        format!(
            "question = \"?\"\n[server.a]\nurl = \"{}\"\nchange_server = true\n[server.b]\nurl = \"{}\"\nchange_server = true\n\
             [workload.w]\npgbench = {{ files = [\"find.sql\"] }}\n[factors]\nserver = [\"a\", \"b\"]\n[compare]\n\
             factor = \"settings\"\nbase = \"s0\"\n[settings.s0]\n[settings.s1]\nautovacuum_naptime = \"30s\"\n\
             [measure]\nrounds = 2\nduration = \"1s\"\n",
            server.url(),
            server.url_of("ff100")
        ),
    );
    place.run(["run", &file.display().to_string()]).expect(65).says(&["are one server", "(change_server)"]);
    // The arms do not differ.
    let against = other(&format!("{}&connect_timeout=7", server.url()));
    let done = place.run(["bench", "-f", &find, "-T", "1", &server.url(), "--against", &against]);
    assert!(done.status.code().is_some_and(|code| code >= 64), "{}", done.stderr);
}

/// A run of a second behind a pooler had a share of its transactions, rows and blocks, at worst 0: the server's
/// processes report theirs at most once a second, and go on after the run.
#[test]
fn counts_that_the_server_has_not_reported_are_missing() {
    let (place, server, pooler) = pooled("pool_mode = transaction\ndefault_pool_size = 4");
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n").display().to_string();
    let counted = "SELECT group_concat(name) FROM run_figure WHERE name IN ('commits', 'blocks_hit')";
    for (url, has) in [(pooler.url(), false), (server.url(), true)] {
        let results = format!("{has}.sqlite");
        let done =
            place.run(["bench", "-f", &find, "-c", "4", "-j", "1", "-T", "1", "--results", &results, &url]);
        let said = "counts of transactions, blocks, rows, temporary files and WAL records are not available";
        assert_eq!(done.stderr.contains(said), !has, "{}", done.stderr);
        let found = place.run(["sql", "--results", &results, "--format", "csv", counted]).expect(0).stdout;
        assert_eq!(found.contains("commits") && found.contains("blocks_hit"), has, "{found}");
    }
}
