//! The servers of an experiment, open and ready: PostgreSQL, optionally a Redis, and a control connection.

mod copies;
mod crashed;
mod pooled;
mod replicas;
mod shown;
mod tile_servers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::Address;
use protocol::postgres::conninfo::ConnectionString;
use protocol::postgres::sql::{Sql, quote_literal};
use protocol::redis::{ControlError, Limits};
use spec::plan::{Arm, Placement, TargetSpec};
use spec::{Class, Error};
use workloads::{CheckTime, Places, PostgresPlace, RedisServer, ServerPlace, Site, Workload};

use crate::error::of_sql;
use crate::event::{Progress, ProgressExt};
use crate::measure::Measured;
use crate::setup::{At, ChangeLevel};
use crate::target_spec::TargetAccess;
use server::Stop;
use server::change;
use server::child::{Account, Watchdog};
use server::control::{Control, look_up};
use server::home::{Home, remove_empty_socket_folders};
use server::http::Web;
use server::managed::{Choice, NetworkAccess, ServerOptions, stop_orphans};
use server::measuring::Marker;
use server::placement::Placed;
use server::redis::{PrivateRedis, RedisControl};
use server::replica::UrlReplica;
use server::settings::journal::Recovered;
use server::settings::{Applied, Effort, Means, SettingValues, changed, recorded};
use server::storage;
use server::url::Rights;
use server::{Target, session_not_pooled, statements_not_pooled};

use self::copies::CopyInUse;
pub(crate) use self::copies::Takes;
use self::pooled::InUse;
pub(crate) use self::pooled::load_of;
use self::replicas::StageReplicas;
use self::tile_servers::TileServers;

const DYING: std::time::Duration = std::time::Duration::from_secs(1);
const DYING_STEP: std::time::Duration = std::time::Duration::from_millis(20);
/// How long a server may take to recover from a crash.
const RECOVERY: std::time::Duration = std::time::Duration::from_secs(60);
const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// The servers; dropping it restores settings and stops what was started.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) target: Target,
    redis: Option<PrivateRedis>,
    redis_place: Option<Address>,
    redis_limits: Option<Limits>,
    pooler: Option<InUse>,
    /// Dropped after the target: commits may wait for them.
    replicas: StageReplicas,
    tile_servers: TileServers,
    pub(crate) in_force: InForce,
    copy: Option<CopyInUse>,
    /// Shows others that we measure, on a server by URL.
    marker: Option<Marker>,
    at_rest: bool,
    /// Length of the server's log when its crashes were looked at last, bytes.
    log_seen: u64,
    pub(crate) making: change::ChangeOptions,
    control: Option<Control>,
    /// The search path of an arm that the control connection uses.
    looks_by: Option<String>,
    /// What it shares with other arms, as text, if they are one server.
    shared: Vec<String>,
    /// Settings as read last, for the next runs.
    recorded: Vec<spec::Setting>,
    pub(crate) watchdog: Watchdog,
    stop: Stop,
}

#[derive(Debug, Default)]
pub(crate) struct InForce {
    pub(crate) arm: Option<Arm>,
    pub(crate) changes: Option<BTreeMap<String, ChangeLevel>>,
    pub(crate) settings: Arc<[spec::Setting]>,
}

impl Stage {
    /// Creates, starts or reaches a server of an experiment, which is to [reserve its settings](Self::reserve) there;
    /// `via` is the widest access that its clients need to a managed one.
    pub(crate) fn open(
        access: &TargetAccess,
        (pg_bin, via): (Option<PathBuf>, NetworkAccess),
        mut progress: &mut dyn Progress,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let (stage, removed) = Self::reach(access, pg_bin, via, Rights::Restore, stop)?;
        removed.into_iter().for_each(|removed| progress.note(removed));
        if let Some(why) = stage.target.made_again() {
            progress.note(format!("its data folder was made by {why}, and is made again"));
        }
        Ok(stage)
    }

