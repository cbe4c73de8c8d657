//! What watches servers and hosts while a run is measured: a file for each collector, and the list.
//!
//! A collector is told when the measured part begins, at the end of each step of its series, and when the load is over.
//! Between two steps it may leave samples (`spec::Sample`), in the end figures of the whole. Shared statistics are
//! never reset: snapshots are subtracted.

mod encryption;
mod host;
mod machine;
mod placement;
mod postgres;
mod redis;
mod waits;

pub use encryption::{Encryption, Look};
pub(crate) use postgres::Counters;

use std::time::Duration;

use engine::Measured;
use protocol::Address;
use protocol::postgres::sql::{Sql, SqlError};
use spec::Sample;
use spec::figures::Figures;

/// Watches a run.
pub trait Collector {
    fn name(&self) -> &'static str;

    /// The measured part begins.
    ///
    /// # Errors
    /// When nothing can be seen; the run goes on without.
    fn begin(&mut self) -> Result<(), SqlError>;

    /// A step is over, `time_us` since the start of the measured part.
    fn tick(&mut self, time_us: i64, samples: &mut Vec<Sample>) {
        let _ = (time_us, samples);
    }

    /// The load is over: figures of the measured part, and the samples of what was left of it.
    ///
    /// # Errors
    /// When nothing can be seen any more.
    fn end(&mut self, measured: &Measured, samples: &mut Vec<Sample>) -> Result<Figures, SqlError>;
}

/// What can be watched.
#[derive(Default)]
pub struct Watched<'a> {
    /// A control connection to the PostgreSQL server, where its counters are wanted.
    pub sql: Option<&'a mut dyn Sql>,
    /// The Redis that is asked, where its counters belong to this run alone.
    pub redis: Option<&'a Address>,
    /// Process id of the server, where it is known to be on this machine.
    pub server: Option<u32>,
    pub managed: bool,
    /// Processes of all servers under test, where they are all known to be on this machine: what else runs there are other programs.
    pub under_test: Option<Vec<u32>>,
    /// Whether the server's machine cannot be looked at but through the server.
    pub elsewhere: bool,
    /// Whether the load works all the time: then the server can be asked meanwhile.
    pub uncut: bool,
    /// Where clients were to connect by TLS: a connection to see whether they did, and what was seen.
    pub encryption: Option<Look<'a>>,
    /// Whether it is to be seen what server processes wait for.
    pub waits: bool,
    /// Load before the measured part.
    pub warmup: Duration,
}

/// The list: every collector for what is there.
#[must_use]
pub fn all(watched: Watched<'_>) -> Vec<Box<dyn Collector + '_>> {
    // The host first: its counters run on while others ask.
    let mut list: Vec<Box<dyn Collector>> =
        vec![Box::new(host::Host::new(watched.server, watched.under_test))];
    if let Some(server) = watched.server.filter(|_| watched.managed) {
        list.push(Box::new(placement::Placement::new(server)));
    }
    if let Some(look) = watched.encryption {
        list.push(Box::new(look));
    }
    if let Some(address) = watched.redis {
        list.push(Box::new(redis::Redis::new(address)));
    }
    if let Some(sql) = watched.sql {
        let Watched { elsewhere, uncut, waits, warmup, .. } = watched;
        let manner = postgres::Manner { elsewhere, uncut, waits, warmup };
        list.push(Box::new(postgres::Postgres::new(sql, manner)));
    }
    list
}
