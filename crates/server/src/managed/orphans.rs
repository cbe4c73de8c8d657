//! Servers that a killed pgdyno left running because its watchdogs were killed too.

use super::file_storage::{is_left_over, storage_folder_of};
use super::postmaster::{self, PidFile};
use super::serve::STOP_TIMEOUT;
use super::{data_in, read_marker};
use crate::child::Account;
use crate::home::{Dir, Home, HomeFolder};
use crate::lock::Lock;

/// Stops managed servers that a killed pgdyno left running because its watchdogs were killed too: those which
/// nobody uses and which are not detached. Returns their names. Their data and pending undos stay for the
/// next user; servers on a filesystem that is gone are removed.
pub fn stop_orphans(home: &Home) -> Vec<String> {
    let Ok(Some(clusters)) = home.part(HomeFolder::Clusters) else { return Vec::new() };
    let names = clusters.names().unwrap_or_default().into_iter().filter_map(|name| name.into_string().ok());
    names.filter(|name| stop_orphan(&clusters, name).unwrap_or(false)).collect()
}

/// `None` if there is nothing to do.
fn stop_orphan(clusters: &Dir, name: &str) -> Option<bool> {
    let folder = clusters.open(name).ok()??;
    let marker = || read_marker(&folder).ok().flatten();
    if marker()?.detached {
        return Some(false);
    }
    let account = Account::unprivileged().ok()?;
    let running = || {
        let data = data_in(&folder, storage_folder_of(&folder).as_ref(), account.as_ref()).ok().flatten()?;
        PidFile::running(&data).map(|server| (server.pid, data))
    };
    let is_left_over = || marker().is_some_and(|marker| is_left_over(&folder, marker.storage.as_ref()));
    if running().is_none() && !is_left_over() {
        return Some(false);
    }
    // A server in use is not an orphan.
    let _lock = Lock::if_free(&folder)?;
    let stopped = running().is_some_and(|(pid, data)| postmaster::stop(pid, &data, STOP_TIMEOUT));
    if is_left_over() {
        // A folder that cannot be removed now is found next time.
        let _ = clusters.remove_all(name);
    }
    Some(stopped)
}
