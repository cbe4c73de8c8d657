//! Servers that a killed pgdyno left running, because its watchdogs were killed too.

use super::postmaster::{self, PidFile};
use super::serve::STOP_PATIENCE;
use super::stand::{is_left_over, stand_of};
use super::{data_in, read_marker};
use crate::child::Account;
use crate::home::{Dir, Home, Part};
use crate::lock::Lock;

/// Stops managed servers that nobody uses and that were not asked to stay; answers their names. The data and what is to
/// be undone on them are left to whoever uses them next; of servers on a filesystem that was made for them, and is gone,
/// nothing is.
pub fn stop_orphans(home: &Home) -> Vec<String> {
    let Ok(Some(clusters)) = home.part(Part::Clusters) else { return Vec::new() };
    let names = clusters.names().unwrap_or_default().into_iter().filter_map(|name| name.into_string().ok());
    names.filter(|name| stop_orphan(&clusters, name).unwrap_or(false)).collect()
}

/// Answers `None` where there is nothing of ours.
fn stop_orphan(clusters: &Dir, name: &str) -> Option<bool> {
    let folder = clusters.open(name).ok()??;
    let marker = || read_marker(&folder).ok().flatten();
    if marker()?.detached {
        return Some(false);
    }
    let account = Account::unprivileged().ok()?;
    let running = || {
        let data = data_in(&folder, stand_of(&folder).as_ref(), account.as_ref()).ok().flatten()?;
        PidFile::running(&data).map(|server| (server.pid, data))
    };
    let is_left_over = || marker().is_some_and(|marker| is_left_over(&folder, marker.storage.as_ref()));
    if running().is_none() && !is_left_over() {
        return Some(false);
    }
    // While somebody uses it, it is no orphan.
    let _lock = Lock::if_free(&folder)?;
    let stopped = running().is_some_and(|(pid, data)| postmaster::stop(pid, &data, STOP_PATIENCE));
    if is_left_over() {
        // What cannot be removed now is found by the next one.
        let _ = clusters.remove_all(name);
    }
    Some(stopped)
}
