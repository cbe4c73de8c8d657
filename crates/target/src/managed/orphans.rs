//! Servers that a killed pgdyno left running, because its watchdogs were killed too.

use super::Cluster;
use super::marker::Marker;
use super::postmaster::{self, PidFile};
use super::serve::STOP_PATIENCE;
use crate::home::Home;
use crate::lock::Lock;

/// Stops managed servers that nobody uses and that were not asked to stay; answers their names. The data and what is to
/// be undone on them are left to whoever uses them next.
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
    if PidFile::running(&data).is_none() {
        return false;
    }
    // While somebody uses it, it is no orphan.
    let Ok(_lock) = Lock::take(&folder) else { return false };
    PidFile::running(&data).is_some_and(|server| postmaster::stop(server.pid, &data, STOP_PATIENCE))
}
