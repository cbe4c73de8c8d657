//! `pgdyno bench` with a real server: scripts, protocols, connections, and errors.

use crate::support::{self, Place, Server, Watched, signal};

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
        let done = place.run(["bench", "-t", "1", "-n", "-c", "2", "-f", name, &server.url()]).expect(code);
        // A report of nothing was printed, and the error three times.
        assert_eq!(done.stdout, "");
        assert_eq!(done.stderr.matches("error: ").count(), 1, "{}", done.stderr);
        // The script's own line stood there as advice.
        assert!(code != 65 || !done.stderr.contains("try: "), "{}", done.stderr);
        done.says(words);
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

/// Scripts, and the message about a run of them; `None` if it is valid.
const GIVES: [(&str, &str, Option<&str>); 11] = [
    ("none.sql", "SELECT id FROM orders WHERE id = -1;\n", Some("none.sql: not one row came back in")),
    ("some.sql", "\\set id random(1, 1000)\nSELECT id FROM orders WHERE id = :id;\n", None),
    ("block.sql", "DO $$ BEGIN PERFORM 1; END $$;\n", None),
    ("call.sql", "CALL nothing();\nSET work_mem = '8MB';\n", None),
    ("cursor.sql", "BEGIN;\nDECLARE c CURSOR FOR TABLE orders;\nFETCH 2 FROM c;\nEND;\n", None),
    (
        "dry.sql",
        "BEGIN;\nDECLARE c CURSOR FOR SELECT 1 WHERE false;\nFETCH 2 FROM c;\nEND;\n",
        Some("dry.sql: not one row came back"),
    ),
    ("insert.sql", "INSERT INTO kept VALUES (1);\n", None),
    (
        "missed.sql",
        "UPDATE orders SET id = id WHERE id = -1;\n",
        Some("missed.sql: not one row was changed in"),
    ),
    (
        "returning.sql",
        "DELETE FROM orders WHERE id = -1 RETURNING id;\n",
        Some("returning.sql: not one row was changed"),
    ),
    (
        "either.sql",
        "\\set side random(0, 1)\n\\if :side\nSELECT id FROM orders WHERE id = -1;\n\\else\nSELECT 1 AS one;\n\\endif\n",
        None,
    ),
    (
        "captured.sql",
        "SELECT count(*) AS n FROM orders \\gset\nSELECT id FROM orders WHERE id = -1 \\aset\n\\sleep 10 us\n",
        None,
    ),
];

fn with_orders() -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    server.psql("create table orders (id int); insert into orders select generate_series(1, 1000); create table kept (id int)");
    server.psql("create procedure nothing() language sql as 'select 1'");
    for (name, text, _) in GIVES {
        place.write(name, text);
    }
    (place, server)
}

#[test]
fn a_script_that_never_returns_rows_is_refused() {
    let (place, server) = with_orders();
    let url = server.url();
    let bench = |more: &[&str]| {
        let all = ["bench", "-n", "-c", "2", "-t", "40"].iter().chain(more).copied().chain([url.as_str()]);
        place.run(all.collect::<Vec<_>>())
    };
    for (name, _, refused) in GIVES {
        let modes: &[&str] =
            if name == "none.sql" { &["simple", "extended", "prepared"] } else { &["simple"] };
        for mode in modes {
            let done = bench(&["-M", mode, "-f", name]);
            assert!(done.stdout.contains("number of rows returned: "), "{}", done.stdout);
            match refused {
                None => drop(done.expect(0)),
                Some(words) => drop(done.expect(69).says(&["empty results", words, "--may-be-empty"])),
            }
        }
    }
    let stored = "select validity || ' ' || doubts from v_run order by run_id limit 1";
    assert!(
        place.sql(stored).contains("invalid empty_results: none.sql: not one row"),
        "{}",
        place.sql(stored)
    );
    bench(&["-f", "none.sql", "--may-be-empty"]).expect(0);
    // The report and the data contain it too.
    let told = bench(&["-f", "none.sql"]).stdout;
    assert!(told.contains("\nverdict = invalid: empty results: none.sql: not one row"), "{told}");
    let told = bench(&["-f", "none.sql", "--format", "json"]).stdout;
    assert!(told.contains("\"doubts\": \"empty results: none.sql"), "{told}");
    let pipeline = "\\startpipeline\nSELECT id FROM orders WHERE id = -1;\nUPDATE orders SET id = id WHERE id = 1;\n\\endpipeline\n";
    place.write("pipeline.sql", pipeline);
    bench(&["-M", "prepared", "-f", "pipeline.sql"])
        .expect(69)
        .says(&["pipeline.sql: not one row came back"]);
    // A script among several is named, without the others.
    let mixed = bench(&["-f", "some.sql", "-f", "none.sql@2", "-f", "missed.sql@0"]).expect(69);
    assert!(mixed.stderr.contains("none.sql: not one row"), "{}", mixed.stderr);
    assert!(!mixed.stderr.contains("some.sql:") && !mixed.stderr.contains("missed.sql"), "{}", mixed.stderr);
}

