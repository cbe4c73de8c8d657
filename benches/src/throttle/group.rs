//! A control group around a server, with a CPU quota: version 1, or version 2 where it has the cpu controller.

use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{Missing, pin};

/// Period of a quota, µs.
const PERIOD_US: u32 = 100_000;

/// The group; its processes go back where they were with [`Group::end`], or with this value.
pub(super) struct Group {
    limiter: Limiter,
    /// Where they were.
    parent: PathBuf,
    postmaster: u32,
}

/// Sets its quota.
#[derive(Debug, Clone)]
pub(super) struct Limiter {
    folder: PathBuf,
    version_1: bool,
}

impl Limiter {
    /// No more than this share of a CPU from now on.
    pub(super) fn limit(&self, cpus: f64) -> anyhow::Result<()> {
        let quota_us = (cpus * f64::from(PERIOD_US)) as u32;
        self.set(&quota_us.to_string())
    }

    fn set(&self, quota: &str) -> anyhow::Result<()> {
        let (file, text) = match self.version_1 {
            true => ("cpu.cfs_quota_us", if quota == "max" { "-1".to_owned() } else { quota.to_owned() }),
            false => ("cpu.max", format!("{quota} {PERIOD_US}")),
        };
        let file = self.folder.join(file);
        write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    }
}

impl Group {
    /// Makes one below the server's own, without a limit, and puts the server into it.
    ///
    /// # Errors
    /// [`Missing`] where there is no cpu controller, or it is not ours to use.
    pub(super) fn around(postmaster: u32) -> anyhow::Result<Self> {
        let groups = read_to_string(format!("/proc/{postmaster}/cgroup")).unwrap_or_default();
        let missing = |what: &str| Missing(format!("CPU quotas: {what}"));
        let (parent, version_1) = parent_of(&groups).ok_or_else(|| missing("no cpu controller"))?;
        if !version_1 {
            // Where others may not have it, the next step shows.
            let _ = write(parent.join("cgroup.subtree_control"), "+cpu");
        }
        let folder = parent.join(format!("pgdyno-benches-{}", std::process::id()));
        create_dir(&folder).map_err(|error| missing(&format!("{}: {error}", folder.display())))?;
        let group = Self { limiter: Limiter { folder, version_1 }, parent, postmaster };
        if group.limiter.set("max").is_err() {
            return Err(missing("the cpu controller is not ours to use").into());
        }
        group.put(&group.limiter.folder)?;
        Ok(group)
    }

    pub(super) fn limiter(&self) -> Limiter {
        self.limiter.clone()
    }

    /// # Errors
    /// Its processes do not go back where they were.
    pub(super) fn end(self) -> anyhow::Result<()> {
        self.dissolve()
    }

    fn dissolve(&self) -> anyhow::Result<()> {
        if !self.limiter.folder.is_dir() {
            return Ok(());
        }
        self.limiter.set("max")?;
        self.put(&self.parent)?;
        // A process that is about to end keeps it for a moment.
        for _ in 0..50 {
            if remove_dir(&self.limiter.folder).is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(())
    }

    fn put(&self, folder: &Path) -> anyhow::Result<()> {
        let into = folder.join("cgroup.procs");
        write(&into, self.postmaster.to_string())
            .with_context(|| format!("cannot write {}", into.display()))?;
        for child in pin::children(self.postmaster) {
            // One that has ended since needs no place.
            let _ = write(&into, child.to_string());
        }
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.dissolve();
    }
}

/// The folder of a process's group, and whether it is version 1's.
fn parent_of(groups: &str) -> Option<(PathBuf, bool)> {
    let file = target::host::quota_files(groups).into_iter().find(|file| file.is_file())?;
    let folder = file.parent()?.to_owned();
    let version_1 = folder.join("cpu.cfs_quota_us").is_file();
    let has_cpu = || {
        let all = read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
        all.split_whitespace().any(|name| name == "cpu")
    };
    (version_1 || has_cpu()).then_some((folder, version_1))
}
