//! Is the machine quiet? Read from the kernel's pressure figures, where it has them.

use std::time::{Duration, Instant};

use crate::stop;

/// Share of the last 10 s, percent, in which something waited for a CPU, above which a machine is not quiet.
const LOUD_PCT: f64 = 15.0;

/// Whether this pressure, percent, is too much to be called quiet.
pub(crate) fn is_loud(pressure: f64) -> bool {
    pressure >= LOUD_PCT
}

/// Waits until the machine is quiet, at most so long; gives the pressure then.
pub(crate) fn wait(patience: Duration) -> Option<f64> {
    let start = Instant::now();
    loop {
        let pressure = pressure()?;
        if !is_loud(pressure) || start.elapsed() >= patience || stop::switch().at_once() {
            return Some(pressure);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// `some avg10=1.23 …` of /proc/pressure/cpu.
fn pressure() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let average = text.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    average.parse().ok()
}
