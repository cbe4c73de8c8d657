//! Sockets of the portable driver, and the start of their connections.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};

use crate::client::Address;

/// A socket that connects and never blocks, and whether it has connected already; children do not inherit it.
///
/// # Errors
/// The system's; `EAGAIN` when the queue of a Unix socket is full.
pub fn start_connect(address: &Address) -> Result<(OwnedFd, bool), Errno> {
    let (fd, outcome) = match address {
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let fd = stream_socket(family)?;
            net::sockopt::set_tcp_nodelay(&fd, true)?;
            let outcome = net::connect(&fd, address);
            (fd, outcome)
        }
        Address::Unix(path) => {
            let address = SocketAddrUnix::new(path)?;
            let fd = stream_socket(AddressFamily::UNIX)?;
            let outcome = net::connect(&fd, &address);
            (fd, outcome)
        }
    };
    match outcome {
        Ok(()) => Ok((fd, true)),
        Err(Errno::INPROGRESS | Errno::INTR) => Ok((fd, false)),
        Err(error) => Err(error),
    }
}

/// A non-blocking stream socket that children do not inherit.
fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    #[cfg(not(target_vendor = "apple"))]
    {
        let flags = net::SocketFlags::NONBLOCK | net::SocketFlags::CLOEXEC;
        net::socket_with(family, SocketType::STREAM, flags, None)
    }
    #[cfg(target_vendor = "apple")]
    {
        let fd = net::socket(family, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&fd, true)?;
        net::sockopt::set_socket_nosigpipe(&fd, true)?;
        Ok(fd)
    }
}