/// The report showed a script's name unescaped, including line breaks.
#[test]
fn the_name_of_a_script_forges_no_line_of_the_report() {
    let (place, server) = prepared();
    place.write("a\nfake: line\u{202e}b.sql", "SELECT 1;\n");
    let done =
        place.run(["bench", "-n", "-t", "1", "-f", "a\nfake: line\u{202e}b.sql", &server.url()]).expect(0);
    assert!(done.stdout.contains("transaction type: a\\nfake: line\\u{202e}b.sql"), "{}", done.stdout);
    assert!(!done.stdout.contains('\u{202e}') && !done.stdout.contains("\nfake"), "{}", done.stdout);
}

#[test]
fn an_experiment_that_never_returns_rows_has_invalid_runs() {
    let (place, server) = with_orders();
    let file = |name: &str, more: &str| {
        let text = format!(
            "question = \"Nothing?\"\n[target]\nurl = \"{}\"\n[workload.orders]\n\
             pgbench = {{ files = [\"some.sql\", \"none.sql\"]{more} }}\n\
             [factors]\nclients = [1]\n[measure]\nduration = \"1s\"\nrounds = 1\n",
            server.url()
        );
        place.write(name, text).to_str().unwrap().to_owned()
    };
    let refused = place.run(["run", &file("empty.toml", "")]).expect(3);
    refused.says(&["the first execution of none.sql returned no row", "empty results"]);
    assert!(place.sql("select doubts from v_run").contains("none.sql: not one row came back in"));
    place.run(["run", &file("said.toml", ", may_be_empty = true")]).expect(0);
}

/// Sets the schema version in the file header; the file must be closed.
fn make_newer(results: &std::path::Path) {
    let mut bytes = std::fs::read(results).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(results, bytes).unwrap();
}

#[test]
fn results_that_cannot_be_stored_are_said_before_anything_is_done() {
    let place = Place::new();
    place.write("one.sql", "SELECT 1;\n");
    place.write(
        "results.txt",
        "not a results file, and long enough to be none of SQLite's either, is it not? no.",
    );
    std::fs::create_dir(place.path().join("folder")).unwrap();
    let away = "postgres:///x?host=/nonexistent";
    place.run(["bench", "-n", "-f", "one.sql", "--results", "new.sqlite", away]).expect(66);
    assert!(!place.path().join("new.sqlite").exists(), "an empty file is left behind");
    let old = "transaction type: x\nnumber of clients: 1\nnumber of transactions actually processed: 50\n\
               tps = 5.0 (excluding connections establishing)\n";
    place.write("old.txt", old);
    place.run(["import", "old.txt", "--results", "newer.sqlite"]).expect(0);
    make_newer(&place.path().join("newer.sqlite"));
    let cases = [
        ("no/such/results.sqlite", 74, &["no/such", "no folder", "--results"][..]),
        ("folder", 74, &["folder", "cannot be opened"]),
        ("newer.sqlite", 65, &["newer.sqlite", "newer pgdyno"]),
        ("results.txt", 65, &["results.txt", "not a results file"]),
    ];
    // The server is not contacted.
    for (results, code, words) in cases {
        for command in [&["bench", "-n", "-f", "one.sql", away][..], &["bench", "-i", away], &["calibrate"]] {
            place.run(command.iter().chain(&["--results", results])).expect(code).says(words);
        }
        place.run(["import", "absent.log", "--results", results]).expect(code).says(words);
    }
}

