//! Servers on CPUs, and CPUs kept awake.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::postgres::sql::Sql;
use server::managed::Cluster;
use server::placement::{CpuWatch, Placed, allowed};
use spec::Class;
use spec::plan::{CpuQuota, Cpus, Placement};

use crate::support::{Place, cluster, eventually, is_alive, kill, watchdog};

/// Where the kernel lets a process run.
fn list(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned())
}

fn one() -> Cpus {
    allowed().unwrap().iter().take(1).collect()
}

fn backend(server: &Cluster) -> (server::control::Control, u32) {
    let mut control = server.connect("postgres").unwrap();
    let pid = control.scalar("SELECT pg_backend_pid()").unwrap().unwrap().parse().unwrap();
    (control, pid)
}

fn family(postmaster: u32) -> Vec<u32> {
    let children = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
    let children = children.unwrap();
    std::iter::once(postmaster).chain(children.split_whitespace().map(|pid| pid.parse().unwrap())).collect()
}

#[test]
fn a_server_is_pinned_with_backends_old_and_new_and_let_go_again() {
    let place = Place::new();
    let server = cluster(&place);
    let (_old, old) = backend(&server);
    let (all, one) = (allowed().unwrap().to_string(), one());
    assert_eq!(list(old), Some(all.clone()));
    let placed = Placed::begin(
        &watchdog(),
        &[server.pid().unwrap()],
        &Placement { server: Some(one.clone()), ..Placement::default() },
    )
    .unwrap();
    let keeper = placed.keeper().unwrap();
    let (_new, new) = backend(&server);
    let family_of = || family(server.pid().unwrap());
    assert!(family_of().contains(&old) && family_of().contains(&new));
    for pid in family_of() {
        assert_eq!(list(pid), Some(one.to_string()), "{pid}");
    }
    drop(placed);
    for pid in family_of() {
        assert_eq!(list(pid), Some(all.clone()), "{pid}");
    }
    assert!(!is_alive(keeper));
}

#[test]
fn what_cannot_be_pinned_leaves_all_as_it_was() {
    let far: Cpus = "999".parse().unwrap();
    let me = std::process::id();
    let error =
        Placed::begin(&watchdog(), &[me], &Placement { server: Some(far.clone()), ..Placement::default() })
            .unwrap_err();
    assert!(error.to_string().starts_with("CPU 999 cannot be used"), "{error}");
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let error = Placed::begin(
        &watchdog(),
        &[child.id(), u32::MAX / 2],
        &Placement { server: Some(one().clone()), ..Placement::default() },
    )
    .unwrap_err();
    assert_eq!(error.class(), Class::Unreachable, "{error}");
    assert_eq!(list(child.id()), Some(allowed().unwrap().to_string()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Placed::begin(&watchdog(), &[], &Placement::default()).unwrap().keeper().is_none());
}

/// Policy of each thread of a process; 5 is the idle class.
fn policies(pid: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let stat = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).unwrap();
    let field = |stat: String| stat.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap().to_owned();
    threads.map(|thread| field(stat(thread.unwrap()))).collect()
}

#[test]
fn awake_cpus_have_a_thread_of_the_idle_class_each_or_there_is_a_reason() {
    match Placed::begin(&watchdog(), &[], &Placement { awake: true, ..Placement::default() }) {
        Ok(placed) => {
            let keeper = placed.keeper().unwrap();
            let idle = policies(keeper).into_iter().filter(|policy| policy == "5").count();
            assert_eq!(idle, allowed().unwrap().count());
            drop(placed);
            assert!(!is_alive(keeper));
        }
        Err(error) => {
            let error = error.to_string();
            let why = error.strip_prefix("idle CPUs cannot be kept awake: ").unwrap();
            assert!(why.len() > 20, "{why}");
        }
    }
}

/// A server that stays would be left on its CPUs for good.
#[test]
fn a_killed_owner_leaves_no_keeper_and_nothing_pinned() {
    let mut stays = Command::new("sleep").arg("60").spawn().unwrap();
    let one = one().to_string();
    let mut owner = Command::new(watchdog().exe)
        .args(["placement-owner", &stays.id().to_string(), &one])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let keeper: u32 = said.trim().parse().unwrap_or_else(|_| panic!("{said}"));
    assert!(is_alive(keeper));
    assert_eq!(list(stays.id()), Some(one));
    kill(owner.id());
    owner.wait().unwrap();
    eventually(Duration::from_secs(10), "the keeper is gone", || !is_alive(keeper));
    assert_eq!(list(stays.id()), Some(allowed().unwrap().to_string()));
    stays.kill().unwrap();
    stays.wait().unwrap();
}

#[test]
fn a_client_and_a_backend_on_one_cpu_are_seen_there() {
    let place = Place::new();
    let server = cluster(&place);
    let postmaster = server.pid().unwrap();
    let _placed = Placed::begin(
        &watchdog(),
        &[postmaster],
        &Placement { server: Some(one().clone()), ..Placement::default() },
    )
    .unwrap();
    let (cpus, connect) = (one(), server.place("postgres"));
    let client = std::thread::Builder::new().name("placed-client-0".to_owned()).spawn(move || {
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        let status = Command::new("taskset").args(["-p", "-c", &cpus.to_string(), &me.to_string()]).output();
        assert!(status.unwrap().status.success());
        let mut control = server::control::Control::open(&connect, Some(Duration::from_secs(10))).unwrap();
        let query = "SELECT count(*) FROM generate_series(1, 1000000) AS i WHERE i % 7 = 3";
        for _ in 0..20 {
            control.scalar(query).unwrap();
        }
    });
    let watch = CpuWatch::start(postmaster, "placed-client-").unwrap();
    client.unwrap().join().unwrap();
    let seen = watch.finish();
    assert_eq!((seen.same_cpu_pct, seen.backend_moves_per_s), (Some(100.0), Some(0.0)), "{seen:?}");
}

/// Where control groups cannot be written, that is said, and nothing is changed.
#[test]
fn a_quota_holds_for_a_process_and_what_it_forks_and_is_taken_away() {
    let group = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let mut shell = Command::new("sh")
        .args(["-c", "read go; sleep 60 & echo $!; wait"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let before = group(shell.id());
    let quota = Some(CpuQuota::try_from(0.2).unwrap());
    let placed = Placed::begin(&watchdog(), &[shell.id()], &Placement { quota, ..Placement::default() });
    match placed {
        Err(error) => {
            assert_eq!(error.class(), Class::Missing, "{error}");
            assert!(error.to_string().starts_with("a CPU quota cannot be set: "), "{error}");
        }
        Ok(placed) => {
            assert!(group(shell.id()).contains("/pgdyno-"), "{}", group(shell.id()));
            std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"go\n").unwrap();
            let mut forked = String::new();
            BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut forked).unwrap();
            let forked: u32 = forked.trim().parse().unwrap();
            assert!(group(forked).contains("/pgdyno-"), "{}", group(forked));
            drop(placed);
            assert_eq!(group(forked), before);
            kill(forked);
        }
    }
    assert_eq!(group(shell.id()), before);
    let _ = shell.kill();
    shell.wait().unwrap();
}
