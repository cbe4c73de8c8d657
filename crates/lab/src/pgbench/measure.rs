//! A run as pgbench counts it.

use std::time::Duration;

use engine::{
    Arrivals, DriverChoice, EngineError, Load, Measured, Observer, Plan, Rate, Stop, Time, Timeline, Until,
};
use workloads::pgbench::Pgbench;
use workloads::{ClientWorkload, Crew, Places};

use crate::error::LabError;

/// Longer than any run; pgbench waits for open transactions as long as they take.
const FOR_EVER: Time = Time::MAX / 4;

/// The load of one run.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions {
    /// Clients; at least 1.
    pub clients: usize,
    /// Threads; at least 1, no more than clients are used.
    pub threads: usize,
    /// End of the measured part.
    pub until: Until,
    /// Load before anything counts.
    pub warmup: Duration,
    /// Open load: transactions per second.
    pub rate: Option<f64>,
    /// Slower transactions are late; under a rate, hopeless ones are skipped.
    pub limit: Option<Duration>,
    /// Whether the latency of each statement is measured.
    pub statements: bool,
    /// Whether the observer gets a record of each transaction.
    pub transactions: bool,
    /// Which driver moves the bytes.
    pub driver: DriverChoice,
    /// Seed of all randomness.
    pub seed: u64,
}

impl LoadOptions {
    /// The clients of this load.
    #[must_use]
    pub fn crew(&self) -> Crew {
        let threads = self.threads.clamp(1, self.clients.max(1));
        Crew { clients: self.clients, threads, seed: self.seed, statements: self.statements }
    }

    fn plan(&self, workload: &Pgbench) -> Plan {
        let nanoseconds = |duration: Duration| duration.as_nanos() as Time;
        let crew = self.crew();
        Plan {
            threads: crew.threads,
            driver: self.driver,
            load: match self.rate {
                None => Load::Closed,
                Some(per_second) => Load::Rate(Rate {
                    per_second,
                    arrivals: Arrivals::Poisson,
                    timeline: Timeline::PerThread,
                }),
            },
            warmup: nanoseconds(self.warmup),
            until: self.until,
            limit: self.limit.map(nanoseconds),
            skip_late: self.rate.is_some() && self.limit.is_some(),
            drain: FOR_EVER,
            count_drained: true,
            transactions: self.transactions,
            gaps: self.rate.map(|rate| workload.gaps(rate, crew)),
            connect_timeout: FOR_EVER,
            seed: self.seed,
            scripts: workload.scripts().len(),
            statements: if self.statements { workload.statements().len() } else { 0 },
        }
    }
}

/// Why a run did not start.
#[derive(Debug)]
pub enum NotStarted {
    /// A client could not connect: its number, and libpq's words.
    Client(usize, String),
    /// Anything else.
    Other(LabError),
}

/// Puts the load on the servers and gives back what was measured; `observer` hears of it while it lasts.
///
/// # Errors
/// [`NotStarted`]; what happens later is counted.
pub fn measure(
    workload: &Pgbench,
    places: &Places,
    load: &LoadOptions,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<Measured, NotStarted> {
    let clients = workload.clients(places, load.crew()).map_err(|error| NotStarted::Other(error.into()))?;
    engine::run(&load.plan(workload), clients, observer, stop).map_err(|error| match error {
        EngineError::Setup { client, message } => NotStarted::Client(client, message),
        other => NotStarted::Other(LabError::failed(
            crate::execute::setup_class(&other),
            other.to_string(),
            crate::execute::setup_hint(&other),
        )),
    })
}
