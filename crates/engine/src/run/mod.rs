//! Runs a plan on operating-system threads.

mod assign;
mod coordinator;
mod cpus;
mod hold;
mod merge;
mod outages;

use std::any::Any;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use self::assign::raise_open_files;
pub(crate) use self::assign::{assign, check};
pub(crate) use self::coordinator::Coordinator;
use crate::client::{Client, Time};
use crate::client_loop::{Assignment, ClientLoop};
use crate::control::{RunControl, ThreadReport};
use crate::driver::{Chosen, Clock, Driver, Epoch, choose, with_sleep};
use crate::error;
use crate::measured::{EngineResult, Stretch};
use crate::observer::Observer;
use crate::plan::RunPlan;
use crate::stop::StopFlag;
use spec::Error;
use stats::Histogram;

/// Prefix of the names of load threads; their number follows.
pub const LOAD_THREAD: &str = "load-";
/// Batches that a thread may have under way.
const BATCHES: usize = 64;
/// How often the stop switch is checked.
const STOP_POLL: Duration = Duration::from_millis(50);
/// How long before its start the load is announced ([`Observer::loading`]), ns.
pub const LEAD: Time = 1_000_000;

/// Connects all `clients`, runs the load of `plan` on them, and returns the figures.
///
/// Blocks until the run is over. `observer` is called on this thread. The load starts when all clients
/// answered [`crate::Step::Ready`] or [`crate::Step::Done`]. Threads take the clients in order, equally up to
/// one client.
///
/// # Errors
/// When the plan cannot be run, a client gives up or takes too long before the load starts, or the system
/// refuses threads, files or timers. Later failures are counted, not returned.
///
/// # Panics
/// When a client panics.
pub fn run(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<EngineResult, Error> {
    HeldRun::begin(plan, clients, observer, stop)?.conclude(observer)
}

/// A held run: its clients work only while they are released.
///
/// Its clock is stopped in between, so that warm-up, end, seconds and timers do not see the pauses. It may have
/// several parts, each with its own warm-up and figures, on the same connections. Observers are called only
/// during the calls that take one. Dropping it ends it at once.
pub struct HeldRun {
    coordinator: Coordinator,
    inbox: Receiver<ThreadReport>,
    epoch: Epoch,
    stop: StopFlag,
    threads: Threads,
}

impl HeldRun {
    /// Connects all `clients` of a `plan` whose end is [`crate::Until::Caller`]. Waits until they are ready,
    /// and holds them.
    ///
    /// # Errors
    /// As [`run`].
    ///
    /// # Panics
    /// As [`run`].
    pub fn start(
        plan: &RunPlan,
        clients: Vec<Box<dyn Client>>,
        observer: &mut dyn Observer,
        stop: &StopFlag,
    ) -> Result<Self, Error> {
        let mut run = Self::begin(plan, clients, observer, stop)?;
        run.attend(None, observer, Coordinator::is_idle);
        match run.coordinator.take_failure() {
            Some(failure) => Err(failure),
            None => Ok(run),
        }
    }

    /// Releases the clients: transactions start for `length`.
    pub fn release(&mut self, length: Duration) {
        let length = Time::try_from(length.as_nanos()).unwrap_or(Time::MAX);
        self.coordinator.release(self.epoch.now(), length);
    }

    /// Waits up to `timeout` until all clients are idle again; returns the stretch. `None` if some still work
    /// then, or the run is over.
    pub fn wait_until_idle(&mut self, timeout: Duration, observer: &mut dyn Observer) -> Option<Stretch> {
        let until = Instant::now().checked_add(timeout);
        self.attend(until, observer, Coordinator::is_idle);
        self.coordinator.last_stretch().filter(|_| !self.is_over())
    }

    /// Response times in the warm-up so far; call it while the clients are idle.
    #[must_use]
    pub fn warm_up(&self) -> &Histogram {
        self.coordinator.warm_up()
    }

    /// Ends the warm-up: the next stretch counts. Call it while the clients are idle.
    pub fn measure(&mut self, observer: &mut dyn Observer) {
        self.coordinator.measure(observer);
    }

    /// Ends a part: returns its figures. The clients stay connected, and what they do from now on is the warm-up of
    /// the next part. Call it while the clients are idle. `None` if the run is over: [`Self::finish`] has the
    /// figures.
    pub fn end_part(&mut self, observer: &mut dyn Observer) -> Option<EngineResult> {
        self.coordinator.end_part(self.epoch.now());
        self.attend(None, observer, Coordinator::is_part_over);
        (!self.is_over()).then(|| self.coordinator.take_part(observer))
    }

    /// Whether it ended: stopped, failed, or all clients gave up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.coordinator.is_ended()
    }

    /// Ends the run, and returns the figures of its last part.
    ///
    /// # Errors
    /// As [`run`].
    ///
    /// # Panics
    /// As [`run`].
    pub fn finish(mut self, observer: &mut dyn Observer) -> Result<EngineResult, Error> {
        self.coordinator.finish(self.epoch.now());
        self.conclude(observer)
    }

    fn begin(
        plan: &RunPlan,
        clients: Vec<Box<dyn Client>>,
        observer: &mut dyn Observer,
        stop: &StopFlag,
    ) -> Result<Self, Error> {
        check(plan, &clients)?;
        let (reports, inbox) = mpsc::channel();
        let control = Arc::new(RunControl::new());
        let (assignments, recycle) = assign(plan, clients, &control, &reports, BATCHES)?;
        let seats = assignments.iter().map(|assignment| assignment.clients.len()).sum();
        raise_open_files(assignments.iter().map(Assignment::connections).sum(), assignments.len())?;
        drop(reports);

        let epoch = Epoch::start();
        observer.began(SystemTime::now());
        let threads =
            Threads { control: Arc::clone(&control), handles: Vec::with_capacity(assignments.len()) };
        let coordinator = Coordinator::new(plan, control, LEAD, seats, recycle);
        let mut run = Self { coordinator, inbox, epoch, stop: stop.clone(), threads };
        for assignment in assignments {
            let name = format!("{LOAD_THREAD}{}", assignment.thread);
            // Made here, so that a thread that could not be started is reported as gone too.
            let on_drop = GoneOnDrop(assignment.reports.clone());
            let body = move || {
                let on_drop = on_drop;
                drive(assignment, epoch, &on_drop.0);
            };
            let thread = thread::Builder::new().name(name).spawn(body);
            let thread = thread.map_err(error::system("start a thread"))?;
            run.threads.handles.push(thread);
        }
        Ok(run)
    }

    /// Serves the run until all threads are gone, and returns the figures.
    fn conclude(mut self, observer: &mut dyn Observer) -> Result<EngineResult, Error> {
        self.attend(None, observer, |_| false);
        if let Some(panic) = self.threads.join() {
            std::panic::resume_unwind(panic);
        }
        self.coordinator.into_measured(observer)
    }

    /// Handles the threads' reports until `is_so`, the time `until`, or all are gone.
    fn attend(
        &mut self,
        until: Option<Instant>,
        observer: &mut dyn Observer,
        is_so: impl Fn(&Coordinator) -> bool,
    ) {
        while !self.coordinator.is_over() && !is_so(&self.coordinator) {
            let tick = self
                .coordinator
                .next_tick()
                .map_or(Duration::MAX, |at| Duration::from_nanos(at.saturating_sub(self.epoch.now())));
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            let timeout = STOP_POLL.min(tick).min(left);
            let before = with_sleep();
            let report = self.inbox.recv_timeout(timeout);
            let overslept = (with_sleep() - before).saturating_sub(timeout.as_nanos() as Time);
            self.coordinator.stalled(overslept, self.epoch.now());
            match report {
                Ok(report) => {
                    self.coordinator.take(report, self.epoch.now(), observer);
                    self.coordinator.start_if_ready(|| self.epoch.now(), observer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.coordinator.tick(self.epoch.now(), &self.stop, observer);
        }
    }
}

struct Threads {
    control: Arc<RunControl>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Joins all threads; returns the payload of the first panic.
    fn join(&mut self) -> Option<Box<dyn Any + Send>> {
        self.handles.drain(..).fold(None, |panic, thread| panic.or(thread.join().err()))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if !self.handles.is_empty() {
            self.control.cancel();
            self.control.wake_all();
            self.join();
        }
    }
}

struct GoneOnDrop(Sender<ThreadReport>);

impl Drop for GoneOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(ThreadReport::Gone);
    }
}

fn drive(assignment: Assignment, epoch: Epoch, reports: &Sender<ThreadReport>) {
    let clients = assignment.most_clients;
    let (wanted, spin) = (assignment.plan.driver, assignment.plan.spin);
    let outcome = cpus::of_thread(&assignment.plan, assignment.thread)
        .map_or(Ok(()), cpus::keep_on)
        // Its memory is allocated after pinning, so that it is local.
        .and_then(|()| choose(wanted, clients, assignment.connections(), spin, epoch))
        .and_then(|chosen| match chosen {
            Chosen::Portable(driver, note) => turn_to_the_end(ClientLoop::new(driver, note, assignment)),
            #[cfg(target_os = "linux")]
            Chosen::Uring(driver) => turn_to_the_end(ClientLoop::new(driver, None, assignment)),
        });
    if let Err(error) = outcome {
        let _ = reports.send(ThreadReport::Failed { error });
    }
}

fn turn_to_the_end<D: Driver>(mut client_loop: ClientLoop<D>) -> Result<(), Error> {
    while client_loop.turn()? {}
    Ok(())
}
