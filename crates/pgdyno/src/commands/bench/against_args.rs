//! The arguments of a comparison without a file.

use std::path::PathBuf;

use crate::options::WrittenSlices;

/// What is changed on the other side.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison")]
pub(in crate::commands) struct Compare {
    /// Compare with the same thing changed: 'settings: jit=off', 'script: new.sql', 'url: postgres://…', 'version: 18',
    /// 'sql: create index …' (docs/questions.md#is-my-change-faster)
    #[arg(long, value_name = "KIND: WHAT", allow_hyphen_values = true)]
    pub(in crate::commands) against: Vec<String>,
    /// What undoes 'sql: …'; needed on a server that is not pgdyno's
    #[arg(long, value_name = "SQL", requires = "against")]
    pub(in crate::commands) undo: Option<String>,
    /// The server may be changed for the other side (settings of the whole server by a reload, SQL), and is put back
    #[arg(long, requires = "against")]
    pub(in crate::commands) change_server: bool,
    /// Change that counts as none, percent [default: 3]
    #[arg(long, value_name = "PCT", value_parser = margin, allow_negative_numbers = true, requires = "against")]
    pub(in crate::commands) margin: Option<f64>,
}

/// What is compared, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison")]
pub(crate) struct AgainstArgs {
    #[command(flatten)]
    pub(super) compare: Compare,
    /// Run on a private server that pgdyno makes, with pgbench's tables at scale -s [name: default]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "default", requires = "against")]
    pub(super) managed: Option<String>,
    /// SQL file that puts data on the private server first (repeatable)
    #[arg(long, value_name = "FILE", requires = "managed")]
    pub(super) prepare: Vec<PathBuf>,
    /// Rounds; a finished comparison goes on with the ones that are more [default: 12]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000), requires = "against")]
    pub(super) rounds: Option<u32>,
    /// Whether both sides take turns in slices within a round: auto, true, false or a length such as 100ms [default: auto]
    #[arg(long, value_name = "WHICH", value_parser = WrittenSlices::VALUES, hide_possible_values = true, requires = "against")]
    pub(super) slices: Option<WrittenSlices>,
    /// Also write this comparison as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(super) save: Option<PathBuf>,
    /// Show what would be run, and do nothing
    #[arg(long, requires = "against")]
    pub(super) dry_run: bool,
    /// Measure a finished comparison again, as a new one
    #[arg(long, requires = "against")]
    pub(super) again: bool,
    /// Both sides may be the same: A is compared with A
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
    /// Whether something is to be compared.
    pub(crate) fn is_asked(&self) -> bool {
        !self.compare.against.is_empty()
    }
}