#[test]
fn a_result_that_cannot_be_stored_is_printed_all_the_same() {
    let (place, server) = prepared();
    let url = server.url();
    let cases = [
        (&["bench", "-T", "3", "-S", "-n"][..], "SELECT abalance%"),
        (&["bench", "-i", "-s", "20"], "copy pgbench_accounts%"),
    ];
    for (command, at_work) in cases {
        let results = place.path().join("kept.sqlite");
        let _ = std::fs::remove_file(&results);
        place.run(["bench", "-t", "1", "-S", "-n", "--results", "kept.sqlite", &url]).expect(0);
        let done = std::thread::scope(|scope| {
            let all: Vec<&str> = command.iter().copied().chain(["--results", "kept.sqlite", &url]).collect();
            let running = scope.spawn(|| place.run(all));
            let start = std::time::Instant::now();
            let found = format!(
                "select count(*) from pg_stat_activity where query ilike '{at_work}' and pid <> pg_backend_pid()"
            );
            while server.psql(&found) == "0" {
                assert!(start.elapsed() < support::PATIENCE && !running.is_finished());
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            make_newer(&results);
            running.join().unwrap()
        });
        let done = done.expect(74).says(&["the result above is not stored", "newer pgdyno"]);
        let wanted = if command.contains(&"-i") { "client-side generate" } else { "latency percentiles" };
        assert!(done.stdout.contains(wanted), "{}", done.stdout);
    }
}

#[test]
fn a_result_is_not_lost_with_the_connection_that_reads_counters() {
    let (place, server) = prepared();
    let done = std::thread::scope(|scope| {
        let running = scope.spawn(|| place.run(["bench", "-T", "3", "-S", "-n", &server.url()]));
        let start = std::time::Instant::now();
        // The load's connections are always active; a connection that has counted is idle.
        let load = "select count(*) from pg_stat_activity where query ilike 'SELECT abalance%' and pid <> pg_backend_pid()";
        while server.psql(load) == "0" {
            assert!(start.elapsed() < support::PATIENCE && !running.is_finished());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
        let ended = server.psql(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where backend_type = 'client backend' \
             and query not ilike 'SELECT abalance%' and pid <> pg_backend_pid()",
        );
        // One more connection shows others that the server is measured.
        assert_eq!(ended, "2");
        running.join().unwrap()
    });
    let done = done.expect(66).says(&["the result above is without the server's counters"]);
    assert!(done.stdout.contains("latency percentiles"), "{}", done.stdout);
    assert_eq!(place.sql("select count(*) from run where tps > 0"), "1");
}

#[test]
fn results_on_a_file_system_that_cannot_be_written_are_said_before_the_load() {
    let (place, server) = prepared();
    let small = place.path().join("small");
    let Some(disk) = support::SmallDisk::mount(&small, "size=2m,mode=755") else {
        support::not_available("a file system only for reading", "tmpfs cannot be mounted here");
        return;
    };
    let results = small.join("results.sqlite");
    let results = results.to_str().unwrap();
    let url = server.url();
    let bench = || place.run(["bench", "-t", "50", "-S", "-n", "--results", results, &url]);
    bench().expect(0);
    let runs = || server.psql("select sum(xact_commit) from pg_stat_database where datname = 'postgres'");
    assert!(disk.change("remount,ro,size=2m"));
    let before = runs();
    bench().expect(74).says(&["results.sqlite", "rights of the file and its folder"]);
    assert!(disk.change("remount,rw,size=2m"));
    // Fill the disk to the last byte.
    let _ = std::fs::write(small.join("filler"), vec![0_u8; 4 << 20]);
    bench().expect(74).says(&["results.sqlite", "full"]);
    let done = runs().parse::<i64>().unwrap() - before.parse::<i64>().unwrap();
    assert!(done < 20, "{done} transactions, though nothing could be stored");
}

#[test]
fn pgbench_habits_work_or_name_the_command_that_works() {
    let (place, server) = (Place::new(), Server::start());
    let url = server.url();
    let made = ["-i", "-q", "-s", "1", "--partitions=2", "--partition-method=hash", "--foreign-keys", "-n"];
    let made = place.run(["bench"].into_iter().chain(made).chain(["-d", &url])).expect(0);
    assert!(made.stdout.contains("foreign keys") && !made.stdout.contains("vacuum"), "{}", made.stdout);
    let parts = "select count(*) from pg_inherits where inhparent = 'pgbench_accounts'::regclass";
    assert_eq!(server.psql(parts), "2");

    let run =
        ["-c2", "-j2", "-T3", "-P1", "-SNS", "-Mprepared", "-nr", "--max-tries=3", "--random-seed=time"];
    let run = ["bench"].into_iter().chain(run).chain(["--continue-on-error", "-d", &url]);
    let done = place.run(run).expect(0).says(&[
        "progress: 1.0 s, ",
        " failed, 0 retried, 0 retries",
        "progress: 2.0 s, ",
    ]);
    assert!(done.stdout.contains("SQL script 3: <builtin: select only>"), "{}", done.stdout);

    let script = place.write("one.sql", "select 1;\n");
    let mut piped = place.command(["bench", "-t", "2", "-f", "-", &url]);
    piped.stdin(std::fs::File::open(script).expect("own file"));
    let done = support::finish(piped).expect(0);
    assert!(done.stdout.contains("actually processed: 2"), "{}", done.stdout);

    let refused = place.run(["bench", "-t", "5", "-l", "-S", &url]).expect(64);
    let refused = refused.says(&["-l: pgdyno bench writes no log of transactions; the drop-in does"]);
    let advice = refused.stderr.split("try: pgdyno ").nth(1).expect("a command").trim();
    let before = place.sql("select count(*) from v_run");
    let advice = advice.replace(&format!("'{url}'"), "URL").replace(&url, "URL");
    place.run(advice.split_whitespace().map(|word| if word == "URL" { &url } else { word })).expect(0);
    assert_ne!(place.sql("select count(*) from v_run"), before, "kept, too");
    let logs = std::fs::read_dir(place.path()).expect("own folder").flatten();
    let logs = logs.filter(|entry| entry.file_name().to_string_lossy().starts_with("pgbench_log."));
    assert_eq!(logs.count(), 1);
}

/// 90 % of the transactions found nothing, but the run was valid; without `-s` there was no message either.
#[test]
fn a_script_at_the_wrong_scale_is_no_longer_silent() {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "-q", "-s", "2", &server.url()]).expect(0);
    let by_scale =
        "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    place.write("by_factor.sql", by_scale);
    let bench = |more: &[&str]| {
        let all = ["bench", "-n", "-c", "2", "-t", "200"].iter().chain(more).copied().map(str::to_owned);
        place.run(all.chain([server.url()]))
    };
    for mode in ["simple", "extended", "prepared"] {
        let done = bench(&["-f", "by_factor.sql", "-s", "20", "-M", mode]).expect(0);
        done.says(&["found nothing: by_factor.sql: ", ":scale is 20, but pgbench's tables have scale 2"]);
    }
    let stored = place.sql("select validity || ' ' || doubts from v_run order by run_id desc limit 1");
    assert!(stored.contains("suspect found_nothing"), "{stored}");
    let keyed = "select printf('%d', value) from run_count where name = 'keyed' order by run_id desc limit 1";
    assert_eq!(place.sql(keyed), "400");
    let pipeline = by_scale.replace("SELECT", "\\startpipeline\nSELECT 1;\nSELECT") + "\\endpipeline\n";
    place.write("pipeline.sql", pipeline);
    bench(&["-f", "pipeline.sql", "-s", "20", "-M", "extended"])
        .expect(0)
        .says(&["found nothing: pipeline.sql: "]);
    let allowed = bench(&["-f", "by_factor.sql", "-s", "20", "--may-be-empty"]).expect(0);
    assert!(!allowed.stderr.contains("found nothing"), "{}", allowed.stderr);
    let missing = bench(&["-f", "by_factor.sql"]).expect(0);
    missing.says(&[":scale is 1 (no scale was given), but pgbench's tables have scale 2"]);
    let right = bench(&["-f", "by_factor.sql", "-s", "2"]).expect(0);
    assert!(!right.stderr.contains("scale") && !right.stderr.contains("found nothing"), "{}", right.stderr);
    bench(&["-S", "-s", "20"])
        .expect(0)
        .says(&["scale option ignored, using count from pgbench_branches table (2)"]);
    // Writes by key; the inserted history row does not hide the misses.
    let writes = "\\set tid random(1, 10 * :scale)\nBEGIN;\n\
        UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = :tid;\n\
        INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (:tid, 1, 1, 1);\nEND;\n";
    place.write("writes.sql", writes);
    bench(&["-f", "writes.sql", "-s", "20"]).expect(0).says(&["found nothing: writes.sql: "]);
}

