//! Poolers in front of the server: a private PgBouncer (here), or a private Pgpool-II ([`pgpool`]); a Unix socket in a
//! private folder, under a watchdog.
//!
//! Session settings are not sent with `options`, as to a server: PgBouncer refuses those (before 1.20), or
//! all in them that it does not keep for each client. The settings of the arm are in its configuration
//! instead, and it sets them on each connection to the server; so it is restarted for each arm.

mod config;
mod installed;
mod load;
mod options;
pub mod pgpool;
mod running;
mod version;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::Address;
use protocol::postgres::{Login, Place};
use spec::{Class, Error};

pub use self::config::Upstream;
pub use self::installed::Installed;
pub use self::load::{PooledLoad, UnsupportedLoad, check_load};
pub use self::options::{OptionError, check};
pub use self::running::RunningPooler;
pub use self::version::Version;
use spec::plan::pooler::PoolerOptions;

use self::config::Session;
use crate::child::{Account, Program, StopWay, Watchdog};
use crate::control::{Control, Timeouts};
use crate::home::{Home, HomeFolder};
use crate::member::{Folders, Member};
use crate::secrets::Secrets;
use crate::settings::{SettingValues, catalog, differences};
use crate::stop::Stop;

const NAME: &str = "pgbouncer";
/// Part of the socket's name; nothing listens on the network.
const PORT: u16 = 6432;
/// Timeout of the first connection through it.
const CONNECT_BOUND: Duration = Duration::from_secs(20);
/// From this version on SIGTERM waits for clients, and SIGQUIT ends it at once; before, SIGTERM does.
const ENDED_BY_QUIT: Version = Version::of(1, 23);

/// A private PgBouncer in use; dropping it stops it.
#[derive(Debug)]
pub struct Pooler {
    member: Member,
    version: Version,
    login: Login,
}

impl Pooler {
    /// Starts one for this load, and connects through it once to the database of `upstream`, which checks
    /// that the settings of the arm are in force.
    ///
    /// # Errors
    /// When it is not installed, cannot carry the load, does not start, or the connection fails.
    pub fn start(
        home: &Home,
        upstream: &Upstream,
        options: &PoolerOptions,
        load: &PooledLoad<'_>,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        check(options)?;
        let Installed { program, version } = Installed::find(watchdog, stop)?;
        let server = &upstream.place.login;
        check_load(version, options, &server.parameters, load)?;
        let account = Account::unprivileged()?;
        let folders = Folders::make(home, HomeFolder::Poolers, &socket_name(), account.as_ref())?;
        let session = Session::of(load.session, version);
        let config = config::write(&folders, upstream, &session, options, load.clients)?;
        let program = Program::server(program, &folders.work, account.as_ref())
            .arg(config)
            .stopped_by(if version < ENDED_BY_QUIT { StopWay::Terminate } else { StopWay::Quit });
        let mut login = Login::new(&server.user, &server.dbname);
        login.parameters = session.over(&server.parameters);
        let member = Member::start((NAME, Secrets::default()), program, folders, watchdog)?;
        let mut pooler = Self { member, version, login };
        let socket = pooler.socket();
        pooler.member.await_ready(stop, || UnixStream::connect(&socket).is_ok())?;
        verified(NAME, &pooler.member, &pooler.place(&pooler.login.dbname), load.session, stop)?;
        Ok(pooler)
    }

    /// Where clients connect to reach a database of the server, with the settings of the arm. The database
    /// `pgbouncer` is its console, for reading (`SHOW POOLS`).
    #[must_use]
    pub fn place(&self, database: &str) -> Place {
        let login = Login { dbname: database.to_owned(), ..self.login.clone() };
        Place::new(Address::Unix(self.socket()), Arc::new(login))
    }

    /// As PgBouncer reports it.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Pid of PgBouncer.
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

    fn socket(&self) -> PathBuf {
        self.member.sockets().join(socket_name())
    }
}

/// Connects through a pooler once: only that shows that the server accepts it, and that its settings take effect.
fn verified(
    name: &str,
    member: &Member,
    place: &Place,
    session: &SettingValues,
    stop: &Stop,
) -> Result<(), Error> {
    let timeouts = Timeouts { stop: stop.clone(), ..Timeouts::usual() };
    let mut control = Control::open_with(place, Some(CONNECT_BOUND), timeouts).map_err(|error| {
        if error.is_stopped() {
            return error;
        }
        let log = member.last_lines();
        let what = format!("no connection through {name}: {error}; the last lines of its log:\n{log}");
        Error::new(Class::Unreachable, what).because(error)
    })?;
    let known = catalog(&mut control).map_err(|error| {
        Error::new(Class::Guard, format!("reading settings through {name}: {error}")).because(error)
    })?;
    let found = differences(&known, session);
    if found.is_empty() {
        return Ok(());
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(Error::new(Class::Guard, format!("not in force behind {name}: {}", found.join(", "))))
}

fn socket_name() -> String {
    format!(".s.PGSQL.{PORT}")
}
