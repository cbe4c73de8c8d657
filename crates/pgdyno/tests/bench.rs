//! `pgdyno bench` against a real server: scripts, protocols, ways to connect, and everything that can go wrong.

mod support;

use support::{Place, Server, Watched, signal};

const SCRIPTS: [(&str, &str); 3] = [
    (
        "mix.sql",
        "\\set aid random(1, 100000 * :scale)\n\\set kind case when :aid % 2 = 0 then 1 else 2 end\n\
         SELECT abalance AS balance, :kind AS kind FROM pgbench_accounts WHERE aid = :aid \\gset got_\n\
         \\if :got_kind = 1\nSELECT 'even', :got_balance;\n\\else\nSELECT 'odd', :got_balance;\n\\endif\n\\sleep 100 us\n",
    ),
    (
        "functions.sql",
        "\\set g random_gaussian(1, 1000, 2.5)\n\\set e random_exponential(1, 1000, 3)\n\
         \\set z random_zipfian(1, 1000, 1.1)\n\\set p permute(:z, 1000)\n\\set h hash(:g) # hash_fnv1a(:e)\n\
         SELECT :g::int8 + :e::int8, :z::int8, :p::int8, :h::int8;\n",
    ),
    ("write.sql", "BEGIN;\nUPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 1;\nEND;\n"),
];

fn prepared() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    let made = place.run(["bench", "-i", "-s", "1", &server.url()]).expect(0);
    for step in ["drop tables", "create tables", "client-side generate", "vacuum", "primary keys"] {
        assert!(made.stdout.contains(step), "no {step} in:\n{}", made.stdout);
    }
    for (name, text) in SCRIPTS {
        place.write(name, text);
    }
    (place, server)
}

#[test]
fn scripts_run_in_every_protocol_with_weights_and_variables() {
    let (place, server) = prepared();
    assert_eq!(server.psql("select count(*) from pgbench_accounts"), "100000");
    for mode in ["simple", "extended", "prepared"] {
        let done = place
            .run(
                ["bench", "-c", "4", "-j", "2", "-T", "1", "-M", mode, "-n", "--format", "json"]
                    .into_iter()
                    .chain([
                        "-f",
                        "mix.sql@3",
                        "-f",
                        "functions.sql",
                        "-f",
                        "write.sql@0",
                        "-D",
                        "scale=1",
                        &server.url(),
                    ]),
            )
            .expect(0);
        assert!(done.stdout.contains("mix.sql") && done.stdout.contains("functions.sql"), "{}", done.stdout);
        let count = |script: &str| -> i64 {
            place
                .sql(&format!(
                    "select coalesce(sum(s.ok), 0) from v_script s where s.script like '%{script}' \
                 and s.run_id = (select max(run_id) from v_script)"
                ))
                .parse()
                .expect("a count")
        };
        assert!(count("mix.sql") > count("functions.sql"), "{mode}: weights");
        assert!(count("functions.sql") > 10, "{mode}");
        assert_eq!(count("write.sql"), 0, "{mode}: weight 0");
    }
    for builtin in ["tpcb-like", "simple-update", "select-only"] {
        let before: i64 = server.psql("select count(*) from pgbench_history").parse().unwrap();
        place.run(["bench", "-c", "2", "-t", "50", "-n", "-b", builtin, &server.url()]).expect(0);
        let added = server.psql("select count(*) from pgbench_history").parse::<i64>().unwrap() - before;
        assert_eq!(added, if builtin == "select-only" { 0 } else { 100 }, "{builtin}");
    }
}

#[test]
fn open_load_accounts_for_every_arrival() {
    let (place, server) = prepared();
    place.run(["bench", "-c", "4", "-T", "2", "-S", "-n", "-R", "500", "-L", "50", &server.url()]).expect(0);
    let counts = place.sql(
        "select (due - ok - late - failed - skipped - unfinished) || ' ' || (due between 800 and 1200) from v_run where kind = 'client'",
    );
    assert_eq!(counts, "0 1");
}

