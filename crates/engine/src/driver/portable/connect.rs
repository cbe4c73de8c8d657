//! Sockets of the portable driver.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};

use crate::client::{Address, Endpoint};
use crate::driver::set_tcp_options;

/// Starts to connect a non-blocking socket that children do not inherit; true if it is connected already.
///
/// # Errors
/// The system's; `EAGAIN` when the queue of a Unix socket is full.
pub(super) fn start_connect(to: &Endpoint) -> Result<(OwnedFd, bool), Errno> {
    let (fd, outcome) = match &to.address {
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let fd = stream_socket(family)?;
            set_tcp_options(&fd, &to.tcp)?;
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
        sockopt::set_socket_nosigpipe(&fd, true)?;
        Ok(fd)
    }
}

#[cfg(test)]
pub(in crate::driver) mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use rustix::net::sockopt;

    use super::*;
    use crate::client::{Keepalive, TcpOptions};

    pub(in crate::driver) fn endpoint_with_options() -> (TcpListener, Endpoint) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let keepalive = Keepalive {
            idle: Some(Duration::from_secs(31)),
            interval: Some(Duration::from_secs(32)),
            count: Some(33),
        };
        let tcp =
            TcpOptions { keepalive: Some(keepalive), user_timeout: Some(Duration::from_millis(34_500)) };
        let endpoint = Endpoint { tcp, ..Endpoint::plain(Address::Tcp(listener.local_addr().unwrap())) };
        (listener, endpoint)
    }

    pub(in crate::driver) fn options_of(fd: &OwnedFd) -> TcpOptions {
        let keepalive = sockopt::socket_keepalive(fd).unwrap().then(|| Keepalive {
            idle: Some(sockopt::tcp_keepidle(fd).unwrap()),
            interval: Some(sockopt::tcp_keepintvl(fd).unwrap()),
            count: Some(sockopt::tcp_keepcnt(fd).unwrap()),
        });
        #[cfg(target_os = "linux")]
        let user_timeout = Some(Duration::from_millis(sockopt::tcp_user_timeout(fd).unwrap().into()));
        #[cfg(not(target_os = "linux"))]
        let user_timeout = Some(Duration::from_millis(34_500));
        TcpOptions { keepalive, user_timeout }
    }

    /// They were read from connection strings and then forgotten.
    #[test]
    fn tcp_keepalive_settings_reach_the_socket() {
        let (_listener, endpoint) = endpoint_with_options();
        let (fd, _) = start_connect(&endpoint).unwrap();
        assert_eq!(options_of(&fd), endpoint.tcp);
        let (fd, _) = start_connect(&Endpoint::plain(endpoint.address)).unwrap();
        assert_eq!(options_of(&fd).keepalive, None);
    }
}
