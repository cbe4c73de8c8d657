//! Lost connections that are made again.

use super::*;
use crate::pgbench::HostPolicy;
use crate::place::PostgresPlace;
use crate::testing::connect_to;
use protocol::Address;
use protocol::postgres::conninfo::TargetSession;
use protocol::postgres::{HostName, NamedAddress, Place, PlaceWithRole, Role};
use std::sync::Arc;

fn again(mode_used: QueryProtocol) -> PgbenchOptions {
    PgbenchOptions { reconnect_lost: true, ..mode(mode_used) }
}

fn verbose() -> DropInOptions {
    DropInOptions { verbose_errors: true, ..DropInOptions::default() }
}

/// Loses the connection at this statement over all, from 0.
fn losing(at: usize, how: AnswerPart) -> impl FnMut(usize, &str) -> Vec<AnswerPart> {
    let mut asked = 0;
    move |_, sql| {
        asked += 1;
        if asked == at + 1 { vec![how.clone()] } else { usual(sql) }
    }
}

const KILLED: AnswerPart = AnswerPart::Fatal("57P01", "terminating connection due to administrator command");

#[test]
fn the_open_transaction_fails_and_the_client_goes_on() {
    for mode_used in [QueryProtocol::Simple, QueryProtocol::Extended, QueryProtocol::Prepared] {
        for how in [AnswerPart::Lost, KILLED] {
            for at in 0..4 {
                let mut server = FakePostgres::new(losing(at, how.clone()));
                let script = "begin;\nselect 1;\ncommit;";
                let (_, measured) =
                    drop_in(&again(mode_used), DropInOptions::default(), script, 5, &mut server);
                let totals = measured.totals();
                assert_eq!(
                    (totals.ok, totals.failed, totals.unfinished),
                    (4, 1, 0),
                    "{mode_used:?} {how:?} {at}"
                );
                assert_eq!((measured.aborts.len(), measured.connections_lost), (0, 1));
                assert_eq!(measured.outages.len(), 1);
                assert!(measured.outages[0].over && measured.outages[0].clients == 1);
                assert_eq!(server.log.iter().filter(|line| *line == "C").count(), 2);
                if mode_used == QueryProtocol::Prepared {
                    let parsed = server.log.iter().filter(|line| line.starts_with("P P_1 ")).count();
                    assert!((1..=2).contains(&parsed), "{:?}", server.log);
                }
            }
        }
    }
}

