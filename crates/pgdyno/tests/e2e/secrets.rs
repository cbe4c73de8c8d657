//! Passwords and hostile text: messages never quote a possible password in an address, whatever is wrong with
//! it, and text from others never controls a terminal or forges a line.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::misplaced::PASSWORD;
use crate::support::{Finished, Place, Server, finish};

const FILE: &str = "question = \"?\"\n[workload.a]\npgbench = { builtin = \"select-only\" }\n\
                    [measure]\nduration = \"1s\"\nrounds = 2\n";

#[track_caller]
fn silent(what: &str, done: &Finished) {
    for text in [&done.stdout, &done.stderr] {
        assert!(!crate::misplaced::leaks(text), "{what}\n{text}");
    }
}

/// Every string with a misplaced password, in turn in several places where an address can be given.
#[test]
fn no_command_quotes_a_password_of_an_address() {
    let place = Place::new();
    let dsns = crate::misplaced::MISPLACED.iter().map(|string| string.replace("PW", PASSWORD));
    let arguments: [&[&str]; 14] = [
        &["bench", "-t", "1", "-n", "-S", "DSN"],
        &["pgbench", "-t", "1", "-n", "-S", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "DSN", "shop"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "DSN"],
        &["bench", "-t", "1", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "-U", "DSN"],
        &["bench", "-S", "--against", "url: DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--against", "DSN", "-h", "127.0.0.1", "-p", "1"],
        &["bench", "-S", "--against", "settings: jit=off", "-p", "1", "DSN"],
        &["bench", "-i", "-c", "1", "-d", "DSN"],
        &["bench", "shop", "DSN"],
        &["osm", "load", "x.osm.pbf", "-d", "DSN"],
        &["pgbench", "-n", "-S", "-h", "DSN", "shop"],
        &["pgbench", "-n", "-S", "-h", "127.0.0.1", "-p", "1", "-U", "DSN"],
    ];
    let variables =
        ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGSSLMODE", "PGPASSFILE", "PGOPTIONS"];
    for (number, dsn) in dsns.enumerate() {
        let turn = |list: usize| 2 + (number * 5 + list) % (arguments.len() - 2);
        for at in [0, 1, turn(0), turn(1), turn(2), turn(3), turn(4)] {
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

/// No waiting for servers: invalid host names take time to look up.
fn limited(mut command: std::process::Command) -> std::process::Command {
    command.env("PGCONNECT_TIMEOUT", "2");
    command
}

/// Messages hid every wrong value: `invalid value '(not shown)'`. Now they show plain words, but nothing like
/// an address.
#[test]
fn wrong_usage_quotes_what_was_typed_but_no_password() {
    let place = Place::new();
    for (args, says) in [
        (&["bench", "shop", "extra"][..], "'extra'"),
        (&["bench", "-c", "x"], "invalid value 'x' for '--client <N[,N…]>'"),
        (&["bench", "-T", "1 minute"], "'1 minute'"),
        (&["bech"], "'bech'"),
        (&["table", "cats"], "'cats'"),
    ] {
        let done = place.run(args).expect(64);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
    for args in [
        &["bench", "-c", "postgres://me:gqheim@h/d"][..],
        &["bench", "-c", "host=h password=gqheim"],
        &["bench", "shop", "me:gqheim@h"],
        &["bench", "--password=gqheim"],
        &["table", "me:gqheim@h"],
    ] {
        let done = place.run(args).expect(64);
        assert!(!done.stderr.contains("gqheim"), "{}", done.stderr);
    }
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

/// Server messages, and names in another user's results.
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
    assert!(!done.stderr.contains("\nerror: forged"), "{}", done.stderr);

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

/// Names, a question and a command from another user.
const FORGED: &str = "x'$(id)' && id\nwarning: y\r\t\u{1b}[1A\u{9b}2K\u{2067}`id`|<i>[a](//b)";

/// Another user's results file: `FORGED` is in every text field.
fn results_of_somebody_else(place: &Place, command: &str) {
    let server = Server::start();
    place.write("one.sql", "SELECT 1;\n");
    let change = ["--against", "settings: work_mem=5MB", "--save", "x.toml"];
    let run =
        ["bench", "-n", "-T", "1", "--rounds", "2", "--slices", "false", "-f", "one.sql", &server.url()];
    let done = place.run(run.iter().chain(&change));
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    let file = rusqlite::Connection::open(place.results()).unwrap();
    let (id, arms): (i64, String) = file
        .query_row("SELECT experiment_id, arms FROM experiment WHERE compare_factor IS NOT NULL", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let mut arms: Vec<serde_json::Value> = serde_json::from_str(&arms).unwrap();
    arms[1]["name"] = FORGED.into();
    let arms = serde_json::to_string(&arms).unwrap();
    let update =
        "UPDATE experiment SET name = ?1, question = ?1, arms = ?2, command = ?3 WHERE experiment_id = ?4";
    file.execute(update, rusqlite::params![FORGED, arms, command, id]).unwrap();
    file.execute("UPDATE run SET arm = ?1 WHERE arm <> 'base'", [FORGED]).unwrap();
    // Each arm wins one round, so that the result is open and a hint is printed.
    let won = "UPDATE run_count SET value = (SELECT CASE WHEN (arm = 'base') = (round % 2 = 0) THEN 4000 ELSE 2000 END
        FROM run WHERE run.run_id = run_count.run_id) WHERE name = 'completed'";
    assert_eq!(file.execute(won, []).unwrap(), 4);
    assert_eq!(file.execute("UPDATE run SET measured_s = 1", []).unwrap(), 4);
    file.execute("UPDATE target SET dsn_redacted = ?1", [FORGED]).unwrap();
}

/// A line break or a `;` in `experiment.command` or in a name started a new line, or a second command, in
/// pgdyno's output.
#[test]
fn a_results_file_of_somebody_else_forges_no_line_and_no_command() {
    let place = Place::new();
    results_of_somebody_else(&place, "pgdyno run a.toml\nwarning: z; id >'here'");
    let hostile = |c: char| !matches!(c, '\n' | '\t') && report::visible::is_hostile(c);
    let shown = |args: &[&str]| {
        let done = place.run(args);
        assert!(matches!(done.status.code(), Some(0..=3)), "{args:?}: {}", done.stderr);
        for text in [&done.stdout, &done.stderr] {
            let text = text.replace("\r\n", "\n");
            assert!(!text.contains(hostile), "{args:?}: {text:?}");
            // In HTML a line break is a blank.
            let is_forged = |line: &str| line.starts_with("warning: y") || line.starts_with("warning: z");
            assert!(args[0] == "report" || !text.lines().any(is_forged), "{text}");
        }
        done.stdout
    };
    for format in ["text", "md", "json", "csv", "csv-formulas"] {
        for kind in ["runs", "cells", "crosstab", "differences", "experiments"] {
            shown(&["table", kind, "--format", format]);
        }
        shown(&["sql", "select * from experiment join run using (experiment_id)", "--format", format]);
        shown(&["compare", "--format", format]);
    }
    for format in ["text", "md", "json"] {
        shown(&["export", "experiment", "1", "-", "--format", format]);
    }
    // The hint is a single command, and its second word a file named like the experiment.
    let json = shown(&["compare", "--format", "json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let hint = rows.iter().find_map(|row| row["next_command"].as_str()).expect("a hint");
    let words =
        std::process::Command::new("bash").args(["-c", &format!("printf '%s\\0' {hint}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    let words: Vec<&str> = words.trim_end_matches('\0').split('\0').collect();
    assert_eq!(words[..3], ["pgdyno", "run", &format!("{FORGED}.toml")], "{hint}");
    let page = shown(&["report", "-o", "-"]);
    let next = page.split_once("<div class=\"next\">").expect("the next step").1;
    assert!(
        shown(&["compare"]).contains(hint)
            && next.starts_with("<p class=\"next\">")
            && next.contains("<pre>")
    );

    let folder = place.path().join("again");
    let done = place.run(["export", "experiment", "1", folder.to_str().unwrap()]).expect(0);
    assert!(!done.stderr.contains(hostile) && !done.stderr.contains("\nwarning: y"), "{}", done.stderr);
}

/// A spreadsheet calculated a formula in a name.
#[test]
fn a_spreadsheet_calculates_nothing_of_a_table() {
    let place = Place::new();
    results_of_somebody_else(&place, "pgdyno run '=a.toml'");
    let query =
        "select '+1+cmd' as \"@sum\", -2.5 as number, '-2.5' as level, char(9) || '=a' as tab, '-' as dash";
    let csv = |format: &str| place.run(["sql", query, "--format", format]).expect(0).stdout;
    assert_eq!(csv("csv"), "'@sum,number,level,tab,dash\r\n'+1+cmd,-2.5,-2.5,\\t=a,'-\r\n");
    assert_eq!(csv("csv-formulas"), "@sum,number,level,tab,dash\r\n+1+cmd,-2.5,-2.5,\\t=a,-\r\n");
}

/// Server messages started lines that looked like the drop-in's.
#[test]
fn a_server_forges_no_line_of_the_drop_in() {
    let (place, server) = (Place::new(), Server::start());
    let forged = "tps = 12345.6 (without initial connection time)";
    place.write(
        "loud.sql",
        format!(
            "DO $$ BEGIN RAISE WARNING E'a\n{forged}'; RAISE EXCEPTION E'b\npgbench: error: c' USING HINT = E'd\n{forged}'; END $$;\n"
        ),
    );
    let done = place.run(["pgbench", "-n", "-t", "1", "-f", "loud.sql", &server.url()]).expect(2);
    for line in ["WARNING:  a", "HINT:  d", &format!("  | {forged}"), "  | pgbench: error: c"] {
        assert!(done.stderr.lines().any(|own| own == line), "{line}\n{}", done.stderr);
    }
    assert!(
        !done.stderr.lines().any(|line| line == forged || line == "pgbench: error: c"),
        "{}",
        done.stderr
    );
    // libpq's lines stay the same as in pgbench.
    place.write("typo.sql", "SELECT 1,\n  frm;\n");
    let done = place.run(["pgbench", "-n", "-t", "1", "-f", "typo.sql", &server.url()]).expect(2);
    assert!(done.stderr.contains("\nLINE 2:   frm;\n          ^\n"), "{}", done.stderr);
}
