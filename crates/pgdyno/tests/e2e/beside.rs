//! Two pgdyno processes that measure at the same time detect each other.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Place, Server, Watched, finish, programs};

/// `bench` with a script that sleeps, in a separate home, on this server.
fn bench(place: &Place, server: &Server, more: &[&str]) -> Command {
    place.write("rest.sql", "SELECT pg_sleep(0.05);\n");
    let database =
        format!("host={} port={} user=postgres dbname=postgres", server.socket.display(), server.port);
    let mut command = place.command(["bench", "-f", "rest.sql", "-c", "2"]);
    command.args(more).arg(database);
    command
}

/// Both called all their runs valid.
#[test]
fn two_pgdyno_at_once_see_each_other() {
    let (one, other, server) = (Place::new(), Place::new(), Server::start());
    let mut first = Watched::start(bench(&one, &server, &["-T", "12", "-v"]));
    assert!(first.until("what happens from now on counts"), "{}", first.seen);
    let shared = |mut command: Command| {
        command.env("PGDYNO_MEASURING", one.path());
        finish(command)
    };
    let beside = shared(bench(&other, &server, &["-T", "1", "--beside"]));
    let said = format!(
        "another pgdyno measures this machine, and the runs say so: pid {}, pgdyno bench",
        first.child.id()
    );
    assert!(beside.stderr.contains(&said), "{}", beside.stderr);
    assert!(beside.stderr.contains("another pgdyno measured at the same time: pid "), "{}", beside.stderr);
    assert_eq!(other.sql("select validity from v_run"), "suspect");
    let waited = shared(bench(&other, &server, &["-T", "1"]));
    assert!(waited.stderr.contains("waiting until it ends, for 10 min at most"), "{}", waited.stderr);
    assert!(!waited.stderr.contains("at the same time"), "{}", waited.stderr);
    let (_, seen) = first.end();
    assert!(seen.contains("another pgdyno measured at the same time: pid "), "{seen}");
    assert_eq!(one.sql("select validity from v_run"), "suspect");
    // Neither leaves files.
    let left = std::fs::read_dir(one.path()).unwrap().flatten();
    assert!(left.map(|file| file.file_name()).all(|name| !name.to_string_lossy().contains("measuring")));
}

/// A measurement from another machine holds an advisory lock on the server.
#[test]
fn a_pgdyno_of_another_machine_is_seen_on_the_server() {
    let (place, server) = (Place::new(), Server::start());
    let mut elsewhere = Command::new(programs().join("psql"))
        .args(["-qAtX", "-h"])
        .arg(&server.socket)
        .args(["-p", &server.port.to_string(), "-U", "postgres", "postgres"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = elsewhere.stdin.take().unwrap();
    input
        .write_all(
            b"SET application_name = 'pgdyno measuring 0123456789ab pgdyno limit';\n\
              SELECT pg_advisory_lock_shared(1885824121, 1835360627);\n",
        )
        .unwrap();
    let locks = "select count(*) from pg_locks where locktype = 'advisory'";
    while server.psql(locks).trim() != "1" {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let done = finish(bench(&place, &server, &["-T", "1", "--beside"]));
    assert!(
        done.stderr
            .contains("another pgdyno measures this server, and the runs say so: pgdyno limit, since "),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("another pgdyno measured at the same time: pgdyno limit"),
        "{}",
        done.stderr
    );
    drop(input);
    elsewhere.wait().unwrap();
    let alone = finish(bench(&place, &server, &["-T", "1"]));
    assert!(!alone.stderr.contains("another pgdyno"), "{}", alone.stderr);
    assert_eq!(server.psql(locks).trim(), "0");
}
