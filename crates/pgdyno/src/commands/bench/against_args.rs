//! Arguments of a comparison without a file.

use std::path::PathBuf;
use std::time::Duration;

use crate::options::{AnswerMetric, WrittenSlices};

/// How builds from git are made.
#[derive(Debug, Clone, Default, clap::Args)]
pub(in crate::commands) struct BuildArgs {
    /// Repository of 'build: git …': PostgreSQL, or an extension with PGXS [default: the current folder]
    #[arg(long, value_name = "FOLDER", requires = "against")]
    pub(in crate::commands) source: Option<PathBuf>,
    /// Options of builds from git: of configure or meson, or variables of make for an extension, such as '--with-icu
    /// CFLAGS=-O3'. Without any, configure compiles with -O2
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, requires = "against")]
    pub(in crate::commands) configure: Option<String>,
}

impl BuildArgs {
    pub(in crate::commands) fn is_given(&self) -> bool {
        self.source.is_some() || self.configure.is_some()
    }
}

/// What is changed on the other side.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison")]
pub(in crate::commands) struct Compare {
    /// Compare with one change: 'settings: jit=off', 'script: new.sql', 'url: postgres://…', 'version: 18', 'build:
    /// git master, git my-branch', 'build: ~/pg/master, ~/pg/patched' or 'sql: create index …'
    #[arg(long, value_name = "KIND: WHAT", allow_hyphen_values = true)]
    pub(in crate::commands) against: Vec<String>,
    #[command(flatten)]
    pub(in crate::commands) builds: BuildArgs,
    /// SQL that undoes 'sql: …'. Required, except on a private server
    #[arg(long, value_name = "SQL", requires = "against")]
    pub(in crate::commands) undo: Option<String>,
    /// Allow changes of the whole server: settings by a reload, and SQL. They are undone at the end
    #[arg(long, requires = "against")]
    pub(in crate::commands) change_server: bool,
    /// Differences below this count as "the same", in percent [default: 3]
    #[arg(long, value_name = "PCT", value_parser = margin, allow_negative_numbers = true, requires = "against")]
    pub(in crate::commands) margin: Option<f64>,
}

/// What is compared, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct AgainstArgs {
    #[command(flatten)]
    pub(super) compare: Compare,
    /// Number of rounds. A larger number extends a finished comparison [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), requires = "against")]
    pub(super) rounds: Option<u32>,
    /// Whether both sides take turns in short slices: auto, true, false or a length such as 100ms [default: auto]
    #[arg(long, value_name = "WHICH", value_parser = WrittenSlices::VALUES, hide_possible_values = true, requires = "against")]
    pub(super) slices: Option<WrittenSlices>,
    /// Whether both sides keep their sessions from round to round, which shows effects of a session's age: true or
    /// false [default: true for versions and builds]
    #[arg(long, value_name = "WHETHER", requires = "against")]
    pub(super) keep_sessions: Option<bool>,
    /// Maximum seconds for the check of each workload before its runs, and for the plans after one [default: 10]
    #[arg(long, value_name = "SEC", value_parser = crate::options::check_time, requires = "against")]
    pub(super) check_time: Option<Duration>,
    /// Metric that decides the verdict [default: tps]
    #[arg(long, value_enum, value_name = "METRIC", requires = "against")]
    pub(super) metric: Option<AnswerMetric>,
    /// Also write this as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(super) save: Option<PathBuf>,
    /// Show the plan, and run nothing
    #[arg(long, requires = "against")]
    pub(super) dry_run: bool,
    /// Measure again what is finished, as a new experiment
    #[arg(long, requires = "against")]
    pub(super) again: bool,
    /// Allow both arms to be the same, to see random differences alone
    #[arg(long, requires = "against")]
    pub(super) same: bool,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(super) report: Option<PathBuf>,
}

pub(in crate::commands) fn margin(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent < 100.0);
    percent.ok_or_else(|| "must be a number of percent above 0 and below 100, without the sign".to_owned())
}

impl AgainstArgs {
    pub(crate) fn is_asked(&self) -> bool {
        !self.compare.against.is_empty()
    }
}
