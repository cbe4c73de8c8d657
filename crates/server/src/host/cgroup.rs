//! The control group of a process, versions 1 and 2: its memory limit, and the effect of its CPU quota.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use spec::plan::CpuQuota;

/// The smallest memory limit of our group and those above it, bytes; `None` without one. `root` is `/`,
/// except in tests.
pub(super) fn memory_limit_bytes(root: &Path) -> Option<u64> {
    let groups = read_to_string(root.join("proc/self/cgroup")).ok()?;
    let unified = group_path(&groups, |controllers| controllers.is_empty())
        .map(|group| (root.join("sys/fs/cgroup"), group, "memory.max"));
    let version_1 = group_path(&groups, |controllers| controllers.split(',').any(|name| name == "memory"))
        .map(|group| (root.join("sys/fs/cgroup/memory"), group, "memory.limit_in_bytes"));
    [unified, version_1]
        .into_iter()
        .flatten()
        .flat_map(|(mount, group, file)| {
            folders(&mount, &group).into_iter().map(move |folder| folder.join(file))
        })
        .filter_map(|file| limit(&read_to_string(file).ok()?))
        .min()
}

/// Paths of `cpu.stat` for these groups of a process (`/proc/PID/cgroup`) and those above them.
#[must_use]
pub fn quota_files(groups: &str) -> Vec<PathBuf> {
    let version_1 = group_path(groups, |controllers| controllers.split(',').any(|name| name == "cpu"));
    let (mount, group) = match (version_1, group_path(groups, str::is_empty)) {
        (Some(group), _) => ("/sys/fs/cgroup/cpu", group),
        (None, Some(group)) => ("/sys/fs/cgroup", group),
        (None, None) => return Vec::new(),
    };
    folders(Path::new(mount), &group).into_iter().map(|folder| folder.join("cpu.stat")).collect()
}

/// Counters of a CPU quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Quota {
    /// Periods in which something wanted to run.
    pub(super) periods: u64,
    /// Periods in which it was throttled.
    pub(super) throttled: u64,
}

impl Quota {
    /// Sum over these `cpu.stat`; `None` where no group can have a quota. A quota may be added while
    /// something runs.
    #[must_use]
    pub(super) fn read<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Option<Self> {
        let mut all: Option<Self> = None;
        for text in texts {
            let of = |name: &str| -> Option<u64> {
                let line = text.as_ref().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                line?.trim().parse().ok()
            };
            if let (Some(periods), Some(throttled)) = (of("nr_periods"), of("nr_throttled")) {
                let all = all.get_or_insert_default();
                all.periods += periods;
                all.throttled += throttled;
            }
        }
        all
    }

    pub(super) fn of_process(pid: u32) -> Option<Self> {
        let groups = read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        Self::read(quota_files(&groups).iter().filter_map(|file| read_to_string(file).ok()))
    }

    /// The share of throttled periods since `before`, percent.
    #[must_use]
    pub(super) fn throttled_pct_since(self, before: Self) -> Option<f64> {
        let periods = self.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
        Some(100.0 * self.throttled.saturating_sub(before.throttled) as f64 / periods as f64)
    }
}

/// The control group of a process in which its CPU time can be limited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CpuGroup {
    pub(crate) folder: PathBuf,
    mount: PathBuf,
    is_version_1: bool,
}

impl CpuGroup {
    pub(crate) fn of_process(pid: u32) -> Option<Self> {
        Self::of(&read_to_string(format!("/proc/{pid}/cgroup")).ok()?, Path::new("/sys/fs/cgroup"))
    }

    fn of(groups: &str, mounts: &Path) -> Option<Self> {
        let version_1 = group_path(groups, |controllers| controllers.split(',').any(|name| name == "cpu"));
        let (mount, group, is_version_1) = match version_1 {
            Some(group) => (mounts.join("cpu"), group, true),
            None => (mounts.to_owned(), group_path(groups, str::is_empty)?, false),
        };
        // In a container its group may not be below the mount.
        let folder =
            Some(mount.join(group)).filter(|folder| folder.is_dir()).unwrap_or_else(|| mount.clone());
        Some(Self { folder, mount, is_version_1 })
    }

