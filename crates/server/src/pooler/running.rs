//! A pooler of any kind.

use std::fmt;

use protocol::postgres::Place;
use spec::Error;
use spec::plan::pooler::PoolerChoice;

use super::pgpool::Pgpool;
use super::{PooledLoad, Pooler, Upstream};
use crate::child::Watchdog;
use crate::home::Home;
use crate::stop::Stop;

/// A pooler in use; dropping it stops it.
#[derive(Debug)]
pub enum RunningPooler {
    PgBouncer(Pooler),
    Pgpool(Pgpool),
}

impl RunningPooler {
    /// Starts one for this load. Pgpool-II spreads reads over the server and its `replicas`.
    ///
    /// # Errors
    /// As [`Pooler::start`] and [`Pgpool::start`].
    pub fn start(
        home: &Home,
        (upstream, replicas): (&Upstream, &[Place]),
        options: &PoolerChoice,
        load: &PooledLoad<'_>,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        match options {
            PoolerChoice::PgBouncer(options) => {
                Pooler::start(home, upstream, options, load, watchdog, stop).map(Self::PgBouncer)
            }
            PoolerChoice::Pgpool(options) => {
                let nodes: Vec<Place> = std::iter::once(&upstream.place).chain(replicas).cloned().collect();
                let load = (load.clients, load.session);
                Pgpool::start(home, &nodes, options, load, watchdog, stop).map(Self::Pgpool)
            }
        }
    }

    /// Where clients connect to reach a database of the server, with the settings of the arm.
    #[must_use]
    pub fn place(&self, database: &str) -> Place {
        match self {
            Self::PgBouncer(pooler) => pooler.place(database),
            Self::Pgpool(pooler) => pooler.place(database),
        }
    }

    /// Pid of its first process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        match self {
            Self::PgBouncer(pooler) => pooler.pid(),
            Self::Pgpool(pooler) => pooler.pid(),
        }
    }

    /// Whether it spreads reads over servers.
    #[must_use]
    pub fn balances(&self) -> bool {
        matches!(self, Self::Pgpool(_))
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// How it died, with its last lines.
    pub fn check(&mut self) -> Result<(), Error> {
        match self {
            Self::PgBouncer(pooler) => pooler.check(),
            Self::Pgpool(pooler) => pooler.check(),
        }
    }
}

/// Program and version: `pgbouncer 1.18.0`.
impl fmt::Display for RunningPooler {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PgBouncer(pooler) => write!(out, "pgbouncer {}", pooler.version()),
            Self::Pgpool(pooler) => write!(out, "pgpool {}", pooler.version()),
        }
    }
}
