//! Replicas of an experiment's server: made by pgdyno for the runs that need them, or given by URL.

use std::sync::Arc;

use protocol::postgres::Place;
use protocol::postgres::sql::Sql;
use server::control::Control;
use server::home::Home;
use server::replica::{Replicas, UrlReplica, await_caught_up};
use spec::Error;
use spec::plan::topology::{Replication, Topology};
use workloads::TargetPlaces;

use super::Stage;
use crate::collectors::{self, ReplicationLook};
use crate::event::{ExperimentStep, Progress, ProgressExt};

/// Timeout of a connection to a replica.
const BOUND: std::time::Duration = std::time::Duration::from_secs(30);

/// The replicas of a stage.
#[derive(Debug, Default)]
pub(super) struct StageReplicas {
    /// As the present run needs them.
    topology: Topology,
    ours: Option<Replicas>,
    theirs: Vec<UrlReplica>,
    /// How they were made, and their settings.
    words: Vec<String>,
}

impl StageReplicas {
    /// Of a server given by URL.
    pub(super) fn given(theirs: Vec<UrlReplica>) -> Self {
        Self { theirs, ..Self::default() }
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.ours.as_ref().map(Replicas::pids).unwrap_or_default()
    }
}

impl Stage {
    /// Brings the replicas that a run needs. They are made by a base backup, unless the run before had the same. The
    /// settings of the server are then to be read again.
    pub(crate) fn replicate(
        &mut self,
        topology: Topology,
        mut progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let is_ours = self.target.cluster().is_ok();
        if !is_ours {
            self.replicas.topology = topology;
            return Ok(());
        }
        match &mut self.replicas.ours {
            None if topology.is_alone() => return Ok(()),
            Some(ours) if ours.topology() == topology => match ours.check_follow(self.target.cluster()?) {
                Ok(()) => return Ok(()),
                Err(lost) => progress.note(format!("replicas are made again: {lost}")),
            },
            _ => {}
        }
        self.end_replicas()?;
        self.in_force.settings = Arc::default();
        self.recorded.clear();
        if topology.is_alone() {
            return Ok(());
        }
        progress.step(ExperimentStep::Start, format!("{}, by pg_basebackup", topology.words()));
        // A pooler in front of them has a list of them.
        self.pooler = None;
        let home = Home::locate()?;
        let cluster = self.target.cluster()?;
        let replicas = Replicas::start(&home, cluster, topology, &self.watchdog, &self.stop)?;
        self.replicas.words = replicas.words(cluster)?;
        (self.replicas.topology, self.replicas.ours) = (topology, Some(replicas));
        Ok(())
    }

    /// Whether commits wait for replicas that pgdyno made.
    pub(super) fn waits_for_replicas(&self) -> bool {
        let waits = |ours: &Replicas| ours.topology().replication != Replication::Async;
        self.replicas.ours.as_ref().is_some_and(waits)
    }

    /// Stops and removes the replicas that pgdyno made, before the server is stopped, restarted or gets other settings.
    pub(crate) fn end_replicas(&mut self) -> Result<(), Error> {
        self.replicas.topology = Topology::default();
        self.replicas.words.clear();
        let Some(replicas) = self.replicas.ours.take() else { return Ok(()) };
        self.pooler = None;
        replicas.end(self.target.cluster()?)
    }

    /// The replicas of the present run, as text for its record.
    pub(crate) fn replica_words(&self) -> Vec<String> {
        let StageReplicas { topology, words, theirs, .. } = &self.replicas;
        let used = theirs.iter().take(topology.replicas as usize).zip(1..);
        let theirs = used.map(|(replica, number)| format!("replica {number}: {}", replica.redacted()));
        let summary = (!topology.is_alone() && !words.is_empty()).then(|| topology.words());
        summary.into_iter().chain(words.iter().cloned()).chain(theirs).collect()
    }

    /// Where its replicas are, without the settings of an arm.
    pub(super) fn plain_replica_places(&self) -> Vec<Place> {
        let used = self.replicas.topology.replicas as usize;
        match &self.replicas.ours {
            Some(ours) => ours.places(self.target.database()),
            None => self.replicas.theirs.iter().take(used).map(UrlReplica::place).collect(),
        }
    }

    fn replica_places(&self) -> Vec<Place> {
        let places = self.plain_replica_places();
        places.iter().map(|place| self.target.with_arm_settings(place)).collect()
    }

    /// The servers that scripts can name in the present run. Without a replica its scripts go to the primary.
    pub(super) fn target_places(&self) -> TargetPlaces {
        let primary = self.target.place();
        let replicas = match self.replica_places() {
            none if none.is_empty() => vec![primary.clone()],
            replicas => replicas,
        };
        let pooler = self.pooler.as_ref().map(|used| used.pooler.place(self.target.database()));
        TargetPlaces { primary: Some(primary), pooler, replicas }
    }

    /// A connection to the first replica of the present run; `None` without one.
    pub(super) fn replica_control(&self) -> Result<Option<Control>, Error> {
        let first = self.replica_places().into_iter().next();
        first.map(|place| Control::open(&place, Some(BOUND))).transpose()
    }

    /// Waits until the replicas have replayed what was written before the run.
    pub(crate) fn await_replicas(&mut self) -> Result<(), Error> {
        let places = self.replica_places();
        if places.is_empty() {
            return Ok(());
        }
        let open = |place: &Place| Control::open(place, Some(BOUND));
        let mut replicas: Vec<Control> = places.iter().map(open).collect::<Result<_, _>>()?;
        let stop = self.stop.clone();
        await_caught_up(self.control()?, &mut replicas, &stop)
    }

    /// Looks at the replicas of the present run over this connection to the primary; `None` without replicas.
    pub(crate) fn replication_look<'l>(
        &self,
        sql: &'l mut Control,
        seen: &'l mut collectors::Replication,
    ) -> Option<ReplicationLook<'l>> {
        let places = self.replica_places();
        if places.is_empty() {
            return None;
        }
        let keys = match &self.replicas.ours {
            Some(ours) => ours.keys().into_iter().map(Ok).collect(),
            None => self.replicas.theirs.iter().take(places.len()).map(|replica| replica.key(sql)).collect(),
        };
        let pid = sql.scalar("SELECT pg_catalog.pg_backend_pid()").ok().flatten();
        let pid = pid.and_then(|pid| pid.parse().ok());
        Some(ReplicationLook { sql, pid, keys, places, seen })
    }

    /// Adds why replicas do not follow, from their logs.
    pub(crate) fn explain_replicas(&self, seen: &mut collectors::Replication) {
        let Some(ours) = &self.replicas.ours else { return };
        for (index, replica) in seen.replicas.iter_mut().enumerate().filter(|(_, replica)| replica.is_lost())
        {
            replica.complaint = ours.complaint(index);
        }
    }
}
