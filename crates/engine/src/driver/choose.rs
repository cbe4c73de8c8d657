//! Which driver moves a thread's bytes.

use spec::{Class, Error};

use super::{Epoch, Portable};
use crate::client::Time;
use crate::error;
use crate::plan::DriverChoice;

/// From this many clients a thread on io_uring costs less than epoll; measured, see `docs/measured/cost.md`.
const MANY: usize = 8;

#[expect(clippy::large_enum_variant, reason = "there is one for each thread")]
pub(crate) enum Chosen {
    /// With the reason why io_uring was not used, where it would have been better.
    Portable(Portable, Option<String>),
    #[cfg(target_os = "linux")]
    Uring(super::Uring),
}

/// Makes the driver of the calling thread, which spins for `spin` ns before it sleeps. No thread of the run
/// has more than `clients` clients.
///
/// # Errors
/// When the requested driver, or any, is not available.
pub(crate) fn choose(
    wish: DriverChoice,
    clients: usize,
    connections: usize,
    spin: Time,
    epoch: Epoch,
) -> Result<Chosen, Error> {
    let portable = |note| {
        let driver =
            Portable::new(connections, spin, epoch).map_err(error::system("set up epoll or kqueue"))?;
        Ok(Chosen::Portable(driver, note))
    };
    let clients = if let DriverChoice::Suits(clients) = wish { clients } else { clients };
    match wish {
        DriverChoice::Portable => portable(None),
        DriverChoice::Auto | DriverChoice::Suits(_) if clients < MANY => portable(None),
        DriverChoice::Auto | DriverChoice::Suits(_) => match uring(connections, spin, epoch) {
            Ok(driver) => Ok(driver),
            Err(why) => {
                portable(Some(format!("io_uring is not available here ({why}); the portable driver is used")))
            }
        },
        DriverChoice::IoUring => uring(connections, spin, epoch).map_err(|why| {
            let what = format!("the requested driver io_uring is not available: {why}; use the portable one");
            Error::new(Class::Missing, what)
        }),
    }
}

/// Whether io_uring is available.
///
/// # Errors
/// The reason why it is not.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A ladder of 4, 7, 8 and 16 clients was measured with two drivers, and threads of one run could have different ones.
    #[test]
    fn a_driver_is_chosen_for_the_most_clients_and_not_for_those_at_hand() {
        let chosen = |wish, clients| match choose(wish, clients, 1, 0, Epoch::start()).unwrap() {
            // Where io_uring is not available, the note gives the reason.
            Chosen::Portable(_, note) => note.is_some(),
            #[cfg(target_os = "linux")]
            Chosen::Uring(_) => true,
        };
        for clients in [1, 7, 8, 16] {
            assert!(chosen(DriverChoice::Suits(16), clients), "{clients} clients");
            assert!(!chosen(DriverChoice::Suits(7), clients), "{clients} clients");
        }
        assert_eq!([7, 8].map(|clients| chosen(DriverChoice::Auto, clients)), [false, true]);
    }
}
