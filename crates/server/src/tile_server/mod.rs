//! A private tile server between clients and the database: TiPg or martin on a port of 127.0.0.1, under a watchdog.
//!
//! It connects to the server as the load would, with the session settings of the arm, so it is started again for each arm.
//! Its port stays the same meanwhile: what is asked for is written down once.

mod ask;
mod config;
mod dsn;
mod installed;
mod options;
mod schemas;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use spec::{Class, Error};

pub use self::installed::Installed;
pub use self::options::{OptionError, check};
pub use self::schemas::schemas;
pub use spec::plan::tile_server::{Kind, Options};

use self::ask::get;
use crate::child::{Account, Watchdog};
use crate::home::{Home, Part};
use crate::member::{self, Folders, Member};
use crate::pooler::Upstream;
use crate::secrets::Secrets;
use crate::stop::Stop;

/// How long it may take to answer for the first time: each worker of TiPg loads all of its libraries.
const START_BOUND: Duration = Duration::from_secs(60);
/// How long one answer may take outside the timed part.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often another port is tried when somebody else was faster to take it.
const PORTS: usize = 4;
/// What each worker of TiPg says when it can answer: that one of them does says nothing about the others.
const READY: &str = "Application startup complete";
/// What their logs hold when they cannot go on; TiPg's workers are started again and again.
const HOPELESS: &str = "Application startup failed";
/// The tile that is asked for to see that tiles are made: the smallest one of the north-western corner, where nothing is.
const PROBE: &str = "22/0/0";

/// What a tile server is to stand before.
#[derive(Debug, Clone)]
pub struct Before<'a> {
    /// The server, with the session settings of the arm.
    pub upstream: &'a Upstream,
    /// The schemas whose tables it publishes; at least one.
    pub schemas: &'a [String],
    /// How many ask it at the same time; at least 1.
    pub clients: u32,
}

/// A private tile server in use; dropping it stops it.
#[derive(Debug)]
pub struct TileServer {
    member: Member,
    kind: Kind,
    port: u16,
    words: String,
    secrets: Secrets,
}

impl TileServer {
    /// Starts one, at this port of 127.0.0.1 where that is free, and waits until it answers. Tables made later it does not
    /// publish.
    ///
    /// # Errors
    /// When it cannot have these options, cannot reach the server, or does not start.
    pub fn start(
        home: &Home,
        (installed, options): (&Installed, &Options),
        before: &Before<'_>,
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
        (installed, options): (&Installed, &Options),
        before: &Before<'_>,
        (port, account): (u16, Option<&Account>),
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let kind = options.kind;
        let folders = Folders::make(home, Part::TileServers, "", account)?;
        let secrets = Secrets::of(&before.upstream.place.login);
        let program = config::program(&folders, (installed, options), before, (port, account))?;
        let mut member = Member::start((kind.name(), secrets.clone()), program, folders, watchdog)?;
        member.await_ready_within(START_BOUND, stop, |member| {
            let log = member.log_text();
            log.contains(HOPELESS) || all_ready(options, &log) && is_well(kind, port)
        })?;
        let words = self::options::words(options, before.clients);
        let mut server = Self { member, kind, port, words, secrets };
        // Somebody else may have answered at the port, or nobody.
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

    /// Its pid; worker processes are children of it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.member.pid()
    }

    /// How it works, e.g. `2 workers, 8 connections to the database`.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// How it died, with its last lines.
    pub fn check(&mut self) -> Result<(), Error> {
        self.member.check()
    }

    /// Makes sure that it has tiles of this table, or of a function that gives tiles, and that it can make one.
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
                let said = format!("status {status}: {}", self.secrets.hidden(&answer.first_words()));
                Err(self.failing(&path, &said))
            }
        }
    }

    fn get(&self, path: &str) -> Result<ask::Answer, Error> {
        get(self.address(), path, PATIENCE)
            .map_err(|error| self.failing(path, &protocol::wording::system(&error)))
    }

    /// It runs, but answers a request without a tile.
    fn failing(&self, path: &str, said: &str) -> Error {
        let (kind, log) = (self.kind, self.member.last_lines());
        let what = format!("{kind} makes no tiles: {path}: {said}; the last lines of its log:\n{log}");
        Error::new(Class::Unreachable, what)
    }
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// The one that is wanted if it is free, else any.
fn free_port(wanted: Option<u16>) -> Result<u16, Error> {
    let bind = |port| TcpListener::bind(address(port)).and_then(|listener| listener.local_addr());
    let found = wanted.and_then(|port| bind(port).ok()).map_or_else(|| bind(0), Ok);
    found.map(|address| address.port()).map_err(|error| no_port(&protocol::wording::system(&error)))
}

fn no_port(why: &str) -> Error {
    Error::new(Class::Child, format!("no port of 127.0.0.1 for a tile server: {why}"))
}

/// How the server is reached cannot be written down for a tile server.
fn unreachable(kind: Kind, why: &str) -> Error {
    Error::new(Class::Missing, format!("{kind} cannot reach the server as pgdyno does: {why}"))
}

fn is_taken(log: &str) -> bool {
    log.to_ascii_lowercase().contains("address already in use")
}

/// As far as the log tells.
fn all_ready(options: &Options, log: &str) -> bool {
    match options.kind {
        Kind::Tipg => log.matches(READY).count() >= options::workers(options) as usize,
        Kind::Martin => true,
    }
}

fn is_well(kind: Kind, port: u16) -> bool {
    get(address(port), options::health_path(kind), PATIENCE).is_ok_and(|answer| answer.status == 200)
}

/// Removes what tile servers of dead pgdynos left and their watchdogs could not remove.
pub fn remove_dead(home: &Home) {
    member::remove_dead(home, Part::TileServers);
}
