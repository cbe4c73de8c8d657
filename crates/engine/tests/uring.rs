//! The engine on io_uring, where the kernel has it: real sockets, threads and time.

#![cfg(target_os = "linux")]

mod drivers;
mod support;

use engine::DriverChoice;

/// The driver under test.
const DRIVER: DriverChoice = DriverChoice::IoUring;
