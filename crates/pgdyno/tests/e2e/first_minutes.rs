//! Commands that a new user types in the first ten minutes.

use std::process::Command;

use crate::support::{Place, Server, finish, programs};

/// The command was refused with a list of options.
#[test]
fn one_run_on_a_private_server_needs_no_comparison() {
    let place = Place::new();
    let bench = ["bench", "-S", "-c", "2", "-t", "50", "-s", "2", "--managed"];
    let done = place.run(bench).expect(0);
    assert!(done.stdout.contains("number of transactions actually processed: 100"), "{}", done.stdout);
    assert!(done.stdout.contains("scaling factor: 2"), "{}", done.stdout);
    let again = place.run(bench).expect(0);
    assert!(again.stderr.contains("there already"), "{}", again.stderr);
    place.write("own.sql", "select count(*) from mine;\n");
    place.write("mine.sql", "create table mine as select 1;\n");
    let own = ["bench", "-f", "own.sql", "-t", "3", "--managed=other", "--prepare", "mine.sql"];
    place.run(own).expect(0);
    // More clients than a server allows by default.
    place.run(["bench", "-S", "-c", "120", "-t", "1", "-s", "2", "--managed"]).expect(0);
    place.run(["bench", "-S", "--managed", "shop"]).expect(64).says(&["--managed", "leave one of them out"]);
    place.run(["bench", "-i", "-s", "1", "--managed"]).expect(0);
}

/// Regression: a dump was refused for psql's commands in it, and for its rows.
#[test]
fn a_plain_dump_is_loaded_as_psql_would() {
    let (place, server) = (Place::new(), Server::start());
    server.psql(
        "CREATE TABLE notes (id int PRIMARY KEY, note text);
         CREATE FUNCTION two() RETURNS int LANGUAGE sql AS $$ SELECT 2; $$;
         INSERT INTO notes VALUES (1, E'a\tb\n\\\\.\nc'), (2, NULL)",
    );
    let dumped = |format: &str, file: &str| {
        let mut dump = Command::new(programs().join("pg_dump"));
        dump.arg(format).arg(server.url()).arg("-f").arg(place.path().join(file));
        assert!(dump.status().unwrap().success());
    };
    dumped("-Fp", "notes.sql");
    dumped("-Fc", "notes.dump");
    place.write("q.sql", "SELECT two() / count(*) FILTER (WHERE length(note) = 8) FROM notes;\n");
    let bench = |file| ["bench", "-f", "q.sql", "-t", "3", "--managed=copy", "--prepare", file];
    place.run(bench("notes.sql")).expect(0);
    place.run(bench("notes.dump")).expect(65).says(&["only pg_restore reads this format", "--format=plain"]);
}

/// A script that only read other tables emptied this table, as in pgbench.
#[test]
fn a_script_of_ones_own_empties_no_table() {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0);
    server.psql("insert into pgbench_history (tid) values (1), (2)");
    place.write("one.sql", "select 1;\n");
    place.run(["bench", "-f", "one.sql", "-t", "5", &server.url()]).expect(0);
    assert_eq!(server.psql("select count(*) from pgbench_history"), "2");
    place.run(["bench", "-S", "-t", "5", &server.url()]).expect(0);
    assert_eq!(server.psql("select count(*) from pgbench_history"), "0");
}

#[test]
fn an_answer_is_short_where_all_went_well() {
    let place = Place::new();
    let bench = ["bench", "-S", "-c", "2", "-T", "1", "-s", "1", "--rounds", "2", "--managed", "--against"];
    let done = place.run(bench.into_iter().chain(["settings: jit=off"]));
    let code = done.status.code();
    assert!(matches!(code, Some(0..=3)), "{}", done.stderr);
    let told: Vec<&str> = done.stdout.lines().chain(done.stderr.lines()).collect();
    let unusual =
        |line: &&&str| line.starts_with("warning:") || line.contains("suspect") || line.contains("invalid");
    if !told.iter().any(|line| unusual(&line)) {
        assert!(told.len() <= 12, "{}", told.join("\n"));
        let is_wide = |line: &&&str| {
            line.chars().count() > 80
                && !line.trim_start().starts_with("pgdyno ")
                && !line.contains("results: ")
        };
        assert_eq!(told.iter().find(is_wide), None);
    }
    for words in ["select-only with jit = off", "95 % interval [", "  base ", "  jit=off "] {
        assert!(done.stdout.contains(words), "{words}: {}", done.stdout);
    }
    assert!(told.iter().any(|line| line.contains("pgdyno report -e ")), "{}", told.join("\n"));
    // All steps are in the verbose output.
    let verbose = place.run(bench.into_iter().chain(["settings: jit=off", "--again", "-v"]));
    for words in ["target: managed server", "arm jit off: jit = off", "guard", "1/4"] {
        assert!(verbose.stderr.contains(words), "{words}: {}", verbose.stderr);
    }
}

