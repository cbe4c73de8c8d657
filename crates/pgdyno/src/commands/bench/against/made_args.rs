//! Common arguments of commands that become an experiment file.

use std::path::PathBuf;

use super::made::Use;
use crate::commands::bench::asked::BenchRequest;
use crate::commands::bench::user_args::UserArgs;
use crate::commands::bench::{Conduct, Scripts, TableArgs, TargetArgs};
use crate::commands::carry_out::Shown;
use crate::options::OutputArgs;

/// The arguments that all of them share.
#[derive(Debug, clap::Args)]
pub(crate) struct MadeArgs {
    #[command(flatten)]
    pub(in crate::commands) scripts: Scripts,
    #[command(flatten)]
    pub(in crate::commands) users: UserArgs,
    #[command(flatten)]
    conduct: Conduct,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    pub(in crate::commands) target: TargetArgs,
    /// Also write this as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show the plan, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Measure again what is finished, as a new experiment
    #[arg(long)]
    again: bool,
    /// Also write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl MadeArgs {
    pub(in crate::commands) fn asked(&self) -> BenchRequest<'_> {
        let Self { tables, scripts, conduct, target, users, .. } = self;
        BenchRequest { tables, scripts, conduct, target, users, latency_limit_ms: None }
    }

    /// How the file is used; messages call it `nowhere`.
    pub(in crate::commands) fn used(&self, nowhere: &'static str, shown: Shown) -> Use<'_> {
        Use {
            nowhere,
            asked: Some(self.asked()),
            save: self.save.as_deref(),
            dry_run: self.dry_run,
            again: self.again,
            same: false,
            report: self.report.as_deref(),
            pg_bin: None,
            output: &self.output,
            shown,
        }
    }
}
