//! Passwords and hostile text: nothing that could be a password is quoted wherever it was put by mistake, and nothing
//! that comes from others drives a terminal or forges a line.

#[path = "../../protocol/tests/misplaced.rs"]
mod misplaced;
mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use misplaced::PASSWORD;
use support::{Finished, Place, Server, finish};

const FILE: &str = "question = \"?\"\n[workload.a]\npgbench = { builtin = \"select-only\" }\n\
                    [measure]\nduration = \"1s\"\nrounds = 2\n";

#[track_caller]
fn silent(what: &str, done: &Finished) {
    for text in [&done.stdout, &done.stderr] {
        assert!(!misplaced::leaks(text), "{what}\n{text}");
    }
}

/// Every string that misplaces a password, in some of the places where a string can be given, each in turn.
#[test]
fn no_command_quotes_a_misplaced_password() {
    let place = Place::new();
    let dsns = misplaced::MISPLACED.iter().map(|string| string.replace("PW", PASSWORD));
    let arguments: [&[&str]; 35] = [
        &["bench", "-t", "1", "-n", "-S", "DSN"],
        &["pgbench", "-t", "1", "-n", "-S", "DSN"],
        &["run", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "DSN", "shop"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "-U", "DSN"],
        &["bench", "-S", "--against", "url: DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--against", "DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--against", "settings: DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--against", "settings: jit=off", "-p", "1", "DSN"],
        &["bench", "-S", "--against", "script: DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--managed", "--against", "version: DSN"],
        &["bench", "-c", "DSN"],
        &["bench", "shop", "DSN"],
        &["bench", "-l", "DSN"],
        &["bench", "-l", "--log-prefix", "DSN"],
        &["bench", "-i", "-c", "1", "-d", "DSN"],
        &["bench", "--random-seed", "DSN"],
        &["man", "DSN"],
        &["bench", "-D", "DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-f", "DSN", "-h", "127.0.0.1", "-p", "1"],
        &["DSN"],
        &["bench", "--results", "DSN"],
        &["table", "DSN"],
        &["table", "-e", "DSN"],
        &["report", "-o", "DSN"],
        &["sql", "DSN"],
        &["import", "DSN"],
        &["osm", "load", "x.osm.pbf", "-d", "DSN"],
        &["target", "stop", "DSN"],
        &["pgbench", "-c", "DSN"],
        &["pgbench", "shop", "DSN"],
        &["pgbench", "-n", "-S", "-h", "DSN", "shop"],
        &["pgbench", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "-U", "DSN"],
    ];
    let variables =
        ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGSSLMODE", "PGPASSFILE", "PGOPTIONS"];
    for (number, dsn) in dsns.enumerate() {
        let turn = |list: usize| 3 + (number * 5 + list) % (arguments.len() - 3);
        for at in [0, 1, 2, turn(0), turn(1), turn(2), turn(3), turn(4)] {
            let args: Vec<_> = arguments[at].iter().map(|arg| arg.replace("DSN", &dsn)).collect();
            silent(&format!("{args:?}"), &finish(limited(place.command(&args))));
        }
        for program in ["bench", "pgbench"] {
            let variable = variables[(number + usize::from(program == "bench")) % variables.len()];
            let mut command = limited(place.command([program, "-t", "1", "-n", "-S"]));
            if !matches!(variable, "PGHOST" | "PGSERVICE") {
                command.env("PGHOST", "127.0.0.1").env("PGPORT", "1");
            }
            silent(
                &format!("{program} {variable}={dsn}"),
                &finish({
                    command.env(variable, &dsn);
                    command
                }),
            );
        }
        let quoted = dsn.replace('\\', "\\\\").replace('"', "\\\"").replace('\u{1b}', "\\u001b");
        place.write("x.toml", format!("{FILE}[target]\nurl = \"{quoted}\"\n"));
        silent(&format!("url = {dsn}"), &place.run(["run", "x.toml", "--dry-run"]));
        place.write(".pg_service.conf", format!("[s]\nhost=127.0.0.1\n{dsn}\n"));
        silent(&format!("service file: {dsn}"), &place.run(["bench", "-t", "1", "-n", "service=s"]));
    }
}

/// No server is waited for: names that are no hosts cost time where names are looked up.
fn limited(mut command: std::process::Command) -> std::process::Command {
    command.env("PGCONNECT_TIMEOUT", "2");
    command
}

