//! A socket, plain or under TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

pub(super) use super::socket::Socket;
use super::socket::{For, WaitWatch, is_passing, wait};
use protocol::postgres::Tls;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConnection, StreamOwned};

/// A byte stream over a socket, plain or under TLS. It never blocks longer than its watch allows.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    /// Starts TLS and waits until it is up.
    pub(crate) fn secure(mut socket: Socket, tls: &Tls, watch: &mut WaitWatch<'_>) -> io::Result<Self> {
        let mut connection =
            ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            match connection.complete_io(&mut socket) {
                Err(error) if is_passing(&error) => {
                    let wanted = if connection.wants_write() { For::Room } else { For::Input };
                    wait(&socket, wanted, watch)?;
                }
                Err(error) => return Err(error),
                Ok(_) => {}
            }
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

    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }

    /// Whether something has arrived (including the peer's close), without waiting. Unknown under TLS, where
    /// a record need not contain data.
    pub(super) fn has_input(&self) -> bool {
        let Self::Plain(socket) = self else { return false };
        let mut wanted = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut wanted, Some(&at_once)), Ok(1..))
    }

    /// Waits for data and appends it to `input`; 0 means that the peer closed.
    pub(crate) fn receive(&mut self, input: &mut Vec<u8>, watch: &mut WaitWatch<'_>) -> io::Result<usize> {
        let mut buffer = [0; 16 * 1024];
        let received = match self {
            Self::Plain(socket) => socket.receive(&mut buffer, watch),
            Self::Tls(stream) => receive_tls(stream, &mut buffer, watch),
        };
        let count = match received {
            // A server that dies under TLS sends no close_notify.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
            other => other?,
        };
        input.extend_from_slice(&buffer[..count]);
        Ok(count)
    }

    /// Sends everything in `out` and empties it.
    pub(crate) fn send(&mut self, out: &mut Vec<u8>, watch: &mut WaitWatch<'_>) -> io::Result<()> {
        let sent = match self {
            Self::Plain(socket) => socket.send(out, watch),
            Self::Tls(stream) => send_tls(stream, out, watch),
        };
        out.clear();
        sent
    }
}

fn receive_tls(
    stream: &mut StreamOwned<ClientConnection, Socket>,
    buffer: &mut [u8],
    watch: &mut WaitWatch<'_>,
) -> io::Result<usize> {
    watch()?;
    loop {
        match stream.read(buffer) {
            Err(error) if is_passing(&error) => {
                let wanted = if stream.conn.wants_write() { For::Room } else { For::Input };
                wait(&stream.sock, wanted, watch)?;
            }
            other => return other,
        }
    }
}

fn send_tls(
    stream: &mut StreamOwned<ClientConnection, Socket>,
    mut bytes: &[u8],
    watch: &mut WaitWatch<'_>,
) -> io::Result<()> {
    while !bytes.is_empty() || stream.conn.wants_write() {
        // As much as TLS takes at a time, then send it.
        let taken = stream.conn.writer().write(bytes)?;
        bytes = &bytes[taken..];
        while stream.conn.wants_write() {
            match stream.conn.write_tls(&mut stream.sock) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(error) if is_passing(&error) => wait(&stream.sock, For::Room, watch)?,
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
    }
    Ok(())
}
