//! Handles Ctrl-C and similar signals: kills the running load, starts nothing new, and removes servers and
//! folders as the stack unwinds. A second signal exits at once; watchdogs then stop the servers.

use std::io;
use std::process::Child;
use std::sync::{LazyLock, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Exit code after a second signal: 128 + SIGINT.
const LEFT: i32 = 130;

static STOP: LazyLock<server::Stop> = LazyLock::new(server::Stop::new);
/// Pid and process group of the running load.
static LOAD: Mutex<Option<u32>> = Mutex::new(None);

/// Handles signals from now on.
pub(crate) fn listen() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if STOP.at_once() {
                std::process::exit(LEFT);
            }
            STOP.press();
            if let Some(pid) = *LOAD.lock().unwrap_or_else(PoisonError::into_inner) {
                // SAFETY: a system call without pointers. The pid belongs to a child nobody has waited for
                // yet.
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

/// # Errors
/// A signal came.
pub(crate) fn check() -> anyhow::Result<()> {
    anyhow::ensure!(!STOP.at_once(), "stopped by a signal");
    Ok(())
}

/// Starts a load in a separate process group, which a signal kills until [`load_ended`].
///
/// # Errors
/// It does not start, or a signal came.
pub(crate) fn start_load(spawn: impl FnOnce() -> anyhow::Result<Child>) -> anyhow::Result<Child> {
    // Held during the start, so that a signal meanwhile finds the load.
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