    /// Reserves the server's settings for this process; `sets` says whether arms set any.
    pub(crate) fn reserve(&mut self, sets: bool, mut progress: &mut dyn Progress) -> Result<(), Error> {
        let alone = self.target.reserve(sets);
        // The refusal names who uses it now, and which changes remain there.
        let told = |recovered: &&Recovered| {
            !matches!(recovered, Recovered::InUse(_)) && recovered.still_changed().is_none()
        };
        for recovered in self.target.recovered().iter().filter(told) {
            progress.warn(recovered.words());
        }
        alone?;
        self.show(progress)
    }

    /// A server by connection string, unchanged, for a process that only observes.
    pub(crate) fn read_only(access: &TargetAccess) -> Result<Self, Error> {
        Ok(Self::reach(access, None, NetworkAccess::Socket, Rights::ReadOnly, &Stop::new())?.0)
    }

    /// Also reports removed filesystems of killed pgdyno processes.
    fn reach(
        TargetAccess { spec, url, replicas }: &TargetAccess,
        pg_bin: Option<PathBuf>,
        via: NetworkAccess,
        least: Rights,
        stop: &Stop,
    ) -> Result<(Self, Vec<String>), Error> {
        let home = Home::locate()?;
        // Refuse before anything is started, wherever the server is.
        home.open()?;
        if let Some(account) = Account::unprivileged()? {
            workloads::jobs::programs_run_as(account.uid, account.gid);
        }
        let watchdog = Watchdog::current().map_err(|source| {
            Error::new(Class::Internal, format!("cannot find pgdyno's own program: {source}"))
        })?;
        // Leftovers of killed pgdyno processes and their watchdogs.
        server::remove_dead_members(&home);
        stop_orphans(&home);
        let removed = storage::remove_dead(&home);
        remove_empty_socket_folders();
        let tile_servers = TileServers::find(spec.tile_servers(), &watchdog, stop)?;
        let (mut stage, removed) = match spec {
            TargetSpec::Managed { name, version, extensions, redis, bin, initdb, storage, .. } => {
                let options = ServerOptions {
                    choice: Choice { pg_bin: bin.clone().or(pg_bin), version: *version },
                    via,
                    storage: storage.clone(),
                    initdb: initdb.clone(),
                    replaces_versions: bin.is_some(),
                    ..ServerOptions::default()
                };
                let target = Target::managed(&home, name, &options, extensions, &watchdog, stop)?;
                let redis = if *redis { Some(PrivateRedis::start(&home, &watchdog, stop)?) } else { None };
                let redis_place = redis.as_ref().map(PrivateRedis::address);
                (Self::at(target, (redis, redis_place), watchdog, stop), removed)
            }
            TargetSpec::Url { redis, change_server, .. } => {
                let url = url.as_ref().expect("a server given by URL was read with its address");
                let rights = if *change_server { Rights::Change } else { least };
                let target = Target::url(url.with_secrets(), rights, &[], &home, &watchdog)?;
                let redis_place = redis.as_deref().map(redis_at).transpose()?;
                let given = open_replicas(replicas, &target, &home, &watchdog)?;
                let mut stage = Self::at(target, (None, redis_place), watchdog, stop);
                stage.replicas = StageReplicas::given(given);
                (stage, removed)
            }
        };
        stage.tile_servers = tile_servers;
        Ok((stage, removed))
    }

    fn at(
        target: Target,
        redis: (Option<PrivateRedis>, Option<Address>),
        watchdog: Watchdog,
        stop: &Stop,
    ) -> Self {
        let (redis, redis_place) = redis;
        Self {
            target,
            redis_limits: redis.as_ref().map(|redis| redis.limits().clone()),
            redis,
            redis_place,
            pooler: None,
            replicas: StageReplicas::default(),
            tile_servers: TileServers::default(),
            in_force: InForce::default(),
            copy: None,
            marker: None,
            at_rest: false,
            log_seen: 0,
            making: change::ChangeOptions::default(),
            control: None,
            looks_by: None,
            shared: Vec::new(),
            recorded: Vec::new(),
            watchdog,
            stop: stop.clone(),
        }
    }

