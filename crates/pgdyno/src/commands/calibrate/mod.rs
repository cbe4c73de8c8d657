//! `pgdyno calibrate`: the limits of this host as a load generator, by an experiment with `[calibrate]`.

mod file;
mod placement;
pub(super) mod shown;

use std::path::PathBuf;

use super::carry_out::{How, Shown};
use super::part::AskedPart;
use crate::exit::ExitResult;
use crate::options::{Driver, OutputArgs};

/// `pgdyno calibrate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How the load generator sends and receives bytes
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    driver: Driver,
    /// Approximate seconds of all measurements together
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(5..=3600))]
    seconds: u32,
    /// Numbers of clients, all on one thread
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,8,64", value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Folder with PostgreSQL's programs [default: the system's newest; without any, only the built-in sink is
    /// measured]
    #[arg(long, value_name = "DIR", env = "PGDYNO_PG_BIN", hide_env_values = true)]
    pg_bin: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The name of the experiment, and of its unsaved file in messages.
const NAME: &str = "calibrate";

pub(crate) fn run(args: &Args) -> ExitResult {
    let how = How {
        name: NAME.to_owned(),
        dry_run: false,
        again: false,
        report: None,
        pg_bin: args.pg_bin.as_deref(),
        output: &args.output,
        part: AskedPart::WHOLE,
        shown: Shown::Answer,
        is_brief: false,
        consents: true,
    };
    let file = file::made(args).read(NAME, None)?;
    how.carry_out(&file)
}
