//! Servers that are copies of another one, so that the arms of a comparison have their own, and servers that are
//! stopped while another one runs alone.

use protocol::postgres::sql::Sql;
use server::Target;
use server::change;
use server::managed::{Cluster, DataFolderSizes, NetworkAccess, ServerOptions};
use sha2::{Digest, Sha256};
use spec::Error;

use super::replicas::StageReplicas;
use super::{InForce, Stage};
use crate::error::of_sql;
use crate::event::{ExperimentStep, Progress, ProgressExt};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Takes {
    pub(crate) sizes: DataFolderSizes,
    /// Of the server without an arm, bytes.
    pub(crate) shared_buffers: u64,
    /// Of the server without an arm, bytes.
    pub(crate) work_mem: u64,
}

#[derive(Debug, Default)]
pub(super) struct CopyInUse {
    /// It is restarted before the next run.
    restart: bool,
    /// Users' changes are made once and never undone.
    for_good: bool,
    /// Pid of its Redis, if that belongs to another copy: all copies of a server share one.
    pub(super) redis: Option<u32>,
}

impl Stage {
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest
    }

    pub(crate) fn rest(&mut self) -> Result<(), Error> {
        if self.at_rest {
            return Ok(());
        }
        self.disconnect()?;
        if let Ok(cluster) = self.target.cluster() {
            cluster.stop()?;
            self.at_rest = true;
        }
        Ok(())
    }

    /// Starts a temporarily stopped server, with its settings.
    pub(crate) fn wake(&mut self) -> Result<(), Error> {
        if !self.at_rest {
            return Ok(());
        }
        if let Ok(cluster) = self.target.cluster() {
            cluster.start()?;
        }
        self.at_rest = false;
        Ok(())
    }

    /// Why the server cannot be copied; `None` if it can.
    pub(crate) fn not_to_be_copied(&mut self) -> Result<Option<String>, Error> {
        self.close_control();
        Ok(match self.target.cluster() {
            Ok(cluster) => cluster.not_to_be_copied()?,
            Err(not_ours) => Some(not_ours.to_string()),
        })
    }

    /// The least that the server needs.
    pub(crate) fn takes(&mut self) -> Result<Takes, Error> {
        let bytes = |control: &mut dyn Sql, name: &str| {
            let query = format!("SELECT pg_catalog.pg_size_bytes(current_setting('{name}'))");
            Ok::<_, Error>(
                control
                    .scalar(&query)
                    .map_err(of_sql)?
                    .and_then(|bytes| bytes.parse().ok())
                    .unwrap_or_default(),
            )
        };
        let control = self.control()?;
        let (shared_buffers, work_mem) = (bytes(control, "shared_buffers")?, bytes(control, "work_mem")?);
        // Data only in memory would not count.
        control.execute("CHECKPOINT").map_err(of_sql)?;
        let sizes = match self.target.cluster() {
            Ok(cluster) => cluster.sizes()?,
            Err(_) => DataFolderSizes::default(),
        };
        Ok(Takes { sizes, shared_buffers, work_mem })
    }

    /// Identifies its data: the server, and the time of their preparation.
    pub(crate) fn data_made(&mut self) -> Result<String, Error> {
        let control = self.control()?;
        let server =
            control.scalar("SELECT system_identifier FROM pg_catalog.pg_control_system()").map_err(of_sql)?;
        let prepared = match control.scalar("SELECT to_regclass('pgdyno.prepared')").map_err(of_sql)? {
            Some(_) => control.scalar(
                "SELECT string_agg(job || ' ' || fingerprint || ' ' || record, ' ' ORDER BY job) FROM pgdyno.prepared",
            ).map_err(of_sql)?,
            None => None,
        };
        let all = format!("{} {}", server.unwrap_or_default(), prepared.unwrap_or_default());
        Ok(spec::hex(&Sha256::digest(all)))
    }

    /// What its prepared data were made from, as a hash; `None` if the role may not read it.
    pub(crate) fn data_made_from(&mut self) -> Result<Option<String>, Error> {
        let control = self.control()?;
        let made = match control.scalar("SELECT to_regclass('pgdyno.prepared')") {
            Err(_) => return Ok(None),
            Ok(None) => None,
            Ok(Some(_)) => {
                let query =
                    "SELECT string_agg(job || ' ' || fingerprint, ' ' ORDER BY job) FROM pgdyno.prepared";
                let Ok(made) = control.scalar(query) else { return Ok(None) };
                made
            }
        };
        Ok(Some(spec::hex(&Sha256::digest(made.unwrap_or_default()))))
    }

    /// Makes copies of the server with these numbers, and starts them; the server itself is stopped for that,
    /// and restarted only if it should keep running when pgdyno ends.
    pub(crate) fn copied(
        &mut self,
        numbers: std::ops::RangeInclusive<u32>,
        (made_for, for_good): (&str, bool),
        via: NetworkAccess,
        mut progress: &mut dyn Progress,
    ) -> Result<Vec<(u32, Self)>, Error> {
        self.close_control();
        self.end_replicas()?;
        self.tile_servers.stop();
        let options = ServerOptions { via, ..ServerOptions::default() };
        let template = self.target.cluster()?;
        template.stop_cleanly()?;
        // Copies of a killed experiment with more arms.
        template.destroy_copies(&|number| !numbers.contains(&number))?;
        let mut copies = Vec::new();
        for number in numbers {
            progress.step(ExperimentStep::Copy, format!("{}: copy {number}", template.name()));
            let copy = template.copy(number, made_for, &options, &mut |_| {});
            copies.push((number, copy?));
        }
        if template.is_detached() {
            template.start()?;
        }
        let mut redis = self.redis.take();
        let redis_pid = redis.as_ref().map(server::redis::PrivateRedis::pid);
        let mut stages = Vec::new();
        for (number, copy) in copies {
            progress.step(ExperimentStep::Start, format!("copy {number}"));
            let in_use = CopyInUse { restart: true, for_good, redis: redis_pid };
            let mut stage = self.of_copy(copy, in_use, &options)?;
            // All copies of a server share one.
            stage.redis = redis.take();
            stages.push((number, stage));
        }
        Ok(stages)
    }

    /// A copy of this server, ready to be used as this one was.
    fn of_copy(&self, copy: Cluster, in_use: CopyInUse, options: &ServerOptions) -> Result<Self, Error> {
        let changes = copy.done().and_then(|done| serde_json::from_str(done).ok());
        let mut target = Target::copied(copy, options, &self.watchdog)?;
        target.use_database(self.target.database())?;
        Ok(Self {
            target,
            redis: None,
            redis_place: self.redis_place.clone(),
            redis_limits: self.redis_limits.clone(),
            pooler: None,
            replicas: StageReplicas::default(),
            tile_servers: self.tile_servers.not_started(),
            in_force: InForce { changes, ..InForce::default() },
            making: change::ChangeOptions { thrown_away: in_use.for_good, ..self.making.clone() },
            marker: None,
            copy: Some(in_use),
            at_rest: false,
            log_seen: 0,
            control: None,
            looks_by: None,
            shared: Vec::new(),
            recorded: Vec::new(),
            watchdog: self.watchdog.clone(),
            stop: self.stop.clone(),
        })
    }

    /// A copy is restarted before its next use.
    pub(crate) fn mark_restart(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.restart = true;
        }
    }

    /// The same when it is to run alone; waking restarts a stopped one.
    pub(crate) fn start_alone(&mut self) -> Result<(), Error> {
        if self.is_at_rest() {
            return self.wake();
        }
        self.mark_restart();
        Ok(())
    }

    /// Whether it must be restarted; resets the mark.
    pub(super) fn take_restart(&mut self) -> bool {
        self.copy.as_mut().is_some_and(|copy| std::mem::take(&mut copy.restart))
    }

    pub(crate) fn is_to_restart(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.restart)
    }

    /// Begins permanent changes on a copy that is thrown away: until they are done, the copy counts as
    /// missing.
    pub(crate) fn begin_for_good(&mut self) -> Result<(), Error> {
        if self.is_for_good() { self.mark_done(None) } else { Ok(()) }
    }

    /// Marks them as done, also for an invocation after a crash.
    pub(crate) fn end_for_good(&mut self) -> Result<(), Error> {
        if !self.is_for_good() {
            return Ok(());
        }
        let done = serde_json::to_string(&self.in_force.changes).expect("changes are plain data");
        self.mark_done(Some(&done))
    }

    pub(crate) fn is_for_good(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.for_good)
    }

    fn mark_done(&mut self, done: Option<&str>) -> Result<(), Error> {
        let cluster = self.target.cluster()?;
        cluster.set_done_for_good(done)
    }

    pub(crate) fn remove(mut self) -> Result<(), Error> {
        if !self.target.changes().is_empty() {
            self.wake()?;
        }
        self.disconnect()?;
        self.target.throw_away()
    }
}
