//! `pgdyno sql`: queries the results file.

use results::Store;

use super::print_as_named;
use crate::exit::{ExitResult, SAME_OR_BETTER};
use crate::options::{FormatOption, Results, size};

/// `pgdyno sql`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One SQL statement that reads; the schema is in docs/reference/results-file.md
    query: String,
    /// Maximum size of the result, of a value, and of the query's memory
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size)]
    max_size: u64,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    let store = Store::open_read_only(&args.results.path())?;
    print_as_named(&store.query_within(&args.query, args.max_size)?, args.format.format)?;
    Ok(SAME_OR_BETTER)
}
