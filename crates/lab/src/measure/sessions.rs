//! The connected clients of an arm that takes turns: for one round, or kept from round to round.

use std::time::Duration;

use engine::{Client, EngineResult, HeldRun, Observer, RunPlan, StopFlag};
use server::control::Names;
use server::host::{Backends, ClientsToCome};
use spec::Error;

/// Clients that are connected and held.
pub(crate) struct Sessions {
    pub(super) run: HeldRun,
    _names: Option<Names>,
    /// Their server processes, if they are known to be on this machine.
    pub(super) backends: Option<Backends>,
    age: Duration,
}

impl Sessions {
    /// Connects clients; `postmaster` is their server's, if it is on this machine.
    ///
    /// # Errors
    /// When they cannot connect.
    pub(super) fn connect(
        plan: RunPlan,
        clients: Vec<Box<dyn Client>>,
        names: Option<Names>,
        postmaster: Option<u32>,
        (observer, stop): (&mut dyn Observer, &StopFlag),
    ) -> Result<Self, Error> {
        let number = clients.len();
        let to_come = postmaster.map(ClientsToCome::watch);
        let run = HeldRun::start(&plan, clients, observer, stop)?;
        let backends = to_come.and_then(|to_come| to_come.connected(number));
        Ok(Self { run, _names: names, backends, age: Duration::ZERO })
    }

    /// For how long a client has been at work on average: the time it was held does not count, because a session that
    /// waits does nothing that could change it.
    pub(super) fn age(&self) -> Duration {
        self.age
    }

    /// Whether its clients work no more.
    pub(crate) fn is_over(&self) -> bool {
        self.run.is_over()
    }

    /// Ends a round that began with a warm-up; returns its figures, and the sessions if they are to be kept and are as they were.
    ///
    /// # Errors
    /// When the load generator failed.
    pub(super) fn end(
        mut self,
        warmup: Duration,
        keeps: bool,
        observer: &mut dyn Observer,
    ) -> Result<(EngineResult, Option<Self>), Error> {
        let Some(engine) = keeps.then(|| self.run.end_part(observer)).flatten() else {
            return Ok((self.run.finish(observer)?, None));
        };
        self.age += warmup + Duration::from_nanos(engine.elapsed);
        let as_they_were =
            engine.aborts.is_empty() && engine.outages.is_empty() && engine.connections_lost == 0;
        Ok((engine, as_they_were.then_some(self)))
    }
}
