//! One measurement: the engine runs the clients of a setup, and collectors watch. Nobody else calls the engine.

mod own_cost;
mod plan;
mod series;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use engine::{Abort, EngineError, Entry, Message, Observer, Second, Time};
use protocol::postgres::sql::SqlError;
use record::{Sample, SeriesPoint};
use results::{Spool, StoreError};
use target::Stop;
use target::control::Names;
use workloads::{ClientWorkload, Places, WorkloadError};

use self::series::Series;
use crate::collectors::Collector;
use crate::setup::Setup;

/// What is kept of the seconds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep<'a> {
    /// Nothing.
    Nothing,
    /// Their counters.
    Counters,
    /// Their distributions as well, beside this results file until they are stored there.
    Distributions(&'a Path),
}

/// What one measurement gave.
#[derive(Debug)]
pub struct Measured {
    /// UTC, RFC 3339.
    pub started_at: String,
    /// What the engine counted.
    pub engine: engine::Measured,
    /// Steps of the measured part.
    pub series: Vec<SeriesPoint>,
    /// Response times of these steps.
    pub seconds: Spool,
    /// What collectors saw at their ends.
    pub samples: Vec<Sample>,
    /// What the engine says of itself, and what collectors saw of the whole.
    pub figures: BTreeMap<String, f64>,
    /// Why a collector could not see it.
    pub trouble: Option<SqlError>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The workload has no server to go to.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// There is no room beside the results file.
    #[error(transparent)]
    Results(#[from] StoreError),
    /// The load did not start.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Puts the load of a setup on the servers at `places`. The observer and the collectors are told on this thread.
///
/// # Errors
/// [`NotStarted`]; what happens after the start of the load is counted.
pub fn measure(
    workload: &dyn ClientWorkload,
    places: &Places,
    setup: &Setup,
    keep: Keep<'_>,
    observer: &mut dyn Observer,
    collectors: &mut [Box<dyn Collector + '_>],
    stop: &Stop,
) -> Result<Measured, NotStarted> {
    let clients = workload.clients(places, setup.clients())?;
    let series = match keep {
        Keep::Nothing => None,
        Keep::Counters => Some(Series::of(setup.until, None)?),
        Keep::Distributions(results) => Some(Series::of(setup.until, Some(results))?),
    };
    let started_at = jiff::Timestamp::now().to_string();
    let mut watch = Watch { observer, collectors, series, samples: Vec::new(), trouble: None };
    let plan = plan::plan(setup, workload);
    // Names are followed while clients may connect anew.
    let _names = Names::follow(places.names());
    let engine = engine::run(&plan, clients, &mut watch, &engine::Stop::from(stop.flag()))?;
    let Watch { collectors, series, mut samples, mut trouble, .. } = watch;
    // What was measured until now is worth its figures, also if the user has seen enough.
    let _concluding = stop.concluding();
    let mut figures = own_cost::own_figures(&engine);
    for collector in collectors {
        match collector.end(&engine, &mut samples) {
            Ok(found) => figures.extend(found),
            Err(error) => {
                trouble.get_or_insert(error);
            }
        }
    }
    let (series, seconds) = series.map(Series::into_parts).unwrap_or_default();
    Ok(Measured { started_at, engine, series, seconds, samples, figures, trouble })
}

/// Passes on what is heard of a run, and keeps its seconds.
struct Watch<'w, 'c> {
    observer: &'w mut dyn Observer,
    collectors: &'w mut [Box<dyn Collector + 'c>],
    series: Option<Series>,
    samples: Vec<Sample>,
    trouble: Option<SqlError>,
}

impl Observer for Watch<'_, '_> {
    fn began(&mut self, epoch: SystemTime) {
        self.observer.began(epoch);
    }

    fn loading(&mut self, connecting: Time) {
        self.observer.loading(connecting);
    }

    fn measuring(&mut self) {
        for collector in &mut *self.collectors {
            if let Err(error) = collector.begin() {
                self.trouble.get_or_insert(error);
            }
        }
        self.observer.measuring();
    }

    fn message(&mut self, message: &Message) {
        self.observer.message(message);
    }

    fn aborted(&mut self, abort: &Abort) {
        self.observer.aborted(abort);
    }

    fn waiting(&mut self, clients: usize) {
        self.observer.waiting(clients);
    }

    fn transactions(&mut self, thread: usize, entries: &[Entry]) {
        self.observer.transactions(thread, entries);
    }

    fn second(&mut self, second: &Second) {
        self.observer.second(second);
        let Some(series) = &mut self.series else { return };
        if let Some(ended_us) = series.add(second) {
            for collector in &mut *self.collectors {
                collector.tick(ended_us, &mut self.samples);
            }
        }
    }
}
