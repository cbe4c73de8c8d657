//! A socket, plain or under TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::{Address, Tls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConnection, StreamOwned};

/// A connected socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects; `bound` limits TCP's patience (a Unix socket answers at once).
    pub(super) fn connect(address: &Address, bound: Option<Duration>) -> io::Result<Self> {
        match (address, bound) {
            (Address::Tcp(address), bound) => {
                let stream = match bound {
                    Some(bound) => TcpStream::connect_timeout(address, bound)?,
                    None => TcpStream::connect(address)?,
                };
                stream.set_nodelay(true)?;
                Ok(Self::Tcp(stream))
            }
            (Address::Unix(path), _) => UnixStream::connect(path).map(Self::Unix),
        }
    }

    /// Limits how long one read or write may block; `None`: for ever.
    pub(super) fn set_bound(&self, bound: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(bound).and_then(|()| stream.set_write_timeout(bound))
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(bound).and_then(|()| stream.set_write_timeout(bound))
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}

/// A connection that bytes go over.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    /// Starts TLS and waits until it is up.
    pub(super) fn secure(mut socket: Socket, tls: &Tls) -> io::Result<Self> {
        let mut connection =
            ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    /// The server's own certificate, DER.
    pub(super) fn certificate(&self) -> Option<Vec<u8>> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => Some(stream.conn.peer_certificates()?.first()?.as_ref().to_vec()),
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Whether something has arrived (the peer's closing counts), without waiting for it. Under TLS nobody knows:
    /// what arrives need not be for us.
    pub(super) fn has_input(&self) -> bool {
        let Self::Plain(socket) = self else { return false };
        let mut wanted = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut wanted, Some(&at_once)), Ok(1..))
    }

    /// Adds what arrives to `input`; 0 means that the peer closed.
    pub(super) fn receive(&mut self, input: &mut Vec<u8>) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let count = loop {
            let read = match self {
                Self::Plain(socket) => socket.read(&mut buffer),
                Self::Tls(stream) => stream.read(&mut buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A server that dies under TLS says no goodbye.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break 0,
                other => break other?,
            }
        };
        input.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    /// Sends everything in `out` and empties it.
    pub(super) fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let sent = match self {
            Self::Plain(socket) => socket.write_all(out),
            Self::Tls(stream) => stream.write_all(out).and_then(|()| stream.flush()),
        };
        out.clear();
        sent
    }
}