    /// Where a further group is made. In version 2 a group with processes can have none below it, except the first.
    pub(crate) fn parent_of_new(&self) -> &Path {
        if self.is_version_1 { &self.folder } else { &self.mount }
    }

    /// Files of a group, and what limits it when written there, in order.
    pub(crate) fn limits(&self, quota: CpuQuota) -> Vec<(&'static str, String)> {
        let (quota, period) = (quota.us, CpuQuota::PERIOD_US);
        match self.is_version_1 {
            true => vec![("cpu.cfs_period_us", period.to_string()), ("cpu.cfs_quota_us", quota.to_string())],
            false => vec![("cpu.max", format!("{quota} {period}"))],
        }
    }
}

/// The path of the group with matching controllers, from lines `id:controllers:path`.
fn group_path(groups: &str, matches: impl Fn(&str) -> bool) -> Option<String> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        matches(controllers).then(|| path.trim_start_matches('/').to_owned())
    })
}

/// The group's folder and all above it, up to the mount: in a container only the last may exist.
fn folders(mount: &Path, group: &str) -> Vec<PathBuf> {
    let below = Path::new(group);
    below.ancestors().map(|part| mount.join(part)).collect()
}

/// A limit in bytes; `max` and version 1's huge default mean none.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        top
    }

    #[test]
    fn quotas_of_both_versions() {
        let files =
            |groups| quota_files(groups).iter().map(|file| file.display().to_string()).collect::<Vec<_>>();
        assert_eq!(
            files("9:memory:/x\n4:cpu,cpuacct:/a/b\n0::/\n"),
            [
                "/sys/fs/cgroup/cpu/a/b/cpu.stat",
                "/sys/fs/cgroup/cpu/a/cpu.stat",
                "/sys/fs/cgroup/cpu/cpu.stat"
            ]
        );
        assert_eq!(files("0::/a\n"), ["/sys/fs/cgroup/a/cpu.stat", "/sys/fs/cgroup/cpu.stat"]);
        assert_eq!(files(""), [""; 0]);
        let first = "nr_periods 40\nnr_throttled 3\nthrottled_time 99\n";
        let second = "usage_usec 7\nnr_periods 100\nnr_throttled 18\nthrottled_usec 5\n";
        let [first, second] = [first, second].map(|text| Quota::read([text, "nr_periods 0\n"]).unwrap());
        assert_eq!(second.throttled_pct_since(first), Some(25.0));
        assert_eq!(second.throttled_pct_since(second), None, "nothing wanted to run");
        let none = Quota::read(["nr_periods 0\nnr_throttled 0\n"]).unwrap();
        assert_eq!(none.throttled_pct_since(none), None);
        assert_eq!(second.throttled_pct_since(none), Some(18.0), "a quota that was added meanwhile");
        assert_eq!(Quota::read(["usage_usec 7\n"]), None);
    }

    #[test]
    fn limits_of_both_versions() {
        type Case<'a> = (&'a [(&'a str, &'a str)], Option<u64>);
        let cases: &[Case<'_>] = &[
            (&[], None),
            (&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")], None),
            (&[("proc/self/cgroup", "0::/a/b\n"), ("sys/fs/cgroup/a/memory.max", "1000\n")], Some(1000)),
            (
                &[
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/memory.max", "1000\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "800\n"),
                ],
                Some(800),
            ),
            (
                &[
                    ("proc/self/cgroup", "4:memory:/docker/x\n0::/\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2048\n"),
                ],
                Some(2048),
            ),
            (
                &[
                    ("proc/self/cgroup", "4:cpu,memory:/\n"),
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ],
                None,
            ),
        ];
        for (files, wanted) in cases {
            assert_eq!(memory_limit_bytes(tree(files).path()), *wanted, "{files:?}");
        }
    }
}
