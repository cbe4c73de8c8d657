//! Clients spread over several servers.

use std::collections::BTreeMap;

use engine::Address;

use super::*;
use crate::pgbench::{HostPolicy, ScriptOption};
use crate::place::{PostgresPlace, TargetPlaces};
use crate::testing::connect_to;
use protocol::postgres::{PlaceWithRole, Role};
use spec::plan::topology::LoadTarget;

/// `/a` is the primary, `/b` and `/c` are standbys.
fn places() -> Places {
    let server = |folder: &str, role| PlaceWithRole { place: connect_to(folder), role };
    let all = vec![server("/a", Role::Primary), server("/b", Role::Standby), server("/c", Role::Standby)];
    PostgresPlace { all, ..connect_to("/a").into() }.into()
}

/// The folders of the connections, in order, and the queries over each.
fn spread(
    hosts: HostPolicy,
    scripts: &[&str],
    options: &PgbenchOptions,
) -> (String, BTreeMap<String, Vec<String>>) {
    let drop_in_options = DropInOptions { hosts, ..DropInOptions::default() };
    let workload = Pgbench::with_drop_in_options(options, &sources(scripts), drop_in_options).unwrap();
    let mut asked: Vec<(usize, String)> = Vec::new();
    let mut server = FakePostgres::new(|connection, sql: &str| {
        asked.push((connection, sql.to_owned()));
        one("1")
    });
    let measured = server.run(workload.clients(&places(), load(4)).unwrap(), 5, scripts.len()).unwrap();
    assert_eq!((measured.totals().ok, measured.aborts.len()), (20, 0));
    let folder = |address: &Address| match address {
        Address::Unix(path) => path.display().to_string()[1..2].to_owned(),
        Address::Tcp(_) => String::new(),
    };
    let folders: Vec<String> = server.addresses.iter().map(folder).collect();
    drop(server);
    let mut by_folder: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (connection, sql) in asked {
        by_folder.entry(folders[connection].clone()).or_default().push(sql);
    }
    (folders.concat(), by_folder)
}

#[test]
fn clients_are_spread_as_the_policy_says() {
    let spread = |policy| spread(policy, &["select 1;"], &PgbenchOptions::default()).0;
    assert_eq!(spread(HostPolicy::First), "aaaa");
    assert_eq!(spread(HostPolicy::RoundRobin), "abca");
    let drawn = spread(HostPolicy::Random);
    assert_eq!(drawn, spread(HostPolicy::Random), "the same seed, the same servers");
    assert!(drawn.chars().any(|folder| folder != 'a'), "{drawn}");
}

#[test]
fn reads_go_to_standbys_and_the_rest_to_the_primary() {
    for options in [
        PgbenchOptions::default(),
        mode(QueryProtocol::Prepared),
        PgbenchOptions { reconnect: true, ..mode(QueryProtocol::Prepared) },
    ] {
        let policy = HostPolicy::ReadWrite { reads: vec![1] };
        let (folders, asked) = spread(policy, &["update t;", "select 1;"], &options);
        if !options.reconnect {
            assert_eq!(folders, "abacabac");
        }
        assert!(asked["a"].iter().all(|sql| sql == "update t;"), "{asked:?}");
        assert!(
            ["b", "c"].iter().all(|folder| asked[*folder].iter().all(|sql| sql == "select 1;")),
            "{asked:?}"
        );
    }
}

#[test]
fn roles_that_are_missing_are_named() {
    let drop_in_options =
        DropInOptions { hosts: HostPolicy::ReadWrite { reads: vec![0] }, ..DropInOptions::default() };
    let workload =
        Pgbench::with_drop_in_options(&PgbenchOptions::default(), &sources(&["select 1;"]), drop_in_options)
            .unwrap();
    let without = |role| {
        let mut place = places().postgres().unwrap().clone();
        place.all.retain(|server| server.role != role);
        let places = place.into();
        workload.clients(&places, load(1)).err().unwrap().to_string()
    };
    assert!(without(Role::Standby).contains("needs a standby server"));
    assert!(without(Role::Primary).contains("needs a primary server"));
}

