//! Streaming replicas of a managed server, made by `pg_basebackup`; each in its own folder, under a watchdog.
//!
//! A replica keeps nothing: it begins with a base backup of the running primary, and its data folder is removed
//! with it, also when pgdyno is killed. Its slot on the primary is a temporary one of its WAL receiver, which ends
//! with the connection, so nothing holds back WAL later (docs/decisions/0045). Its settings are those that the
//! primary's files have when the backup is made.

mod by_url;
mod lag;
mod one;
mod primary;

use protocol::postgres::Place;
use spec::plan::topology::{Replication, Topology};
use spec::{Class, Error};

pub use self::by_url::UrlReplica;
pub use self::lag::{Position, Positions, STEPS};
use self::one::Replica;
pub use self::primary::{Follower, FollowerKey, followers};
use crate::child::Watchdog;
use crate::control::Control;
use crate::error::sql_error;
use crate::home::Home;
use crate::managed::Cluster;
use crate::stop::Stop;

/// First version whose WAL receiver makes a temporary slot.
const FIRST_VERSION: u32 = 13;

/// The replicas of a managed server in use. Dropping them stops and removes them; [`Replicas::end`] also lets
/// the primary stop waiting for them.
#[derive(Debug)]
pub struct Replicas {
    topology: Topology,
    all: Vec<Replica>,
}

impl Replicas {
    /// Makes and starts them, and waits until they follow the primary. With a synchronous mode the primary's
    /// commits wait for all of them from then on; [`Cluster::restore_settings`] undoes that too.
    ///
    /// # Errors
    /// When the primary cannot have so many, `pg_basebackup` is missing or fails, or a replica does not start or
    /// does not follow.
    pub fn start(
        home: &Home,
        cluster: &Cluster,
        topology: Topology,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        if topology.replication != Replication::Async && cluster.is_detached() {
            return Err(outlives_us(cluster.name()));
        }
        let mut control = cluster.connect("postgres")?;
        primary::can_have(&mut control, topology.replicas)?;
        let mut replicas = Self { topology, all: Vec::new() };
        for number in 1..=topology.replicas {
            replicas.all.push(Replica::start(home, cluster, number, watchdog, stop)?);
        }
        primary::await_streaming(&mut control, &mut replicas.all, stop)?;
        if topology.replication != Replication::Async {
            cluster.keep_settings()?;
            let waits = primary::wait_for_all(&mut control, &mut replicas.all, topology.replication, stop);
            if let Err(error) = waits {
                let _concluding = Stop::of_process().concluding();
                let _ = primary::wait_for_none(&mut control);
                return Err(error);
            }
        }
        Ok(replicas)
    }

    /// Lets the primary stop waiting for them, then stops and removes them.
    ///
    /// # Errors
    /// When the running primary cannot be told; the replicas are stopped in any case.
    pub fn end(self, cluster: &Cluster) -> Result<(), Error> {
        let _concluding = Stop::of_process().concluding();
        let waits = self.topology.replication != Replication::Async && cluster.pid().is_some();
        match waits {
            true => primary::wait_for_none(&mut cluster.connect("postgres")?),
            false => Ok(()),
        }
    }

    /// Their number and mode.
    #[must_use]
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// Where clients connect to a database of each, by its Unix socket, as the superuser.
    #[must_use]
    pub fn places(&self, database: &str) -> Vec<Place> {
        self.all.iter().map(|replica| replica.place(database)).collect()
    }

    /// How the primary lists them in `pg_stat_replication`, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<FollowerKey> {
        self.all.iter().map(|replica| FollowerKey { name: replica.name(), client: String::new() }).collect()
    }

    /// Pids of their postmasters.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.all.iter().map(Replica::pid).collect()
    }

    /// Checks that all of them still run.
    ///
    /// # Errors
    /// How one died, with its last log lines.
    pub fn check(&mut self) -> Result<(), Error> {
        self.all.iter_mut().try_for_each(Replica::check)
    }

    /// Checks that all of them run and follow the primary.
    ///
    /// # Errors
    /// Which one does not.
    pub fn check_follow(&mut self, cluster: &Cluster) -> Result<(), Error> {
        self.check()?;
        let seen = followers(&mut cluster.connect("postgres")?);
        let seen = seen.map_err(|error| sql_error("looking for the replicas", error))?;
        let follows = |replica: &Replica| seen.iter().any(|follower| follower.name == replica.name());
        match self.all.iter().find(|replica| !follows(replica)) {
            None => Ok(()),
            Some(lost) => {
                let why = lost.complaint().map(|line| format!(": {line}")).unwrap_or_default();
                let what = format!("{} does not follow the primary any more{why}", lost.name());
                Err(Error::new(Class::Unreachable, what))
            }
        }
    }

    /// The last log line of the replica with this index that says why it does not follow; `None` without one.
    #[must_use]
    pub fn complaint(&self, index: usize) -> Option<String> {
        self.all.get(index)?.complaint()
    }

    /// As text, for records: how they were made, and the settings in which each differs from the primary.
    ///
    /// # Errors
    /// When the primary or a replica cannot be queried.
    pub fn words(&self, cluster: &Cluster) -> Result<Vec<String>, Error> {
        let mut control = cluster.connect("postgres")?;
        let version = &cluster.installation().version;
        let words = self.all.iter().map(|replica| {
            let mut own = replica.control()?;
            let differ = primary::differing_settings(&mut control, &mut own)?;
            let name = replica.name();
            Ok(format!("{name}: PostgreSQL {version}, by pg_basebackup of the primary; {differ}"))
        });
        words.collect()
    }
}

/// A server that goes on without us would wait for replicas that are gone.
fn outlives_us(name: &str) -> Error {
    let what = format!(
        "managed server {name:?} goes on when pgdyno ends, and its commits would wait for replicas that are gone if pgdyno is \
         killed"
    );
    let hint = format!("stop it first: pgdyno target stop {}", spec::shell::word(name));
    Error::new(Class::Usage, what).with_hint(hint)
}

/// Waits until each of these replicas has replayed all WAL that the primary had written when this was called.
///
/// # Errors
/// When one does not get there in time, or cannot be queried.
pub fn await_caught_up(primary: &mut Control, replicas: &mut [Control], stop: &Stop) -> Result<(), Error> {
    primary::await_caught_up(primary, replicas, stop)
}
