//! Real servers that fall silent: their processes are stopped by signals, and always go on afterwards.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, long};
use server::Stop;
use server::control::{Control, Timeouts};
use server::managed::Cluster;

use crate::support::{Place, cluster, eventually};

const BOUND: Duration = Duration::from_millis(500);
/// What a wait may take in all on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Processes that are stopped until this is dropped.
struct Stopped(Vec<u32>);

impl Stopped {
    fn stop(pids: &[u32]) -> Self {
        let stopped = Self(pids.to_vec());
        stopped.send(rustix::process::Signal::STOP);
        stopped
    }

    fn send(&self, signal: rustix::process::Signal) {
        for pid in &self.0 {
            let pid = rustix::process::Pid::from_raw((*pid).try_into().unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        self.send(rustix::process::Signal::CONT);
    }
}

fn timeouts() -> Timeouts {
    Timeouts { stop: Stop::new(), answer: Some(BOUND), look_after: Some(BOUND), look_bound: BOUND * 4 }
}

fn open(server: &Cluster) -> Control {
    Control::open_with(&server.place("postgres"), Some(SOON), timeouts()).unwrap()
}

fn pid(control: &mut Control) -> u32 {
    control.scalar("SELECT pg_backend_pid()").unwrap().unwrap().parse().unwrap()
}

fn processes(server: &Cluster) -> Vec<u32> {
    let postmaster = server.pid().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
    let children = children.unwrap_or_default();
    std::iter::once(postmaster).chain(children.split_whitespace().map(|pid| pid.parse().unwrap())).collect()
}

#[test]
fn a_stopped_process_of_a_control_connection_is_found() {
    let place = Place::new();
    let server = cluster(&place);
    // Under a short request by its bound.
    let mut control = open(&server);
    let stopped = Stopped::stop(&[pid(&mut control)]);
    let start = Instant::now();
    let error = control.scalar("SHOW server_version").unwrap_err();
    assert!(error.sqlstate.is_none() && error.text.contains("is stopped (by SIGSTOP"), "{error}");
    assert!(start.elapsed() < SOON);
    drop(control);
    drop(stopped);
    // Under long work by a second connection and the system.
    let mut control = open(&server);
    let own = pid(&mut control);
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(BOUND);
        Stopped::stop(&[own])
    });
    let start = Instant::now();
    let error = long(&mut control).execute("SELECT pg_sleep(60)").unwrap_err();
    assert!(error.text.contains(&format!("its process {own} is stopped")), "{error}");
    assert!(start.elapsed() < SOON);
    drop(stopper.join().unwrap());
}

#[test]
fn a_server_that_is_stopped_as_a_whole_is_found() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = open(&server);
    long(&mut control).execute("SELECT 1").unwrap();
    let stopped = Stopped::stop(&processes(&server));
    let start = Instant::now();
    let error = long(&mut control).execute("CHECKPOINT").unwrap_err();
    assert!(error.text.contains("nor a second connection"), "{error}");
    let error = Control::open_with(&server.place("postgres"), Some(BOUND), timeouts()).unwrap_err();
    assert!(error.to_string().contains("no answer within"), "{error}");
    assert!(start.elapsed() < SOON);
    drop(stopped);
}

#[test]
fn long_work_takes_longer_than_the_bound_and_succeeds() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = open(&server);
    let slow = "SELECT pg_sleep(4); CREATE TABLE slow AS SELECT 1 AS one";
    long(&mut control).query(slow).unwrap();
    assert_eq!(control.scalar("SELECT one FROM slow").unwrap().as_deref(), Some("1"));
    assert!(control.scalar("SELECT pg_sleep(4)").unwrap_err().text.contains("is active"));
    // A process that waits for a lock lives, too.
    let mut holder = open(&server);
    holder.execute("BEGIN; LOCK TABLE slow").unwrap();
    let mut waiter = open(&server);
    let waiting = std::thread::spawn(move || long(&mut waiter).execute("TRUNCATE slow"));
    std::thread::sleep(BOUND * 6);
    holder.execute("COMMIT").unwrap();
    waiting.join().unwrap().unwrap();
}

#[test]
fn what_the_user_stops_is_cancelled_on_the_server() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = open(&server);
    let stop = control.timeouts().stop.clone();
    let presser = std::thread::spawn(move || {
        std::thread::sleep(BOUND);
        stop.press();
    });
    let start = Instant::now();
    let error = long(&mut control).execute("SELECT pg_sleep(60)").unwrap_err();
    assert!(error.is("57014"), "{error}");
    assert!(start.elapsed() < SOON);
    presser.join().unwrap();
    let mut other = open(&server);
    let sleepers = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(60)%' AND state = 'active' \
                    AND pid <> pg_backend_pid()";
    eventually(SOON, "the statement is cancelled", || {
        other.scalar(sleepers).unwrap().as_deref() == Some("0")
    });
}

#[test]
fn the_last_words_of_a_server_process_are_heard() {
    let place = Place::new();
    let server = cluster(&place);
    let mut control = open(&server);
    let own = pid(&mut control);
    let mut other = open(&server);
    let ender = std::thread::spawn(move || {
        std::thread::sleep(BOUND * 3);
        other.execute(&format!("SELECT pg_terminate_backend({own})")).unwrap();
    });
    let error = long(&mut control).execute("SELECT pg_sleep(60)").unwrap_err();
    assert!(error.text.contains("terminating connection due to administrator command"), "{error}");
    ender.join().unwrap();
}
