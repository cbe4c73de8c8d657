//! Making a data folder.

use std::ffi::OsString;
use std::path::Path;

use super::installation::Installation;
use super::log::disk_full_line;
use super::stand::Stand;
use super::{Cluster, ManagedError, SUPERUSER};
use crate::child::{Account, Program, Watchdog};
use crate::stop::Stop;
use crate::storage::Holds;

/// Lines of initdb that are quoted when it fails.
const QUOTED_LINES: usize = 6;

/// Runs initdb: checksums, UTF-8, and trust only over the socket, whose folder is closed to others.
/// Answers the locale it was made with.
pub(super) fn init(
    folder: &Path,
    stand: Option<&Stand>,
    installation: &Installation,
    account: Option<&Account>,
    watchdog: &Watchdog,
    stop: &Stop,
) -> Result<&'static str, ManagedError> {
    // C.UTF-8 is not known everywhere (macOS, old RHEL); C always is. Why initdb failed it says only in words of its
    // own, so C is tried whatever the reason was, and what it says then counts.
    match init_with("C.UTF-8", folder, stand, installation, account, watchdog, stop) {
        Ok(()) => Ok("C.UTF-8"),
        Err(ManagedError::Init { .. }) => {
            init_with("C", folder, stand, installation, account, watchdog, stop).map(|()| "C")
        }
        Err(error) => Err(error),
    }
}

fn init_with(
    locale: &str,
    folder: &Path,
    stand: Option<&Stand>,
    installation: &Installation,
    account: Option<&Account>,
    watchdog: &Watchdog,
    stop: &Stop,
) -> Result<(), ManagedError> {
    let data = Cluster::data_in(folder);
    if data.symlink_metadata().is_ok() {
        // Of a link only itself.
        std::fs::remove_dir_all(&data).map_err(|error| ManagedError::file(&data, error))?;
    }
    stand.map_or(Ok(()), |stand| stand.empty(folder, account))?;
    let wal = stand.and_then(|stand| stand.part(Holds::Wal));
    let program = Program::server(installation.program("initdb"), folder, account)
        .arg("-D")
        .arg(&data)
        .args(["-U", SUPERUSER, "-E", "UTF8", "--data-checksums", "--no-instructions"])
        .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
        .args(wal.map(|wal| [OsString::from("--waldir"), wal.into()]).into_iter().flatten())
        .arg(format!("--locale={locale}"));
    let mut lines = Vec::new();
    let finished = watchdog.run(&program, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
    if finished.success() {
        return Ok(());
    }
    let _ = std::fs::remove_dir_all(&data);
    if finished.stopped {
        return Err(ManagedError::Stopped);
    }
    if let Some(line) = disk_full_line(&lines.join("\n")) {
        return Err(ManagedError::DiskFull { folder: folder.to_owned(), line });
    }
    let output = lines.split_off(lines.len().saturating_sub(QUOTED_LINES)).join("\n");
    Err(ManagedError::Init { folder: folder.to_owned(), output })
}
