//! Ctrl-C and its kin, turned into presses of a switch.

use lab::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::print;

/// A switch that SIGINT, SIGTERM and SIGHUP press: once to stop soon, twice to stop at once.
pub(crate) fn listen() -> std::io::Result<Stop> {
    let stop = Stop::new();
    let pressed = stop.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if pressed.press() == 1 {
                print::talk("stopping after this run; press Ctrl-C again to stop at once");
            } else {
                print::talk("stopping at once");
            }
        }
    });
    Ok(stop)
}
