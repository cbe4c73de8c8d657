//! Observes servers and hosts during a run: a file for each collector, and the list.
//!
//! A collector is called at the start of the measured part, at the end of each step of its series, and after
//! the load. Between two steps it may add samples (`spec::Sample`), at the end the figures of the whole.
//! Shared statistics are never reset: snapshots are subtracted.

mod counters;
mod encryption;
mod host;
mod machine;
mod members;
mod placement;
mod postgres;
mod redis;
mod replication;
mod waits;

pub use encryption::{Encryption, Look};
pub use members::{BalancingLook, Members, balanced_words};
pub(crate) use postgres::Counters;
pub use replication::{ReplicaSeen, Replication, ReplicationLook};

use std::time::Duration;

use engine::EngineResult;
use protocol::Address;
use protocol::postgres::sql::{Sql, SqlError};
use spec::Sample;
use spec::figures::Figures;

/// Observes a run.
pub trait Collector {
    fn name(&self) -> &'static str;

    /// The measured part begins.
    ///
    /// # Errors
    /// When nothing can be observed; the run continues without this collector.
    fn begin(&mut self) -> Result<(), SqlError>;

    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        let _ = (time_us, samples);
    }

    /// The measured part ends in a moment, and all clients are still connected. Not called in a run without a
    /// planned end, in a run in slices, or when it ends earlier.
    fn ending(&mut self) {}

    /// The load has ended: returns the figures of the measured part and adds the last samples.
    ///
    /// # Errors
    /// When nothing can be observed any more.
    fn end(&mut self, measured: &EngineResult, samples: &mut Vec<Sample>) -> Result<Figures, SqlError>;

    /// After the end: which figures are missing, and why.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// What can be observed.
#[derive(Default)]
pub struct Watched<'a> {
    pub sql: Option<&'a mut dyn Sql>,
    /// The Redis under load, if its counters belong to this run alone.
    pub redis: Option<&'a Address>,
    /// Process id of the server, if it is known to be on this machine.
    pub server: Option<u32>,
    pub managed: bool,
    /// Processes of all servers under test, if all are known to be on this machine; other processes are
    /// foreign.
    pub under_test: Option<Vec<u32>>,
    /// Whether the server's machine is visible only through the server.
    pub elsewhere: bool,
    /// Whether the load runs without pauses: then the server can be queried during the load.
    pub uncut: bool,
    /// If clients should use TLS: a connection for the check, and its result.
    pub encryption: Option<Look<'a>>,
    pub waits: bool,
    pub warmup: Duration,
    /// The replicas of the run.
    pub replication: Option<ReplicationLook<'a>>,
    pub members: Members<'a>,
}

/// Every collector that applies.
#[must_use]
pub fn all(watched: Watched<'_>) -> Vec<Box<dyn Collector + '_>> {
    // The host first: its counters continue while others query.
    let mut list: Vec<Box<dyn Collector>> =
        vec![Box::new(host::Host::new(watched.server, watched.under_test))];
    list.extend(watched.server.map(|server| Box::new(counters::OfServer::new(server)) as _));
    if let Some(server) = watched.server.filter(|_| watched.managed) {
        list.push(Box::new(placement::Placement::new(server)));
    }
    let Members { pooler, replicas, .. } = &watched.members;
    if pooler.is_some() || !replicas.is_empty() {
        list.push(Box::new(members::OfMembers::new(watched.members)));
    }
    if let Some(look) = watched.encryption {
        list.push(Box::new(look));
    }
    let looker = watched.replication.as_ref().and_then(|look| look.pid);
    if let Some(look) = watched.replication {
        list.push(Box::new(replication::ReplicationLag::new(look)));
    }
    if let Some(address) = watched.redis {
        list.push(Box::new(redis::RedisCounters::new(address)));
    }
    if let Some(sql) = watched.sql {
        let Watched { elsewhere, uncut, waits, warmup, .. } = watched;
        let manner = postgres::Manner { elsewhere, uncut, waits, warmup, looker };
        list.push(Box::new(postgres::Postgres::new(sql, manner)));
    }
    list
}
