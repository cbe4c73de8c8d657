//! Streaming replicas of a private server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use protocol::postgres::sql::Sql;
use server::Stop;
use server::control::Control;
use server::home::HomeFolder;
use server::managed::{Cluster, ServerOptions};
use server::replica::{Replicas, await_caught_up, followers};
use spec::plan::topology::{Replication, Topology};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, is_alive, kill, parent, watchdog};

fn start(
    place: &Place,
    primary: &Cluster,
    replicas: u32,
    replication: Replication,
) -> Result<Replicas, Error> {
    Replicas::start(&place.home, primary, Topology::new(replicas, replication), &watchdog(), &Stop::new())
}

fn connect(place: &protocol::postgres::Place) -> Control {
    Control::open(place, Some(Duration::from_secs(10))).unwrap()
}

/// How many replicas have a folder in the home.
fn left(place: &Place) -> usize {
    std::fs::read_dir(place.home.path(HomeFolder::Replicas)).map_or(0, Iterator::count)
}

fn setting(control: &mut Control, name: &str) -> String {
    control.scalar(&format!("SHOW {name}")).unwrap().unwrap()
}

#[test]
fn replicas_follow_in_each_mode_and_leave_nothing() {
    let place = Place::new();
    let primary = cluster(&place);
    let mut control = primary.connect("postgres").unwrap();
    control.execute("CREATE TABLE t (x int)").unwrap();
    for (count, replication, wanted) in [
        (2, Replication::Async, "async"),
        (1, Replication::Sync, "sync"),
        (2, Replication::RemoteApply, "sync"),
    ] {
        let mut replicas = start(&place, &primary, count, replication).unwrap();
        let seen = followers(&mut control).unwrap();
        assert_eq!(seen.len(), count as usize);
        assert!(seen.iter().all(|follower| follower.sync_state == wanted), "{seen:?}");
        let mut fresh = primary.connect("postgres").unwrap();
        fresh.execute("INSERT INTO t VALUES (1)").unwrap();
        let mut readers: Vec<Control> = replicas.places("postgres").iter().map(connect).collect();
        let rows = "SELECT count(*) FROM t";
        let written = fresh.scalar(rows).unwrap();
        if replication == Replication::RemoteApply {
            // Without waiting: the commit did.
            assert!(readers.iter_mut().all(|reader| reader.scalar(rows).unwrap() == written));
        }
        await_caught_up(&mut fresh, &mut readers, &Stop::new()).unwrap();
        for reader in &mut readers {
            assert_eq!(reader.scalar(rows).unwrap(), written);
            let refused = reader.execute("INSERT INTO t VALUES (2)").unwrap_err();
            assert!(refused.is("25006"), "{refused}");
        }
        let words = replicas.words(&primary).unwrap();
        assert!(
            words[0].contains("pgdyno_replica_1: PostgreSQL ") && words[0].contains("temp_slot = on"),
            "{words:?}"
        );
        replicas.check().unwrap();
        let pids = replicas.pids();
        replicas.end(&primary).unwrap();
        assert!(!pids.into_iter().any(is_alive));
        assert_eq!(left(&place), 0);
        let mut fresh = primary.connect("postgres").unwrap();
        assert_eq!(setting(&mut fresh, "synchronous_standby_names"), "");
        assert_eq!(setting(&mut fresh, "synchronous_commit"), "on");
        eventually(Duration::from_secs(5), "no slot is left", || {
            fresh.scalar("SELECT count(*) FROM pg_replication_slots").unwrap().as_deref() == Some("0")
        });
    }
}

#[test]
fn settings_that_allow_no_replica_are_named() {
    let place = Place::new();
    let mut primary = cluster(&place);
    for (set, wanted) in [
        (&["max_wal_senders = 2"][..], "max_wal_senders is 2, and 2 replicas need 3 of them"),
        (&["max_wal_senders = 0", "wal_level = minimal"], "wal_level = minimal can have no replicas"),
    ] {
        let mut control = primary.connect("postgres").unwrap();
        set.iter().for_each(|set| control.execute(&format!("ALTER SYSTEM SET {set}")).unwrap());
        drop(control);
        primary.restart().unwrap();
        let error = start(&place, &primary, 2, Replication::Async).unwrap_err();
        assert!(error.class() == Class::BadInput && error.to_string().contains(wanted), "{error}");
        assert_eq!(left(&place), 0);
    }
}

/// Its commits would wait for ever after a kill.
#[test]
fn a_server_that_goes_on_by_itself_waits_for_no_replica() {
    let place = Place::new();
    drop(cluster(&place));
    let options = ServerOptions { detached: true, ..ServerOptions::default() };
    let mut primary = Cluster::ensure(&place.home, "main", &options, &watchdog(), &Stop::new()).unwrap();
    let error = start(&place, &primary, 1, Replication::Sync).unwrap_err();
    assert!(error.class() == Class::Usage && error.hint().unwrap().contains("target stop main"), "{error}");
    start(&place, &primary, 1, Replication::Async).unwrap().end(&primary).unwrap();
    primary.stop().unwrap();
}

#[test]
fn a_replica_that_died_is_told() {
    let place = Place::new();
    let primary = cluster(&place);
    let mut replicas = start(&place, &primary, 1, Replication::Async).unwrap();
    kill(replicas.pids()[0]);
    let start = std::time::Instant::now();
    let error = loop {
        match replicas.check() {
            Err(error) => break error.to_string(),
            Ok(()) => assert!(start.elapsed() < Duration::from_secs(5), "it is still taken for alive"),
        }
    };
    assert!(error.starts_with("pgdyno_replica_1 (replica 1): a replica died (signal 9)"), "{error}");
    drop(replicas);
    assert_eq!(left(&place), 0);
}

/// A process that owns a server with a synchronous replica, and the pids of both.
fn owner(place: &Place) -> (Child, u32, u32) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno-test-owner"));
    command.arg("replica-owner").arg(place.home.folder()).stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (primary, replica) = line.trim().split_once(' ').unwrap();
    (owner, primary.parse().unwrap(), replica.parse().unwrap())
}

#[test]
fn nothing_of_a_replica_outlives_a_killed_owner() {
    let place = Place::new();
    drop(cluster(&place));
    for kills_watchdog in [false, true] {
        let (mut killed, primary, replica) = owner(&place);
        if kills_watchdog {
            kill(parent(replica));
        }
        killed.kill().unwrap();
        killed.wait().unwrap();
        eventually(Duration::from_secs(20), "both are dead", || !is_alive(primary) && !is_alive(replica));
        if kills_watchdog {
            server::remove_dead_members(&place.home);
        }
        eventually(Duration::from_secs(10), "nothing is left", || left(&place) == 0);
        // The next pgdyno finds a primary that waits for nobody and keeps no WAL.
        let options = ServerOptions::default();
        let again = Cluster::ensure(&place.home, "main", &options, &watchdog(), &Stop::new()).unwrap();
        let mut control = again.connect("postgres").unwrap();
        assert_eq!(setting(&mut control, "synchronous_standby_names"), "");
        let slots = control.scalar("SELECT count(*) FROM pg_replication_slots").unwrap();
        assert_eq!(slots.as_deref(), Some("0"));
    }
}
