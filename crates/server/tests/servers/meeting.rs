//! Parts of one load wait for each other on real servers.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use protocol::postgres::Place as Address;
use protocol::postgres::sql::Sql;
use server::Stop;
use server::managed::Cluster;
use server::meeting::{Agenda, Meeting, Released};
use server::pooler::{PooledLoad, Pooler, Upstream};
use server::replica::Replicas;
use server::settings::SettingValues;
use spec::plan::pooler::{PoolMode, PoolerOptions};
use spec::plan::topology::{Replication, Topology};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, watchdog};

fn agenda(number: u32, of: u32, seconds: u64) -> Agenda {
    let same = vec![("plan", "select".to_owned()), ("version of pgdyno", "1".to_owned())];
    Agenda { number, of, same, position: Some(number + 3), patience: Duration::from_secs(seconds) }
}

fn meet(place: &Address, agenda: Agenda) -> Result<Released, Error> {
    let mut meeting = Meeting::join(place, agenda)?;
    let released = meeting.wait(&Stop::new(), |_| {})?;
    // Others look whether this part is still there.
    thread::sleep(Duration::from_millis(200));
    Ok(released)
}

fn all_meet(place: &Address, of: u32) -> Vec<Released> {
    thread::scope(|scope| {
        let parts: Vec<_> = (1..=of)
            .map(|number| {
                scope.spawn(move || {
                    // Whoever comes first, and last.
                    thread::sleep(Duration::from_millis(u64::from(number * 37 % 101)));
                    meet(place, agenda(number, of, 20))
                })
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap().unwrap()).collect()
    })
}

fn nothing_is_left(server: &Cluster) {
    let mut control = server.connect("postgres").unwrap();
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    eventually(Duration::from_secs(5), "locks of parts", || {
        control.scalar(locks).unwrap().as_deref() == Some("0")
    });
}

#[test]
fn parts_meet_on_a_primary_a_standby_and_behind_a_pooler() {
    let place = Place::new();
    let primary = cluster(&place);
    let replicas = Replicas::start(
        &place.home,
        &primary,
        Topology::new(1, Replication::Async),
        &watchdog(),
        &Stop::new(),
    )
    .unwrap();
    let up = Upstream { place: primary.place("postgres"), ssl: Default::default() };
    let options = PoolerOptions { pool_mode: PoolMode::Transaction, pool_size: 20, settings: [].into() };
    let session = SettingValues::new();
    let load = PooledLoad {
        clients: 20,
        reconnects: false,
        prepared: false,
        transaction_blocks: true,
        session: &session,
    };
    let pooler = Pooler::start(&place.home, &up, &options, &load, &watchdog(), &Stop::new()).unwrap();
    let mut names = BTreeSet::new();
    for address in
        [primary.place("postgres"), replicas.places("postgres").remove(0), pooler.place("postgres")]
    {
        for of in [2, 7] {
            let released = all_meet(&address, of);
            let ids: BTreeSet<&str> = released.iter().map(|released| released.meeting.as_str()).collect();
            assert_eq!(ids.len(), 1, "all parts call it the same");
            assert!(names.insert((*ids.first().unwrap()).to_owned()), "and no other meeting so");
            let at = released.iter().map(|released| released.at_us);
            let spread = at.clone().max().unwrap() - at.min().unwrap();
            assert!(spread <= 100, "{spread} µs: all know when the gate opened");
            assert!(released.iter().all(|released| released.position == Some(4)), "the least");
            // One host has one clock.
            for Released { clock, .. } in &released {
                assert!(clock.offset_us.abs() <= clock.error_us + 50.0, "{clock:?}");
            }
        }
    }
    drop((pooler, replicas));
    nothing_is_left(&primary);
}

#[test]
fn who_does_not_come_is_named_and_so_is_who_differs() {
    let place = Place::new();
    let server = cluster(&place);
    let address = server.place("postgres");
    let error = meet(&address, agenda(2, 4, 0)).unwrap_err();
    assert!(error.to_string().contains("parts 1, 3 and 4 of 4 did not come within 0 s"), "{error}");
    assert_eq!(error.class(), Class::Missing);
    let other = Agenda {
        same: vec![("plan", "update".into()), ("version of pgdyno", "1".into())],
        ..agenda(2, 2, 9)
    };
    let _other = Meeting::join(&address, other).unwrap();
    let error = meet(&address, agenda(1, 2, 0)).unwrap_err();
    assert!(error.to_string().ends_with("part 2 is there with another plan"), "{error}");
    let _first = Meeting::join(&address, agenda(1, 3, 9)).unwrap();
    let error = Meeting::join(&address, agenda(1, 3, 9)).unwrap_err();
    assert!(error.to_string().contains("part 1 of 3 is there already"), "{error}");
}

#[test]
fn nobody_begins_when_a_part_or_the_server_goes() {
    let place = Place::new();
    let server = cluster(&place);
    let address = server.place("postgres");
    // Part 1 goes when the others stand at the gate.
    let first = Meeting::join(&address, agenda(1, 3, 20)).unwrap();
    let error = thread::scope(|scope| {
        let others: Vec<_> = [2, 3]
            .map(|number| {
                scope.spawn({
                    let address = &address;
                    move || meet(address, agenda(number, 3, 20))
                })
            })
            .into();
        let mut control = server.connect("postgres").unwrap();
        eventually(Duration::from_secs(10), "two at the gate", || {
            control.scalar("SELECT count(*) FROM pg_locks WHERE NOT granted").unwrap().as_deref() == Some("2")
        });
        drop(first);
        let errors: Vec<Error> = others.into_iter().map(|other| other.join().unwrap().unwrap_err()).collect();
        errors.into_iter().next().unwrap()
    });
    assert!(error.to_string().contains("part 1 left"), "{error}");
    nothing_is_left(&server);
    // The user stops.
    let stop = Stop::new();
    let mut waiting = Meeting::join(&address, agenda(1, 2, 60)).unwrap();
    let start = Instant::now();
    let mut told = Vec::new();
    stop.press();
    let error = waiting.wait(&stop, |missing| told.push(missing.to_owned())).unwrap_err();
    assert_eq!((error.class(), start.elapsed() < Duration::from_secs(5)), (Class::Interrupted, true));
    // The server ends.
    thread::scope(|scope| {
        let waits = scope.spawn(|| waiting.wait(&Stop::new(), |_| {}));
        thread::sleep(Duration::from_millis(100));
        drop(server);
        let error = waits.join().unwrap().unwrap_err();
        assert_eq!(error.class(), Class::Unreachable, "{error}");
        assert!(error.to_string().contains("parts wait"), "{error}");
    });
}
