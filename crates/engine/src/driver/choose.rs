//! Which driver moves a thread's bytes.

use super::{Epoch, Portable};
use crate::client::Time;
use crate::error::EngineError;
use crate::plan::DriverChoice;

/// From this many clients a thread on io_uring costs less than epoll; measured, see `docs/cost.md`.
const MANY: usize = 8;

/// A driver.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(crate) enum Chosen {
    /// epoll or kqueue, and why not io_uring where that would have been better.
    Portable(Portable, Option<String>),
    /// io_uring.
    #[cfg(target_os = "linux")]
    Uring(super::Uring),
}

/// Makes the driver of the calling thread, which looks for news for `spin` ns before it sleeps.
///
/// # Errors
/// When the one asked for, or any, cannot be had.
pub(crate) fn choose(
    wish: DriverChoice,
    clients: usize,
    connections: usize,
    spin: Time,
    epoch: Epoch,
) -> Result<Chosen, EngineError> {
    let portable = |note| {
        let driver =
            Portable::new(connections, spin, epoch).map_err(EngineError::system("set up epoll or kqueue"))?;
        Ok(Chosen::Portable(driver, note))
    };
    match wish {
        DriverChoice::Portable => portable(None),
        DriverChoice::Auto if clients < MANY => portable(None),
        DriverChoice::Auto => match uring(connections, spin, epoch) {
            Ok(driver) => Ok(driver),
            Err(why) => {
                portable(Some(format!("io_uring cannot be had here ({why}); the portable driver is used")))
            }
        },
        DriverChoice::IoUring => uring(connections, spin, epoch).map_err(|why| EngineError::Driver { why }),
    }
}

/// Whether io_uring is available.
///
/// # Errors
/// Why not, in words.
pub fn io_uring_works() -> Result<(), String> {
    uring(1, 0, Epoch::start()).map(drop)
}

#[cfg(target_os = "linux")]
fn uring(connections: usize, spin: Time, epoch: Epoch) -> Result<Chosen, String> {
    super::Uring::new(connections, spin, epoch).map(Chosen::Uring).map_err(|error| {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "it is forbidden: see the sysctl kernel.io_uring_disabled, or the container's seccomp profile"
                    .to_owned()
            }
            Some(libc::ENOSYS) => "the kernel does not have it".to_owned(),
            Some(libc::EINVAL) => "the kernel is too old: 6.1 or later is needed".to_owned(),
            Some(libc::ENOMEM) => "the limit of locked memory is too low (ulimit -l)".to_owned(),
            _ => error.to_string(),
        }
    })
}

#[cfg(not(target_os = "linux"))]
fn uring(_connections: usize, _spin: Time, _epoch: Epoch) -> Result<Chosen, String> {
    Err("only Linux has it".to_owned())
}
