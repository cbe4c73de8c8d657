//! Turns the command line into an experiment.

use spec::experiment::{BoundedDuration, Calibrate, Experiment, Managed, TargetChoice};
use toml::{Table, Value};

use super::{Args, NAME};
use crate::commands::bench::against::made::MadeExperiment;

const SAVED_BY: &str = "Made by pgdyno calibrate; docs/reference/experiment.md explains every key.";
const QUESTION: &str =
    "What does an operation cost this load generator, how punctual is it, and where does it end?";
/// The private server to measure; kept for the next calibration.
const SERVER: &str = "calibrate";

/// The experiment of a calibration.
pub(super) fn made(args: &Args) -> MadeExperiment {
    let mut made = MadeExperiment::new(NAME, SAVED_BY, &[]);
    let managed = Managed { name: Some(SERVER.to_owned()), ..Managed::default() };
    let tables = Value::Table(Table::new());
    made.experiment = Experiment {
        question: Some(QUESTION.to_owned()),
        target: Some(TargetChoice { managed: Some(managed), ..TargetChoice::default() }),
        prepare: Table::from_iter([("pgbench".to_owned(), tables)]),
        calibrate: Some(Calibrate {
            time: Some(BoundedDuration::seconds(f64::from(args.seconds))),
            clients: args.clients.iter().map(|clients| i64::from(*clients)).collect(),
        }),
        ..Experiment::default()
    };
    made.experiment.measure.driver = args.driver.asked();
    made.origins.add(&["calibrate", "time"], "--seconds");
    made.origins.add(&["calibrate", "clients"], "--clients");
    made
}
