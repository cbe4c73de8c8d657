//! Mounts and unmounts by descriptor, so that nobody can replace the mount point by a link.

use std::io;
use std::time::Duration;

use spec::Error;

use super::made::{MOUNTED, MadeFolder};
use super::tools::Tools;
use crate::error::file_error;

const BOUND: Duration = Duration::from_secs(120);

/// Mounts a device on its folder.
///
/// `mount` gets the folder as `/proc/self/fd/N/.`: the kernel then takes the open folder, whatever its path
/// leads to, and `-c` keeps the tool from resolving that path. `mount` is used because it knows the other
/// options.
pub(super) fn mount(
    made: &MadeFolder,
    device: &str,
    kind: &str,
    options: &str,
    tools: &Tools<'_>,
) -> Result<(), Error> {
    let failed = |error| file_error(&made.mounted(), error);
    let point = made.open().and_then(|folder| folder.open(MOUNTED)).map_err(failed)?;
    let point = point.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let at = |number: i32| format!("/proc/self/fd/{number}/.");
    let args = |number| ["-c", "-t", kind, "-o", options, device, &at(number)].map(str::to_owned);
    tools.run_with(&point, "mount", args, BOUND).map(drop)
}

/// Unmounts it; with `lazily` even while somebody uses it.
#[cfg(target_os = "linux")]
pub(super) fn unmount(made: &MadeFolder, lazily: bool) -> io::Result<()> {
    use std::os::fd::{AsFd, AsRawFd};

    use rustix::mount::{UnmountFlags, unmount};

    let folder = made.open()?;
    let flags = if lazily { UnmountFlags::DETACH } else { UnmountFlags::empty() };
    let point = format!("/proc/self/fd/{}/{MOUNTED}", folder.as_fd().as_raw_fd());
    Ok(unmount(point, flags | UnmountFlags::NOFOLLOW)?)
}

/// Filesystems are made on Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn unmount(_made: &MadeFolder, _lazily: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
