//! One connection's side of the ring: its operations, and what waits to be sent.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, squeue, types};
use rustix::net::{
    self, AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, addr::SocketAddrArg,
};

use super::token::{OperationKind, token};
use super::{Buffers, SMALL};
use crate::client::{Address, Endpoint};
use crate::driver::Conn;
use crate::driver::set_tcp_options;

/// An address in the system's form; it must not move while a connection is being made.
pub(super) struct SystemAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

/// A connection. Memory that the system may use lives until the last operation on it has completed.
#[derive(Default)]
pub(super) struct UringSocket {
    pub(super) fd: Option<OwnedFd>,
    /// Incremented with each connection, so that completions of an earlier one can be recognised.
    pub(super) generation: u32,
    pub(super) open: bool,
    pub(super) operations: u32,
    /// Bytes the system is sending.
    sending: Vec<u8>,
    pub(super) busy: bool,
    waiting: Vec<u8>,
    address: Option<Box<SystemAddress>>,
    /// A send error; reported after everything the peer sent before is read.
    pub(super) broken: Option<io::Error>,
    /// Close when all is sent.
    leaving: bool,
}

impl UringSocket {
    pub(super) fn new(generation: u32) -> Self {
        Self { generation, ..Self::default() }
    }

    /// Makes a socket and the operation that connects it.
    pub(super) fn connect(&mut self, conn: Conn, to: &Endpoint) -> io::Result<squeue::Entry> {
        let (fd, address) = prepare(to)?;
        let address = self.address.insert(Box::new(address));
        let storage = std::ptr::from_ref(&address.storage).cast();
        let order = opcode::Connect::new(types::Fd(fd.as_raw_fd()), storage, address.length).build();
        self.fd = Some(fd);
        self.operations += 1;
        Ok(order.user_data(token(OperationKind::Connect, self.generation, conn)))
    }

    /// The multishot receive.
    pub(super) fn receive(&mut self, conn: Conn) -> Option<squeue::Entry> {
        let fd = self.fd.as_ref()?;
        self.operations += 1;
        let order = opcode::RecvMulti::new(types::Fd(fd.as_raw_fd()), Buffers::GROUP).build();
        Some(order.user_data(token(OperationKind::Receive, self.generation, conn)))
    }

    /// Takes bytes to send in exchange for one of the `spare` buffers; returns the operation, unless a send
    /// is under way.
    pub(super) fn send(
        &mut self,
        conn: Conn,
        out: &mut Vec<u8>,
        spare: &mut Vec<Vec<u8>>,
    ) -> Option<squeue::Entry> {
        if !self.open || self.broken.is_some() {
            out.clear();
            return None;
        }
        if self.busy {
            self.waiting.append(out);
            return None;
        }
        self.sending = std::mem::replace(out, spare.pop().unwrap_or_default());
        self.send_on(conn, self.sending.len() <= SMALL)
    }

    /// The operation that sends `sending`; with `at_once` it fails rather than waits when there is no room.
    fn send_on(&mut self, conn: Conn, at_once: bool) -> Option<squeue::Entry> {
        let fd = self.fd.as_ref()?;
        self.busy = true;
        self.operations += 1;
        let length = u32::try_from(self.sending.len()).unwrap_or(u32::MAX);
        let order = opcode::Send::new(types::Fd(fd.as_raw_fd()), self.sending.as_ptr(), length)
            // A short send would count as done.
            .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL | if at_once { libc::MSG_DONTWAIT } else { 0 })
            .build();
        Some(order.user_data(token(OperationKind::Send, self.generation, conn)))
    }

    /// Handles the end of a send: returns its buffer, and the operation for the next one.
    pub(super) fn sent(
        &mut self,
        conn: Conn,
        result: i32,
        spare: &mut Vec<Vec<u8>>,
    ) -> Option<squeue::Entry> {
        self.busy = false;
        match usize::try_from(result) {
            Ok(count) if count < self.sending.len() && count > 0 => drop(self.sending.drain(..count)),
            Ok(count) if count > 0 => self.sending.clear(),
            _ if -result == libc::EINTR || -result == libc::EAGAIN => {}
            _ => {
                self.sending.clear();
                self.waiting.clear();
                self.broken = Some(io::Error::from_raw_os_error(-result));
                self.shut();
            }
        }
        if self.sending.is_empty() {
            spare.push(std::mem::replace(&mut self.sending, std::mem::take(&mut self.waiting)));
        }
        if self.sending.is_empty() {
            if self.leaving {
                self.shut();
            }
            return None;
        }
        self.send_on(conn, false)
    }

    pub(super) fn connected(&mut self) {
        self.address = None;
    }

    /// Closes the connection once everything is sent.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        if !self.busy {
            self.shut();
        }
    }

    /// Ends both directions at once; operations under way complete.
    pub(super) fn shut(&mut self) {
        if let Some(fd) = &self.fd {
            // A socket that is not connected cannot be shut down.
            let _ = net::shutdown(fd, Shutdown::Both);
        }
    }

    /// Leaks what the system may still read.
    pub(super) fn forget(self) {
        std::mem::forget(self.sending);
        std::mem::forget(self.address);
    }
}

/// A blocking socket: on a non-blocking one the ring answers EAGAIN instead of waiting.
fn prepare(to: &Endpoint) -> io::Result<(OwnedFd, SystemAddress)> {
    let open = |family| net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    Ok(match &to.address {
        Address::Tcp(address) => {
            let fd = open(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
            set_tcp_options(&fd, &to.tcp)?;
            (fd, in_system_form(address))
        }
        Address::Unix(path) => (open(AddressFamily::UNIX)?, in_system_form(&SocketAddrUnix::new(path)?)),
    })
}

fn in_system_form(address: &impl SocketAddrArg) -> SystemAddress {
    // SAFETY: all-zero bytes are a valid storage.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer and length given to the closure are valid in it, and an address is never longer than the
    // storage.
    let length = unsafe {
        address.with_sockaddr(|from, length| {
            let to = std::ptr::from_mut(&mut storage).cast::<u8>();
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, length as usize);
            length
        })
    };
    SystemAddress { storage, length: length as libc::socklen_t }
}
