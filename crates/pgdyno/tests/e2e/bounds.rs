//! Limits on memory, disk and unencrypted data that a server or another user's file can cause.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::support::{self, Finished, Place, Server, finish};
use rustix::process::{Resource, Rlimit, setrlimit};

/// More memory than needed, if no server's answer fills it.
const MEMORY: u64 = 1 << 30;

/// Runs a command with a soft limit of a resource.
fn limited(mut command: Command, resource: Resource, soft: u64) -> Command {
    let set = move || {
        let maximum = rustix::process::getrlimit(resource).maximum;
        setrlimit(resource, Rlimit { current: Some(soft), maximum }).map_err(std::io::Error::from)
    };
    // SAFETY: the closure makes system calls only.
    unsafe { command.pre_exec(set) };
    command
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn fields(tag: u8, text: &str) -> Vec<u8> {
    message(tag, format!("SNOTICE\0VNOTICE\0C00000\0M{text}\0\0").as_bytes())
}

fn welcome() -> Vec<u8> {
    [message(b'R', &[0; 4]), message(b'S', b"server_version\x0015.1\0"), message(b'Z', b"I")].concat()
}

/// A server that sends `first` after login, then `again` forever; with `asked` only after the first
/// statement.
fn flood(first: Vec<u8>, again: Vec<u8>, asked: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let url = format!("postgres://ann@{}/shop?sslmode=disable", listener.local_addr().expect("bound"));
    let sent = Arc::new((first, again));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sent = Arc::clone(&sent);
            std::thread::spawn(move || drop(pour(stream, &sent.0, &sent.1, asked)));
        }
    });
    url
}

fn pour(mut stream: TcpStream, first: &[u8], again: &[u8], asked: bool) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
    if asked {
        stream.write_all(&welcome())?;
        stream.read_exact(&mut [0; 5])?;
    }
    stream.write_all(first)?;
    loop {
        stream.write_all(again)?;
    }
}

fn bench(place: &Place, url: &str) -> Finished {
    let command = place.command(["bench", "-T", "1", "-f", "one.sql", url]);
    finish(limited(command, Resource::As, MEMORY))
}

