//! Servers that a killed pgdyno left running, because its watchdogs were killed too.

use super::Cluster;
use super::marker::Marker;
use super::postmaster::{self, PidFile};
use super::serve::STOP_PATIENCE;
use super::stand::is_left_over;
use crate::home::Home;
use crate::lock::Lock;

/// Stops managed servers that nobody uses and that were not asked to stay; answers their names. The data and what is to
/// be undone on them are left to whoever uses them next; of servers on a filesystem that was made for them, and is gone,
/// nothing is.
pub fn stop_orphans(home: &Home) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(home.clusters()) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| stop_orphan(home, name)).collect()
}

fn stop_orphan(home: &Home, name: &str) -> bool {
    let folder = home.clusters().join(name);
    if Marker::read(&folder).is_none_or(|marker| marker.detached) {
        return false;
    }
    let data = Cluster::data_in(&folder);
    let is_left_over = || {
        let marker = Marker::read(&folder);
        marker.is_some_and(|marker| is_left_over(&folder, marker.storage.as_ref()))
    };
    if PidFile::running(&data).is_none() && !is_left_over() {
        return false;
    }
    // While somebody uses it, it is no orphan.
    let Ok(_lock) = Lock::take(&folder) else { return false };
    let stopped =
        PidFile::running(&data).is_some_and(|server| postmaster::stop(server.pid, &data, STOP_PATIENCE));
    if is_left_over() {
        // What cannot be removed now is found by the next one.
        let _ = std::fs::remove_dir_all(&folder);
    }
    stopped
}
