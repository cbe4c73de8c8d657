//! The arguments of `pgdyno gate`.

use std::path::PathBuf;
use std::time::Duration;

use spec::experiment::value;
use toml::Value;

use crate::options::{AnswerMetric, OutputArgs, Programs};

/// Most time that a gate may take to decide, µs.
const A_DAY: u64 = 24 * 3600 * 1_000_000;

/// `pgdyno gate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Make the experiment file once, and keep it with the code:\n  \
    pgdyno bench --managed -S -c 4 -s 10 --against 'build: master, patched' --save gate.toml\n\
    In each job:\n  \
    pgdyno gate gate.toml --allow-commands --output gate\n\
    Actions for GitHub and GitLab, the history, and what each exit code means: docs/how-to/gate.md")]
pub(crate) struct Args {
    /// Experiment file in TOML that compares something (docs/reference/experiment.md)
    pub(super) file: PathBuf,
    /// Folder for summary.md, gate.json, report.html and charts. Files of these names are replaced
    #[arg(long, short = 'o', value_name = "DIR", default_value = "gate")]
    pub(super) output: PathBuf,
    /// Maximum time for further rounds, after those of the file, until the gate is decided. 0: none
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = budget)]
    pub(super) budget: Duration,
    /// Judge against a base that was measured before: a results file with an experiment of the same file, in which only
    /// the judged arm differs. The change of an arm that both have is taken out
    #[arg(long, value_name = "RESULTS")]
    pub(super) base: Option<PathBuf>,
    /// Which experiment of --base, by number or name [default: the newest]
    #[arg(long, value_name = "EXPERIMENT", requires = "base")]
    pub(super) base_experiment: Option<String>,
    /// The judged commit [default: the commit of the build, GITHUB_SHA, CI_COMMIT_SHA, or the checkout around FILE]
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    pub(super) commit: Option<String>,
    /// The commit of the base [default: the commit of its build]
    #[arg(long, value_name = "COMMIT", value_parser = commit)]
    pub(super) base_commit: Option<String>,
    /// Name of the gate, whose commits are one history [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Show the plan, and run nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Allow the commands, programs and files outside its folder that the file names; --dry-run lists them
    #[arg(long)]
    pub(super) allow_commands: bool,
    /// OpenStreetMap extract for $PGDYNO_DATA in the file
    #[arg(long, value_name = "FILE", env = "PGDYNO_DATA", hide_env_values = true)]
    pub(super) data: Option<PathBuf>,
    /// Repository for builds from git, such as another clone, instead of the file's
    #[arg(long, value_name = "FOLDER")]
    pub(super) source: Option<PathBuf>,
    /// Number of rounds before the first look, instead of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(super) rounds: Option<u32>,
    /// Measure again what is finished, as a new experiment
    #[arg(long)]
    pub(super) again: bool,
    /// Metric that decides the verdict, instead of the file's
    #[arg(long, short = 'm', value_enum, value_name = "METRIC")]
    pub(super) metric: Option<AnswerMetric>,
    #[command(flatten)]
    pub(super) programs: Programs,
    #[command(flatten)]
    pub(super) out: OutputArgs,
}

fn budget(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    value::time(&Value::from(text), 1_000_000, A_DAY)
}

/// A commit or another name of what is judged; it is stored and printed.
fn commit(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_name = !text.is_empty() && text.len() <= 200 && !text.chars().any(char::is_control);
    is_name.then(|| text.to_owned()).ok_or_else(|| "must be one line of at most 200 characters".to_owned())
}
