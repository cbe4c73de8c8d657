//! Turns Ctrl-C and similar signals into presses of the process's switch.
//!
//! Every wait in the program checks that switch; if one does not, another press ends the program at once. Its
//! watchdog then ends started processes, and the watchdog or the next command undoes changes.

use server::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::INTERRUPTED;
use crate::print;

/// A switch for SIGINT, SIGTERM and SIGHUP. While a run is measured: once to stop after it, twice to stop at
/// once. At any other time: once to stop at once.
pub(crate) fn listen() -> std::io::Result<Stop> {
    start(|stop| {
        let presses = stop.press();
        if presses >= 3 {
            leave(INTERRUPTED);
        } else if stop.at_once() {
            print::talk("stopping at once");
        } else {
            print::talk(
                "stopping after this run, and the others of its pair if it has one; press Ctrl-C again to stop at once",
            );
        }
    })
}

/// A switch that stops at once: for a single run, which reports its results so far.
pub(crate) fn listen_at_once() -> std::io::Result<Stop> {
    start(|stop| {
        if stop.soon() {
            leave(INTERRUPTED);
        }
        print::talk("stopping; press Ctrl-C again to leave at once");
        stop.press();
        stop.press();
    })
}

/// The first SIGINT, SIGTERM or SIGHUP stops at once; the second ends the program with `code`.
pub(crate) fn listen_silently(code: u8) -> std::io::Result<Stop> {
    start(move |stop| {
        if stop.at_once() {
            leave(code);
        }
        stop.press();
        stop.press();
    })
}

fn leave(code: u8) -> ! {
    std::process::exit(code.into())
}

fn start(on_signal: impl Fn(&Stop) + Send + 'static) -> std::io::Result<Stop> {
    let stop = Stop::of_process();
    let pressed = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || signals.forever().for_each(|_| on_signal(&pressed)));
    Ok(stop)
}
