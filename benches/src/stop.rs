//! Ctrl-C and its kin: the load that runs is killed, nothing new is started, and what was started goes as the stack
//! unwinds, servers and folders. A second signal leaves at once; servers are then ended by their watchdogs.

use std::io;
use std::process::Child;
use std::sync::{LazyLock, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Exit code when a second signal came: as a shell tells it of a program that died of SIGINT.
const LEFT: i32 = 130;

static STOP: LazyLock<server::Stop> = LazyLock::new(server::Stop::new);
/// Pid of the load that runs, which is that of its process group too.
static LOAD: Mutex<Option<u32>> = Mutex::new(None);

/// Heeds signals from now on.
pub(crate) fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if STOP.at_once() {
                std::process::exit(LEFT);
            }
            STOP.press();
            if let Some(pid) = *LOAD.lock().unwrap_or_else(PoisonError::into_inner) {
                // SAFETY: a system call without pointers. The pid is that of a child nobody has waited for yet.
                unsafe { libc::kill(-(pid as libc::pid_t), libc::SIGKILL) };
            }
        }
    });
    Ok(())
}

/// The switch that signals set.
pub(crate) fn switch() -> &'static server::Stop {
    &STOP
}

/// Goes on, unless a signal came.
///
/// # Errors
/// One came.
pub(crate) fn check() -> anyhow::Result<()> {
    anyhow::ensure!(!STOP.at_once(), "stopped by a signal");
    Ok(())
}

/// Starts a load in its own process group, which a signal kills until [`load_ended`].
///
/// # Errors
/// It does not start, or a signal came.
pub(crate) fn start_load(spawn: impl FnOnce() -> anyhow::Result<Child>) -> anyhow::Result<Child> {
    // Held over the start: a signal that comes meanwhile finds the load.
    let mut load = LOAD.lock().unwrap_or_else(PoisonError::into_inner);
    check()?;
    let child = spawn()?;
    *load = Some(child.id());
    Ok(child)
}

/// The load has closed its outputs, and will be waited for.
pub(crate) fn load_ended() {
    *LOAD.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
