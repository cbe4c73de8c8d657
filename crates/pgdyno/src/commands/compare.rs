//! `pgdyno compare`: what changed between arms, with interval and verdict.

use report::tables;
use results::comparison::{Comparison, Metric};

use super::{load, print};
use crate::cli;
use crate::exit::{self, BAD_INPUT, Failure, Outcome};
use crate::print::warning;

pub(crate) fn run(args: &cli::Compare) -> Outcome {
    let data = load(&args.selection)?;
    let metric = match args.metric {
        cli::Metric::Tps => Metric::Tps,
        cli::Metric::P50 => Metric::P50,
        cli::Metric::P95 => Metric::P95,
        cli::Metric::P99 => Metric::P99,
    };
    let Some(comparison) = Comparison::of(&data.experiment, &data.runs, metric) else {
        return Err(Failure::with_code(
            BAD_INPUT,
            format!("experiment {} compares nothing: it has no arms", data.experiment.name),
            Some("pgdyno table cells".into()),
        ));
    };
    if !data.experiment.is_interleaved() {
        warning(
            "not interleaved: the arms were measured at different times, so drift and change cannot be told apart",
        );
    }
    if comparison.has_scheduled() {
        warning(
            "where the rate is offered on a schedule, it sets the throughput, and no figure averages over it; \
             try: pgdyno compare --metric p99",
        );
    }
    let table = match args.format.format {
        cli::Format::Text | cli::Format::Md => tables::compared_in_words(&data, &comparison),
        cli::Format::Json | cli::Format::Csv => tables::compared(&data, &comparison),
    };
    print(&table, args.format.format)?;
    Ok(exit::of_comparison(&comparison))
}
