//! Servers that stop answering: no wait is endless, and Ctrl-C ends every wait at once.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::support::dropin::{bare_command, link};
use crate::support::silent::{Silence, SilentServer};
use crate::support::{PATIENCE, Place, Server, Watched, extract, signal, wait};

/// "At once" on a busy machine: a second for the server's last answer, and the end of the program.
const AT_ONCE: Duration = Duration::from_secs(4);

/// Number of commands that wait for a server given by URL.
const COMMANDS: usize = 7;

const EXPERIMENT: &str = r#"
question = "Does it answer?"
[target]
url = "URL"
[workload.one]
pgbench = { files = ["one.sql"] }
[measure]
duration = "1s"
rounds = 2
"#;

fn place(url: &str) -> Place {
    let place = Place::new();
    place.write("one.sql", "SELECT 1;\n");
    place.write("ask.toml", EXPERIMENT.replace("URL", url));
    place
}

/// Every command that waits for a server given by URL, with its exit code after Ctrl-C.
fn commands(place: &Place, url: &str) -> [(String, Command); COMMANDS] {
    let ours = link(place);
    let of = |args: &[&str]| (args.join(" "), place.command(args));
    let dropin = |args: &[&str]| {
        let mut command = bare_command(place, &ours, args);
        command.stdin(Stdio::null());
        (format!("drop-in {}", args.join(" ")), command)
    };
    [
        of(&["bench", "-T", "1", "-f", "one.sql", url]),
        of(&["bench", "-i", url]),
        of(&["run", "ask.toml"]),
        of(&["osm", "load", extract().to_str().expect("a plain path"), "-d", url]),
        dropin(&["-T", "1", "-f", "one.sql", url]),
        dropin(&["-n", "-T", "1", "-f", "one.sql", url]),
        dropin(&["-i", url]),
    ]
}

/// Sends one signal, and checks that the program ends at once.
#[track_caller]
fn end_by(mut running: Watched, name: &str, what: &str) -> ExitStatus {
    signal(running.child.id(), name);
    let start = Instant::now();
    let status = wait(&mut running.child, PATIENCE);
    assert!(start.elapsed() < AT_ONCE, "{what}: {name} took {:?}", start.elapsed());
    status
}

#[track_caller]
fn assert_interrupted(status: ExitStatus, what: &str) {
    use std::os::unix::process::ExitStatusExt;
    let wanted = if what.starts_with("drop-in") { 130 } else { 75 };
    // Before it listens, the drop-in dies of the signal itself, as pgbench does.
    let died = what.starts_with("drop-in") && matches!(status.signal(), Some(2 | 15));
    assert!(status.code() == Some(wanted) || died, "{what}: {status:?}");
}

#[test]
fn ctrl_c_ends_every_command_that_waits_for_a_silent_server() {
    let cases = [
        (Silence::FromAccept, "INT"),
        (Silence::BeforeTls, "INT"),
        (Silence::AfterLogin, "INT"),
        (Silence::AfterLogin, "TERM"),
        (Silence::InAnAnswer, "INT"),
    ];
    std::thread::scope(|scope| {
        for (silence, name) in cases {
            scope.spawn(move || (0..COMMANDS).for_each(|index| interrupt(index, silence, name)));
        }
    });
}

/// Starts one of the commands, and ends it with a signal while it waits.
#[track_caller]
fn interrupt(index: usize, silence: Silence, name: &str) {
    let server = SilentServer::start(silence);
    let place = place(&server.url());
    let (what, command) = commands(&place, &server.url()).into_iter().nth(index).expect("a command");
    let running = Watched::start(command);
    server.wait_until_waited_for();
    std::thread::sleep(Duration::from_millis(100));
    let what = format!("{what} ({silence:?})");
    assert_interrupted(end_by(running, name, &what), &what);
}

#[test]
fn a_bench_without_an_answer_ends_by_itself_and_says_what_was_asked() {
    let server = SilentServer::start(Silence::AfterLogin);
    let place = place(&server.url());
    let start = Instant::now();
    place.run(["bench", "-T", "1", "-f", "one.sql", &server.url()]).expect(66).says(&[
        &format!("127.0.0.1, port {} has not answered", server.port()),
        "nor a second connection",
        "try again",
    ]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A server process that is stopped until this is dropped.
struct Stopped(u32);

impl Stopped {
    fn stop(pid: u32) -> Self {
        signal(pid, "STOP");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "CONT");
    }
}

/// Pid of the server process that executes a statement.
#[track_caller]
fn process_of(server: &Server, statement: &str) -> u32 {
    let start = Instant::now();
    loop {
        let found = server.psql(&format!(
            "select min(pid) from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() \
             and query like '%{statement}%'"
        ));
        if let Ok(pid) = found.parse() {
            return pid;
        }
        assert!(start.elapsed() < PATIENCE, "{statement} never ran");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_stopped_process_of_a_control_connection_ends_the_run() {
    let server = Server::start();
    let url = server.network_url("scram", "geheim", "?sslmode=require");
    let place = place(&url);
    // The guard's first execution of the script.
    place.write("one.sql", "SELECT pg_sleep(600);\n");
    let running = Watched::start(place.command(["run", "ask.toml"]));
    let stopped = Stopped::stop(process_of(&server, "pg_sleep(600)"));
    let start = Instant::now();
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(66), "{stderr}");
    assert!(stderr.contains("is stopped (by SIGSTOP or a debugger)"), "{stderr}");
    assert!(start.elapsed() < Duration::from_secs(45), "{:?}", start.elapsed());
    drop(stopped);
}

#[test]
fn one_ctrl_c_ends_a_run_that_waits_for_a_stopped_process() {
    let server = Server::start();
    let place = place(&server.url());
    place.write("one.sql", "SELECT pg_sleep(600);\n");
    let running = Watched::start(place.command(["run", "ask.toml"]));
    let stopped = Stopped::stop(process_of(&server, "pg_sleep(600)"));
    assert_eq!(end_by(running, "INT", "run").code(), Some(75));
    drop(stopped);
}

/// The process of a place's private server that executes a SELECT.
#[track_caller]
fn selecting(place: &Place) -> u32 {
    let start = Instant::now();
    loop {
        let pids: Vec<String> =
            place.processes().iter().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
        let children = pids.iter().flat_map(|pid| {
            let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            listed.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        });
        let title =
            |pid: &String| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let selects = |pid: &String| title(pid).contains("[local] SELECT");
        if let Some(pid) = children.into_iter().find(selects) {
            return pid.parse().expect("a pid");
        }
        assert!(start.elapsed() < PATIENCE, "nothing is selected");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_private_server_with_a_stopped_process_does_not_hold_who_presses_ctrl_c() {
    let place = Place::with_private("napping");
    place.write("one.sql", "SELECT pg_sleep(600);\n");
    place.write("ask.toml", EXPERIMENT.replace("url = \"URL\"", "managed = { name = \"napping\" }"));
    let mut running = Watched::start(place.command(["run", "--verbose", "ask.toml"]));
    assert!(running.until("step: guard"), "{}", running.seen);
    let stopped = Stopped::stop(selecting(&place));
    signal(running.child.id(), "INT");
    let start = Instant::now();
    let status = wait(&mut running.child, PATIENCE);
    assert_eq!(status.code(), Some(75));
    // The server has some time to stop before its watchdog stops it.
    assert!(start.elapsed() < AT_ONCE + Duration::from_secs(3), "{:?}", start.elapsed());
    drop(stopped);
    place.wait_until_quiet(Duration::from_secs(20));
}
