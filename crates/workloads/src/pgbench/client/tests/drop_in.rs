//! Connections for each transaction, startup scripts, groups, streams.

use std::collections::BTreeSet;

use super::*;
use crate::pgbench::ClientGroup;

#[test]
fn every_transaction_has_a_connection_of_its_own() {
    let options = PgbenchOptions { reconnect: true, ..PgbenchOptions::default() };
    let (log, measured) = play(&options, "select 1;", 3, |_, _| one("1"));
    assert_eq!(log.iter().filter(|line| *line == "C").count(), 3, "{log:?}");
    assert_eq!(log.iter().filter(|line| *line == "X").count(), 3, "{log:?}");
    assert_eq!(measured.totals().ok, 3);
    assert_eq!(measured.reconnections, 3);
}

#[test]
fn a_transaction_without_a_connection_ends_its_client() {
    let options = PgbenchOptions { reconnect: true, ..PgbenchOptions::default() };
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    server.full_at = 1;
    let (messages, measured) = drop_in(&options, DropInOptions::default(), "select 1;", 3, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    abort: connection to server on socket "/simulated/.s.PGSQL.5432" failed: connection refused
    	Is the server running locally and accepting connections on that socket?
    client 0 aborted while establishing connection
    "#);
    assert_eq!(measured.totals().ok, 1);
}

#[test]
fn a_client_without_a_connection_ends_the_run() {
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    server.full_at = 0;
    let workload = Pgbench::with_drop_in_options(
        &PgbenchOptions::default(),
        &sources(&["select 1;"]),
        DropInOptions::default(),
    )
    .unwrap();
    let places = places();
    let clients = workload.clients(&places, load(1)).unwrap();
    let message = server.run(clients, 1, 1).unwrap_err().to_string();
    let wanted = "client 0: connection to server on socket \"/simulated/.s.PGSQL.5432\" failed: connection refused\n\tIs the server";
    assert!(message.starts_with(wanted), "{message}");
}

fn startup(text: &str) -> DropInOptions {
    DropInOptions { startup: Some(source("startup.sql", text)), ..DropInOptions::default() }
}

#[test]
fn the_startup_script_runs_once_per_connection_and_disturbs_nothing() {
    let script = "\\set r random(1, 1000000)\nselect :r, :fact;";
    let before = "\\set x random(1, 1000)\nset work_mem = :x \\; select 1;\nselect 9 as fact \\gset";
    let answer = |_: usize, sql: &str| match sql {
        "select 9 as fact " => vec![AnswerPart::Rows(vec!["fact"], vec![vec![Some("9")]])],
        sql => usual(sql),
    };
    let run = |options: &PgbenchOptions, drop_in_options| {
        let mut server = FakePostgres::new(answer);
        let (messages, measured) = drop_in(options, drop_in_options, script, 2, &mut server);
        assert_eq!(messages, [""; 0]);
        let asked: Vec<_> = server.asked().iter().map(|sql| (*sql).to_owned()).collect();
        (asked, measured)
    };
    let plain = PgbenchOptions {
        define: [("fact".to_owned(), "9".to_owned())].into(),
        ..mode(QueryProtocol::Prepared)
    };
    let (undisturbed, _) = run(&plain, DropInOptions::default());
    let (asked, measured) = run(&mode(QueryProtocol::Prepared), startup(before));
    assert!(asked[0].starts_with("set work_mem = "), "{asked:?}");
    assert_eq!(asked[2..], undisturbed);
    assert_eq!(
        (measured.totals().ok, measured.totals().rows, measured.statements[0].latency.count()),
        (2, 2, 2)
    );
    let (asked, measured) =
        run(&PgbenchOptions { reconnect: true, ..mode(QueryProtocol::Prepared) }, startup(before));
    assert_eq!(asked.iter().filter(|sql| sql.starts_with("set work_mem = ")).count(), 2, "{asked:?}");
    assert_eq!(
        asked.iter().filter(|sql| undisturbed.contains(sql)).collect::<Vec<_>>(),
        undisturbed.iter().collect::<Vec<_>>()
    );
    assert_eq!((measured.totals().ok, measured.totals().rows), (2, 2));
}

#[test]
fn a_startup_script_that_fails_is_named_with_its_line() {
    let answer = |_: usize, sql: &str| match sql {
        "bad;" => vec![AnswerPart::Error("40001", "no")],
        "copy;" => vec![AnswerPart::CopyIn],
        sql => usual(sql),
    };
    let cases = [
        ("select 1;\n\nbad;", "3: ERROR:  no"),
        ("begin;\nselect 1;", "2: end of script reached without completing the last transaction"),
        ("\\set x 1/0", "1: evaluation of meta-command failed"),
        ("select 1 \\; select 2 \\gset 9", "1: error storing into variable 9one"),
        ("copy;", "1: COPY is not supported in pgbench"),
    ];
    for (text, wanted) in cases {
        let workload = Pgbench::with_drop_in_options(
            &PgbenchOptions::default(),
            &sources(&["select 1;"]),
            startup(text),
        )
        .unwrap();
        let places = places();
        let clients = workload.clients(&places, load(1)).unwrap();
        let message = FakePostgres::new(answer).run(clients, 1, 1).unwrap_err().to_string();
        let wanted = format!("client 0 aborted in startup script startup.sql, line {wanted}");
        assert!(message.ends_with(&wanted), "{message}");
    }
}

#[test]
fn the_startup_script_is_not_among_those_measured() {
    let workload = Pgbench::with_drop_in_options(
        &PgbenchOptions::default(),
        &sources(&["select 1;"]),
        startup("select 2;"),
    )
    .unwrap();
    assert_eq!((workload.scripts().len(), workload.statements().len()), (1, 1));
}

#[test]
fn groups_choose_among_their_own_scripts() {
    let group = |clients, scripts: &[(usize, u32)]| ClientGroup { clients, scripts: scripts.to_vec() };
    let groups = vec![group(1, &[(2, 1)]), group(2, &[(0, 1), (1, 1)])];
    let drop_in_options = DropInOptions { groups, ..DropInOptions::default() };
    let scripts = ["select 'a:client_id';", "select 'b:client_id';", "select 'c:client_id';"];
    let workload =
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &sources(&scripts), drop_in_options)
            .unwrap();
    let places = places();
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let measured = server.run(workload.clients(&places, load(4)).unwrap(), 40, 3).unwrap();
    assert_eq!(measured.totals().ok, 160);
    let asked: BTreeSet<_> = server.asked().into_iter().map(|sql| sql[8..10].to_owned()).collect();
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["a1", "a2", "a3", "b1", "b2", "b3", "c0", "c3"]);
    let problem = workload.clients(&places, load(2)).err().unwrap().to_string();
    assert_eq!(problem, "the groups have 3 clients together, but there are only 2");
}

