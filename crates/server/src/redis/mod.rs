//! A private Redis server: a Unix socket in a private folder, no persistence, under a watchdog.

mod control;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use protocol::Address;
use protocol::redis::{ControlError, Limits, RedisConnection};
use spec::{Class, Error};

use crate::child::{Account, Program, Watchdog, ask};
use crate::home::{Home, HomeFolder};
use crate::member::{self, Folders, Member};
use crate::secrets::Secrets;
use crate::stop::Stop;

pub use self::control::RedisControl;

const SOCKET: &str = "redis.sock";
const NAME: &str = "redis-server";
const NOT_INSTALLED: &str = "redis-server is not installed; install it (Debian, Ubuntu: apt install redis-server; Fedora, RHEL: \
                             dnf install redis; macOS: brew install redis)";

/// A private Redis server in use; dropping it stops the server.
#[derive(Debug)]
pub struct PrivateRedis {
    member: Member,
    version: String,
    limits: Limits,
}

impl PrivateRedis {
    /// Starts an empty server for this process. Its data are gone when it stops.
    pub fn start(home: &Home, watchdog: &Watchdog, stop: &Stop) -> Result<Self, Error> {
        let program = member::find(&["redis-server", "valkey-server"]);
        let program = program.ok_or_else(|| Error::new(Class::Missing, NOT_INSTALLED))?;
        let account = Account::unprivileged()?;
        let folders = Folders::make(home, HomeFolder::Redis, SOCKET, account.as_ref())?;
        let version = version(&program, account.as_ref());
        let program = server(&program, &folders, account.as_ref());
        let mut member = Member::start((NAME, Secrets::default()), program, folders, watchdog)?;
        let socket = member.sockets().join(SOCKET);
        member.await_ready(stop, || ping(&socket).is_ok())?;
        let limits =
            limits(&Address::Unix(socket), stop).map_err(|why| member.not_started(&why.to_string()))?;
        Ok(Self { member, version, limits })
    }

    /// Its limits at the start.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::Unix(self.member.sockets().join(SOCKET))
    }

    /// As it reports it, e.g. `7.0.15`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Pid of the Redis server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.member.pid()
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// How it died, with its last lines.
    pub fn check(&mut self) -> Result<(), Error> {
        self.member.check()
    }
}

fn server(program: &Path, folders: &Folders, account: Option<&Account>) -> Program {
    Program::server(program, &folders.work, account)
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
        .arg(folders.sockets.join(SOCKET))
        .arg("--dir")
        .arg(&folders.work)
}

/// `Redis server v=7.0.15 sha=… malloc=…` gives `7.0.15`.
fn version(program: &Path, account: Option<&Account>) -> String {
    let text = ask(program, &["--version"], account).unwrap_or_default();
    let number = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    number.unwrap_or("unknown").to_owned()
}

fn limits(address: &Address, stop: &Stop) -> Result<Limits, ControlError> {
    let given_up = || stop.ends_waits();
    let info = RedisControl::connect(address, &given_up)?.info()?;
    Limits::of(&info).ok_or_else(|| ControlError {
        doing: "asking it for INFO".to_owned(),
        problem: "it does not report maxmemory".to_owned(),
    })
}

fn ping(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    if &answer == b"+PONG" { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