/// `-i -s 25804` began to fill a disk with 71 GB.
#[test]
fn tables_that_cannot_fit_are_refused_before_they_are_made() {
    let (place, server) = (Place::new(), Server::start());
    place.run(["bench", "-i", "-q", "-s", "1", &server.url()]).expect(0).says(&["scale 1: about 15"]);
    let refused = place.run(["bench", "-i", "-s", "20000000", &server.url()]).expect(74);
    refused.says(&["make pgbench's tables, scale 20000000: about ", "free on the server's disk"]);
    assert_eq!(server.psql("select count(*) from pgbench_accounts"), "100000", "nothing was touched");
    place.run(["bench", "--managed=large", "-S", "-s", "20000000", "-t", "1"]).expect(74).says(&["about "]);
    let file = place.write(
        "large.toml",
        "question = \"Fits?\"\n[target]\nmanaged = { name = \"large\" }\n[prepare]\npgbench = { scale = 20000000 }\n\
         [workload.reads]\npgbench = { builtin = [\"select-only\"] }\n[measure]\nduration = \"1s\"\nrounds = 1\n",
    );
    let file = file.to_str().unwrap();
    place.run(["run", "--dry-run", file]).expect(74).says(&["scale 20000000: about "]);
    place.run(["run", file]).expect(74).says(&["scale 20000000: about "]);
}

