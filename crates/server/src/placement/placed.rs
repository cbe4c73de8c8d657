//! Servers pinned to CPUs, and CPUs kept awake, during a run.

use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use spec::plan::Placement;
use spec::{Class, Error};

use super::keeper::{AT_WORK, Duties, KEEPER_ARGUMENT};
use super::quota::QuotaGroup;
use super::{allowed, check, free_tree, pin_tree};
use crate::child::{WATCHDOG_ARGUMENT, Watchdog};

const START_BOUND: Duration = Duration::from_secs(10);

/// Keeps processes pinned and within a quota, and CPUs awake, until it is dropped; then they may run anywhere. If
/// pgdyno is killed, the keeper undoes it.
#[derive(Debug, Default)]
pub struct Placed {
    /// Pinned with their descendants.
    roots: Vec<u32>,
    quota: Option<QuotaGroup>,
    keeper: Option<Keeper>,
}

impl Placed {
    /// Places the processes of these pids and their descendants as a managed server: on its CPUs and within its quota,
    /// if given. Keeps all CPUs that we may use from sleeping if wanted.
    ///
    /// # Errors
    /// When a CPU may not be used, the system refuses, or CPUs cannot be kept awake; everything is then
    /// undone.
    pub fn begin(watchdog: &Watchdog, roots: &[u32], placement: &Placement) -> Result<Self, Error> {
        let cpus = placement.server.as_ref();
        let pinned = cpus.filter(|_| !roots.is_empty());
        let limited = placement.quota.zip(roots.first());
        let group =
            limited.map(|(quota, root)| Ok::<_, Error>((quota, QuotaGroup::planned(*root)?))).transpose()?;
        let duties = Duties {
            awake: if placement.awake { Some(allowed()?) } else { None },
            pinned: pinned.cloned().map(|cpus| (cpus, roots.to_vec())),
            quota: group.as_ref().map(|(_, (group, _))| group.clone()),
        };
        cpus.map_or(Ok(()), check)?;
        if duties.awake.is_none() && duties.pinned.is_none() && duties.quota.is_none() {
            return Ok(Self::default());
        }
        // The keeper works before anything is changed. From here on dropping undoes everything.
        let keeper = Some(Keeper::start(watchdog, &duties)?);
        let mut placed = Self { roots: Vec::new(), quota: duties.quota, keeper };
        for (root, cpus) in pinned.into_iter().flat_map(|cpus| roots.iter().map(move |root| (*root, cpus))) {
            placed.roots.push(root);
            pin_tree(root, cpus)?;
        }
        if let Some((quota, (group, own))) = group {
            group.fill(&own, roots, quota)?;
        }
        Ok(placed)
    }

    /// Pid of the keeper; `None` where nothing was requested.
    #[must_use]
    pub fn keeper(&self) -> Option<u32> {
        self.keeper.as_ref().map(|keeper| keeper.process.id())
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if let Some(group) = &self.quota {
            group.remove();
        }
        for root in &self.roots {
            // A process that ended needs nothing.
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
        let mut answer = String::new();
        BufReader::new(&keeper.lifeline).read_line(&mut answer).map_err(failed)?;
        match answer.trim_end() {
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
        // Its work is done.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The keeper did not start.
fn failed(error: std::io::Error) -> Error {
    let what = format!("cannot start pgdyno's own program to keep servers on CPUs: {error}");
    Error::new(Class::Child, what).because(error)
}
