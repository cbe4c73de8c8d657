//! pgdyno under the name `pgbench`, the real pgbench, and a private server that logs every statement.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Finished, Place, Server, finish, programs};

/// Format of the server's log: `~session~` before every message; continuation lines begin with a tab.
const LOG_SETTINGS: [&str; 3] = ["log_statement=all", "log_line_prefix=~%c~", "max_connections=120"];

pub struct Bench {
    pub place: Place,
    pub server: Server,
    /// The link named `pgbench` to the program under test.
    pub ours: PathBuf,
}

/// The messages of one session in order, from the server's log (statements, parameters, errors).
pub type Stream = Vec<String>;

impl Bench {
    pub fn start() -> Self {
        Self::start_with(&LOG_SETTINGS)
    }

    /// Starts the server with these settings, without logging statements.
    pub fn start_with(settings: &[&str]) -> Self {
        let (place, server) = (Place::new(), Server::start_with(settings));
        let ours = link(&place);
        Self { place, server, ours }
    }

    /// pgbench (pgdyno or a real one) for this server, without the caller's libpq environment.
    pub fn command<S: AsRef<OsStr>>(&self, exe: &Path, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = bare_command(&self.place, exe, args);
        command
            .env("PGHOST", &self.server.socket)
            .env("PGPORT", self.server.port.to_string())
            .env("PGUSER", "postgres")
            .env("PGDATABASE", "postgres");
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Finished {
        finish(self.command(&self.ours, args))
    }

    /// Makes pgbench's tables with one branch.
    pub fn init(&self) {
        finish(self.command(&programs().join("pgbench"), ["-i", "-q"])).expect(0);
    }

    /// Runs a program, and returns the messages of each session. Sessions are sorted by content, since
    /// several threads connect in any order; sessions with only catalog queries (scale, partitions, vacuum)
    /// are left out.
    pub fn record(&self, command: Command) -> (Finished, Vec<Stream>) {
        let before = self.server.log().len();
        let finished = finish(command);
        let log = self.server.log();
        (finished, streams(&log[before..]))
    }
}

pub fn link(place: &Place) -> PathBuf {
    let link = place.path().join("pgbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pgdyno"), &link).expect("own folder");
    link
}

/// A command in a place, without the caller's libpq environment.
pub fn bare_command<S: AsRef<OsStr>>(
    place: &Place,
    exe: &Path,
    args: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(exe);
    command.args(args).current_dir(place.path()).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    command
}

/// The real pgbenches to compare with: `PGDYNO_REAL_PGBENCH` (paths separated by colons), else the machine's
/// newest.
pub fn reals() -> Vec<PathBuf> {
    match std::env::var_os("PGDYNO_REAL_PGBENCH") {
        Some(paths) => std::env::split_paths(&paths).collect(),
        None => vec![programs().join("pgbench")],
    }
}

pub fn major(exe: &Path) -> u32 {
    let said = Command::new(exe).arg("--version").output().expect("a real pgbench");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let digits = said.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().expect("a version")
}

/// Sessions of a part of the server's log, sorted.
fn streams(log: &str) -> Vec<Stream> {
    let mut sessions: BTreeMap<&str, Stream> = BTreeMap::new();
    let mut current: Option<&mut Stream> = None;
    for line in log.lines() {
        match line.strip_prefix('~').and_then(|rest| rest.split_once('~')) {
            Some((session, message)) => {
                let stream = sessions.entry(session).or_default();
                stream.push(message.to_owned());
                current = Some(stream);
            }
            None => {
                if let Some(last) = current.as_mut().and_then(|stream| stream.last_mut()) {
                    last.push('\n');
                    last.push_str(line.trim_start_matches('\t'));
                }
            }
        }
    }
    let mut streams: Vec<_> = sessions.into_values().filter(|stream| !looks_around(stream)).collect();
    streams.sort();
    streams
}

fn looks_around(stream: &Stream) -> bool {
    let first = stream.first().map(|entry| entry.to_lowercase()).unwrap_or_default();
    ["pgbench_branches", "pg_catalog", "vacuum", "truncate"].iter().any(|word| first.contains(word))
        && !first.contains("update")
}
