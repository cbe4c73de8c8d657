//! The measured server: a managed one or one given by URL, behind one type.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use protocol::postgres::Database;
use protocol::postgres::Place;
use protocol::postgres::SslMode;
use protocol::postgres::conninfo::{SslOptions, TargetSession};
use protocol::postgres::sql::Sql;
use spec::plan::change::Change;
use spec::plan::storage::Holds;
use spec::{Class, Error};

use crate::build;
use crate::change::{self, ChangeResult, Environment};
use crate::child::Watchdog;
use crate::control::{Control, Pooling, with_session_settings};
use crate::error::not_available;
use crate::error::{conninfo_error, sql_error};
use crate::home::Home;
use crate::managed::{Cluster, NetworkAccess};
use crate::pooler::Upstream;
use crate::settings::already_changed;
use crate::settings::journal::{self, Access, Journal, Recovered};
use crate::settings::{
    Applied, Effort, Machine, Means, SettingValues, apply_managed, apply_url, restore_managed,
    without_timeouts,
};
use crate::source_build::commit_of;
use crate::stop::Stop;
use crate::storage::Used;
use crate::url::{Rights, UrlServer};
use crate::{managed, url};

/// Timeout of a server that answered before.
const CONNECTING: std::time::Duration = std::time::Duration::from_secs(30);

#[derive(Debug)]
enum TargetServer {
    Managed(Box<Cluster>),
    Url(Box<UrlServer>),
}

/// A server that is measured. Dropping it restores its settings, as far as possible, and stops a managed
/// server that is not detached.
#[derive(Debug)]
pub struct Target {
    /// What must be undone; none where nothing may be changed. Its watchdog undoes the rest while the server
    /// still runs.
    journal: Option<Journal>,
    /// The same for the scratch data of jobs, where nothing else may be changed.
    scratch: Option<Journal>,
    server: TargetServer,
    database: String,
    /// How the load reaches a managed server.
    via: NetworkAccess,
    applied: Applied,
    /// Something was set for the whole server.
    changed: bool,
    recovered: Vec<Recovered>,
    /// The commit that its PostgreSQL was built from, if pgdyno built it.
    commit: Option<String>,
    /// Of the files of its PostgreSQL, once it was computed.
    tree: OnceCell<String>,
}

impl Target {
    /// A managed server, made and started as needed, with a database and extensions.
    ///
    /// # Errors
    /// When the server is not available, or an extension is not installed.
    pub fn managed(
        home: &Home,
        name: &str,
        options: &managed::ServerOptions,
        extensions: &[String],
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let cluster = Cluster::ensure(home, name, options, watchdog, stop)?;
        let mut recovered = url::recover_earlier(home, watchdog)?;
        recovered.extend(journal::recover_private(&cluster, watchdog)?);
        let mut target = Self::ours(cluster, recovered, watchdog)?;
        target.ensure_database(managed::DATABASE)?;
        for extension in extensions {
            target.ensure_extension(extension)?;
        }
        Ok(target)
    }

    /// A running copy of a managed server; see [`Cluster::copy`].
    pub fn copied(
        mut copy: Cluster,
        options: &managed::ServerOptions,
        watchdog: &Watchdog,
    ) -> Result<Self, Error> {
        copy.start_copy(options)?;
        Self::ours(copy, Vec::new(), watchdog)
    }

    fn ours(cluster: Cluster, recovered: Vec<Recovered>, watchdog: &Watchdog) -> Result<Self, Error> {
        let place = cluster.place("postgres");
        let config = cluster.config().map_err(conninfo_error)?;
        let journal =
            Journal::at(cluster.journal(), &config.redacted(), Access::to(&place, &config), watchdog);
        let server = TargetServer::Managed(Box::new(cluster));
        Ok(Self::over(server, managed::DATABASE, Some(journal), recovered))
    }

    /// A server by connection string; see [`UrlServer::open`].
    ///
    /// # Errors
    /// When the connection fails, or an extension is missing.
    pub fn url(
        dsn: &str,
        rights: Rights,
        extensions: &[String],
        home: &Home,
        watchdog: &Watchdog,
    ) -> Result<Self, Error> {
        let mut server = UrlServer::open(dsn, rights, home, watchdog)?;
        let database = server.config().dbname.clone();
        let may_change = server.rights() == Rights::Change;
        let journal = if may_change { Some(server.new_journal()?) } else { None };
        let recovered = server.take_recovered();
        let mut target = Self::over(TargetServer::Url(Box::new(server)), &database, journal, recovered);
        for extension in extensions {
            target.ensure_extension(extension)?;
        }
        Ok(target)
    }

