//! Drivers: they move bytes and read the clock, and do not know clients.

mod choose;
mod cpu;
mod epoch;
mod portable;
#[cfg(target_os = "linux")]
mod uring;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use choose::io_uring_works;
pub(crate) use choose::{Chosen, choose};
pub(crate) use cpu::Cpu;
pub(crate) use epoch::{Epoch, with_sleep};
pub(crate) use portable::Portable;
#[cfg(target_os = "linux")]
pub(crate) use uring::Uring;

use rustix::io::Errno;
use rustix::net::sockopt;

use crate::client::{Endpoint, Keepalive, TcpOptions, Time};
use crate::wake::Notify;

/// Number of a connection within its thread; a link's successive connections share it.
pub(crate) type Conn = usize;

/// What a driver reports of a connection.
#[derive(Debug)]
pub(crate) enum Happened<'a> {
    Opened,
    /// Bytes arrived; lent until the next call.
    Bytes(&'a [u8]),
    /// It ended, by an orderly end of stream (`None`) or an error, or could not be opened; nothing follows.
    Closed(Option<io::Error>),
}

/// The clock of a driver, readable while the driver lends an event.
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

    /// Stored with the run.
    fn name(&self) -> &'static str;

    fn clock(&self) -> Self::Clock;

    /// A handle with which another thread ends its wait.
    fn notifier(&self) -> Arc<dyn Notify>;

    /// CPU time of the calling thread so far.
    fn cpu(&self) -> Cpu;

    /// Starts to connect; the outcome, also an immediate failure, comes as an event.
    fn connect(&mut self, conn: Conn, to: &Endpoint);

    /// Sends `out` and leaves it empty, usually with another buffer's memory. Bytes for a closed connection
    /// are dropped.
    fn send(&mut self, conn: Conn, out: &mut Vec<u8>);

    /// Closes at once; no event of this connection follows.
    fn close(&mut self, conn: Conn);

    fn spun(&self) -> Time;

    /// Sleeps until something happens or `until`; `now` is the current time.
    ///
    /// # Errors
    /// When the system cannot wait at all; the thread cannot continue.
    fn wait(&mut self, now: Time, until: Time) -> io::Result<()>;

    /// The next event; `None` when all were returned and it is time to wait.
    fn next(&mut self) -> Option<(Conn, Happened<'_>)>;
}

/// Sets the options a TCP socket needs before it connects.
fn set_tcp_options(fd: &OwnedFd, options: &TcpOptions) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(fd, true)?;
    if let Some(Keepalive { idle, interval, count }) = options.keepalive {
        sockopt::set_socket_keepalive(fd, true)?;
        idle.map_or(Ok(()), |time| sockopt::set_tcp_keepidle(fd, time))?;
        interval.map_or(Ok(()), |time| sockopt::set_tcp_keepintvl(fd, time))?;
        count.map_or(Ok(()), |count| sockopt::set_tcp_keepcnt(fd, count))?;
    }
    #[cfg(target_os = "linux")]
    if let Some(time) = options.user_timeout {
        sockopt::set_tcp_user_timeout(fd, u32::try_from(time.as_millis()).unwrap_or(u32::MAX))?;
    }
    Ok(())
}
