//! Options that several commands share, with the same names, meanings and help.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use lab::concurrent::{self, Measuring};
use lab::experiment::{AskedSlices, asked_slices};
use lab::runner::Progress;
use spec::plan::{AskedDriver, Plan, Waiting, WorkMetric};

/// A parser whose known values shells complete; other values may also be valid.
#[derive(Debug, Clone)]
pub(crate) struct KnownValues<T> {
    pub(crate) read: fn(&str) -> Result<T, String>,
    pub(crate) names: &'static [&'static str],
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for KnownValues<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        self.read.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(|name| PossibleValue::new(*name))))
    }
}

#[derive(Debug, Clone)]
pub(crate) struct WrittenSlices {
    pub(crate) text: String,
    pub(crate) asked: AskedSlices,
}

impl WrittenSlices {
    /// The value in an experiment; `None`: chosen by pgdyno.
    pub(crate) fn value(&self) -> Option<toml::Value> {
        let word = self.text.as_str();
        (word != "auto").then(|| word.parse().map_or_else(|_| word.into(), toml::Value::Boolean))
    }

    pub(crate) const VALUES: KnownValues<Self> = KnownValues {
        read: |text| Ok(Self { text: text.to_owned(), asked: asked_slices(text)? }),
        names: &["auto", "true", "false"],
    };
}

/// The metric that gives the answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AnswerMetric {
    /// Throughput, transactions per second
    Tps,
    /// Server CPU per transaction, of a server on this machine
    Cpu,
}

impl From<AnswerMetric> for WorkMetric {
    fn from(asked: AnswerMetric) -> Self {
        match asked {
            AnswerMetric::Tps => Self::Tps,
            AnswerMetric::Cpu => Self::Cpu,
        }
    }
}

/// Kinds of changes that `--against` accepts before a colon.
pub(crate) const AGAINST: [&str; 6] = ["settings", "script", "url", "version", "build", "sql"];

pub(crate) fn size(text: &str) -> Result<u64, String> {
    spec::bytes_of(text).ok_or_else(|| "must be a size with its unit, such as 100MB or 2GB".to_owned())
}

/// Which results file.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Results {
    /// Results file [default: ./pgdyno.sqlite]
    #[arg(long, value_name = "FILE", env = "PGDYNO_RESULTS", hide_env_values = true)]
    pub(crate) results: Option<PathBuf>,
}

impl Results {
    pub(crate) fn path(&self) -> PathBuf {
        server::home::results_path(self.results.as_deref())
    }
}

/// Which experiment in the results file.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Selection {
    #[command(flatten)]
    pub(crate) results: Results,
    /// Experiment by number or name [default: the newest one]
    #[arg(long, short = 'e', value_name = "NUMBER|NAME")]
    pub(crate) experiment: Option<String>,
}

/// How to print data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// A table for people
    #[default]
    Text,
    /// An array of objects
    Json,
    /// Comma-separated, with a header; texts such as =1+1 get an apostrophe, against formulas in spreadsheets
    Csv,
    /// The same without that apostrophe
    CsvFormulas,
    /// A Markdown table
    Md,
}

impl OutputFormat {
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Text | Self::Md)
    }
}

/// The format option, alike everywhere.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct FormatOption {
    /// How to print data on standard output
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
}

/// Progress messages, the results file, and the format of output.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct OutputArgs {
    /// Show the plan, and each step and run in a line on standard error
    #[arg(long, short = 'v')]
    pub(crate) verbose: bool,
    /// Do not wait for another pgdyno that measures here; the runs of both are then suspect
    #[arg(long)]
    pub(crate) beside: bool,
    #[command(flatten)]
    pub(crate) results: Results,
    #[command(flatten)]
    pub(crate) format: FormatOption,
}

impl OutputArgs {
    /// Announces this measurement to other pgdyno processes until the result is dropped.
    pub(crate) fn measuring(&self, plan: &Plan, progress: &mut dyn Progress) -> Measuring {
        // The other arguments may contain a password.
        let command = std::env::args().nth(1).unwrap_or_default();
        concurrent::announce(&format!("pgdyno {command}"), plan, self.beside, progress)
    }
}

/// Whose PostgreSQL private servers run.
#[derive(Debug, Args)]
#[command(next_help_heading = None::<&str>)]
pub(crate) struct Programs {
    /// Folder with PostgreSQL's programs [default: the system's newest]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pub(crate) pg_bin: Option<PathBuf>,
}

/// What moves the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// By the clients per thread of the largest run, and by the kernel
    #[default]
    Auto,
    /// epoll or kqueue
    Portable,
    /// Linux's io_uring
    #[value(name = "io_uring")]
    IoUring,
}

impl Driver {
    /// The value in an experiment; `None`: chosen by pgdyno.
    pub(crate) fn asked(self) -> Option<AskedDriver> {
        match self {
            Self::Auto => None,
            Self::Portable => Some(AskedDriver::Portable),
            Self::IoUring => Some(AskedDriver::IoUring),
        }
    }
}

/// What a thread does that waits for answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitChoice {
    /// Poll where each thread has a CPU for itself and 32 clients or more, else sleep
    #[default]
    Auto,
    /// Sleep at once
    Sleep,
    /// Poll for 50 µs before sleeping; needs a CPU for each thread
    Spin,
}

impl WaitChoice {
    /// The value in an experiment; `None`: chosen by pgdyno.
    pub(crate) fn asked(self) -> Option<Waiting> {
        Some(self.into()).filter(|_| self != Self::Auto)
    }
}

impl From<WaitChoice> for Waiting {
    fn from(wait: WaitChoice) -> Self {
        match wait {
            WaitChoice::Auto => Self::Auto,
            WaitChoice::Sleep => Self::Sleep,
            WaitChoice::Spin => Self::Spin,
        }
    }
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

/// Reads a time for checks: seconds, up to an hour.
///
/// # Errors
/// As text, when it is no such number.
pub(crate) fn check_time(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "must be a number of seconds from 0.1 to 3600".to_owned())
}
