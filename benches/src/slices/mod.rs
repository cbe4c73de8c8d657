//! What arms that take turns in slices gain, and whether it can be believed: the built program compares, on servers of its
//! own, and what it says is counted. The rules: docs/slices.md.

pub(crate) mod answer;
pub(crate) mod believe;
mod estimators;
mod file;
pub(crate) mod program;
mod stored;
pub(crate) mod table;

use clap::ValueEnum;

/// Options of comparisons.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Workloads of answer [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    workloads: Vec<file::Workload>,
    /// Lengths of slices that are measured in turn, as in an experiment file [default: the usual one]
    #[arg(long, value_delimiter = ',', value_name = "TIME")]
    slices: Vec<String>,
    /// Placements that slices are measured under in turn, as in an experiment file [default: as calibrate advised]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    placements: Vec<String>,
    /// Do not calibrate first: then both arms are put on all CPUs alike
    #[arg(long)]
    uncalibrated: bool,
    /// Rounds of each comparison in slices [default: 12; 6 for believe's A against A]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..))]
    rounds: Option<u32>,
    /// Milliseconds that a round measures, both arms together [default: 5000; 2000 for believe's A against A]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(200..))]
    measured: Option<u32>,
    /// Parts of believe [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    part: Vec<Part>,
    /// Minutes of the long comparison that 5 % more work is measured by
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    long_minutes: u32,
}

/// What is to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A against A: how many intervals leave out 0
    Aa,
    /// 5 % more work: is it found, and is it 5 %
    Work,
    /// A large effect and one in the background, beside half-rounds
    Effects,
    /// What an index costs a writer, three minutes each
    Writer,
}
