//! Drivers move bytes and tell the time; they know nothing of clients.

mod choose;
mod cpu;
mod epoch;
mod portable;
mod tcp;
#[cfg(target_os = "linux")]
mod uring;

use std::io;
use std::sync::Arc;

pub use choose::io_uring_works;
pub(crate) use choose::{Chosen, choose};
pub(crate) use cpu::Cpu;
pub(crate) use epoch::{Epoch, with_sleep};
pub(crate) use portable::Portable;
#[cfg(target_os = "linux")]
pub(crate) use uring::Uring;

use crate::client::{Endpoint, Time};
use crate::wake::Notify;

/// Number of a connection within its thread, the same for all the connections a link makes one after another.
pub(crate) type Conn = usize;

/// What a driver reports of a connection.
#[derive(Debug)]
pub(crate) enum Happened<'a> {
    /// It is connected.
    Opened,
    /// Bytes arrived; lent until the next call.
    Bytes(&'a [u8]),
    /// It ended, by an orderly end of stream (`None`) or an error, or could not be opened; nothing follows.
    Closed(Option<io::Error>),
}

/// The time of a driver, to be read while the driver lends an event.
pub(crate) trait Clock: Clone {
    /// Nanoseconds since the run's epoch; never goes back.
    fn now(&self) -> Time;
}

/// Moves the bytes of one thread's connections.
///
/// The loop calls [`Driver::wait`], then [`Driver::next`] until it gives `None`, and orders sends, connects and
/// closes between events. Every buffer the system may see belongs to the driver.
pub(crate) trait Driver {
    type Clock: Clock;

    /// For the record of the run.
    fn name(&self) -> &'static str;

    /// Another handle to its clock.
    fn clock(&self) -> Self::Clock;

    /// What ends its wait from another thread.
    fn notifier(&self) -> Arc<dyn Notify>;

    /// CPU the calling thread used so far.
    fn cpu(&self) -> Cpu;

    /// Starts to connect; the outcome, also an immediate failure, comes as an event.
    fn connect(&mut self, conn: Conn, to: &Endpoint);

    /// Sends `out` and leaves it empty, usually with another buffer's memory. Bytes for a connection that is gone vanish.
    fn send(&mut self, conn: Conn, out: &mut Vec<u8>);

    /// Closes at once; no event of this connection follows.
    fn close(&mut self, conn: Conn);

    /// Time it spent looking for news before it slept, ns.
    fn spun(&self) -> Time;

    /// Sleeps until something happened or `until` has come; it is `now`.
    ///
    /// # Errors
    /// When the system cannot wait at all; the thread cannot go on.
    fn wait(&mut self, now: Time, until: Time) -> io::Result<()>;

    /// The next thing that happened; `None` when all was given out and it is time to wait.
    fn next(&mut self) -> Option<(Conn, Happened<'_>)>;
}
