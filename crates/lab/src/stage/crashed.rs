//! A server of ours that crashed: what its log reports, and the wait until it is back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use server::managed::ServerCrash;
use spec::{Class, Error};

use super::Stage;

/// Longest wait for a server that recovers.
const RECOVERY: Duration = Duration::from_secs(1800);
/// Time between two reports of that wait, and between two looks.
const TOLD: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(50);

impl Stage {
    /// The first crash of a server of ours that was not reported yet.
    pub(crate) fn new_crash(&mut self) -> Option<ServerCrash> {
        let seen = self.log_seen;
        self.target.cluster().ok().filter(|_| !self.at_rest)?.crash_since(seen)
    }

    /// Waits until a server of ours takes connections again after a crash, and starts it if it ended. Its crashes are
    /// then known. `waiting` gets the time so far, every few seconds.
    pub(crate) fn recover(&mut self, waiting: &mut dyn FnMut(Duration)) -> Result<(), Error> {
        if self.new_crash().is_none() {
            return Ok(());
        }
        self.close_control();
        // The next run sets and reads the settings of its arm again.
        self.in_force.arm = None;
        self.in_force.settings = Arc::default();
        let begun = Instant::now();
        let mut told = begun;
        loop {
            if self.stop.at_once() {
                return Err(Error::stopped());
            }
            let is_back = match self.target.check() {
                Ok(()) => self.control().map(drop),
                Err(_) => self.target.revive().and_then(|()| self.control().map(drop)),
            };
            match is_back {
                Ok(()) => break,
                Err(error) if begun.elapsed() > RECOVERY || error.class() == Class::Child => {
                    return Err(error);
                }
                Err(_) => {}
            }
            if told.elapsed() >= TOLD {
                told = Instant::now();
                waiting(begun.elapsed());
            }
            std::thread::sleep(STEP);
        }
        self.log_seen = self.target.cluster().map(|cluster| cluster.log_length()).unwrap_or_default();
        Ok(())
    }
}
