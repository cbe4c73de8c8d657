//! Ctrl-C and its kin, turned into presses of a switch.

use lab::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::print;

/// A switch that SIGINT, SIGTERM and SIGHUP press: once to stop after the current run, twice to stop at once.
pub(crate) fn listen() -> std::io::Result<Stop> {
    start(|stop| {
        if stop.press() == 1 {
            print::talk("stopping after this run; press Ctrl-C again to stop at once");
        } else {
            print::talk("stopping at once");
        }
    })
}

/// A switch that stops at once: for a single run, which reports what it has done so far.
pub(crate) fn listen_at_once() -> std::io::Result<Stop> {
    start(|stop| {
        print::talk("stopping");
        stop.press();
        stop.press();
    })
}

/// The first SIGINT, SIGTERM or SIGHUP sets `stop`; the second one ends the program at once with `code`.
pub(crate) fn listen_to(stop: &engine::Stop, code: u8) -> std::io::Result<()> {
    let stop = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if stop.is_set() {
                std::process::exit(code.into());
            }
            stop.set();
        }
    });
    Ok(())
}

fn start(on_signal: impl Fn(&Stop) + Send + 'static) -> std::io::Result<Stop> {
    let stop = Stop::new();
    let pressed = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || signals.forever().for_each(|_| on_signal(&pressed)));
    Ok(stop)
}
