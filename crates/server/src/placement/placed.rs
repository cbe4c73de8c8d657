//! Servers on their CPUs, and CPUs kept awake, for the length of a run.

use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use spec::{Class, Error};

use super::keeper::{AT_WORK, Duties, KEEPER_ARGUMENT};
use super::{Cpus, allowed, check, free_tree, pin_tree};
use crate::child::{WATCHDOG_ARGUMENT, Watchdog};

/// How long the keeper may take to say that it is at work.
const START_BOUND: Duration = Duration::from_secs(10);

/// Processes are where they were wanted, and CPUs awake, until this is dropped; then they may run wherever we may. Should
/// we be killed before, a process of ours sees to that.
#[derive(Debug, Default)]
pub struct Placed {
    /// Pinned with all that descends from them.
    roots: Vec<u32>,
    keeper: Option<Keeper>,
}

impl Placed {
    /// Puts the processes of these pids, and all that descend from them, on `cpus` if some are given; keeps all CPUs
    /// that we may use from sleeping if `awake`.
    ///
    /// # Errors
    /// When a CPU may not be used, the system refuses, or CPUs cannot be kept awake; then all is as it was.
    pub fn begin(
        watchdog: &Watchdog,
        roots: &[u32],
        cpus: Option<&Cpus>,
        awake: bool,
    ) -> Result<Self, Error> {
        let pinned = cpus.filter(|_| !roots.is_empty());
        let duties = Duties {
            awake: if awake { Some(allowed()?) } else { None },
            pinned: pinned.cloned().map(|cpus| (cpus, roots.to_vec())),
        };
        cpus.map_or(Ok(()), check)?;
        if duties.awake.is_none() && duties.pinned.is_none() {
            return Ok(Self::default());
        }
        // At work before anything is changed. From here on dropping undoes it all.
        let mut placed = Self { roots: Vec::new(), keeper: Some(Keeper::start(watchdog, &duties)?) };
        for (root, cpus) in pinned.into_iter().flat_map(|cpus| roots.iter().map(move |root| (*root, cpus))) {
            placed.roots.push(root);
            pin_tree(root, cpus)?;
        }
        Ok(placed)
    }

    /// Pid of what keeps CPUs awake, and lets processes go should we be killed; `None` where nothing was asked for.
    #[must_use]
    pub fn keeper(&self) -> Option<u32> {
        self.keeper.as_ref().map(|keeper| keeper.process.id())
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        for root in &self.roots {
            // One that is gone is nowhere any more.
            let _ = free_tree(*root);
        }
    }
}

#[derive(Debug)]
struct Keeper {
    process: std::process::Child,
    lifeline: UnixStream,
}

impl Keeper {
    fn start(watchdog: &Watchdog, duties: &Duties) -> Result<Self, Error> {
        let mut command = watchdog.command();
        command.args([WATCHDOG_ARGUMENT, KEEPER_ARGUMENT]).args(duties.to_args());
        Watchdog::clean_environment(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let (process, lifeline) = watchdog.launch(command).map_err(failed)?;
        let keeper = Self { process, lifeline };
        keeper.lifeline.set_read_timeout(Some(START_BOUND)).map_err(failed)?;
        let mut said = String::new();
        BufReader::new(&keeper.lifeline).read_line(&mut said).map_err(failed)?;
        match said.trim_end() {
            AT_WORK => Ok(keeper),
            "" => Err(failed(std::io::ErrorKind::UnexpectedEof.into())),
            why => {
                let what = format!("idle CPUs cannot be kept awake: {why}");
                Err(Error::new(Class::Missing, what))
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.lifeline.shutdown(Shutdown::Both);
        // What it would do now is done.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program that keeps CPUs awake, and lets servers go should we be killed, did not start.
fn failed(error: std::io::Error) -> Error {
    let what = format!("cannot start pgdyno's own program to keep servers on CPUs: {error}");
    Error::new(Class::Child, what).because(error)
}