    /// The control connection; opened again if it was lost or closed.
    pub(crate) fn control(&mut self) -> Result<&mut Control, Error> {
        if self.control.is_none() {
            self.control = Some(self.target.control()?);
        }
        Ok(self.control.as_mut().expect("just opened"))
    }

    /// The control connection, and what may be done over it for an arm.
    pub(crate) fn control_and_means(&mut self) -> Result<(&mut Control, Means), Error> {
        self.control()?;
        let control = self.control.as_mut().expect("just opened");
        let means = self.target.means(control);
        Ok((control, means))
    }

    /// How its PostgreSQL was built.
    pub(crate) fn build(&mut self) -> Result<spec::BuildRecord, Error> {
        self.control()?;
        self.target.build(self.control.as_mut().expect("just opened"))
    }

    /// The stored description of the target.
    pub(crate) fn described(&mut self) -> Result<spec::MeasuredTarget, Error> {
        let versions = self.versions();
        self.control()?;
        self.target.record(self.control.as_mut().expect("just opened"), versions)
    }

    /// All settings as the load's connections see them, to be recorded; the next runs refer to these.
    pub(crate) fn recorded(&mut self) -> Result<Vec<spec::Setting>, Error> {
        self.recorded = recorded(&mut self.target.control_like_load()?).map_err(of_sql)?;
        Ok(self.recorded.clone())
    }

    /// Recorded settings with another value now, as text: changed during a run.
    pub(crate) fn changed(&self) -> Result<Option<String>, Error> {
        if self.recorded.is_empty() {
            return Ok(None);
        }
        // A new connection sees what is in force now; session settings cannot change from outside.
        let now = recorded(&mut self.target.control()?).map_err(of_sql)?;
        Ok(changed(&self.recorded, &now, &self.target.applied().session))
    }

    /// Waits for a server that recovers from a crash, and lets nobody in meanwhile; at most a minute for one by URL. The
    /// crash of a server of ours is then known, and is none of the next run.
    pub(crate) fn wait_until_back(&mut self) {
        // What fails here fails again below.
        let _ = self.recover(&mut |_| {});
        let begun = std::time::Instant::now();
        while self.control().is_err() && begun.elapsed() < RECOVERY && !self.stop.soon() {
            std::thread::sleep(PAUSE);
        }
    }

    /// Closes the control connection: the next one starts with the settings then in force.
    pub(crate) fn close_control(&mut self) {
        self.control = None;
        self.looks_by = None;
    }

    /// Sets an arm's search path on the control connection; `None` restores the first one.
    pub(crate) fn look_by(&mut self, search_path: Option<&str>) -> Result<(), Error> {
        let statement = match search_path {
            Some(path) => {
                format!("SELECT pg_catalog.set_config('search_path', {}, false)", quote_literal(path))
            }
            // A session from a pooler keeps its own path.
            None if self.looks_by.is_none() => return Ok(()),
            None => "RESET search_path".to_owned(),
        };
        self.control()?.execute(&statement).map_err(of_sql)?;
        self.looks_by = search_path.map(str::to_owned);
        Ok(())
    }

    /// The search path of an arm that the control connection uses.
    pub(crate) fn looks_by(&self) -> Option<String> {
        self.looks_by.clone()
    }

