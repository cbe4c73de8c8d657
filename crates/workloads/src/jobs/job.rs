//! The interface between `lab` and a job.

use std::collections::BTreeMap;
use std::path::Path;

use osm::synth::Synthetic;
use protocol::http::HttpConnector;
use protocol::postgres::Database;
use protocol::postgres::sql::{Sql, SqlError};
use spec::plan::change::Change;
use spec::{Error, given};

use super::child::RunChild;
use super::report::JobReport;

/// Contents of the files that jobs read: SHA-256 by the name from [`Job::files`].
pub type Inputs = BTreeMap<String, String>;

/// The disk space that a job needs on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// An estimate.
    pub bytes: u64,
    /// Tables that it drops before.
    pub drops: &'static [&'static str],
    /// Whether it is stored elsewhere than the database.
    pub elsewhere: bool,
}

/// Work that is done once, to its end, before the runs.
///
/// `lab` checks whether the job's result exists already and was made from the same inputs; otherwise it makes
/// the extensions that the job needs, and runs it.
pub trait Job {
    /// The name of its record: `osm`, `pgbench -i`, `sql points.sql`.
    fn name(&self) -> String;

    /// In words: `load malta.osm.pbf with osm2pgsql`.
    fn what(&self) -> String;

    /// The files it reads, each with the name of its content.
    fn files(&self) -> Vec<(String, &Path)> {
        Vec::new()
    }

    /// The synthetic extract that must be made first, if any.
    fn synthetic(&self) -> Option<Synthetic> {
        None
    }

    /// Size of its input, to recognise it, with synthetic extracts in this folder; 0 if it has none.
    fn input_bytes(&self, _extracts: &Path) -> u64 {
        0
    }

    /// How long it takes at most on an ordinary machine, seconds, with an input of this size; `None` if nobody
    /// knows.
    fn most_s(&self, _input_bytes: u64) -> Option<f64> {
        None
    }

    /// The disk space it needs, if known in advance.
    fn fill(&self) -> Option<Fill> {
        None
    }

    /// What its data are made from: options without the paths of files, and the contents of the files. Equal
    /// parts give equal data, also in later builds.
    fn made_from(&self, inputs: &Inputs) -> Vec<String>;

    /// A table that exists once it is done; `None` if there is none.
    fn table_name(&self) -> Option<String> {
        None
    }

    /// Whether it must be repeated after an earlier job was: its data may be made from that one's.
    fn builds_on_earlier(&self) -> bool {
        false
    }

    /// Extensions that it needs in the database.
    fn extensions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Data that [`Self::clear_away`] removes, as a change with its undo: what must be undone if we are killed.
    ///
    /// # Errors
    /// When the server does not say whether it makes any.
    fn scratch(&self, _sql: &mut dyn Sql) -> Result<Option<Change>, Error> {
        Ok(None)
    }

    /// Runs the job.
    ///
    /// # Errors
    /// Why it failed; a part of its result may exist.
    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, Error>;

    /// Called once its run is stored: what it kept to go on with is not needed any more.
    ///
    /// # Errors
    /// When that cannot be removed.
    fn stored(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Removes what must not stay, however the job ended; returns remarks. Called at the end, on a connection
    /// that still works after a stop.
    ///
    /// # Errors
    /// When the server refuses: it still exists then.
    fn clear_away(&self, _sql: &mut dyn Sql) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

/// What a job can use.
pub struct JobSite<'a> {
    pub sql: &'a mut dyn Sql,
    pub runtime: &'a dyn Runtime,
    pub programs: &'a mut dyn RunChild,
    /// Connections to web servers.
    pub http: &'a (dyn HttpConnector + Sync),
    pub database: &'a Database,
    pub cpus: u32,
    pub extracts: &'a Path,
    /// Folder for what an interrupted job goes on with.
    pub kept: &'a Path,
    /// Called with facts for the user that are stored with the data.
    pub remark: &'a mut dyn FnMut(String),
    /// Called with what is being done, every few seconds.
    pub doing: &'a mut dyn FnMut(String),
}

impl std::fmt::Debug for JobSite<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("JobSite").field("database", &self.database).finish_non_exhaustive()
    }
}

/// A file's name without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The error if a file cannot be read.
pub(crate) fn must_be_readable(path: &Path) -> Result<(), String> {
    given::open(path).map(drop).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// A control connection that can move to another thread.
pub type BoxedSql = Box<dyn Sql + Send>;

/// Further connections, the clock, and the stop switch, provided by the caller of a job. Used by several
/// threads at once.
///
/// On a stop the caller also cancels the statements on the connections: running statements then fail, and no
/// further statement is started.
pub trait Runtime: Sync {
    /// Opens another connection to the same database.
    ///
    /// # Errors
    /// When that fails; without SQLSTATE if a retry may succeed.
    fn connect(&self) -> Result<BoxedSql, SqlError>;

    /// µs on the monotonic clock.
    fn now_us(&self) -> u64;

    /// Sleeps, or less on a stop.
    fn sleep_us(&self, us: u64);

    /// Whether to stop at once.
    fn stopped(&self) -> bool;
}
