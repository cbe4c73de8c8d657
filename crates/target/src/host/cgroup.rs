//! The memory limit of the control group we run in, versions 1 and 2.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The smallest memory limit over our group and those above it, bytes; `None` without one.
/// `root` is `/`, except in tests.
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

/// The path of the group whose controllers match, from lines `id:controllers:path`.
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