/// Each of these answers filled the memory before anything was measured.
#[test]
fn what_a_server_sends_is_bounded_in_bytes() {
    let place = Place::new();
    place.write("one.sql", "SELECT 1;\n");
    let giant = |tag: u8| [&[tag][..], &(1_u32 << 30).to_be_bytes()].concat();
    let columns = message(b'T', b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0");
    let nulls = [&300_u16.to_be_bytes()[..], &[255; 4 * 300]].concat();
    let cases = [
        ("a row of 1 GiB", [columns.clone(), giant(b'D'), vec![0, 1]].concat(), vec![65; 1 << 16], true),
        ("rows without end", columns.clone(), message(b'D', b"\0\x01\0\0\0\x03abc"), true),
        ("rows of nothing but NULL", columns, message(b'D', &nulls), true),
        ("results without end", Vec::new(), message(b'C', b"SELECT 0\0"), true),
        ("notices without end", Vec::new(), fields(b'N', &"n".repeat(200_000)), true),
        ("a notice of 1 GiB", giant(b'N'), vec![65; 1 << 16], true),
        ("an error of 900 MB", [b'E', 0x38, 0, 0, 0].to_vec(), vec![65; 1 << 16], true),
        ("settings without end", message(b'R', &[0; 4]), message(b'S', b"application_name\0x\0"), false),
        ("notices in place of a login", Vec::new(), fields(b'N', "wait"), false),
    ];
    for (what, first, again, asked) in cases {
        let done = bench(&place, &flood(first, again.repeat(1 + 65_536 / again.len()), asked));
        assert!(
            done.status.code().is_some_and(|code| code > 3),
            "{what}: {:?}\n{}",
            done.status,
            done.stderr
        );
        assert!(done.stderr.contains("PGDYNO_MAX_ANSWER"), "{what}: {}", done.stderr);
        assert!(done.stderr.len() < 4000, "{what}: {}", done.stderr.len());
    }
}

#[test]
fn the_limit_for_answers_is_an_option() {
    let place = Place::new();
    place.write("one.sql", "SELECT 1;\n");
    let url = flood(Vec::new(), fields(b'N', &"n".repeat(10_000)), true);
    let mut command = place.command(["bench", "-T", "1", "-f", "one.sql", &url]);
    command.env("PGDYNO_MAX_ANSWER", "2MB");
    assert!(finish(command).stderr.contains("limit of 2 MB"));
    for wrong in ["2", "much", "1kB", "2GB", "-1MB"] {
        let mut command = place.command(["sql", "SELECT 1"]);
        command.env("PGDYNO_MAX_ANSWER", wrong);
        finish(command).expect(64).says(&["PGDYNO_MAX_ANSWER", wrong, "such as 256MB"]);
    }
}

#[test]
fn a_question_in_sql_is_bounded_in_bytes() {
    let place = Place::new();
    drop(results::Store::create_or_open(&place.results()).expect("own folder"));
    let asked =
        |args: &[&str]| finish(limited(place.command(["sql"].iter().chain(args)), Resource::As, MEMORY));
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    asked(&[endless]).expect(64).says(&["256 MB", "--max-size"]);
    asked(&["--max-size", "1MB", endless]).expect(64).says(&["1.00 MB", "--max-size"]);
    asked(&["--max-size", "1MB", "SELECT randomblob(1e9)"]).expect(64).says(&["--max-size"]);
}

/// A reading command rolled the file back with another user's journal.
#[test]
fn a_journal_next_to_a_results_file_is_not_applied_to_it() {
    let place = Place::new();
    place
        .run(["import", concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/data/pgbench/15-agg.txt")])
        .expect(0);
    let file = place.results();
    let before = std::fs::read(&file).expect("it was made");
    std::fs::write(
        place.path().join("results.sqlite-journal"),
        [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7],
    )
    .expect("own folder");
    for command in ["table", "compare", "report", "sql"] {
        let mut args = vec![command];
        args.extend((command == "table").then_some("scripts"));
        args.extend((command == "sql").then_some("select 1"));
        let done = place.run(args);
        assert!(done.status.code().is_some_and(|code| code >= 64), "{command}: {}", done.stderr);
        assert!(done.stderr.contains("results.sqlite-journal"), "{command}: {}", done.stderr);
    }
    assert_eq!(std::fs::read(&file).expect("it is there"), before);
}

/// The server's process keeps its settings: its core dumps are the user's decision.
#[test]
fn only_pgdyno_itself_dumps_no_core() {
    let place = Place::with_private("core");
    let soft = 12_345;
    finish(limited(place.command(["target", "start", "core"]), Resource::Core, soft)).expect(0);
    let data = place.home().join("clusters/core/data/postmaster.pid");
    let pid = std::fs::read_to_string(data).expect("it runs").lines().next().expect("a pid").to_owned();
    let limit = |pid: &str| {
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("it runs");
        let line =
            limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line").to_owned();
        line.split_whitespace().nth(4).map(str::to_owned)
    };
    let of_server = limit(&pid);
    let silent = support::silent::SilentServer::start(support::silent::Silence::AfterLogin);
    let mut command = limited(place.command(["bench", "-i", &silent.url()]), Resource::Core, soft);
    let mut bench = command.stderr(Stdio::null()).spawn().expect("pgdyno");
    silent.wait_until_waited_for();
    let of_pgdyno = limit(&bench.id().to_string());
    let _ = bench.kill();
    let _ = bench.wait();
    place.run(["target", "stop", "core"]).expect(0);
    assert_eq!((of_server.as_deref(), of_pgdyno.as_deref()), (Some("12345"), Some("0")));
}

/// As in libpq, a certificate that does not verify ends TLS, and sslmode=require fails; sslmode=prefer
/// continues unencrypted, which the user did not see.
#[test]
fn a_password_that_goes_out_in_clear_is_warned_of() {
    let (place, server) = (Place::new(), Server::start_with(&["ssl=on"]));
    place.write("one.sql", "SELECT 1;\n");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=elsewhere", "-days", "2"])
        .args(["-keyout", "other.key", "-out", "other.crt"])
        .current_dir(place.path())
        .output()
        .expect("openssl");
    assert!(made.status.success());
    let other = place.path().join("other.crt").display().to_string();
    let run = |role: &str, mode: &str, root: &str| {
        let url =
            format!("postgres://{role}@127.0.0.1:{}/postgres?sslmode={mode}&sslrootcert={root}", server.port);
        let mut command = place.command(["bench", "-T", "1", "-c", "2", "-n", "-f", "one.sql", &url]);
        command.env("PGPASSWORD", "geheim");
        finish(command)
    };
    for (role, sent) in [
        ("password", "the password"),
        ("md5", "the hash of the password"),
        ("scram", "the proof of the password"),
    ] {
        let done = run(role, "prefer", &other).expect(0);
        assert!(
            done.stderr.contains(&format!("{sent} of role \"{role}\" is sent unencrypted")),
            "{}",
            done.stderr
        );
        assert_eq!(done.stderr.matches("is sent unencrypted").count(), 1, "{}", done.stderr);
        assert!(!done.stderr.contains("geheim"));
    }
    let own = server.socket.join("data/server.crt").display().to_string();
    for (mode, root) in [("prefer", own.as_str()), ("disable", &other)] {
        let done = run("scram", mode, root).expect(0);
        assert!(!done.stderr.contains("unencrypted"), "{mode}: {}", done.stderr);
    }
    for mode in ["require", "verify-ca"] {
        run("scram", mode, &other).expect(67).says(&["TLS to 127.0.0.1"]);
    }
}
