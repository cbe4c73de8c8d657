//! Clients of a thread do not block each other, and may exceed the soft limit of descriptors.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::figure;
use crate::support::dropin::Bench;
use crate::support::{Server, finish};

#[test]
fn a_shell_command_does_not_stop_the_other_client() {
    let bench = Bench::start_with(&[]);
    bench.place.write(
        "shell.sql",
        "\\if :client_id = 0\n\\shell sleep 1\n\\setshell one sleep 0.2; echo 1\n\\else\n\\sleep 1 ms\n\\endif\nSELECT 1;\n",
    );
    bench.run(["-n", "-l", "-f", "shell.sql", "-c", "2", "-j", "1", "-T", "2"]).expect(0);
    let log = std::fs::read_dir(bench.place.path())
        .expect("own folder")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("pgbench_log."))
        .expect("a log file");
    let log = std::fs::read_to_string(log.path()).expect("a log");
    let of = |client: &str| log.lines().filter(|line| line.starts_with(client)).count();
    assert!((1..=3).contains(&of("0 ")), "client 0 waits for its commands:\n{log}");
    assert!(of("1 ") > 100, "client 1 goes on meanwhile: {} transactions", of("1 "));
}

/// Forwards connections to a server, and delays one of them.
struct SlowDoor {
    port: u16,
    /// Connections that arrived during the delay.
    meanwhile: Arc<AtomicUsize>,
}

impl SlowDoor {
    fn open(server: &Server, slow: usize, wait: Duration) -> Self {
        let door = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let port = door.local_addr().expect("bound").port();
        let meanwhile = Arc::new(AtomicUsize::new(0));
        let behind = server.port;
        let (waiting, count) = (Arc::new(AtomicUsize::new(0)), meanwhile.clone());
        std::thread::spawn(move || {
            for (number, caller) in door.incoming().map_while(Result::ok).enumerate() {
                if waiting.load(Ordering::SeqCst) == 1 {
                    count.fetch_add(1, Ordering::SeqCst);
                }
                let waiting = waiting.clone();
                std::thread::spawn(move || {
                    if number == slow {
                        waiting.store(1, Ordering::SeqCst);
                        std::thread::sleep(wait);
                        waiting.store(0, Ordering::SeqCst);
                    }
                    if let Ok(server) = TcpStream::connect(("127.0.0.1", behind)) {
                        forward(caller, server);
                    }
                });
            }
        });
        Self { port, meanwhile }
    }
}

fn forward(caller: TcpStream, server: TcpStream) {
    let (Ok(caller_too), Ok(server_too)) = (caller.try_clone(), server.try_clone()) else { return };
    let back = std::thread::spawn(move || copy(server_too, caller_too));
    copy(caller, server);
    let _ = back.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.flush();
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_slow_connection_does_not_stop_the_other_client() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    // The first connection is the setup; the tenth opens in the middle of the run.
    let door = SlowDoor::open(&bench.server, 10, Duration::from_millis(1500));
    let mut command =
        bench.command(&bench.ours, ["-n", "-C", "-c", "2", "-j", "1", "-T", "3", "-f", "one.sql"]);
    command
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", door.port.to_string())
        .env("PGUSER", "scram")
        .env("PGPASSWORD", "geheim");
    let done = finish(command).expect(0);
    assert!(figure(&done.stdout, "average connection time") > 0.0);
    let meanwhile = door.meanwhile.load(Ordering::SeqCst);
    assert!(meanwhile > 10, "{meanwhile} connections of the other client in 1.5 s");
}

#[test]
fn there_may_be_more_clients_than_descriptors_were_allowed() {
    let bench = Bench::start_with(&["max_connections=330", "shared_buffers=16MB"]);
    bench.place.write("one.sql", "SELECT :client_id;\n");
    let run = bench.command(
        "sh".as_ref(),
        ["-c", "ulimit -S -n 256 && exec \"$@\"", "sh"].map(Into::into).into_iter().chain([
            bench.ours.clone().into_os_string(),
            "-n".into(),
            "-c300".into(),
            "-j2".into(),
            "-t2".into(),
            "-fone.sql".into(),
        ]),
    );
    let done = finish(run).expect(0);
    assert_eq!(done.stderr, "");
    assert!(done.stdout.contains("actually processed: 600/600"), "{}", done.stdout);
}

#[test]
fn more_clients_than_descriptors_can_be_had_are_refused_in_words() {
    let bench = Bench::start_with(&[]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 40 && exec \"$@\"", "sh"])
        .arg(&bench.ours)
        .args(["-n", "-S", "-c", "300"]);
    let done = finish(command).expect(1);
    assert!(done.stderr.contains("need at least 303 open files"), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}

#[test]
fn a_client_that_is_thrown_out_ends_alone() {
    let bench = Bench::start_with(&[]);
    bench.place.write(
        "out.sql",
        "\\if :client_id = 1\nSELECT pg_terminate_backend(pg_backend_pid());\n\\else\nSELECT 1;\n\\endif\n",
    );
    let done = bench.run(["-n", "-c", "3", "-t", "20", "-f", "out.sql"]).expect(2);
    assert!(done.stdout.contains("actually processed: 40/60"), "{}", done.stdout);
    assert!(done.stderr.contains("client 1"), "{}", done.stderr);
    assert!(done.stderr.contains("Run was aborted; the above results are incomplete."), "{}", done.stderr);
}
