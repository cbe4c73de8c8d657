//! Programs under a watchdog.

use std::time::{Duration, Instant};

use server::Stop;
use server::child::{Program, StopWay, Stream, Supervised};
use spec::Class;

use crate::support::{eventually, is_alive, watchdog};

fn shell(script: &str) -> Program {
    Program::new("/bin/sh").args(["-c", script])
}

#[test]
fn lines_are_stamped_and_costs_counted() {
    let mut lines = Vec::new();
    let program = shell("printf 'one\\rtwo\\n'; sleep 0.2; echo three >&2; printf '%s' \"$MARK\"; exit 3")
        .env("MARK", "four");
    let finished = watchdog().run(&program, &|| false, &mut |line| lines.push(line)).unwrap();
    assert_eq!(finished.ended.code, Some(3));
    assert!(!finished.success() && !finished.stopped);
    assert!(finished.wall_us >= 200_000 && finished.ended.max_rss_bytes > 0);
    let at = |text: &str| {
        lines.iter().find(|line| line.text == text).unwrap_or_else(|| panic!("{text}: {lines:?}"))
    };
    assert!(at("three").at_us >= at("two").at_us + 150_000);
    assert_eq!((at("one").stream, at("three").stream), (Stream::Stdout, Stream::Stderr));
    at("four");
}

/// Each of thousands woke the caller up, a hundredth of a load's time in all.
#[test]
fn lines_that_nobody_wants_are_not_handed_on() {
    let mut lines = Vec::new();
    let program = Program {
        unwanted: Some(") EXECUTE "),
        ..shell("echo 'SQL: (C1) EXECUTE x'; echo 'SQL: (C1) ANALYZE x'")
    };
    watchdog().run(&program, &|| false, &mut |line| lines.push(line.text)).unwrap();
    assert_eq!(lines, ["SQL: (C1) ANALYZE x"]);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = watchdog().run(&Program::new("/no/such/program"), &|| false, &mut |_| ()).unwrap_err();
    assert_eq!(error.class(), Class::Missing, "{error}");
    assert!(error.to_string().contains("/no/such/program"), "{error}");
}

#[test]
fn a_program_and_its_children_stop_when_asked() {
    let start = Instant::now();
    let mut pids = Vec::new();
    let program = shell("sleep 100 & echo $!; echo $$; wait");
    let stop = || start.elapsed() > Duration::from_millis(300);
    let finished =
        watchdog().run(&program, &stop, &mut |line| pids.push(line.text.parse().unwrap())).unwrap();
    assert!(finished.stopped && finished.ended.signal == Some(15), "{finished:?}");
    assert_eq!(pids.len(), 2);
    for pid in pids {
        eventually(Duration::from_secs(2), "it is gone", || !is_alive(pid));
    }
}

#[test]
fn a_stubborn_program_is_killed() {
    let log = tempfile::tempfile().unwrap();
    let program = shell("trap '' TERM; while :; do sleep 0.1; done");
    let child = watchdog().start(&program, &log).unwrap();
    let pid = child.pid();
    std::thread::sleep(Duration::from_millis(200));
    let start = Instant::now();
    drop(child);
    assert!(!is_alive(pid));
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// The end of a program ended the watch, and what it had started and did not mind SIGTERM stayed for ever.
#[test]
fn a_stubborn_child_of_a_program_is_killed() {
    let log = tempfile::NamedTempFile::new().unwrap();
    let program = shell("(trap '' TERM; while :; do sleep 0.1; done) & echo $!; wait");
    let child = watchdog().start(&program, log.as_file()).unwrap();
    let said = || std::fs::read_to_string(log.path()).unwrap();
    eventually(Duration::from_secs(5), "it says its child", || said().ends_with('\n'));
    let pid = said().trim().parse().unwrap();
    drop(child);
    eventually(Duration::from_secs(10), "its child is gone", || !is_alive(pid));
}

/// What a build detached used the CPUs while its arms were measured.
#[cfg(target_os = "linux")]
#[test]
fn what_a_program_detached_ends_with_it() {
    let detaches = "setsid sh -c 'sleep 100 & echo $! $$; wait' & setsid sh -c 'trap \"\" TERM; echo $$ $$; while :; do sleep 0.1; done' & \
                    sleep 0.5";
    for stops in [false, true] {
        let log = tempfile::NamedTempFile::new().unwrap();
        let script = if stops { format!("{detaches}; sleep 100") } else { detaches.to_owned() };
        let mut child = watchdog().start(&shell(&script).with_descendants(), log.as_file()).unwrap();
        let said = || std::fs::read_to_string(log.path()).unwrap();
        eventually(Duration::from_secs(5), "both say their pids", || said().lines().count() == 2);
        let start = Instant::now();
        if stops {
            child.ask_stop();
        }
        while child.wait(Duration::from_millis(50)).unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(9));
        }
        let pids: Vec<u32> = said().split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        assert!(pids.len() == 4 && pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
        let strays = child.strays().join(", ");
        assert!(
            [pids[1], pids[3]].iter().all(|pid| strays.contains(&format!("sh (pid {pid})"))),
            "{pids:?}: {strays}"
        );
    }
}

#[test]
fn who_waits_for_clients_on_sigterm_is_ended_by_sigquit() {
    let log = tempfile::tempfile().unwrap();
    let program = shell("ulimit -c 0; trap '' TERM; while :; do sleep 0.1; done").stopped_by(StopWay::Quit);
    let mut child = watchdog().start(&program, &log).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let start = Instant::now();
    assert_eq!(child.stop().unwrap().signal, Some(3));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn programs_see_no_misleading_environment() {
    let stop = Stop::new();
    let overseen = Supervised::new(&watchdog(), &stop, vec![("PGOPTIONS".into(), "-c jit=off".into())]);
    let program = shell("echo \"[$PGSERVICE] [$PGOPTIONS] [$PGPASSWORD]\"").env("PGPASSWORD", "x");
    let mut lines = Vec::new();
    let end = overseen.run(program, &mut |line| lines.push(line.text)).unwrap();
    assert!(end.success());
    assert_eq!(lines, ["[] [-c jit=off] [x]"]);
    stop.press();
    let sleeping = Program::new("sleep").args(["100"]);
    assert!(overseen.run(sleeping, &mut |_| ()).unwrap_err().is_stopped());
}
