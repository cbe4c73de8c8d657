//! How runs end: interrupted, at absurd rates, without their server, with a closed output.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{assert_composed, figure};
use crate::support::dropin::{Bench, bare_command, link};
use crate::support::{Finished, PATIENCE, Place, finish, signal, wait};

/// Starts pgdyno, sends a signal (or calls `act`) after a second, and waits for its end.
fn interrupted(bench: &mut Bench, args: &[&str], act: impl FnOnce(&mut Bench, u32)) -> Finished {
    let out = bench.place.path().join("out");
    let err = bench.place.path().join("err");
    let mut command = bench.command(&bench.ours, args);
    command.stdout(std::fs::File::create(&out).expect("own folder"));
    command.stderr(std::fs::File::create(&err).expect("own folder"));
    let mut child = command.spawn().expect("starts");
    std::thread::sleep(Duration::from_secs(1));
    act(bench, child.id());
    let status = wait(&mut child, PATIENCE);
    let read = |path| std::fs::read_to_string(path).expect("own folder");
    Finished { status, stdout: read(out), stderr: read(err) }
}

#[test]
fn ctrl_c_prints_the_report_of_what_was_done() {
    let mut bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    bench.place.write("nap.sql", "SELECT pg_sleep(600);\n");
    for name in ["INT", "TERM"] {
        let done = interrupted(&mut bench, &["-n", "-c", "2", "-T", "600", "-f", "one.sql"], |_, pid| {
            signal(pid, name)
        });
        assert_composed(&done, name);
        assert_ne!(done.status.code(), Some(0), "{name}");
        assert!(figure(&done.stdout, "number of transactions actually processed") > 10.0, "{}", done.stdout);
        assert!(figure(&done.stdout, "tps") > 10.0, "{}", done.stdout);
    }
    // The end does not wait for clients that wait for the server.
    let start = Instant::now();
    let done = interrupted(&mut bench, &["-n", "-t", "1", "-f", "nap.sql"], |_, pid| {
        signal(pid, "INT");
        std::thread::sleep(Duration::from_millis(500));
        signal(pid, "INT");
    });
    assert_composed(&done, "a second Ctrl-C");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_run_without_its_server_is_reported() {
    let mut bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let done =
        interrupted(&mut bench, &["-n", "-c", "3", "-j", "2", "-T", "600", "-f", "one.sql"], |bench, _| {
            bench.server.crash();
        });
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    assert!(figure(&done.stdout, "number of transactions actually processed") > 10.0, "{}", done.stdout);
    assert!(done.stderr.contains("client 2"), "{}", done.stderr);
    assert!(done.stderr.ends_with("Run was aborted; the above results are incomplete.\n"), "{}", done.stderr);
}

#[test]
fn absurd_rates_end_in_time() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    for args in [
        "-R 1e9 -L 1 -T 1 -c 2",
        "-R 1e15 -L 5 -T 1 -c 2 -l",
        "-R 1e300 -L 0.001 -T 1",
        "-R 1e300 -L 1 -t 10000",
        "-R 1e15 -T 1",
        "-R 0.001 -T 1",
        "-R 1e-300 -L 1 -T 1",
    ] {
        let start = Instant::now();
        let done = bench.run(args.split(' ').chain(["-n", "-f", "one.sql"]));
        assert_composed(&done, args);
        let done = done.expect(0);
        assert!(start.elapsed() < Duration::from_secs(8), "{args}: {:?}", start.elapsed());
        let processed = figure(&done.stdout, "number of transactions actually processed");
        if args.contains("-t 10000") {
            assert_eq!(
                processed + figure(&done.stdout, "number of transactions skipped"),
                10000.0,
                "{}",
                done.stdout
            );
        }
    }
}

#[test]
fn a_report_that_nobody_can_read_is_no_crash() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "\\set x debug(1)\nSELECT 1;\n");
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full"));
    let run = |redirect: &dyn Fn(&mut Command)| {
        let mut command = bench.command(&bench.ours, ["-n", "-t", "2", "-P", "1", "-f", "one.sql"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        redirect(&mut command);
        let output = command.spawn().expect("starts").wait_with_output().expect("own child");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Finished { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let no_room = run(&|command| {
        command.stdout(full());
    });
    assert_composed(&no_room, "standard output is full");
    let silent = run(&|command| {
        command.stderr(full());
    });
    assert_composed(&silent, "standard error is full");
    assert!(silent.stdout.contains("actually processed: 2/2"), "{silent:?}");
    let mut piped = Command::new("sh");
    piped.args(["-c", "\"$@\" | true", "sh"]).arg(&bench.ours).args(["--help"]);
    assert_composed(&finish(piped), "nobody reads");
}

#[test]
fn a_password_that_cannot_be_asked_for_is_an_error_and_no_wait() {
    let bench = Bench::start_with(&[]);
    // A new session has no terminal.
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(&bench.ours).args([
        "-n",
        "-S",
        "-h",
        "127.0.0.1",
        "-U",
        "scram",
        "-d",
        "postgres",
    ]);
    command.arg("-p").arg(bench.server.port.to_string()).env("HOME", bench.place.path()).stdin(Stdio::null());
    for name in ["PGPASSWORD", "PGPASSFILE", "PGSERVICE"] {
        command.env_remove(name);
    }
    let done = finish(command).expect(1);
    assert_composed(&done, "no password");
    assert!(done.stderr.contains("password"), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}

#[test]
fn a_server_that_is_not_there_is_an_error_of_the_set_up() {
    let place = Place::new();
    let ours = link(&place);
    for args in [
        &["-h", "127.0.0.1", "-p", "1"][..],
        &["-h", "/nonexistent"],
        &["-h", "name.invalid"],
        &["host=127.0.0.1 port=x"],
    ] {
        for mode in [&["-n"][..], &["-i"]] {
            let done = finish(bare_command(&place, &ours, mode.iter().chain(args)));
            assert_composed(&done, args[1 % args.len()]);
            let done = done.expect(1);
            assert_eq!(done.stdout, "");
            assert!(done.stderr.starts_with("pgbench: error: "), "{}", done.stderr);
        }
    }
}