#[test]
fn a_private_server_is_named_where_there_is_no_other() {
    let place = Place::new();
    for args in
        [&["bench", "-S"][..], &["bench", "-S", "shop"], &["limit", "--promise", "p99 < 1s", "-S", "shop"]]
    {
        let mut command = place.command(args);
        command.env_remove("PGHOST").env("PGPORT", "1");
        finish(command).expect(66).says(&["no server listens", "--managed"]);
    }
    let there = place.run(["bench", "-S", "postgres://127.0.0.1:1/shop"]).expect(66);
    assert!(!there.stderr.contains("--managed"), "a server was named: {}", there.stderr);
}

#[test]
fn the_status_of_a_private_server_says_how_to_connect() {
    let place = Place::new();
    let connection = place.run(["target", "start", "mine"]).expect(0).stdout;
    let status = place.run(["target", "status"]).expect(0);
    let wanted = format!("connect to mine: psql '{}'", connection.trim());
    assert!(status.stdout.contains(&wanted), "{wanted}: {}", status.stdout);
    place.write("one.sql", "select 1;\n");
    place.run(["bench", "-n", "-t", "1", "-f", "one.sql", connection.trim()]).expect(0);
    let json = place.run(["target", "status", "--format", "json"]).expect(0).stdout;
    assert!(json.contains(&format!("\"connection\": \"{}\"", connection.trim())), "{json}");
    place.run(["target", "destroy", "mine"]).expect(0);
}

#[test]
fn the_program_alone_shows_five_questions_before_its_commands() {
    let place = Place::new();
    let shown = place.run([""; 0]);
    let text = shown.stderr + &shown.stdout;
    let (questions, commands) = text.split_once("Commands:").unwrap();
    let count = questions.lines().filter(|line| line.ends_with('?')).count();
    assert_eq!((count, questions.matches("\n  pgdyno ").count()), (5, 5), "{questions}");
    assert!(commands.contains("doctor"), "{commands}");
}

#[test]
fn doctor_names_what_is_missing_and_what_installs_it() {
    let place = Place::new();
    let text = place.run(["doctor"]).expect(0).stdout;
    for words in ["PostgreSQL", "--managed", "osm2pgsql", "io_uring", "pgdyno doctor postgres://"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let mut command = place.command(["doctor"]);
    command.env("PGDYNO_HOME", "/etc/passwd/home");
    let text = finish(command).expect(0).stdout;
    assert!(text.contains("cannot be written to") && text.contains("PGDYNO_HOME"), "{text}");
}

#[test]
fn doctor_shows_what_a_role_may_do_and_what_works() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("create role plain login");
    server.psql("create database shop");
    server.psql("revoke all on schema public from public");
    let url = |role: &str, database: &str| {
        format!("host={} port={} user={role} dbname={database}", server.socket.display(), server.port)
    };
    let text = place.run(["doctor", &url("plain", "shop")]).expect(0).stdout;
    for words in [
        "database shop, role plain",
        "pg_monitor: GRANT pg_monitor TO \"plain\"",
        "needs CREATE on the database and in",
        "only on private servers (--managed)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json = place.run(["doctor", &url("postgres", "shop"), "--format", "json"]).expect(0).stdout;
    assert!(json.contains("\"superuser\"") && !json.contains("GRANT"), "{json}");
    place.run(["doctor", &url("nobody_there", "shop")]).expect(67).says(&["nobody_there"]);
    place.run(["doctor", "postgres://127.0.0.1:1/x"]).expect(66).says(&["no server listens"]);
    place.run(["doctor", "postgres://127.0.0.1:port/x"]).expect(64);
}
