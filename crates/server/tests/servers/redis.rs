//! The private Redis server.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use protocol::redis::{Limits, RedisAnswer, RedisConnection};
use server::home::HomeFolder;
use server::redis::{PrivateRedis, RedisControl};

use crate::support::{Place, eventually, is_alive, watchdog};

/// A process that owns a Redis server at home in a place, the server's pid, and its socket.
fn owner(place: &Place) -> (Child, u32, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno-test-owner"));
    command.arg("redis-owner").arg(place.home.folder()).stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pid, socket) = line.trim().split_once(' ').unwrap();
    (owner, pid.parse().unwrap(), socket.into())
}

/// What is in the home's folder for Redis servers.
fn left(place: &Place) -> usize {
    std::fs::read_dir(place.home.path(HomeFolder::Redis)).unwrap().count()
}

#[test]
fn a_killed_owner_of_a_redis_leaves_no_folder() {
    let place = Place::new();
    let (mut killed, pid, socket) = owner(&place);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let folder = socket.parent().unwrap();
    eventually(Duration::from_secs(10), "nothing is left", || {
        !is_alive(pid) && !folder.exists() && left(&place) == 0
    });
}

#[test]
fn what_a_redis_left_whose_watchdog_was_killed_too_is_removed_by_the_next_one() {
    let place = Place::new();
    let (mut killed, pid, socket) = owner(&place);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let watchdog_pid = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().to_owned();
    Command::new("kill").args(["-KILL", &watchdog_pid, &pid.to_string()]).status().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(Duration::from_secs(10), "all are dead", || !is_alive(pid));
    assert!(socket.parent().unwrap().exists(), "nobody could remove it");
    let mut alive = PrivateRedis::start(&place.home, &watchdog(), &server::Stop::new()).unwrap();
    assert!(!socket.parent().unwrap().exists());
    assert_eq!(left(&place), 1, "its own");
    // Another owner next to it removes nothing that lives.
    let other = owner(&place);
    alive.check().unwrap();
    assert!(alive.address() != protocol::Address::Unix(other.2.clone()));
    let protocol::Address::Unix(own) = alive.address() else { panic!("no socket") };
    assert!(own.exists() && other.2.exists());
    let (mut killed, ..) = other;
    killed.kill().unwrap();
    killed.wait().unwrap();
}

#[test]
fn redis_lives_as_long_as_its_owner() {
    let place = Place::new();
    let mut redis = PrivateRedis::start(&place.home, &watchdog(), &server::Stop::new()).unwrap();
    redis.check().unwrap();
    assert!(redis.version().starts_with(|first: char| first.is_ascii_digit()), "{}", redis.version());
    let protocol::Address::Unix(socket) = redis.address() else { panic!("no socket") };
    assert!(socket.exists());
    let pid = redis.pid();
    drop(redis);
    assert!(!is_alive(pid) && !socket.exists());
}

#[test]
fn a_redis_tells_its_limits_and_takes_others() {
    let place = Place::new();
    let redis = PrivateRedis::start(&place.home, &watchdog(), &server::Stop::new()).unwrap();
    let none = Limits { memory_bytes: 0, policy: "noeviction".to_owned() };
    assert_eq!(redis.limits(), &none);
    let address = redis.address();
    let mut control = RedisControl::connect(&address, &|| false).unwrap();
    for (name, value) in [("maxmemory", "67108864"), ("maxmemory-policy", "allkeys-lfu")] {
        let answer = control.one(&[b"CONFIG", b"SET", name.as_bytes(), value.as_bytes()]).unwrap();
        assert_eq!(answer, RedisAnswer::Done("OK".to_owned()));
    }
    let info = control.info().unwrap();
    let set = Limits { memory_bytes: 64 << 20, policy: "allkeys-lfu".to_owned() };
    assert_eq!(Limits::of(&info), Some(set));
    assert!(info.number("used_memory").unwrap() > 0 && info.number("evicted_keys") == Some(0));
    assert_eq!(redis.limits(), &none, "what it was started with");
}
