//! `pgdyno compare`: what changed between arms, with interval and verdict.

use report::tables;
use results::comparison::{Comparison, Metric};

use super::{load_to_judge, print, print_below};
use crate::exit::{self, BAD_INPUT, Failure, Outcome};
use crate::options::{Format, FormatOption, Selection};
use crate::print::warning;

/// What is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Figure {
    /// Throughput, transactions per second
    #[default]
    Tps,
    /// Median response time
    P50,
    /// 95th percentile of response time
    P95,
    /// 99th percentile of response time
    P99,
}

/// `pgdyno compare`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is compared
    #[arg(long, short = 'm', value_enum, default_value_t)]
    metric: Figure,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let data = load_to_judge(&args.selection)?;
    let metric = match args.metric {
        Figure::Tps => Metric::Tps,
        Figure::P50 => Metric::P50,
        Figure::P95 => Metric::P95,
        Figure::P99 => Metric::P99,
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
        Format::Text | Format::Md => tables::compared_in_words(&data, &comparison),
        Format::Json | Format::Csv => tables::compared(&data, &comparison),
    };
    print(&table, args.format.format)?;
    if metric == Metric::Tps {
        print_below(&data, args.format.format)?;
    }
    Ok(exit::of_comparison(&comparison))
}
