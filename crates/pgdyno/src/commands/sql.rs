//! `pgdyno sql`: a question to the results file.

use results::Store;

use super::print_as_named;
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::options::{FormatOption, Results};

/// `pgdyno sql`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One SQL statement that reads; the schema is in docs/schema.md
    query: String,
    #[command(flatten)]
    results: Results,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let store = Store::open_read_only(&args.results.path())?;
    print_as_named(&store.query(&args.query)?, args.format.format)?;
    Ok(SAME_OR_BETTER)
}