/// Three plain runs "compared nothing".
#[test]
fn repeats_of_one_command_have_mean_interval_range_and_outliers() {
    let (place, server) = prepared();
    for _ in 0..3 {
        place.run(["bench", "-n", "-S", "-c", "2", "-t", "300", &server.url()]).expect(0);
    }
    let told = place.run(["compare"]).expect(0).stdout;
    for wanted in ["mean [95 %]", "least", "most", "outliers", "nothing is compared"] {
        assert!(told.contains(wanted), "no {wanted} in {told}");
    }
    let json = place.run(["compare", "--format", "json"]).expect(0).stdout;
    assert!(json.contains("\"runs\": 3") && json.contains("\"low\": "), "{json}");
    place.run(["compare", "-m", "p50", "--format", "md"]).expect(0);
    let page = place.path().join("page.html");
    place.run(["report", "-o", page.to_str().unwrap()]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("95 % interval"), "the page has no interval of the mean");
}

/// Rounds on one tenth and on ten times the data had a mean, and nothing said so.
#[test]
fn a_bench_on_other_data_or_another_version_is_another_experiment() {
    let (place, server) = (Place::new(), Server::start());
    let url = server.url();
    place.write("one.sql", "SELECT 1;\n");
    let bench = || drop(place.run(["bench", "-n", "-f", "one.sql", "-t", "50", &url]).expect(0));
    let runs = || {
        let runs = "select group_concat(runs, ' ') from (select count(*) as runs from run join experiment using (experiment_id) \
                    where name = 'bench' group by experiment_id order by experiment_id)";
        place.sql(runs)
    };
    bench();
    bench();
    assert_eq!(runs(), "2");
    place.with_fact("{\"server_version\"%", "'$.server_version.version', '9.6'", bench);
    assert_eq!(runs(), "2 1");
    place.run(["bench", "-i", "-s", "1", &url]).expect(0);
    bench();
    bench();
    assert_eq!(runs(), "2 1 2");
    place.run(["bench", "-i", "-s", "2", &url]).expect(0);
    bench();
    assert_eq!(runs(), "2 1 2 1");
}