    /// Calls `work` with what workloads need outside the timed part.
    pub(crate) fn with_site<T>(
        &mut self,
        work: impl FnOnce(&mut Site<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_connected_site(None, CheckTime::default(), work)
    }

    /// The same for a check that may take so long.
    pub(crate) fn with_site_for<T>(
        &mut self,
        time: CheckTime<'_>,
        work: impl FnOnce(&mut Site<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_connected_site(None, time, work)
    }

    /// The same with a replica, if the present run has one.
    pub(crate) fn with_site_and_replica<T>(
        &mut self,
        time: CheckTime<'_>,
        work: impl FnOnce(&mut Site<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let replica = self.replica_control()?;
        self.with_connected_site(replica, time, work)
    }

    fn with_connected_site<T>(
        &mut self,
        mut replica: Option<Control>,
        time: CheckTime<'_>,
        work: impl FnOnce(&mut Site<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.control()?;
        let Some(control) = self.control.as_mut() else { unreachable!("control() opened it") };
        let given_up = || self.stop.ends_waits();
        let at_start = self.redis_limits.as_ref();
        let lender =
            self.redis_place.as_ref().map(|address| Lender { address, at_start, given_up: &given_up });
        let redis = lender.as_ref().map(|lender| lender as &dyn RedisServer);
        let web = Web { given_up: &given_up };
        let tile_servers = self.tile_servers.places();
        let replica = replica.as_mut().map(|control| control as &mut dyn Sql);
        let mut site = Site {
            sql: Some(control),
            replica,
            redis,
            http: Some(&web),
            tile_servers,
            time,
            ..Site::default()
        };
        let result = work(&mut site);
        if result.is_err() {
            // The connection may be in a failed transaction, or closed.
            self.close_control();
            self.check()?;
        }
        result
    }

    /// An external pooler between clients and server, as text; `None` without one.
    pub(crate) fn pooled_words(&self, at: &At) -> Option<String> {
        let on = if *at == At::default() { String::new() } else { format!("{at}: ") };
        Some(format!("{on}clients reach the server through {}", self.target.pooling().words()?))
    }

    /// Records that it is another arm's server, too; `words` say what they share.
    pub(crate) fn shares(&mut self, words: String) {
        self.shared.push(words);
    }

    pub(crate) fn shared_words(&self) -> &[String] {
        &self.shared
    }

    /// Whether it is another arm's server, too: its counters cover both.
    pub(crate) fn is_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Whether a workload's clients can work through its pooler.
    ///
    /// # Errors
    /// What does not work through a transaction pooler.
    pub(crate) fn lets_through(&self, workload: &dyn Workload) -> Result<(), Error> {
        if !self.target.pooling().is_shared() {
            return Ok(());
        }
        let refused = match workload.of_session() {
            _ if workload.carried().prepared && !self.target.keeps_statements() => statements_not_pooled(),
            Some(what) => session_not_pooled(&what),
            None => return Ok(()),
        };
        Err(refused)
    }

    pub(crate) fn places(&self) -> Places {
        let (again, wanted) = self.target.places_again();
        let targets = self.target_places();
        let postgres = match &self.pooler {
            Some(used) => PostgresPlace { targets, ..used.pooler.place(self.target.database()).into() },
            None => PostgresPlace { again, wanted, targets, ..self.target.place().into() },
        };
        let places = match &self.redis_place {
            Some(redis) => Places::from(postgres).with(Places::REDIS, ServerPlace::Redis(redis.clone())),
            None => postgres.into(),
        };
        let tile_servers = self.tile_servers.places().into_iter();
        tile_servers.fold(places, |places, (name, place)| places.with(name, ServerPlace::Http(place)))
    }

    /// Pid of the postmaster, if it is known to be on this machine.
    pub(crate) fn postmaster(&mut self) -> Result<Option<u32>, Error> {
        Ok(match self.target.cluster() {
            Ok(_) => self.target.postmaster(),
            Err(_) => self.control()?.postmaster_here(),
        })
    }

    /// All processes that serve clients, without their children; `None` if one of them is not known to be on
    /// this machine.
    pub(crate) fn processes(&mut self) -> Option<Vec<u32>> {
        let redis =
            self.redis.as_ref().map(PrivateRedis::pid).or(self.copy.as_ref().and_then(|copy| copy.redis));
        if redis.is_none() && self.redis_place.is_some() {
            return None;
        }
        let Some(postmaster) = self.postmaster().ok().flatten() else { return self.at_rest.then(Vec::new) };
        let pooler = self.pooler.as_ref().map(|used| used.pooler.pid());
        let all = [Some(postmaster), redis, pooler].into_iter().flatten().chain(self.replicas.pids());
        Some(all.chain(self.tile_servers.pids()).collect())
    }

    /// Places the servers until the returned value is dropped.
    pub(crate) fn place(&self, placement: &Placement) -> Result<Placed, Error> {
        if (placement.server.is_some() || placement.quota.is_some()) && self.target.postmaster().is_none() {
            return Err(Error::new(
                Class::Usage,
                "a server given by a connection string cannot be put on CPUs or within a quota: pgdyno sees only its SQL",
            )
            .with_hint("leave `server` and `quota` out of the placement, or use a managed server"));
        }
        let members = [
            self.target.postmaster(),
            self.redis.as_ref().map(PrivateRedis::pid).or(self.copy.as_ref().and_then(|copy| copy.redis)),
            self.pooler.as_ref().map(|used| used.pooler.pid()),
        ];
        let members = members.into_iter().flatten().chain(self.replicas.pids());
        let roots: Vec<u32> = members.chain(self.tile_servers.pids()).collect();
        Placed::begin(&self.watchdog, &roots, placement)
    }

    /// Brings the server to these settings, read back and verified.
    pub(crate) fn apply(&mut self, settings: &SettingValues) -> Result<Applied, Error> {
        let waits = self.waits_for_replicas();
        if waits {
            // Its commits would wait for them, and restoring its settings would undo that.
            self.end_replicas()?;
        }
        self.close_control();
        self.recorded.clear();
        // They pass on the settings that they were started with.
        self.pooler = None;
        self.tile_servers.stop();
        let restarted = self.take_restart();
        let applied = if restarted { self.target.reapply(settings) } else { self.target.apply(settings) };
        let applied = applied?.clone();
        if applied.effort != Effort::None {
            // They have the settings that the server had when they were made.
            self.end_replicas()?;
        }
        Ok(applied)
    }

    /// Sets the folder in which commands of users' changes start; each change needs an undo.
    pub(crate) fn makes_changes(&mut self, folder: &Path) {
        let folder = std::path::absolute(folder).ok();
        self.making = change::ChangeOptions { folder, ..change::ChangeOptions::default() };
    }

    /// Closes all pgdyno connections to the server before it is stopped.
    pub(crate) fn disconnect(&mut self) -> Result<(), Error> {
        self.close_control();
        self.pooler = None;
        self.tile_servers.stop();
        self.end_replicas()
    }

    pub(crate) fn restore(&mut self) -> Result<(), Error> {
        self.end_replicas()?;
        if self.copy.is_some() {
            // It is stopped next, and its settings are restored at its next use.
            return Ok(());
        }
        self.wake()?;
        self.close_control();
        self.tile_servers.stop();
        self.recorded.clear();
        self.target.restore()?;
        Ok(())
    }

    pub(crate) fn check(&mut self) -> Result<(), Error> {
        if self.is_at_rest() {
            return Ok(());
        }
        self.target.check()?;
        if let Some(redis) = &mut self.redis {
            redis.check()?;
        }
        if let Some(used) = &mut self.pooler {
            used.pooler.check()?;
        }
        self.tile_servers.check()
    }

    /// After a run: why the server could not be queried about it, and which settings were changed in the
    /// meantime.
    pub(crate) fn afterwards(
        &mut self,
        measured: &mut Measured,
        stop: &Stop,
    ) -> (Option<Error>, Option<String>) {
        let trouble = measured.trouble.take().filter(|_| !stop.at_once());
        let lost = self.check().err().or(trouble.map(of_sql));
        if !measured.engine.outages.is_empty() {
            // Another server may answer now.
            self.close_control();
        } else if lost.is_none() {
            match self.changed() {
                Ok(found) => return (None, found),
                Err(_) if stop.at_once() => self.close_control(),
                Err(error) => return (Some(error), None),
            }
        }
        (lost, None)
    }

    /// Adds the log of a server of ours if its end may have caused the error: connections break before the
    /// process exits.
    pub(crate) fn explain(&mut self, error: Error) -> Error {
        match error.class() {
            Class::Interrupted => return error,
            Class::Unreachable if self.target.log_path().is_some() => {}
            _ => {
                let ended = self.check().err();
                return ended.or_else(|| self.ailing_disk()).unwrap_or(error);
            }
        }
        for _ in 0..DYING.as_millis() / DYING_STEP.as_millis() {
            if let Err(gone) = self.check() {
                return gone;
            }
            std::thread::sleep(DYING_STEP);
        }
        // A server without disk space restarts, and fails again.
        if let Some(ailing) = self.ailing_disk() {
            return ailing;
        }
        let crash = self.new_crash().map(|crash| {
            let signal = crash.signal;
            format!("the server crashed (signal {signal}):\n{}", crate::crash::lines(&crash).join("\n"))
        });
        let error = match crash {
            Some(crash) => {
                let told = format!("{error}\n{crash}");
                error.in_words(told)
            }
            None => error,
        };
        self.with_log(error)
    }

    fn ailing_disk(&mut self) -> Option<Error> {
        let ailing = self.target.cluster().ok()?.disk_error()?;
        Some(ailing)
    }

    /// The error with the path of the server's log, unless it is already there.
    fn with_log(&self, error: Error) -> Error {
        let (told, log) = (error.to_string(), self.target.log_path().map(|path| path.display().to_string()));
        match log.filter(|log| !told.contains(log)) {
            Some(log) => error.in_words(format!("{told}\nthe server's log is {log}")),
            None => error,
        }
    }

    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::from([("pgdyno".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]);
        if let Some(redis) = &self.redis {
            versions.insert("redis".to_owned(), redis.version().to_owned());
        }
        versions.extend(self.tile_servers.versions());
        versions
    }
}

fn open_replicas(
    urls: &[ConnectionString],
    target: &Target,
    home: &Home,
    watchdog: &Watchdog,
) -> Result<Vec<UrlReplica>, Error> {
    if urls.is_empty() {
        return Ok(Vec::new());
    }
    let mut primary = target.control()?;
    let open = |(url, number): (&ConnectionString, usize)| {
        UrlReplica::open((number, url.with_secrets()), &mut primary, target.database(), home, watchdog)
    };
    urls.iter().zip(1..).map(open).collect()
}

struct Lender<'a> {
    address: &'a Address,
    at_start: Option<&'a Limits>,
    given_up: &'a dyn Fn() -> bool,
}

impl RedisServer for Lender<'_> {
    fn control(&self) -> Result<Box<dyn protocol::redis::RedisConnection + '_>, ControlError> {
        Ok(Box::new(RedisControl::connect(self.address, self.given_up)?))
    }

    fn limits_at_start(&self) -> Option<&Limits> {
        self.at_start
    }
}

/// `redis://HOST[:PORT]`.
fn redis_at(url: &str) -> Result<Address, Error> {
    let place = url.strip_prefix("redis://").unwrap_or(url).trim_end_matches('/');
    let unknown = || {
        Error::new(Class::Unreachable, format!("cannot find the Redis host of {url}"))
            .with_hint("check [target] redis")
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| unknown())?),
        None => (place, 6379),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = match look_up(host, port) {
        Ok(found) => found,
        Err(error) if error.is_stopped() => return Err(error),
        Err(_) => Vec::new(),
    };
    let address = found.into_iter().next().ok_or_else(unknown)?;
    Ok(Address::Tcp(address))
}