/// Words in the wrong place: what was given is not told, what belongs there is.
#[test]
fn wrong_usage_does_not_quote_what_may_be_a_password() {
    let place = Place::new();
    for (args, says) in [
        (&["bench", "shop", "gqheim"][..], "unexpected argument"),
        (&["bench", "-c", "gqheim"], "--client <N>"),
        (&["gqheim"], "unrecognized subcommand"),
        (&["table", "gqheim"], "possible values"),
        (&["bench", "--password=gqheim"], "--password"),
    ] {
        let done = place.run(args).expect(64);
        assert!(!done.stderr.contains("gqheim"), "{}", done.stderr);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
    // Where it cannot be one it is told.
    assert!(place.run(["bench", "-c", "0"]).expect(64).stderr.contains("'0'"));
    assert!(place.run(["tabel"]).expect(64).stderr.contains("'tabel'"));
}

/// Moving the password out of the URL began a new experiment.
#[test]
fn an_experiment_is_known_by_its_server_and_not_by_its_credentials() {
    let place = Place::new();
    let server = Server::start();
    place.write("one.sql", "SELECT 1;\n");
    let with = server.network_url("scram", "geheim", "?sslmode=disable");
    let without = with.replace(":geheim@", "@");
    let port = server.port;
    let spelled = format!("host=127.0.0.1 port={port} user=scram dbname=postgres sslmode=disable");
    for url in [&with, &without, &spelled] {
        let mut command = place.command(["bench", "-t", "2", "-n", "-f", "one.sql", url]);
        command.env("PGPASSWORD", "geheim");
        finish(command).expect(0);
    }
    assert_eq!(place.sql("select count(*) || ' ' || max(rounds) from experiment"), "1 3");
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// What a server says, and names in results of somebody else.
#[test]
fn hostile_text_neither_drives_the_terminal_nor_forges_a_line() {
    let place = Place::new();
    let server = Server::start();
    let url = server.url();
    place.write(
        "evil.sql",
        "DO $$ BEGIN RAISE NOTICE E'\\x1b[2Jcleared\\x07'; \
         RAISE EXCEPTION E'bad\\x1b]0;title\\x07\\nerror: forged\\u202e'; END $$;\n",
    );
    for program in ["bench", "pgbench"] {
        let done = place.run([program, "-t", "1", "-n", "-f", "evil.sql", &url]);
        assert_ne!(done.status.code(), Some(0));
        assert!(!done.stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{program}: {:?}", done.stderr);
        assert!(done.stderr.contains("\\x1b"), "{program}: {}", done.stderr);
    }
    let done = place.run(["bench", "-t", "1", "-n", "-f", "evil.sql", &url]);
    assert!(done.stderr.contains("\n  | error: forged"), "{}", done.stderr);

    place.write("one.sql", "SELECT 1;\n");
    let name = "a\\u001b[2J\\u202eb\\nerror: forged خريطة Ħal";
    let file = format!(
        "question = \"{name}\"\n[target]\nurl = \"{url}\"\n[workload.\"{name}\"]\npgbench = {{ files = [\"one.sql\"] }}\n\
         [measure]\nwarmup = \"0s\"\nduration = \"200ms\"\nrounds = 1\n"
    );
    place.write("evil.toml", file);
    let done = place.run(["run", "evil.toml", "--report", "page.html"]).expect(0);
    let kinds = ["runs", "cells", "crosstab", "experiments"];
    let tables: Vec<_> = kinds.iter().map(|kind| place.run(["table", kind]).expect(0)).collect();
    for done in tables.iter().chain([&done]) {
        for text in [&done.stdout, &done.stderr] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
            assert!(!text.lines().any(|line| line.starts_with("error: forged")), "{text}");
        }
    }
    assert!(tables[1].stdout.contains("Ħal") && tables[1].stdout.contains("خريطة"), "{}", tables[1].stdout);
    let json = place.run(["table", "cells", "--format", "json"]).expect(0).stdout;
    assert_eq!(lines(&json), 3, "{json}");

    let mode = |file: &Path| std::fs::metadata(file).expect("a report").permissions().mode() & 0o777;
    let page = place.path().join("page.html");
    assert_eq!(mode(&page), 0o600, "a report is as private as the results");
    // A link and a pipe were replaced by a file.
    let link = place.path().join("link.html");
    std::os::unix::fs::symlink(&page, &link).unwrap();
    place.run(["report", "-o", "link.html"]).expect(0);
    assert!(link.is_symlink() && std::fs::read_to_string(&page).unwrap().ends_with("</html>\n"));
    let through = place.run(["report", "-o", "/dev/stdout"]).expect(0);
    assert!(through.stdout.ends_with("</html>\n"), "{}", through.stdout);
    assert!(!std::fs::read_to_string(&page).unwrap().contains(['\u{1b}', '\u{202e}']));
    std::fs::set_permissions(&page, std::fs::Permissions::from_mode(0o644)).unwrap();
    place.run(["report", "-o", "page.html"]).expect(0);
    assert_eq!(mode(&page), 0o644, "who shares a report is not asked again");
}
