//! Keeping a server on some CPUs.

use std::process::Command;

use anyhow::bail;

use crate::Missing;

/// Two different CPUs that we may use: one for the server, one for the client.
///
/// # Errors
/// [`Missing`] when there is only one, or the system does not tell.
pub(crate) fn two_cpus() -> Result<(String, String), Missing> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut cpus = allowed.into_iter().flat_map(listed);
    match (cpus.next(), cpus.next()) {
        (Some(first), Some(second)) => Ok((first.to_string(), second.to_string())),
        _ => Err(Missing("two CPUs are needed to keep client and server apart".into())),
    }
}

/// The numbers of a list such as `0-3,8`.
fn listed(list: &str) -> impl Iterator<Item = u32> {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
}

/// Pins a server: its first process, which those it forks later take after, and those it has forked already.
///
/// # Errors
/// When the system refuses, or a process is found elsewhere afterwards.
pub(crate) fn server(postmaster: u32, cpus: &str) -> anyhow::Result<()> {
    set(postmaster, cpus)?;
    // After its parent: what is forked in between is pinned as well.
    for child in children(postmaster) {
        set(child, cpus)?;
    }
    for pid in std::iter::once(postmaster).chain(children(postmaster)) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim);
        if allowed.is_some_and(|allowed| allowed != cpus) {
            bail!(
                "server process {pid} may run on CPUs {}, not on {cpus} alone",
                allowed.unwrap_or_default()
            );
        }
    }
    Ok(())
}

fn set(pid: u32, cpus: &str) -> anyhow::Result<()> {
    let output = Command::new("taskset").args(["-a", "-p", "-c", cpus, &pid.to_string()]).output()?;
    // One that has ended since needs no pinning.
    if output.status.success() || !std::path::Path::new(&format!("/proc/{pid}")).exists() {
        return Ok(());
    }
    bail!("taskset: {}", String::from_utf8_lossy(&output.stderr).trim())
}

/// Pids of the processes that this one forked.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold spaces and brackets.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        for (list, numbers) in
            [("\t0-3,8", vec![0, 1, 2, 3, 8]), ("5", vec![5]), ("", vec![]), ("1,3", vec![1, 3])]
        {
            assert_eq!(listed(list).collect::<Vec<_>>(), numbers, "{list:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_is_found_and_pinned_with_its_parent() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children(std::process::id()).contains(&child.id()));
        let (first, _) = two_cpus().unwrap_or_else(|_| ("0".into(), String::new()));
        let pinned = server(child.id(), &first);
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        pinned.unwrap();
        assert!(status.contains(&format!("Cpus_allowed_list:\t{first}\n")), "{status}");
    }
}
