//! The journal's watchdog, in the pgdyno that changes settings.
//!
//! One process per changed server: pgdyno's executable in a separate session, with one end of a lifeline. It
//! gets the login over it, and watches the journal's file: when the lifeline ends, it restores what the file
//! contains (see [`super::guard`]).

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::access::Access;
use super::guard::READY;
use crate::child::Watchdog;

/// First argument of a journal's watchdog; the rest goes to [`super::guard_main`].
pub const GUARD_ARGUMENT: &str = "settings-watchdog";

const START_BOUND: Duration = Duration::from_secs(10);
/// How long it may take to end once nothing must be restored.
const END_BOUND: Duration = Duration::from_secs(1);

/// A watchdog that waits for our end.
#[derive(Debug)]
pub(super) struct Guard {
    process: Child,
    lifeline: UnixStream,
}

impl Guard {
    /// Starts a watchdog over the journal at `path`, whose server `access` leads to; it is ready on return.
    pub(super) fn start(watchdog: &Watchdog, path: &Path, access: &Access) -> io::Result<Self> {
        let mut command = watchdog.command();
        // The path helps those who look at the list of processes. Secrets are in no argument and no variable.
        command.arg(GUARD_ARGUMENT).arg(path);
        Watchdog::clean_environment(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (process, lifeline) = watchdog.launch(command)?;
        let mut guard = Self { process, lifeline };
        guard.instruct(access)?;
        Ok(guard)
    }

    fn instruct(&mut self, access: &Access) -> io::Result<()> {
        let mut line = serde_json::to_string(access)?;
        line.push('\n');
        self.lifeline.write_all(line.as_bytes())?;
        self.lifeline.set_read_timeout(Some(START_BOUND))?;
        let mut answer = String::new();
        BufReader::new(&self.lifeline).read_line(&mut answer)?;
        match answer.trim_end() {
            READY => Ok(()),
            "" => Err(io::Error::other("it ended at once")),
            reason => Err(io::Error::other(reason.to_owned())),
        }
    }

    /// Whether it is still there.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Releases it; waits for its end only if it has nothing to do.
    pub(super) fn release(mut self, idle: bool) {
        let _ = self.lifeline.shutdown(std::net::Shutdown::Both);
        let start = Instant::now();
        while idle && self.is_alive() && start.elapsed() < END_BOUND {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
