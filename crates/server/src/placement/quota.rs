//! A CPU quota for some processes: a separate control group, of version 1 or 2.

use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use spec::plan::CpuQuota;
use spec::{Class, Error};

use super::{LOOKS, tree};
use crate::host::cgroup::CpuGroup;

/// A group's name begins so; the pid of its owner and a number follow.
const PREFIX: &str = "pgdyno-";
/// How often a group that is not empty yet is removed again.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// A control group to be made, and the present group of its processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuotaGroup {
    pub(super) folder: PathBuf,
    pub(super) from: PathBuf,
}

impl QuotaGroup {
    /// The group for the processes of this pid. Nothing is made yet.
    pub(super) fn planned(root: u32) -> Result<(Self, CpuGroup), Error> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let own = CpuGroup::of_process(root)
            .ok_or_else(|| refused("this system has no control group for CPU time".to_owned()))?;
        let name = format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Ok((Self { folder: own.parent_of_new().join(name), from: own.folder.clone() }, own))
    }

    /// Removes groups of pgdyno processes that were killed with their keepers.
    fn remove_left(&self) {
        let Some(parent) = self.folder.parent() else { return };
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
            let is_dead = owner.is_some_and(|pid| {
                pid.parse::<u32>().is_ok() && !Path::new(&format!("/proc/{pid}")).exists()
            });
            if is_dead {
                Self { folder: entry.path(), from: self.from.clone() }.remove();
            }
        }
    }

    /// Makes the group, and puts these processes with all their descendants into it. Later forks stay there.
    pub(super) fn fill(&self, own: &CpuGroup, roots: &[u32], quota: CpuQuota) -> Result<(), Error> {
        let failed = |what: &Path, error: &std::io::Error| refused(format!("{}: {error}", what.display()));
        self.remove_left();
        create_dir(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        for (file, text) in own.limits(quota) {
            let path = self.folder.join(file);
            write(&path, text).map_err(|error| failed(&path, &error))?;
        }
        let members = self.folder.join("cgroup.procs");
        for _ in 0..LOOKS {
            let inside = self.members();
            let outside: Vec<u32> =
                roots.iter().flat_map(|root| tree(*root)).filter(|pid| !inside.contains(pid)).collect();
            if outside.is_empty() {
                return Ok(());
            }
            for pid in outside {
                if let Err(error) = write(&members, pid.to_string())
                    && Path::new(&format!("/proc/{pid}")).exists()
                {
                    return Err(failed(&members, &error));
                }
            }
        }
        Err(refused("its processes do not stay in their control group".to_owned()))
    }

    fn members(&self) -> Vec<u32> {
        let text = read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|pid| pid.trim().parse().ok()).collect()
    }

    /// Puts the processes back where they came from, and removes the group.
    pub(super) fn remove(&self) {
        for _ in 0..TRIES {
            for pid in self.members() {
                // A process that ended is in no group.
                let _ = write(self.from.join("cgroup.procs"), pid.to_string());
            }
            match remove_dir(&self.folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => std::thread::sleep(PAUSE),
                _ => return,
            }
        }
    }
}

fn refused(why: String) -> Error {
    Error::new(Class::Missing, format!("a CPU quota cannot be set: {why}"))
        .with_hint("run as root where control groups can be written, or leave `quota` out of the placement")
}