#[test]
fn first_scripts_are_drawn_in_the_order_of_clients() {
    let scripts = ["select 0, :client_id;", "select 1, :client_id;"];
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    server.run(clients(&PgbenchOptions::default(), &scripts, 6), 1, 2).unwrap();
    let mut streams = script::Streams::new(7, 6, 1, false);
    let chooser = script::ScriptChooser::new([1, 1]);
    let mut asked = server.asked();
    asked.sort_unstable_by_key(|sql| sql[10..].to_owned());
    let drawn: Vec<_> = asked.iter().map(|sql| sql[7..8].parse::<usize>().unwrap()).collect();
    let wanted: Vec<_> = (0..6).map(|_| chooser.choose(&mut streams.threads[0].choose)).collect();
    assert_eq!(drawn, wanted);
}

#[test]
fn gaps_and_samples_come_from_pgbench_s_streams() {
    let workload = Pgbench::with_scripts(&PgbenchOptions::default(), &sources(&["select 1;"])).unwrap();
    let wanted = Clients { count: 3, threads: 2, seed: 42, statements: false };
    let mut streams = script::Streams::new(42, 3, 2, false);
    let gaps = workload.gaps(1000.0, wanted);
    for thread in 0..2 {
        let mut gap = (gaps.as_ref().unwrap().0)(thread);
        for _ in 0..5 {
            assert_eq!(gap(), 1000 * streams.threads[thread].throttle.wait(2000.0) as u64);
        }
        assert_eq!(workload.log_sampling(wanted)[thread], streams.threads[thread].sample);
    }
}

#[test]
fn what_cannot_be_read_is_told_in_pgbench_s_words() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: std::path::PathBuf| {
        let source = ScriptSource::File { path, shown: "my.sql".into(), weight: 1 };
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &[source], DropInOptions::default())
            .err()
            .map(|error| error.to_string())
    };
    let missing = open(folder.path().join("none"));
    assert_eq!(missing.as_deref(), Some("could not open file \"my.sql\": No such file or directory"));
    let directory = open(folder.path().to_owned());
    assert_eq!(directory.as_deref(), Some("could not read file \"my.sql\": Is a directory"));
    let options =
        PgbenchOptions { define: [("a b".to_owned(), "1".to_owned())].into(), ..PgbenchOptions::default() };
    let named = Pgbench::with_drop_in_options(&options, &sources(&["select 1;"]), DropInOptions::default());
    assert_eq!(named.err().unwrap().to_string(), "option: invalid variable name: \"a b\"");
}

#[test]
fn scripts_may_be_long_and_not_too_many() {
    let mut script = "\\set x 1\n".repeat(66_000);
    script.push_str("select :x;");
    let (log, measured) = play(&PgbenchOptions::default(), &script, 1, |_, _| one("1"));
    assert_eq!((log.last().map(String::as_str), measured.totals().ok), (Some("Q select 1;"), 1));
    let many = vec!["select 1;"; 129];
    let refused =
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &sources(&many), DropInOptions::default());
    assert_eq!(refused.err().unwrap().to_string(), "at most 128 SQL scripts are allowed");
}

#[test]
fn an_experiment_has_up_to_a_thousand_scripts() {
    let open = |count| Pgbench::with_scripts(&PgbenchOptions::default(), &sources(&vec!["select 1;"; count]));
    assert_eq!(open(1_000).unwrap().scripts().len(), 1_000);
    assert_eq!(open(1_001).err().unwrap().to_string(), "at most 1000 SQL scripts are allowed");
}

/// It did, and 128 scripts with a startup script were refused.
#[test]
fn the_startup_script_does_not_count_towards_the_128_scripts() {
    let many = sources(&["select 1;"; 128]);
    let workload =
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &many, startup("select 2;")).unwrap();
    assert_eq!((workload.scripts().len(), workload.statements().len()), (128, 128));
    let clients = workload.clients(&places(), load(1)).unwrap();
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let measured = server.run(clients, 1, 128).unwrap();
    assert_eq!(measured.totals().ok, 1);
    assert_eq!(server.asked(), ["select 2;", "select 1;"]);
}

#[test]
fn an_ambiguous_name_of_a_builtin_script_is_refused() {
    let unknown = ScriptSource::Builtin("s".into());
    let refused =
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &[unknown], DropInOptions::default());
    let wanted = "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"";
    assert_eq!(refused.err().unwrap().to_string(), wanted);
}
