//! The engine on the portable driver: real sockets, threads and time.

mod drivers;
mod support;

use engine::DriverChoice;

/// The driver under test.
const DRIVER: DriverChoice = DriverChoice::Portable;
