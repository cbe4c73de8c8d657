//! Servers that answer at a Unix socket, under watchdogs: they go with their values, and with this program however it ends.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::bail;
use server::child::{Child, Program, Watchdog};

/// How long one may take to make its socket.
const BOUND: Duration = Duration::from_secs(5);

/// A program of `PATH`, or of the folder where systems keep their services.
pub(crate) fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Starts one and waits for its socket; what it says goes to `log`.
///
/// # Errors
/// It does not come up; with what it said.
pub(crate) fn start(order: &Program, socket: &Path, log: &Path) -> anyhow::Result<Child> {
    let mut child = Watchdog::current()?.start(order, &File::create(log)?)?;
    let start = Instant::now();
    while !socket.exists() {
        if start.elapsed() > BOUND || child.wait(Duration::from_millis(10))?.is_some() {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            bail!("{} did not start: {said}", order.path.display());
        }
    }
    Ok(child)
}
