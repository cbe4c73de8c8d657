//! What every TCP socket is given before it connects.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt;

use crate::client::{Keepalive, TcpOptions};

/// Sets what a TCP socket is to have before it connects.
pub(super) fn set_tcp_options(fd: &OwnedFd, options: &TcpOptions) -> Result<(), Errno> {
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
