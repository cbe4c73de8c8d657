//! `pgdyno probe`: measures a database's hardware with SQL alone.

mod compared;

use std::path::PathBuf;
use std::time::Duration;

use spec::experiment::{ProbeTable, ProbeTime, Size, Whole};

use super::bench::against::base::BaseServer;
use super::bench::against::made::{MadeExperiment, Use};
use super::carry_out::Shown;
use crate::exit::ExitResult;
use crate::options::{OutputArgs, Programs};

const NAME: &str = "probe";

/// `pgdyno probe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "What to do with it: docs/how-to/host.md; each figure: docs/reference/figures.md")]
pub(crate) struct Args {
    /// Database name, connection string or URI [default: PGDATABASE, or your user name]
    #[arg(value_name = "DBNAME|URI", conflicts_with_all = ["managed", "compare"])]
    dsn: Option<String>,
    /// Probe a private server [name: default]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "default")]
    managed: Option<String>,
    /// Write nothing, not even temporary tables: for servers in use. Implied on standbys, with
    /// default_transaction_read_only, and if the role may not make a schema
    #[arg(long)]
    read_only: bool,
    /// Approximate maximum time of all parts together: 30s, 5min
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    time: Duration,
    /// Maximum of scratch data on the server (dropped at the end), and of memory of all backends: 256MB, 2GB
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = size)]
    space: u64,
    /// Maximum of concurrent backends [default: the host's CPUs if SQL shows them, else as many as add throughput]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    backends: Option<u32>,
    /// Also write this as an experiment file, for `pgdyno run FILE`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Show the plan, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Probe nothing: show the newest stored probe of each server, in the results file or in these experiments and
    /// results files
    #[arg(long, value_name = "EXPERIMENT|FILE", num_args = 0.., conflicts_with_all = ["managed", "read_only", "backends", "time", "space", "pg_bin", "save", "dry_run"])]
    compare: Option<Vec<String>>,
    #[command(flatten)]
    programs: Programs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    if let Some(which) = &args.compare {
        return compared::run(which, &args.output);
    }
    let of = Use {
        nowhere: NAME,
        asked: None,
        save: args.save.as_deref(),
        dry_run: args.dry_run,
        again: false,
        same: false,
        report: None,
        pg_bin: args.programs.pg_bin.as_deref(),
        output: &args.output,
        shown: Shown::Answer,
    };
    of.carry_out(|_| made(args))
}

fn made(args: &Args) -> anyhow::Result<MadeExperiment> {
    let server = BaseServer::given([args.dsn.as_deref(), None, None, None], args.managed.as_deref())?;
    let saved_by = "Made by pgdyno probe; docs/reference/experiment.md explains every key.";
    let mut made = MadeExperiment::new(NAME, saved_by, &[&server]);
    made.experiment.target = Some(server.target());
    made.experiment.probe = Some(ProbeTable {
        time: Some(ProbeTime::seconds(args.time.as_secs_f64())),
        space: Some(Size(args.space)),
        read_only: args.read_only,
        backends: args.backends.map(Whole::new),
    });
    Ok(made)
}

fn time(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("min", 60.0), ("s", 1.0), ("h", 3600.0)];
    let of = |(unit, seconds): (&str, f64)| Some(number(text.strip_suffix(unit)?)? * seconds);
    let seconds = units.into_iter().find_map(of).filter(|seconds| (2.0..=3600.0).contains(seconds));
    let seconds = seconds.ok_or("must be a length of time from 2s to 1h, such as 30s or 5min")?;
    Ok(Duration::from_secs_f64(seconds))
}

fn size(text: &str) -> Result<u64, String> {
    let units = [("MB", 1_u64 << 20), ("GB", 1 << 30), ("TB", 1 << 40)];
    let of = |(unit, bytes): (&str, u64)| Some(number(text.strip_suffix(unit)?)? * bytes as f64);
    let (least, most) = ((64_u64 << 20) as f64, (1_u64 << 40) as f64);
    let bytes = units.into_iter().find_map(of).filter(|bytes| (least..=most).contains(bytes));
    Ok(bytes.ok_or("must be a size from 64MB to 1TB, such as 256MB or 2GB")? as u64)
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sizes_have_units_and_bounds() {
        let cases = [("30s", Some(30)), ("5min", Some(300)), ("0.5h", Some(1800)), ("2000ms", Some(2))];
        for (text, wanted) in cases {
            assert_eq!(time(text).ok(), wanted.map(Duration::from_secs), "{text}");
        }
        assert!(["30", "1s", "2h", "infs", "-5s"].iter().all(|text| time(text).is_err()));
        assert_eq!((size("256MB"), size("1.5GB")), (Ok(256 << 20), Ok(3 << 29)));
        assert!(["256", "63MB", "2TB", "NaNGB"].iter().all(|text| size(text).is_err()));
    }
}