/// `/p` is the connection of the run, `/a` its primary, `/b` to `/d` are replicas, `/q` is its pooler.
fn targets() -> Places {
    let targets = TargetPlaces {
        primary: Some(connect_to("/a")),
        pooler: Some(connect_to("/q")),
        replicas: ["/b", "/c", "/d"].map(connect_to).to_vec(),
    };
    PostgresPlace { targets, ..connect_to("/p").into() }.into()
}

fn routed(scripts: &[(&str, Option<LoadTarget>)], places: &Places, seed: u64) -> Result<Vec<String>, String> {
    let script = |(text, target): &(&str, Option<LoadTarget>)| ScriptOption {
        text: Some((*text).to_owned()),
        target: *target,
        ..ScriptOption::default()
    };
    let options =
        PgbenchOptions { scripts: scripts.iter().map(script).collect(), ..PgbenchOptions::default() };
    let workload = Pgbench::open(&options, std::path::Path::new("")).map_err(|error| error.to_string())?;
    let mut asked: Vec<(usize, String)> = Vec::new();
    let mut server = FakePostgres::new(|connection, sql: &str| {
        asked.push((connection, sql.to_owned()));
        one("1")
    });
    let clients = workload.clients(places, Clients { seed, ..load(4) }).map_err(|error| error.to_string())?;
    server.run(clients, 10, scripts.len()).unwrap();
    let folder = |address: &Address| match address {
        Address::Unix(path) => path.display().to_string()[1..2].to_owned(),
        Address::Tcp(_) => String::new(),
    };
    let folders: Vec<String> = server.addresses.iter().map(folder).collect();
    drop(server);
    let mut all: Vec<String> =
        asked.into_iter().map(|(connection, sql)| format!("{} {sql}", folders[connection])).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

#[test]
fn a_script_goes_where_it_says_and_replicas_take_turns_from_a_seeded_one() {
    use LoadTarget::{Pooler, Primary, Replica};
    let one = |target, seed| routed(&[("select 1;", target)], &targets(), seed).unwrap();
    assert_eq!(one(None, 1), ["p select 1;"]);
    assert_eq!(one(Some(Primary), 1), ["a select 1;"]);
    assert_eq!(one(Some(Pooler), 1), ["q select 1;"]);
    assert_eq!(one(Some(Replica), 1), ["b select 1;", "c select 1;", "d select 1;"]);
    let options = PgbenchOptions {
        builtin: vec!["select-only".to_owned()],
        target: Some(Replica),
        ..PgbenchOptions::default()
    };
    let workload = Pgbench::open(&options, std::path::Path::new("")).unwrap();
    let words = |replicas| workload.routes(replicas, 1).unwrap();
    assert_eq!(words(0), "without replicas, scripts for a replica go to the primary");
    assert!(words(3).contains("of 3, each further client the next one"), "{}", words(3));
    let mixed = [("select 1;", Some(Replica)), ("update t;", Some(Primary)), ("select 2;", None)];
    let asked = routed(&mixed, &targets(), 7).unwrap();
    let ends = |folder: &str, sql: &str| asked.contains(&format!("{folder} {sql}"));
    assert!(ends("a", "update t;") && ends("p", "select 2;") && ends("b", "select 1;"), "{asked:?}");
    assert_eq!(asked.len(), 5);
    let alone = Places::from(connect_to("/p"));
    let refused = routed(&[("select 1;", Some(Replica))], &alone, 1).unwrap_err();
    assert_eq!(refused, "a script goes to a replica, and the target has none");
    let refused = routed(&[("select 1;\nupdate t;", Some(Replica))], &targets(), 1).unwrap_err();
    assert!(refused.starts_with("text, line 2, writes, and a replica takes no writes"), "{refused}");
}