/// What was done until a stop was a full round of the experiment, with the rate of the whole schedule.
#[test]
fn an_interrupted_bench_is_told_and_counts_nowhere() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let ramp =
        ["bench", "-n", "-f", "one.sql", "-T", "30", "-c", "4", "-R", "ramp 10..610 over 30s", "--verbose"];
    let mut running = Watched::start(place.command(ramp.into_iter().chain([server.url().as_str()])));
    assert!(running.until("step: measure"), "{}", running.seen);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    signal(running.child.id(), "INT");
    let (status, seen) = running.end();
    assert_eq!(status.code(), Some(75), "{seen}");
    assert!(seen.contains("interrupted: after "), "{seen}");
    let stored = "select validity || ' ' || doubts || ' ' || (offered_rate < 100) from v_run";
    let stored = place.sql(stored);
    assert!(
        stored.starts_with("invalid ") && stored.contains("interrupted: after") && stored.ends_with(" 1"),
        "{stored}"
    );
}

/// The log of a removed results file was written into the next file of that name.
#[test]
fn a_results_file_that_takes_the_place_of_another_stays_as_it_is() {
    let (place, server) = (Place::new(), Server::start());
    place.write("one.sql", "SELECT 1;\n");
    let file = place.write(
        "file.toml",
        format!(
            "question = \"?\"\n[target]\nurl = \"{}\"\n[workload.w]\npgbench = {{ files = \"one.sql\" }}\n[factors]\nclients = 1\n\
             [measure]\nwarmup = \"100ms\"\nduration = \"1s\"\nrounds = 3\n",
            server.url()
        ),
    );
    let other = place.path().join("other.sqlite");
    place
        .run(["bench", "-n", "-f", "one.sql", "-t", "9", "--results", other.to_str().unwrap(), &server.url()])
        .expect(0);
    let bytes = std::fs::read(&other).unwrap();
    let run = ["run", "--verbose", file.to_str().unwrap()];
    let commands = [&run[..], &["bench", "-i", "-s", "5", "--verbose", &server.url()]];
    for (command, step) in commands.into_iter().zip(["round 1: ", "prepare: make"]) {
        let _ = std::fs::remove_file(place.results());
        let mut running = Watched::start(place.command(command));
        assert!(running.until(step), "{}", running.seen);
        std::fs::copy(&other, place.path().join("new.sqlite")).unwrap();
        std::fs::rename(place.path().join("new.sqlite"), place.results()).unwrap();
        let (status, seen) = running.end();
        // A file with runs of the experiment is missed; before the first run any results file will do.
        assert_eq!(status.code(), Some(if step.starts_with("round") { 74 } else { 0 }), "{seen}");
        place.run(["table", "experiments"]).expect(0);
        assert_eq!(place.sql("select count(*) from experiment where name = 'bench'"), "1");
        if status.code() == Some(74) {
            assert!(seen.contains("removed or replaced"), "{seen}");
            assert_eq!(std::fs::read(place.results()).unwrap(), bytes);
        }
    }
}