#[test]
fn each_way_to_connect_works_and_no_password_is_stored() {
    let (place, server) = prepared();
    for (user, more) in [
        ("scram", "?sslmode=disable"),
        ("scram", "?sslmode=require"),
        ("scram", "?sslmode=require&channel_binding=require"),
        ("md5", "?sslmode=prefer"),
        ("password", "?sslmode=require"),
    ] {
        let url = server.network_url(user, "geheim", more);
        let done = place.run(["bench", "-t", "5", "-n", "-f", "functions.sql", &url]).expect(0);
        assert!(
            done.stderr.contains("password"),
            "an argument with a password is warned about: {}",
            done.stderr
        );
    }
    let root = server.socket.join("data/server.crt");
    let copy = place.write("root.crt", std::fs::read(root).unwrap());
    let verify = format!("?sslmode=verify-ca&sslrootcert={}", copy.display());
    place
        .run([
            "bench",
            "-t",
            "5",
            "-n",
            "-f",
            "functions.sql",
            &server.network_url("scram", "geheim", &verify),
        ])
        .expect(0);
    let full = verify.replace("verify-ca", "verify-full");
    let refused = place.run([
        "bench",
        "-t",
        "5",
        "-n",
        "-f",
        "functions.sql",
        &server.network_url("scram", "geheim", &full),
    ]);
    assert_ne!(refused.status.code(), Some(0), "127.0.0.1 is not in the certificate");

    let mut environment = place.command(["bench", "-t", "5", "-n", "-f", "functions.sql"]);
    environment.env("PGHOST", "127.0.0.1").env("PGPORT", server.port.to_string());
    environment.env("PGUSER", "scram").env("PGPASSWORD", "geheim").env("PGDATABASE", "postgres");
    let done = support::finish(environment).expect(0);
    assert!(!done.stderr.contains("warning: a password"), "{}", done.stderr);

    let passfile = place.write("pass", format!("127.0.0.1:{}:*:scram:geheim\n", server.port));
    std::fs::set_permissions(&passfile, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut with_file = place.command(["bench", "-t", "5", "-n", "-f", "functions.sql"]);
    with_file
        .arg(format!("host=127.0.0.1 port={} user=scram dbname=postgres", server.port))
        .env("PGPASSFILE", passfile);
    support::finish(with_file).expect(0);

    for suffix in ["", "-wal"] {
        let file = place.path().join(format!("results.sqlite{suffix}"));
        let bytes = std::fs::read(file).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"geheim"), "a password in the results{suffix}");
    }
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(place.results()).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_the_server_refuses_is_said_with_its_code() {
    let place = Place::new();
    let server = Server::start_with(&["max_connections=8"]);
    place.write("one.sql", "SELECT 1;\n");
    let url = server.url();
    let wrong = server.network_url("scram", "falsch", "?sslmode=disable");
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["-t", "1", "-n", "-f", "one.sql", &wrong], 67, &["password", "scram"]),
        (&["-t", "1", "-n", "-f", "one.sql", &server.url_of("nowhere")], 67, &["nowhere"]),
        (&["-t", "1", "-n", "-f", "one.sql", "-c", "20", &url], 67, &["max_connections"]),
        (
            &["-t", "1", "-n", "-f", "one.sql", "postgres://127.0.0.1:1/x"],
            66,
            &["127.0.0.1", "no server listens"],
        ),
        (&["-t", "1", "-n", "-f", "one.sql", "postgres:///x?host=/nonexistent"], 66, &["/nonexistent"]),
        (&["-t", "1", "-n", "-f", "absent.sql", &url], 65, &["absent.sql"]),
        (&["-t", "1", "-n", "-f", "one.sql@x", &url], 64, &["one.sql@x"]),
        (&["-t", "1", "-n", "-b", "nothing", &url], 64, &["nothing", "select-only"]),
        (&["-t", "1", "-S", &url], 68, &["pgbench_accounts", "-i"]),
        (&["-t", "0", &url], 64, &["-t"]),
        (&["-t", "1", "-n", "-f", "one.sql", "postgres://h/x?sslmod=disable"], 64, &["sslmod", "sslmode"]),
    ];
    for (args, code, words) in cases {
        place.run(["bench"].iter().chain(*args)).expect(*code).says(words);
    }
}

#[test]
fn a_script_that_fails_is_shown_with_file_line_and_statement() {
    let (place, server) = prepared();
    let cases = [
        (
            "syntax.sql",
            "\\set x 1\nSELECT 1;\nSELEC 2;\n",
            69,
            &["syntax.sql, line 3", "SELEC 2", "syntax error"][..],
        ),
        ("table.sql", "SELECT * FROM absent;\n", 69, &["table.sql, line 1", "absent", "does not exist"]),
        ("meta.sql", "SELECT 1;\n\\set x 1 +\n", 65, &["meta.sql:2", "set"]),
        ("divide.sql", "\\set x 1 / 0\nSELECT :x;\n", 69, &["divide.sql, line 1", "division by zero"]),
        ("unknown.sql", "\\gobble\n", 65, &["unknown.sql:1", "gobble"]),
        ("empty.sql", "\n", 65, &["empty.sql"]),
    ];
    for (name, text, code, words) in cases {
        place.write(name, text);
        place.run(["bench", "-t", "1", "-n", "-f", name, &server.url()]).expect(code).says(words);
    }
}

#[test]
fn a_server_that_dies_ends_the_run_with_one_clear_message() {
    let (place, mut server) = prepared();
    let mut running =
        Watched::start(place.command(["bench", "-c", "4", "-T", "30", "-S", "-n", &server.url()]));
    assert!(running.until("tps"), "progress: {}", running.seen);
    server.crash();
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(66), "{stderr}");
    assert!(stderr.contains("server") || stderr.contains("terminating"), "{stderr}");
}

#[test]
fn ctrl_c_reports_what_was_done() {
    let (place, server) = prepared();
    let mut running =
        Watched::start(place.command(["bench", "-c", "2", "-T", "60", "-S", "-n", &server.url()]));
    assert!(running.until("tps"), "progress: {}", running.seen);
    signal(running.child.id(), "INT");
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(75), "{stderr}");
    assert_eq!(place.sql("select count(*) || ' ' || (ok > 100) from v_run where kind = 'client'"), "1 1");
    assert_eq!(
        server.psql("select count(*) from pg_stat_activity where backend_type = 'client backend'"),
        "1"
    );
}
