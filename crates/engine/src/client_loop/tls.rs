//! TLS between a driver and a client: ciphertext on the driver's side, plain bytes on the client's.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;
use rustls::pki_types::CertificateDer;

use crate::client::Tls;

pub(super) struct TlsLink {
    connection: ClientConnection,
    secured: bool,
}

impl TlsLink {
    /// Starts a handshake; its first message is written by [`Self::seal`].
    pub(super) fn start(tls: &Tls) -> io::Result<Box<Self>> {
        let mut connection =
            ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()).map_err(io::Error::other)?;
        // A large request is handed over whole; the client's own buffer bounds it already.
        connection.set_buffer_limit(None);
        Ok(Box::new(Self { connection, secured: false }))
    }

    /// Decrypts `wire` and appends what it holds to `plain`.
    pub(super) fn open(&mut self, mut wire: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        while !wire.is_empty() {
            if self.connection.read_tls(&mut wire)? == 0 {
                break;
            }
            let state = self
                .connection
                .process_new_packets()
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let count = state.plaintext_bytes_to_read();
            if count > 0 {
                let start = plain.len();
                plain.resize(start + count, 0);
                self.connection.reader().read_exact(&mut plain[start..])?;
            }
        }
        Ok(())
    }

    /// Encrypts and empties `plain`, and appends everything to send to `wire`.
    pub(super) fn seal(&mut self, plain: &mut Vec<u8>, wire: &mut Vec<u8>) {
        if !plain.is_empty() {
            self.connection.writer().write_all(plain).expect("its buffer has no limit");
            plain.clear();
        }
        while self.connection.wants_write() {
            self.connection.write_tls(wire).expect("writing to memory cannot fail");
        }
    }

    /// Encrypts `plain` and ends the TLS session.
    pub(super) fn finish(&mut self, plain: &mut Vec<u8>, wire: &mut Vec<u8>) {
        self.seal(plain, wire);
        self.connection.send_close_notify();
        self.seal(plain, wire);
    }

    /// True once, after the handshake.
    pub(super) fn newly_secured(&mut self) -> bool {
        let done = !self.connection.is_handshaking();
        done && !std::mem::replace(&mut self.secured, done)
    }

    pub(super) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    pub(super) fn certificate(&self) -> Option<&[u8]> {
        self.connection.peer_certificates()?.first().map(CertificateDer::as_ref)
    }
}
