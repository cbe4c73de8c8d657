//! `pgdyno sql`: a question to the results file.

use results::Store;

use super::{print_as_named, results_path};
use crate::cli;
use crate::exit::{Outcome, SAME_OR_BETTER};

pub(crate) fn run(args: &cli::Sql) -> Outcome {
    let store = Store::open_read_only(&results_path(&args.results))?;
    print_as_named(&store.query(&args.query)?, args.format.format)?;
    Ok(SAME_OR_BETTER)
}
