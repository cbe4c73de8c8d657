//! A private tile server between clients and the database: TiPg or martin on a port of 127.0.0.1, under a
//! watchdog.
//!
//! It connects to the server as the load would, with the session settings of the arm, so it is restarted for
//! each arm. It keeps its port, since the requests are written once.

mod ask;
mod config;
mod dsn;
mod installed;
mod options;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use protocol::postgres::sql::{Sql, SqlError};
use spec::{Class, Error};

pub use self::installed::Installed;
pub use self::options::{OptionError, check};
use spec::plan::tile_server::{TileServerKind, TileServerOptions};

use self::ask::get;
use crate::child::{Account, Watchdog};
use crate::home::{Home, HomeFolder};
use crate::member::{Folders, Member};
use crate::pooler::Upstream;
use crate::secrets::Secrets;
use crate::stop::Stop;

/// Timeout of its first answer: each worker of TiPg loads all of its libraries.
const START_BOUND: Duration = Duration::from_secs(60);
/// Timeout of one answer outside the timed part.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// How often another port is tried when somebody else takes it first.
const PORTS: usize = 4;
/// The line of each TiPg worker when it is ready: an answer from one of them does not mean that the others
/// are.
const READY: &str = "Application startup complete";
/// The line in their logs when they cannot continue; TiPg's workers are started again and again.
const HOPELESS: &str = "Application startup failed";
/// The tile for checking that tiles are made: the smallest one of the north-western corner, which is empty.
const PROBE: &str = "22/0/0";

/// What a tile server serves.
#[derive(Debug, Clone)]
pub struct ServedTables<'a> {
    /// The server, with the session settings of the arm.
    pub upstream: &'a Upstream,
    /// The schemas whose tables it publishes; at least one.
    pub schemas: &'a [String],
    /// Number of concurrent clients; at least 1.
    pub clients: u32,
}

/// A private tile server in use; dropping it stops it.
#[derive(Debug)]
pub struct TileServer {
    member: Member,
    kind: TileServerKind,
    port: u16,
    words: String,
    secrets: Secrets,
}

impl TileServer {
    /// Starts one, at this port of 127.0.0.1 if that is free, and waits until it answers. It does not publish
    /// tables made later.
    ///
    /// # Errors
    /// When it does not support these options, cannot reach the server, or does not start.
    pub fn start(
        home: &Home,
        (installed, options): (&Installed, &TileServerOptions),
        before: &ServedTables<'_>,
        port: Option<u16>,
        (watchdog, stop): (&Watchdog, &Stop),
    ) -> Result<Self, Error> {
        check(options)?;
        let account = Account::unprivileged()?;
        let mut wanted = port;
        for _ in 0..PORTS {
            let port = free_port(wanted.take())?;
            match Self::start_at(home, (installed, options), before, (port, account.as_ref()), watchdog, stop)
            {
                Err(error) if error.class() == Class::Child && is_taken(&error.to_string()) => {}
                other => return other,
            }
        }
        Err(no_port(&format!("{PORTS} ports were taken by others as soon as they were free")))
    }

    fn start_at(
        home: &Home,
        (installed, options): (&Installed, &TileServerOptions),
        before: &ServedTables<'_>,
        (port, account): (u16, Option<&Account>),
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let kind = options.kind;
        let folders = Folders::make(home, HomeFolder::TileServers, "", account)?;
        let secrets = Secrets::of(&before.upstream.place.login);
        let program = config::program(&folders, (installed, options), before, (port, account))?;
        let mut member = Member::start((kind.name(), secrets.clone()), program, folders, watchdog)?;
        member.await_ready_within(START_BOUND, stop, |member| {
            let log = member.log_text();
            log.contains(HOPELESS) || all_ready(options, &log) && is_well(kind, port)
        })?;
        let words = self::options::words(options, before.clients);
        let mut server = Self { member, kind, port, words, secrets };
        // Another program may have answered at the port.
        server.member.check_start()?;
        match is_well(kind, port) && !server.member.log_text().contains(HOPELESS) {
            true => Ok(server),
            false => Err(server.member.not_started(&server.member.last_lines())),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address(self.port)
    }

    /// Its pid; worker processes are its children.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.member.pid()
    }

