//! A server process on this machine: the system knows whether it is stopped, the server does not.

use super::stream::Socket;
use crate::host::proc::{self, Process};

/// What identifies a connection's server process among the processes of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// The process that listens at the Unix socket: the server process is its child.
    Listener(u32),
    /// Our port of a connection within this machine: the server process shows it in its title.
    Port(u16),
    /// It may be on another machine, or in a container.
    Elsewhere,
}

impl Peer {
    pub(super) fn of(socket: &Socket) -> Self {
        match socket.tcp_ends() {
            None => listener(socket).map_or(Self::Elsewhere, Self::Listener),
            Some((ours, theirs)) if ours.ip() == theirs.ip() => Self::Port(ours.port()),
            Some(_) => Self::Elsewhere,
        }
    }

    /// Whether the server process `pid` is stopped by a signal or a debugger, as far as known.
    pub(super) fn is_stopped(self, pid: u32) -> bool {
        proc::process(pid).is_some_and(|process| process.is_stopped() && self.is_served_by(&process))
    }

    /// The postmaster whose child `pid` serves this connection, if both are on this machine without a pooler
    /// in between.
    pub(super) fn postmaster(self, pid: u32) -> Option<u32> {
        let process = proc::process(pid)?;
        self.is_served_by(&process).then_some(process.parent)
    }

    /// Whether this process is at the other end.
    fn is_served_by(self, process: &Process) -> bool {
        match self {
            Self::Listener(listener) => process.parent == listener,
            Self::Port(port) => {
                // Names in it may have any encoding, which procfs refuses.
                let title = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
                let title = String::from_utf8_lossy(&title);
                title.starts_with("postgres") && title.contains(&format!("({port})"))
            }
            Self::Elsewhere => false,
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn listener(socket: &Socket) -> Option<u32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn listener(_socket: &Socket) -> Option<u32> {
    None
}
