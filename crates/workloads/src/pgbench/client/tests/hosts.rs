//! Clients spread over several servers.

use std::collections::BTreeMap;

use engine::Address;

use super::*;
use crate::pgbench::HostPolicy;
use crate::place::PostgresPlace;
use crate::testing::connect_to;
use protocol::postgres::{PlaceWithRole, Role};

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