    fn over(
        server: TargetServer,
        database: &str,
        journal: Option<Journal>,
        recovered: Vec<Recovered>,
    ) -> Self {
        Self {
            journal,
            scratch: None,
            server,
            database: database.to_owned(),
            via: NetworkAccess::Socket,
            applied: Applied::default(),
            changed: false,
            recovered,
            commit: None,
            tree: OnceCell::new(),
        }
    }

    /// Why the data folder of a managed server was made again, if it was.
    #[must_use]
    pub fn made_again(&self) -> Option<&'static str> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.made_again(),
            TargetServer::Url(_) => None,
        }
    }

    /// SHA-256 over the files of a managed server's PostgreSQL, hex; `None` for a server by URL.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn build_tree(&self) -> Result<Option<String>, Error> {
        let TargetServer::Managed(cluster) = &self.server else { return Ok(None) };
        if self.tree.get().is_none() {
            let _ = self.tree.set(build::tree_of(&cluster.installation().bin)?.sha256);
        }
        Ok(self.tree.get().cloned())
    }

    /// `managed` or `url`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.server {
            TargetServer::Managed(_) => "managed",
            TargetServer::Url(_) => "url",
        }
    }

    /// How server connections are shared in front of it.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        match &self.server {
            TargetServer::Managed(_) => Pooling::None,
            TargetServer::Url(server) => server.pooling(),
        }
    }

    /// Whether clients can reuse statements prepared by name.
    #[must_use]
    pub fn keeps_statements(&self) -> bool {
        match &self.server {
            TargetServer::Managed(_) => true,
            TargetServer::Url(server) => server.keeps_statements(),
        }
    }

    /// The measured database.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Chooses the measured database; made if we own the server.
    pub fn use_database(&mut self, database: &str) -> Result<(), Error> {
        self.ensure_database(database)?;
        database.clone_into(&mut self.database);
        Ok(())
    }

    /// Chooses how the load reaches a managed server; it is restarted if it is not yet reachable that way
    /// ([`managed::ServerOptions::via`]). pgdyno's own connections use its socket.
    ///
    /// # Errors
    /// When that is impossible, or we do not own the server.
    pub fn reach_by(&mut self, via: NetworkAccess) -> Result<(), Error> {
        match &mut self.server {
            TargetServer::Managed(cluster) => cluster.listen(via)?,
            TargetServer::Url(_) => {
                let reason = "a server by URL is reached as that says: give it with another host or sslmode";
                return Err(not_available("another kind of connection is", reason));
            }
        }
        self.via = via;
        Ok(())
    }

    /// Where the load connects, with the session settings of the arm.
    #[must_use]
    pub fn place(&self) -> Place {
        let place = match &self.server {
            // The way chosen before exists as long as the server is used.
            TargetServer::Managed(cluster) => cluster.place_by(self.via, &self.database),
            TargetServer::Url(_) => None,
        };
        with_session_settings(&place.unwrap_or_else(|| self.plain_place()), &self.applied.session)
    }

    /// Another server's place, such as a replica's, with the session settings of the arm.
    #[must_use]
    pub fn with_arm_settings(&self, place: &Place) -> Place {
        with_session_settings(place, &self.applied.session)
    }

    /// Where the load looks for a server it lost, starting with [`Target::place`], and which servers it
    /// accepts; empty if there is no other.
    #[must_use]
    pub fn places_again(&self) -> (Vec<Place>, TargetSession) {
        let TargetServer::Url(server) = &self.server else { return (Vec::new(), TargetSession::Any) };
        let wanted = server.config().target_session_attrs;
        if server.config().hosts.len() < 2 {
            return (Vec::new(), wanted);
        }
        let places = server.places_again(Some(&self.database)).into_iter();
        (places.map(|place| with_session_settings(&place, &self.applied.session)).collect(), wanted)
    }

    fn plain_place(&self) -> Place {
        plain_place(&self.server, &self.database)
    }

    /// Where a pooler in front of this server connects, without the session settings of an arm:
    /// [`crate::pooler::Pooler::start`] takes those from [`Target::applied`].
    #[must_use]
    pub fn upstream(&self) -> Upstream {
        let ssl = match &self.server {
            TargetServer::Managed(_) => SslOptions { mode: SslMode::Disable, ..SslOptions::default() },
            TargetServer::Url(server) => server.config().ssl.clone(),
        };
        Upstream { place: self.plain_place(), ssl }
    }

    /// Where a tile server in front of this server connects: as the load does, but to a managed server by its
    /// socket.
    #[must_use]
    pub fn arm_upstream(&self) -> Upstream {
        let upstream = self.upstream();
        Upstream { place: with_session_settings(&upstream.place, &self.applied.session), ..upstream }
    }

    /// A control connection, like the load's but without timeouts, which apply to the load only.
    pub fn control(&self) -> Result<Control, Error> {
        let place = with_session_settings(&self.plain_place(), &without_timeouts(&self.applied.session));
        Control::open(&place, Some(CONNECTING))
    }

    /// A connection exactly like the load's.
    pub fn control_like_load(&self) -> Result<Control, Error> {
        Control::open(&self.place(), Some(CONNECTING))
    }

    /// Makes sure that nobody else changes the server's settings while we measure, before anything is
    /// prepared. With `sets` our arms set something and may do so for the whole server: it is then reserved
    /// until our end.
    ///
    /// # Errors
    /// When another pgdyno works there.
    pub fn reserve(&mut self, sets: bool) -> Result<(), Error> {
        let TargetServer::Url(server) = &self.server else { return Ok(()) };
        let other = self.recovered.iter().find_map(|recovered| match recovered {
            Recovered::InUse(left) => Some(left),
            _ => None,
        });
        if let Some(other) = other {
            return Err(already_changed(other));
        }
        let place = server.place(Some(&self.database));
        match self.journal.as_mut().filter(|_| sets) {
            Some(journal) => journal.claim(&mut Control::open(&place, Some(CONNECTING))?),
            None => Ok(()),
        }
    }

    /// What may be done to the server for an arm, by the role of `control`.
    #[must_use]
    pub fn means(&self, control: &Control) -> Means {
        let superuser = control.reported("is_superuser") == Some("on");
        match &self.server {
            TargetServer::Managed(_) => Means { restart: true, server: true, session: true, superuser },
            TargetServer::Url(server) => Means {
                restart: false,
                server: self.journal.is_some(),
                session: !server.pooling().is_shared(),
                superuser,
            },
        }
    }

    /// The machine that values like `25% of memory` refer to: ours, for a managed server.
    ///
    /// # Errors
    /// For a server given by URL, whose machine SQL does not show.
    pub fn machine(&self) -> Result<Machine, Error> {
        match self.server {
            TargetServer::Managed(_) => Ok(Machine::here()),
            TargetServer::Url(_) => Err(not_available(
                "memory and cores of the server are",
                "a URL target shows only SQL; write the value itself, e.g. shared_buffers = \"4GB\"",
            )),
        }
    }

    /// Applies exactly these settings to the server (with computed values, see
    /// [`crate::settings::resolve_all`]).
    ///
    /// # Errors
    /// When they are not in force afterwards; the server then has its own settings again.
    pub fn apply(&mut self, wanted: &SettingValues) -> Result<&Applied, Error> {
        self.apply_with(wanted, false)
    }

    /// As [`Target::apply`], with a restart of a managed server in any case.
    ///
    /// # Errors
    /// As [`Target::apply`].
    pub fn reapply(&mut self, wanted: &SettingValues) -> Result<&Applied, Error> {
        self.apply_with(wanted, true)
    }

    fn apply_with(&mut self, wanted: &SettingValues, with_restart: bool) -> Result<&Applied, Error> {
        self.applied = Applied::default();
        self.applied = match &mut self.server {
            TargetServer::Managed(cluster) => apply_managed(cluster, &self.database, wanted, with_restart)?,
            TargetServer::Url(server) => {
                let place = server.place(Some(&self.database));
                restore_settings(self.journal.as_mut(), &place)?;
                let applied = apply_url(&place, server.pooling(), wanted, self.journal.as_mut());
                if applied.is_err() {
                    let _concluding = Stop::of_process().concluding();
                    let _ = restore_settings(self.journal.as_mut(), &place);
                }
                applied?
            }
        };
        self.changed = !self.applied.server.is_empty();
        Ok(&self.applied)
    }

    /// The settings in force.
    #[must_use]
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Makes a change of the user in the measured database: records, does and checks it; see
    /// [`crate::change`]. If that fails, its effects are undone. Until [`Target::undo`] a watchdog undoes it
    /// when we die, otherwise the next command. A change without a do is only checked, on any server.
    ///
    /// # Errors
    /// An invalid change, before anything is done; why it could not be made, or undone
    /// either.
    pub fn make(&mut self, change: &Change, options: &change::ChangeOptions) -> Result<ChangeResult, Error> {
        change::validate(change, options.thrown_away)?;
        if change.do_.is_none() {
            let seen = change.check.as_ref().map(|check| change::see(&self.plain_place(), check));
            return seen.transpose().map(|_| ChangeResult::default());
        }
        let for_good = change.undo.is_none() || options.thrown_away;
        let environment = self.command_environment(options.folder.clone());
        let Some(journal) = &mut self.journal else {
            return Err(change::not_allowed(&change.words()));
        };
        let place = plain_place(&self.server, &self.database);
        if for_good {
            return journal.make_for_good(&place, change, &environment, options.bound);
        }
        let mut control = Control::open(&place, Some(CONNECTING))?;
        journal.make(&mut control, change, environment, options.bound)
    }

    /// Undoes the changes made so far, the last one first; returns them.
    ///
    /// # Errors
    /// When one of them cannot be undone now; it stays recorded.
    pub fn undo(&mut self) -> Result<Vec<String>, Error> {
        let _concluding = Stop::of_process().concluding();
        let place = self.plain_place();
        self.journal.as_mut().map_or(Ok(Vec::new()), |journal| journal.undo_changes(&place))
    }

    /// Undoes one of them; does nothing if it was not made.
    ///
    /// # Errors
    /// When it cannot be undone now; it stays recorded.
    pub fn undo_one(&mut self, change: &Change) -> Result<(), Error> {
        let _concluding = Stop::of_process().concluding();
        let place = self.plain_place();
        self.journal.as_mut().map_or(Ok(()), |journal| journal.undo_change(&place, change))
    }

    /// Records scratch data of a job, which drops them itself: until [`Target::settle_scratch`] a watchdog drops
    /// them when we die, otherwise the next command.
    ///
    /// # Errors
    /// When that cannot be recorded, or another pgdyno changes the server.
    pub fn note_scratch(&mut self, change: &Change) -> Result<(), Error> {
        let mut control = Control::open(&self.plain_place(), Some(CONNECTING))?;
        if let (None, TargetServer::Url(server)) = (&self.journal, &self.server) {
            self.scratch = Some(server.new_journal()?);
        }
        let journal = self.journal.as_mut().or(self.scratch.as_mut());
        journal.map_or(Ok(()), |journal| journal.note_scratch(&mut control, change))
    }

    /// The job dropped its scratch data.
    pub fn settle_scratch(&mut self, change: &Change) {
        for journal in self.journal.iter_mut().chain(&mut self.scratch) {
            journal.settle(change);
        }
    }

    /// The user's current changes, by their do.
    #[must_use]
    pub fn changes(&self) -> Vec<String> {
        self.journal.as_ref().map(Journal::changes).unwrap_or_default()
    }

    fn command_environment(&self, folder: Option<PathBuf>) -> Environment {
        let more = match &self.server {
            TargetServer::Managed(_) => Vec::new(),
            TargetServer::Url(server) => server.command_environment(),
        };
        Environment::of(&self.for_programs(), more).starting_in(folder)
    }

    /// Undoes the user's changes, and restores the server's own settings.
    pub fn restore(&mut self) -> Result<Effort, Error> {
        // After a stop everything is still restored, unless the user stops once more.
        let _concluding = Stop::of_process().concluding();
        self.applied = Applied::default();
        self.changed = false;
        let undone = self.undo();
        let effort = match &mut self.server {
            TargetServer::Managed(cluster) => restore_managed(cluster),
            TargetServer::Url(server) => {
                let place = server.place(Some(&self.database));
                restore_settings(self.journal.as_mut(), &place)
            }
        }?;
        undone.map(|_| effort)
    }

    /// Stops a copy and removes it. The user's changes that have an undo are undone before, for their effects
    /// elsewhere. Other servers are released.
    ///
    /// # Errors
    /// When a change cannot be undone, or the copy cannot be removed; it then stays.
    pub fn throw_away(mut self) -> Result<(), Error> {
        self.undo()?;
        self.changed = false;
        match &mut self.server {
            TargetServer::Managed(cluster) if cluster.is_copy() => cluster.remove(),
            _ => Ok(()),
        }
    }

    /// What was restored on servers that an earlier, killed pgdyno had changed, or must still be.
    #[must_use]
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Checks that the server still exists, as far as possible without a query.
    ///
    /// # Errors
    /// When a managed server died, or its disk is full; with its last log lines.
    pub fn check(&mut self) -> Result<(), Error> {
        match &mut self.server {
            TargetServer::Managed(cluster) => cluster.check(),
            TargetServer::Url(_) => Ok(()),
        }
    }

    /// Starts a managed server again after it died.
    ///
    /// # Errors
    /// When it does not start, or we do not own the server.
    pub fn revive(&mut self) -> Result<(), Error> {
        match &mut self.server {
            TargetServer::Managed(cluster) => cluster.start(),
            TargetServer::Url(_) => Err(not_available("starting the server is", "it is not pgdyno's")),
        }
    }

    /// The managed server, for what needs its machine (log, disk, restart).
    ///
    /// # Errors
    /// For a server given by URL.
    pub fn cluster(&mut self) -> Result<&mut Cluster, Error> {
        match &mut self.server {
            TargetServer::Managed(cluster) => Ok(cluster),
            TargetServer::Url(_) => {
                Err(not_available("the server's machine is", "a URL target shows only SQL"))
            }
        }
    }

    /// Pid of the postmaster on this machine, to count its CPU time.
    #[must_use]
    pub fn postmaster(&self) -> Option<u32> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.pid(),
            TargetServer::Url(_) => None,
        }
    }

    /// The log of a managed server.
    #[must_use]
    pub fn log_path(&self) -> Option<PathBuf> {
        match &self.server {
            TargetServer::Managed(cluster) => Some(cluster.log_path()),
            TargetServer::Url(_) => None,
        }
    }

    /// The server's data folder on this machine.
    #[must_use]
    pub fn data_folder(&self) -> Option<PathBuf> {
        match &self.server {
            TargetServer::Managed(cluster) => Some(cluster.data()),
            TargetServer::Url(_) => None,
        }
    }

    /// The storage of a managed server's files, in words; `None` where all are in its folder in the home.
    #[must_use]
    pub fn storage_label(&self) -> Option<String> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.storage_label(),
            TargetServer::Url(_) => None,
        }
    }

    /// Which files are stored elsewhere.
    #[must_use]
    pub fn storage_holds(&self) -> Option<Holds> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.storage_holds(),
            TargetServer::Url(_) => None,
        }
    }

    /// Size of those files; see [`Cluster::storage_used`].
    pub fn storage_used(&self) -> Result<Option<Used>, Error> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.storage_used(),
            TargetServer::Url(_) => Ok(None),
        }
    }

    /// Drops all caches of a filesystem made for a managed server; see [`Cluster::drop_storage_caches`].
    /// Returns whether there is one.
    pub fn drop_storage_caches(&mut self) -> Result<bool, Error> {
        match &mut self.server {
            TargetServer::Managed(cluster) => cluster.drop_storage_caches(),
            TargetServer::Url(_) => Ok(false),
        }
    }

    /// Makes a database on a managed server; on another one it must exist, which connecting shows.
    pub fn ensure_database(&mut self, database: &str) -> Result<(), Error> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.ensure_database(database).map(drop),
            TargetServer::Url(_) => Ok(()),
        }
    }

    /// Makes an extension in the database of a managed server; on another one it must exist.
    ///
    /// # Errors
    /// When it is not installed, or missing.
    pub fn ensure_extension(&mut self, extension: &str) -> Result<(), Error> {
        match &self.server {
            TargetServer::Managed(cluster) => cluster.ensure_extension(&self.database, extension),
            TargetServer::Url(_) if self.has_extension(extension)? => Ok(()),
            TargetServer::Url(_) => {
                let what = format!(
                    "database {} has no extension {extension}; run there: CREATE EXTENSION {extension}",
                    self.database
                );
                Err(Error::new(Class::Missing, what))
            }
        }
    }

    fn has_extension(&self, extension: &str) -> Result<bool, Error> {
        let name = protocol::postgres::sql::quote_literal(extension);
        let query = format!("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = {name}");
        let found = self.control()?.scalar(&query);
        Ok(found.map_err(|error| sql_error("looking for extensions", error))?.is_some())
    }

    /// The connection without secrets.
    #[must_use]
    pub fn redacted(&self) -> String {
        match &self.server {
            TargetServer::Managed(cluster) => {
                let host = match self.via {
                    NetworkAccess::Socket => cluster.socket_folder().display().to_string(),
                    NetworkAccess::Tcp | NetworkAccess::Tls => "localhost".to_owned(),
                };
                let tls = if self.via == NetworkAccess::Tls { " sslmode=verify-full" } else { "" };
                format!(
                    "host={host} port={} user={} dbname={}{tls}",
                    cluster.port(),
                    managed::SUPERUSER,
                    self.database
                )
            }
            TargetServer::Url(server) => server.redacted(),
        }
    }

    /// Notes the commit that pgdyno built its PostgreSQL from.
    pub fn built_from(&mut self, commit: &str) {
        self.commit = Some(commit.to_owned());
    }

    /// How its PostgreSQL was built, over a connection to it.
    ///
    /// # Errors
    /// When the server cannot be asked, or a file of its build cannot be read.
    pub fn build(&self, control: &mut Control) -> Result<spec::BuildRecord, Error> {
        let mut build =
            build::asked(control).map_err(|error| sql_error("reading how it was built", error))?;
        if let TargetServer::Managed(cluster) = &self.server {
            build.tree = self.build_tree()?;
            build.commit = self.commit.clone().or_else(|| commit_of(&cluster.installation().bin));
        }
        Ok(build)
    }

    /// The stored description of the target, read over a connection to it; `versions` are those of other programs by
    /// name.
    pub fn record(
        &self,
        control: &mut Control,
        versions: BTreeMap<String, String>,
    ) -> Result<spec::MeasuredTarget, Error> {
        let failed = |error| sql_error("reading versions", error);
        let server_version = control.scalar("SHOW server_version").map_err(failed)?.unwrap_or_default();
        let has_postgis = control.scalar("SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'postgis'");
        let postgis_version = match has_postgis.map_err(failed)? {
            // The function is in the extension's schema; if the search path does not include it, the version
            // stays unknown.
            Some(_) => control.scalar("SELECT postgis_full_version()").ok().flatten(),
            None => None,
        };
        Ok(spec::MeasuredTarget {
            build: Some(self.build(control)?),
            kind: self.kind().to_owned(),
            dsn_redacted: self.redacted(),
            server_version,
            postgis_version,
            versions,
        })
    }

    /// The database in the form for programs like osm2pgsql.
    #[must_use]
    pub fn for_programs(&self) -> Database {
        let place = self.plain_place();
        let (host, port) = match &self.server {
            TargetServer::Managed(cluster) => {
                (cluster.socket_folder().to_string_lossy().into_owned(), cluster.port())
            }
            TargetServer::Url(server) => server.libpq_host(),
        };
        let password = place.login.password.as_ref();
        Database {
            host,
            port,
            user: place.login.user.clone(),
            dbname: self.database.clone(),
            password: password.map(|password| String::from_utf8_lossy(password.as_bytes()).into_owned()),
        }
    }

    /// Environment for such programs: our TLS options, and the session settings of the arm.
    #[must_use]
    pub fn environment_for_programs(&self) -> Vec<(OsString, OsString)> {
        let mut env = match &self.server {
            TargetServer::Managed(_) => Vec::new(),
            TargetServer::Url(server) => server.libpq_environment(),
        };
        if let Some((_, options)) = self.place().login.parameters.iter().find(|(name, _)| name == "options") {
            env.push(("PGOPTIONS".into(), options.into()));
        }
        env
    }
}

fn plain_place(server: &TargetServer, database: &str) -> Place {
    match server {
        TargetServer::Managed(cluster) => cluster.place(database),
        TargetServer::Url(server) => server.place(Some(database)),
    }
}

fn restore_settings(journal: Option<&mut Journal>, place: &Place) -> Result<Effort, Error> {
    let Some(journal) = journal.filter(|journal| journal.has_settings()) else {
        return Ok(Effort::None);
    };
    let mut control = Control::open(place, Some(std::time::Duration::from_secs(30)))?;
    journal.undo(&mut control)?;
    Ok(Effort::Reload)
}

impl Drop for Target {
    fn drop(&mut self) {
        // Changes on a server that is stopped with us must not be left to its next user.
        let _ = self.undo();
        if self.changed {
            // What cannot be restored now is restored by the next command: both kinds keep what they need for
            // it.
            let _ = match &mut self.server {
                // A server that is about to stop needs no reload.
                TargetServer::Managed(cluster) if !cluster.is_detached() => {
                    cluster.restore_settings().map(drop)
                }
                _ => self.restore().map(drop),
            };
        }
    }
}
