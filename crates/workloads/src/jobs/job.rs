//! The seam between `lab` and a job.

use std::collections::BTreeMap;
use std::path::Path;

use osm::synth::Synthetic;
use protocol::postgres::Database;
use protocol::postgres::sql::Sql;
use spec::given;

use super::child::RunChild;
use super::report::JobReport;
use super::runtime::Runtime;
use crate::error::WorkloadError;

/// Contents of the files that jobs read: SHA-256 by the name of [`Job::files`].
pub type Inputs = BTreeMap<String, String>;

/// What a job puts on the server's disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// About how many bytes.
    pub bytes: u64,
    /// Tables that it drops before.
    pub drops: &'static [&'static str],
    /// Whether it goes to another place than the database's own.
    pub elsewhere: bool,
}

/// Work that is done once, to its end, before the runs.
///
/// `lab` asks whether what the job makes is there already and was made from the same; else it gets the job the
/// extensions it needs, and runs it.
pub trait Job {
    /// What its record is kept under: `osm`, `pgbench -i`, `sql points.sql`.
    fn name(&self) -> String;

    /// What it does, in words: `load malta.osm.pbf with osm2pgsql`.
    fn what(&self) -> String;

    /// The files it reads, each with the name that its content is known by.
    fn files(&self) -> Vec<(String, &Path)> {
        Vec::new()
    }

    /// The synthetic extract that must be made first, if it works on one.
    fn synthetic(&self) -> Option<Synthetic> {
        None
    }

    /// Bytes of what it works on, by which it is known again, when synthetic extracts are in this folder; 0 where there is no
    /// such thing.
    fn input_bytes(&self, _extracts: &Path) -> u64 {
        0
    }

    /// What it puts on the server's disk, where that is known before.
    fn fill(&self) -> Option<Fill> {
        None
    }

    /// What its data are made from: options without the places of files, and the contents of those. Equal parts give
    /// equal data, also in later builds.
    fn made_from(&self, inputs: &Inputs) -> Vec<String>;

    /// A table that is there once it was done; `None` where none shows it.
    fn table(&self) -> Option<String> {
        None
    }

    /// Whether it is to be done again when a job before it was: its data may be made from theirs.
    fn builds_on_earlier(&self) -> bool {
        false
    }

    /// Extensions that it needs in the database.
    fn extensions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Does it.
    ///
    /// # Errors
    /// Why it could not be done; what it did so far may be there.
    fn run(&self, site: &mut JobSite<'_>) -> Result<JobReport, WorkloadError>;

    /// Takes away what must not stay, however the job ended; gives remarks. Called once it is over, on a connection that
    /// still works after a stop.
    ///
    /// # Errors
    /// When the server refuses: it is still there then.
    fn clear_away(&self, _sql: &mut dyn Sql) -> Result<Vec<String>, WorkloadError> {
        Ok(Vec::new())
    }
}

/// What a job is lent.
pub struct JobSite<'a> {
    /// A control connection.
    pub sql: &'a mut dyn Sql,
    /// Further connections, the clock, and whether to stop.
    pub runtime: &'a dyn Runtime,
    pub programs: &'a mut dyn RunChild,
    /// The database, for programs.
    pub database: &'a Database,
    pub cpus: u32,
    pub extracts: &'a Path,
    /// Told what the user should know, and what is to be remembered of the data.
    pub remark: &'a mut dyn FnMut(String),
    /// Told what is being done now, where that changes every few seconds.
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

/// Says why a file cannot be read, if so.
pub(crate) fn must_be_readable(path: &Path) -> Result<(), String> {
    given::open(path).map(drop).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}