    /// Its configuration, e.g. `2 workers, 8 connections to the database`.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// How it died, with its last lines.
    pub fn check(&mut self) -> Result<(), Error> {
        self.member.check()
    }

    /// Checks that it publishes this table, or a function that makes tiles, and can make one.
    ///
    /// # Errors
    /// When it publishes no such table, or makes no tiles; with its last lines.
    pub fn serves(&self, schema: &str, table: &str) -> Result<(), Error> {
        let known = self.get(&options::description_path(self.kind, schema, table))?;
        if known.status == 404 {
            let what = format!(
                "{} has no tiles of {schema}.{table}: it publishes tables with a geometry column that the user may read, and \
                 were there when it was started",
                self.kind
            );
            return Err(Error::new(Class::Missing, what));
        }
        let path = options::tile_path(self.kind, schema, table).replace("{z}/{x}/{y}", PROBE);
        let answer = self.get(&path)?;
        match answer.status {
            200 | 204 => Ok(()),
            status => {
                let answer = format!("status {status}: {}", self.secrets.hidden(&answer.beginning()));
                Err(self.failing(&path, &answer))
            }
        }
    }

    fn get(&self, path: &str) -> Result<ask::HttpAnswer, Error> {
        get(self.address(), path, ANSWER_TIMEOUT)
            .map_err(|error| self.failing(path, &protocol::wording::system(&error)))
    }

    /// It runs, but answers a request without a tile.
    fn failing(&self, path: &str, answer: &str) -> Error {
        let (kind, log) = (self.kind, self.member.last_lines());
        let what = format!("{kind} makes no tiles: {path}: {answer}; the last lines of its log:\n{log}");
        Error::new(Class::Unreachable, what)
    }
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// The wanted port if it is free, otherwise any.
fn free_port(wanted: Option<u16>) -> Result<u16, Error> {
    let bind = |port| TcpListener::bind(address(port)).and_then(|listener| listener.local_addr());
    let found = wanted.and_then(|port| bind(port).ok()).map_or_else(|| bind(0), Ok);
    found.map(|address| address.port()).map_err(|error| no_port(&protocol::wording::system(&error)))
}

fn no_port(why: &str) -> Error {
    Error::new(Class::Child, format!("no port of 127.0.0.1 for a tile server: {why}"))
}

/// The server's connection cannot be expressed for a tile server.
fn unreachable(kind: TileServerKind, why: &str) -> Error {
    Error::new(Class::Missing, format!("{kind} cannot reach the server as pgdyno does: {why}"))
}

fn is_taken(log: &str) -> bool {
    log.to_ascii_lowercase().contains("address already in use")
}

/// As far as the log shows.
fn all_ready(options: &TileServerOptions, log: &str) -> bool {
    match options.kind {
        TileServerKind::Tipg => log.matches(READY).count() >= options::workers(options) as usize,
        TileServerKind::Martin => true,
    }
}

fn is_well(kind: TileServerKind, port: u16) -> bool {
    get(address(port), options::health_path(kind), ANSWER_TIMEOUT).is_ok_and(|answer| answer.status == 200)
}

/// All that the user may access, except for PostgreSQL's and ours. Names that need quotes are left out: TiPg
/// puts them into a `search_path` without quotes.
const SCHEMAS: &str = "SELECT nspname FROM pg_catalog.pg_namespace WHERE pg_catalog.has_schema_privilege(oid, 'USAGE') \
                       AND nspname ~ '^[[:alnum:]_]+$' AND nspname !~ '^(pg_|pgdyno|information_schema$)' ORDER BY nspname";

/// The schemas of a database that tile servers publish.
pub fn schemas(sql: &mut dyn Sql) -> Result<Vec<String>, SqlError> {
    let results = sql.query(SCHEMAS)?;
    let rows = results.into_iter().flat_map(|result| result.rows);
    Ok(rows.filter_map(|row| row.into_iter().next().flatten()).collect())
}
