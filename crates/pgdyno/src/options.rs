//! Options that several commands share: the same names, meanings and help everywhere.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which results file.
#[derive(Debug, Args)]
pub(crate) struct Results {
    /// Results file [default: ./pgdyno.sqlite]
    #[arg(long, value_name = "FILE", env = "PGDYNO_RESULTS", hide_env_values = true)]
    pub(crate) results: Option<PathBuf>,
}

impl Results {
    /// The file that is meant.
    pub(crate) fn path(&self) -> PathBuf {
        target::home::results_path(self.results.as_deref())
    }
}

/// Which experiment in the results file.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    #[command(flatten)]
    pub(crate) results: Results,
    /// Experiment by number or name [default: the newest one]
    #[arg(long, short = 'e', value_name = "NUMBER|NAME")]
    pub(crate) experiment: Option<String>,
}

/// How to print data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    #[default]
    Text,
    /// An array of objects
    Json,
    /// Comma-separated, with a header
    Csv,
    /// A Markdown table
    Md,
}

/// The format option, alike everywhere.
#[derive(Debug, Args)]
pub(crate) struct FormatOption {
    /// How to print data on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// What is said while something runs, where it is kept, and how it is printed.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Name every step of every run on standard error, one line each
    #[arg(long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

/// Whose PostgreSQL private servers run.
#[derive(Debug, Args)]
pub(crate) struct Programs {
    /// Folder with PostgreSQL's programs [default: the system's newest]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
}

/// What moves the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// By clients per thread, and by what the kernel allows
    #[default]
    Auto,
    /// epoll or kqueue
    Portable,
    /// Linux's io_uring
    #[value(name = "io_uring")]
    IoUring,
}

impl From<Driver> for engine::DriverChoice {
    fn from(driver: Driver) -> Self {
        match driver {
            Driver::Auto => Self::Auto,
            Driver::Portable => Self::Portable,
            Driver::IoUring => Self::IoUring,
        }
    }
}
