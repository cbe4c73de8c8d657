//! A server that only answers after a known time, and counts what it sees: it checks the load engine.
//!
//! It is a separate process (pgdyno's executable, started with a hidden argument, under a watchdog), so that
//! its clock readings are independent of ours. It implements as much of PostgreSQL's protocol as a client
//! needs. The query `figures` returns, as one value, the histogram of the times from reading a request to
//! writing its reply since the last such query.

mod conversation;
mod delay;
mod serve;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::Login;
use protocol::postgres::Place;
use protocol::postgres::sql::Sql;
use spec::{Class, Error};
use stats::Histogram;

pub use delay::Delay;

use crate::child::{Child, Program, Watchdog};
use crate::control::Control;
use crate::home::{Home, socket_folder};

/// First argument of a sink; the rest goes to [`sink_main`].
pub const SINK_ARGUMENT: &str = "sink";

const SOCKET: &str = "sink.sock";
const START_BOUND: Duration = Duration::from_secs(10);

/// Runs a sink: arguments are the socket's path and the delay. Returns the exit code.
#[must_use]
pub fn sink_main(arguments: &[OsString]) -> i32 {
    let [path, delay] = arguments else { return 64 };
    let Some(Ok(delay)) = delay.to_str().map(str::parse::<Delay>) else { return 64 };
    // It returns only on an error; its starter notices that it is gone.
    i32::from(serve::serve(Path::new(path), delay).is_err())
}

/// A sink in use; dropping it stops it.
#[derive(Debug)]
pub struct Sink {
    child: Child,
    folder: PathBuf,
    place: Place,
}

impl Sink {
    /// Starts a sink under a watchdog; it answers after this delay.
    pub fn start(home: &Home, program: &Path, watchdog: &Watchdog, delay: Delay) -> Result<Self, Error> {
        let failed = |why: String| Error::new(Class::Child, format!("the sink did not start: {why}"));
        // It stores nothing but its socket, whose folder is named after this path.
        let owner = home.folder().join(format!("sink-{}", uuid::Uuid::new_v4()));
        let folder = socket_folder(&owner, SOCKET, None).map_err(|error| failed(error.to_string()))?;
        let socket = folder.join(SOCKET);
        let _ = std::fs::remove_file(&socket);
        let order =
            Program::new(program).arg(SINK_ARGUMENT).arg(&socket).arg(delay.to_string()).leaving([&folder]);
        let null = std::fs::File::create("/dev/null").map_err(|error| failed(error.to_string()))?;
        let child = watchdog.start(&order, &null).map_err(|error| failed(error.to_string()))?;
        let address = Address::Unix(socket);
        let place = Place::new(address, Arc::new(Login::new("sink", "sink")));
        let sink = Self { child, folder, place };
        let start = Instant::now();
        while let Err(error) = Control::open(&sink.place, Some(Duration::from_secs(1))) {
            if start.elapsed() > START_BOUND || error.is_stopped() {
                return Err(failed(error.to_string()));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(sink)
    }

    /// Pid of the process that answers.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Where clients connect.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Times from reading a request to writing its reply, as the sink measured them, since the last call:
    /// they lie within the times its clients measured.
    pub fn figures(&self) -> Result<Histogram, Error> {
        let gone = |why: String| Error::new(Class::Child, format!("the sink is gone: {why}"));
        let mut control =
            Control::open(&self.place, Some(START_BOUND)).map_err(|error| gone(error.to_string()))?;
        let text = control.scalar("figures").map_err(|error| gone(error.text))?.unwrap_or_default();
        Histogram::from_text(&text).map_err(|error| gone(format!("its figures cannot be read: {error}")))
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.stop();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
