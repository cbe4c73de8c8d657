//! A private Redis server: a Unix socket in a closed folder, no persistence, under a watchdog.

mod control;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use protocol::Address;

use crate::child::{Account, AccountError, Child, ChildError, Program, Watchdog};
use crate::home::{Home, PlaceError, make_folder, remove_socket_folder, socket_folder};
use crate::stop::Stop;

pub use self::control::RedisControl;

/// How long it may take to answer its first PING.
const START_BOUND: Duration = Duration::from_secs(10);
const SOCKET: &str = "redis.sock";

/// Why there is no Redis server.
#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    /// The program is not installed.
    #[error(
        "redis-server is not installed; install it (Debian, Ubuntu: apt install redis-server; Fedora, RHEL: dnf \
         install redis; macOS: brew install redis)"
    )]
    NotInstalled,
    /// No folder for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// No account for it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// It could not be run.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// It did not come up.
    #[error("redis-server did not start: {0}")]
    Start(String),
    /// It ended while it was in use.
    #[error("redis-server died ({end}): {log}")]
    Died {
        /// How.
        end: String,
        /// Its last lines.
        log: String,
    },
    /// A file of its folder.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

/// A private Redis server in use; dropping it stops the server.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    log: PathBuf,
    socket: PathBuf,
    version: String,
}

impl Redis {
    /// Starts an empty server for this process. What it holds is gone when it stops.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub fn start(home: &Home, watchdog: &Watchdog, stop: &Stop) -> Result<Self, RedisError> {
        let program = find().ok_or(RedisError::NotInstalled)?;
        let account = Account::unprivileged()?;
        home.prepare(account.as_ref())?;
        // A server of its own for every pgdyno: it keeps nothing, so there is nothing to share.
        let folder = home.redis().join(std::process::id().to_string());
        make_folder(&folder, 0o700, account.as_ref())?;
        remove_dead(home);
        let socket = socket_folder(&folder, SOCKET, account.as_ref())?.join(SOCKET);
        let _ = std::fs::remove_file(&socket);
        let log = folder.join("redis.log");
        let log_file = private(&log).map_err(|source| RedisError::File { path: log.clone(), source })?;
        let version = version(&program);
        let child = watchdog.start(&server(&program, &folder, &socket, account.as_ref()), &log_file)?;
        let mut redis = Self { child, log, socket, version };
        redis.await_ready(stop)?;
        Ok(redis)
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::Unix(self.socket.clone())
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// [`RedisError::Died`] with its last lines.
    pub fn check(&mut self) -> Result<(), RedisError> {
        match self.child.wait(Duration::ZERO)? {
            None => Ok(()),
            Some(ended) => Err(RedisError::Died { end: ended.to_string(), log: self.last_lines() }),
        }
    }

    fn await_ready(&mut self, stop: &Stop) -> Result<(), RedisError> {
        let start = Instant::now();
        loop {
            match self.check() {
                Err(RedisError::Died { log, .. }) => return Err(RedisError::Start(log)),
                other => other?,
            }
            if ping(&self.socket).is_ok() {
                return Ok(());
            }
            if stop.at_once() {
                return Err(RedisError::Stopped);
            }
            if start.elapsed() > START_BOUND {
                return Err(RedisError::Start(format!("no answer within {} s", START_BOUND.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn last_lines(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(4).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // A server that does not stop is ended by its watchdog.
        let _ = self.child.stop();
        for folder in [self.log.parent(), self.socket.parent()].into_iter().flatten() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn server(program: &Path, folder: &Path, socket: &Path, account: Option<&Account>) -> Program {
    Program::server(program, folder, account)
        .args([
            "--port",
            "0",
            "--save",
            "",
            "--appendonly",
            "no",
            "--daemonize",
            "no",
            "--unixsocketperm",
            "700",
        ])
        .arg("--unixsocket")
        .arg(socket)
        .arg("--dir")
        .arg(folder)
        .leaving([Some(folder), socket.parent()].into_iter().flatten())
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/sbin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    let names = ["redis-server", "valkey-server"];
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
}

/// `Redis server v=7.0.15 sha=… malloc=…` gives `7.0.15`.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let number = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    number.unwrap_or("unknown").to_owned()
}

fn ping(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    if &answer == b"+PONG" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Removes what Redis servers of dead pgdynos left and their watchdogs could not remove: nothing in it is of use.
pub fn remove_dead(home: &Home) {
    let Ok(entries) = std::fs::read_dir(home.redis()) else { return };
    for entry in entries.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if pid.is_some_and(|pid| !super::managed::is_alive(pid)) {
            // The folder goes last: what is left of an interrupted removal is still known.
            remove_socket_folder(&entry.path());
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
/// An empty file for its owner only.
fn private(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