#[test]
fn failures_come_when_they_happen_and_with_their_command() {
    let mut server = FakePostgres::new(losing(1, AnswerPart::Lost));
    server.down = 1..4;
    let (messages, measured) =
        drop_in(&again(QueryProtocol::Simple), verbose(), "select 1;\nselect 2;", 2, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    info: client 0 lost its connection; connection reset
    info: client 0 could not connect again; connection to server on socket "/simulated/.s.PGSQL.5432" failed: connection refused
    	Is the server running locally and accepting connections on that socket?
    info: client 0 could not connect again; connection to server on socket "/simulated/.s.PGSQL.5432" failed: connection refused
    	Is the server running locally and accepting connections on that socket?
    info: client 0 could not connect again; connection to server on socket "/simulated/.s.PGSQL.5432" failed: connection refused
    	Is the server running locally and accepting connections on that socket?
    "#);
    assert_eq!(measured.statements[1].failures, 1);
    // Pauses of 10, 20, 40 and 80 ms.
    let outage = measured.outages[0];
    assert!((150_000_000..151_000_000).contains(&(outage.to_ns - outage.from_ns)), "{outage:?}");
}

#[test]
fn a_pipeline_that_is_lost_leaves_nothing_behind() {
    let script = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline\nselect 3;";
    for mode_used in [QueryProtocol::Extended, QueryProtocol::Prepared] {
        for at in 0..3 {
            let mut server = FakePostgres::new(losing(at, AnswerPart::Lost));
            let (_, measured) = drop_in(&again(mode_used), DropInOptions::default(), script, 3, &mut server);
            assert_eq!((measured.totals().ok, measured.totals().failed), (2, 1), "{mode_used:?} {at}");
        }
    }
}

#[test]
fn a_connection_that_ends_while_the_client_sleeps_is_made_again_at_once() {
    let mut asked = 0;
    let answer = move |_: usize, sql: &str| {
        asked += 1;
        if asked == 1 { vec![AnswerPart::Done("SELECT 1"), AnswerPart::Later(1_000_000)] } else { usual(sql) }
    };
    let script = "select 1;\n\\sleep 20 ms\nselect 2;";
    let mut server = FakePostgres::new(answer);
    let (_, measured) =
        drop_in(&again(QueryProtocol::Prepared), DropInOptions::default(), script, 3, &mut server);
    assert_eq!((measured.totals().ok, measured.totals().failed), (2, 1));
    // The sleep that was cut short does not wake the next one early.
    assert!(measured.elapsed > 2 * 20_000_000 + 11_000_000, "{}", measured.elapsed);
}

#[test]
fn servers_that_turn_clients_away_are_asked_again_with_pauses() {
    for code in ["53300", "57P03", "57P01", "08P01"] {
        let mut server = FakePostgres::new(losing(2, KILLED));
        server.refused_connections = (1..6, code);
        let (_, measured) =
            drop_in(&again(QueryProtocol::Simple), DropInOptions::default(), "select 1;", 5, &mut server);
        assert_eq!((measured.totals().ok, measured.totals().failed), (4, 1), "{code}");
        let outage = measured.outages[0];
        // 10, 20, 40 … ms.
        assert!(outage.to_ns - outage.from_ns > 600_000_000, "{outage:?}");
        assert_eq!(measured.connections_lost, 1, "attempts are not losses");
    }
}

#[test]
fn answers_that_will_not_change_end_the_client() {
    let mut server = FakePostgres::new(losing(2, KILLED));
    server.refused_connections = (1..9, "28P01");
    let (messages, measured) =
        drop_in(&again(QueryProtocol::Simple), DropInOptions::default(), "select 1;", 5, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r#"
    abort: connection to server on socket "/simulated/.s.PGSQL.5432" failed: FATAL:  not now
    client 0 aborted while establishing connection
    "#);
    assert_eq!((measured.totals().ok, measured.totals().failed), (2, 1));
}

#[test]
fn a_connection_that_is_refused_at_the_start_ends_the_run() {
    let mut server = FakePostgres::new(|_, sql: &str| usual(sql));
    server.down = 0..1;
    let workload = Pgbench::with_scripts(&again(QueryProtocol::Simple), &sources(&["select 1;"])).unwrap();
    let places = places();
    let message = server.run(workload.clients(&places, load(1)).unwrap(), 1, 1).unwrap_err().to_string();
    assert!(message.contains("connection refused"), "{message}");
}

#[test]
fn with_a_connection_for_each_transaction_that_one_fails() {
    let options = PgbenchOptions { reconnect: true, ..again(QueryProtocol::Prepared) };
    let mut server = FakePostgres::new(losing(3, AnswerPart::Lost));
    (server.down, server.refused_connections) = (1..3, (6..8, "53300"));
    let (_, measured) = drop_in(&options, startup("select 9;"), "select 1;", 6, &mut server);
    let totals = measured.totals();
    // One is refused, one loses its connection and one is turned away: three fail, however long that lasts.
    assert_eq!((totals.ok, totals.failed, measured.aborts.len()), (3, 3, 0), "{:?}", server.log);
    assert!(measured.outages.iter().all(|outage| outage.over));
}

fn startup(text: &str) -> DropInOptions {
    DropInOptions { startup: Some(source("startup.sql", text)), ..DropInOptions::default() }
}

#[test]
fn the_startup_script_runs_again() {
    // Lost in the script, then in the startup script of the new connection, and then again.
    let mut asked = 0;
    let mut server = FakePostgres::new(move |_, sql: &str| {
        asked += 1;
        if [4, 5, 6].contains(&asked) { vec![AnswerPart::Lost] } else { usual(sql) }
    });
    let (_, measured) = drop_in(
        &again(QueryProtocol::Simple),
        startup("\\set x random(1, 9)\nset a = :x;"),
        "select 1;",
        6,
        &mut server,
    );
    assert_eq!((measured.totals().ok, measured.totals().failed), (5, 1));
    assert_eq!(server.asked().iter().filter(|sql| sql.starts_with("set a")).count(), 4);
    assert_eq!(measured.outages.len(), 1);
}

/// Where connections went, after the one at the start was lost.
fn failover(
    places: &Places,
    drop_in_options: DropInOptions,
    options: &PgbenchOptions,
    scripts: &[&str],
    server_down: usize,
    standby: Option<&'static str>,
) -> (String, EngineResult) {
    let workload = Pgbench::with_drop_in_options(options, &sources(scripts), drop_in_options).unwrap();
    let mut server = FakePostgres::new(losing(3, AnswerPart::Lost));
    server.down = server_down..server_down + 2;
    server.standby = standby;
    let measured = server.run(workload.clients(places, load(1)).unwrap(), 10, scripts.len()).unwrap();
    let folder = |address: &engine::Address| match address {
        engine::Address::Unix(path) => path.display().to_string()[1..2].to_owned(),
        engine::Address::Tcp(_) => String::new(),
    };
    (server.addresses.iter().map(folder).collect(), measured)
}

#[test]
fn the_next_server_is_tried_where_one_does_not_take_the_client() {
    let connects: Vec<_> = ["/a", "/b", "/c"].map(connect_to).into();
    let one = |wanted| -> Places {
        PostgresPlace { again: connects.clone(), wanted, ..connect_to("/a").into() }.into()
    };
    let options = again(QueryProtocol::Simple);
    let first = |wanted, standby| {
        failover(&one(wanted), DropInOptions::default(), &options, &["select 1;"], 1, standby)
    };
    let (went, measured) = first(TargetSession::Any, None);
    assert_eq!((went.as_str(), measured.totals().ok, measured.totals().failed), ("aabc", 9, 1));
    assert_eq!(first(TargetSession::ReadWrite, Some("/c")).0, "aabca");
    assert_eq!(first(TargetSession::Primary, Some("/c")).0, "aabca");
    assert_eq!(first(TargetSession::Standby, Some("/b")).0, "aabcab");
    assert_eq!(first(TargetSession::PreferStandby, Some("/b")).0, "aabc");
}

/// Hosts were looked up once for a whole run.
#[test]
fn a_server_whose_name_leads_elsewhere_is_followed_when_connections_are_made_anew() {
    let at = |last: u8| std::net::SocketAddr::from(([192, 0, 2, last], 5432));
    let went = |options: &PgbenchOptions, lost: bool| {
        let name = Arc::new(HostName::new("db".to_owned(), 5432, vec![at(1)]));
        let place = Place {
            host: Some("db".into()),
            named: Some(NamedAddress::new(Arc::clone(&name), 0)),
            ..Place::new(Address::Tcp(at(1)), Arc::clone(&connect().login))
        };
        let mut asked = 0;
        let mut server = FakePostgres::new(move |_, sql: &str| {
            asked += 1;
            if asked == 3 {
                name.set(vec![at(2)]);
            }
            if lost && asked == 3 { vec![AnswerPart::Lost] } else { usual(sql) }
        });
        server.down = if lost { 1..2 } else { 0..0 };
        let places = Places::from(place);
        let workload = Pgbench::with_scripts(options, &sources(&["select 1;"])).unwrap();
        let measured = server.run(workload.clients(&places, load(1)).unwrap(), 5, 1).unwrap();
        assert_eq!(measured.totals().ok, if lost { 4 } else { 5 });
        let last = |address: &engine::Address| match address {
            engine::Address::Tcp(std::net::SocketAddr::V4(address)) => address.ip().octets()[3],
            other => panic!("{other:?}"),
        };
        server.addresses.iter().map(last).collect::<Vec<_>>()
    };
    let each = PgbenchOptions { reconnect: true, ..mode(QueryProtocol::Simple) };
    assert_eq!(went(&each, false), [1, 1, 1, 2, 2]);
    assert_eq!(went(&again(QueryProtocol::Simple), true), [1, 2, 2], "the first connection there is refused");
    assert_eq!(went(&mode(QueryProtocol::Simple), false), [1], "what is connected stays");
}

#[test]
fn spread_clients_go_on_elsewhere() {
    let server = |folder: &str, role| PlaceWithRole { place: connect_to(folder), role };
    let all = vec![server("/a", Role::Primary), server("/b", Role::Standby), server("/c", Role::Standby)];
    let places: Places = PostgresPlace { all, ..connect_to("/a").into() }.into();
    let drop_in_options = |hosts| DropInOptions { hosts, ..DropInOptions::default() };
    let options = again(QueryProtocol::Prepared);
    let (went, _) =
        failover(&places, drop_in_options(HostPolicy::RoundRobin), &options, &["select 1;"], 1, None);
    assert_eq!(went, "aabc");
    let reads = HostPolicy::ReadWrite { reads: vec![0] };
    let (went, measured) =
        failover(&places, drop_in_options(reads.clone()), &options, &["select 1;"], 2, Some("/b"));
    assert_eq!(
        (went.as_str(), measured.totals().ok),
        ("abbca", 9),
        "reads go to the primary rather than nowhere"
    );
    let (went, measured) =
        failover(&places, drop_in_options(reads), &options, &["select 1;", "update t;"], 2, Some("/b"));
    assert!(went.starts_with("ab") && measured.totals().ok == 9, "{went}");
}

#[test]
fn a_run_that_is_over_does_not_wait_for_those_who_are_away() {
    let mut server = FakePostgres::new(losing(10, AnswerPart::Lost));
    server.down = 3..usize::MAX;
    let workload =
        Pgbench::with_scripts(&again(QueryProtocol::Simple), &sources(&["\\sleep 1 ms\nselect 1;"])).unwrap();
    let places = places();
    let until = engine::Until::Elapsed(2_000_000_000);
    let plan = engine::RunPlan { until, drain: u64::MAX / 4, count_drained: true, ..plan(1, 1) };
    let mut messages = MessageLog::default();
    let clients = workload.clients(&places, load(3)).unwrap();
    let measured = server.run_plan(clients, &plan, &mut messages).unwrap();
    assert_eq!((measured.totals().failed, measured.totals().unfinished), (1, 0));
    let outage = measured.outages[0];
    assert_eq!((outage.over, outage.clients, outage.to_ns), (false, 1, measured.elapsed as i64));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(150))]

    #[test]
    fn whatever_is_lost_every_transaction_is_counted_and_clients_go_on(
        mode_used in proptest::sample::select(vec![QueryProtocol::Simple, QueryProtocol::Extended, QueryProtocol::Prepared]),
        reconnect: bool,
        started: bool,
        faults in proptest::collection::vec(0..12_u8, 0..60),
        down in (3..9_usize, 0..4_usize),
        away in (9..30_usize, 0..4_usize),
        piece in proptest::sample::select(vec![1, 7, usize::MAX]),
    ) {
        let mut faults = faults.into_iter();
        let mut server = FakePostgres::new(move |_, sql: &str| match faults.next() {
            Some(0) => vec![AnswerPart::Lost],
            Some(1) => vec![KILLED],
            Some(2) => usual(sql).into_iter().chain([AnswerPart::Later(500_000)]).collect(),
            Some(3) => vec![AnswerPart::Notice("half"), AnswerPart::Lost],
            _ => usual(sql),
        });
        server.piece = piece;
        (server.down, server.refused_connections) = (down.0..down.0 + down.1, (away.0..away.0 + away.1, "53300"));
        let options = PgbenchOptions { reconnect, ..again(mode_used) };
        let drop_in_options = if started { startup("select 8;\nset a = 1;") } else { DropInOptions::default() };
        let pipeline = "\\startpipeline\nselect 4;\nselect 5;\n\\endpipeline\n";
        let end = if mode_used == QueryProtocol::Simple { "" } else { pipeline };
        let script = format!("begin;\nselect 1 as one \\gset\n\\sleep 1 ms\nselect :one;\ncommit;\n{end}");
        let workload = Pgbench::with_drop_in_options(&options, &sources(&[&script]), drop_in_options).unwrap();
        let places = places();
        let clients = workload.clients(&places, load(3)).unwrap();
        // What is lost before the first transaction ends the run, as it should.
        if let Ok(measured) = server.run(clients, 6, 1) {
            let totals = measured.totals();
            proptest::prop_assert_eq!((totals.ok + totals.failed, totals.unfinished), (18, 0));
            proptest::prop_assert_eq!(&measured.aborts, &[]);
        }
    }
}
