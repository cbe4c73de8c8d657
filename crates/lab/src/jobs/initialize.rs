//! Creates pgbench's tables on a real server: connections, the clock, and a stop.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::sql::SqlError;
use workloads::jobs::{BoxedSql, JobReport, Runtime};
use workloads::pgbench::init::{self, InitOptions, Listener, Loading};

use server::control::{Canceller, ConnectFailure, Control, Timeouts};
use spec::Error;

const BOUND: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(20);
/// Time between two requests to cancel the same statement: a request that comes too early has no effect.
const AGAIN: Duration = Duration::from_millis(500);

/// Creates and fills pgbench's tables over `control`; further connections go to the same place.
///
/// Once `stopped` returns true, running statements are cancelled and no further one begins.
///
/// # Errors
/// Why a step failed; [`init::remarks`] describes the state of the tables.
pub fn initialize(
    control: Control,
    options: &InitOptions,
    loading: &Loading,
    stopped: &(dyn Fn() -> bool + Sync),
    listener: &mut dyn Listener,
) -> Result<JobReport, Error> {
    with_runtime(&control.place().clone(), control.timeouts().clone(), stopped, |runtime| {
        runtime.cancellable(&control);
        init::run(options, loading, Box::new(control), runtime, listener)
    })
}

/// Provides connections to `place`, the clock, and a stop: once `stopped` returns true, statements on these
/// connections are cancelled.
pub(crate) fn with_runtime<T>(
    place: &Place,
    timeouts: Timeouts,
    stopped: &(dyn Fn() -> bool + Sync),
    work: impl FnOnce(&ServerRuntime<'_>) -> T,
) -> T {
    let runtime = ServerRuntime {
        connect: place.clone(),
        timeouts,
        start: Instant::now(),
        stopped,
        cancellers: Mutex::new(Vec::new()),
    };
    let runtime = &runtime;
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel();
        scope.spawn(move || runtime.watch(&ended));
        let result = work(runtime);
        drop(done);
        result
    })
}

pub(crate) struct ServerRuntime<'a> {
    connect: Place,
    timeouts: Timeouts,
    start: Instant,
    stopped: &'a (dyn Fn() -> bool + Sync),
    cancellers: Mutex<Vec<Canceller>>,
}

impl ServerRuntime<'_> {
    /// Statements on this connection are cancelled too.
    fn cancellable(&self, control: &Control) {
        self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).extend(control.canceller());
    }

    fn watch(&self, ended: &Receiver<()>) {
        let mut pause = LOOK;
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(pause) {
            if self.stopped() {
                self.cancel(ended);
                pause = AGAIN;
            }
        }
    }

    fn cancel(&self, ended: &Receiver<()>) {
        let cancellers = self.cancellers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for canceller in cancellers {
            let start = Instant::now();
            let given_up = || start.elapsed() >= AGAIN || ended.try_recv() == Err(TryRecvError::Disconnected);
            // An unreachable server does not run our statements for long.
            let _ = canceller.cancel(&given_up);
        }
    }
}

impl Runtime for ServerRuntime<'_> {
    fn connect(&self) -> Result<BoxedSql, SqlError> {
        let control = Control::open_with(&self.connect, Some(BOUND), self.timeouts.clone())
            .map_err(|error| refused(&error))?;
        self.cancellable(&control);
        Ok(Box::new(control))
    }

    fn now_us(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn sleep_us(&self, us: u64) {
        let end = Instant::now() + Duration::from_micros(us);
        while let Some(left) = end.checked_duration_since(Instant::now())
            && !left.is_zero()
            && !self.stopped()
        {
            thread::sleep(left.min(LOOK));
        }
    }

    fn stopped(&self) -> bool {
        (self.stopped)()
    }
}

/// Without SQLSTATE if another try may succeed.
fn refused(error: &Error) -> SqlError {
    let passing = error.attached::<ConnectFailure>().is_some_and(|failure| failure.is_passing());
    SqlError { sqlstate: (!passing).then(|| "08001".to_owned()), text: error.to_string() }
}
