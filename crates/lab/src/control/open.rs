//! From a resolved place to a session that takes queries.

use std::time::Duration;

use engine::Tls;
use protocol::postgres::{Handshake, Session};
use workloads::Connect;

use super::attempt::{Failed, Seen};
use super::stream::{Socket, Stream};
use super::{ConnectError, Control};

impl Control {
    /// Connects and logs in. `bound` limits connecting and each step of the handshake; later statements may take
    /// as long as they need.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses.
    pub fn open(connect: &Connect, bound: Option<Duration>) -> Result<Self, ConnectError> {
        let seconds = bound.map_or(0, |bound| bound.as_secs());
        Self::attempt(connect, bound).map_err(|failed| failed.explained(&connect.login, seconds))
    }

    /// As [`Control::open`], with what was seen when it fails.
    pub(crate) fn attempt(connect: &Connect, bound: Option<Duration>) -> Result<Self, Failed> {
        let opening = Opening { connect, bound };
        let mut control = Self {
            stream: Stream::Plain(opening.socket()?),
            connect: connect.clone(),
            input: Vec::new(),
            at: 0,
            out: Vec::new(),
            notices: Vec::new(),
            session: Session::new(connect.login.clone()),
        };
        let mut step = control.session.start(&mut control.out);
        loop {
            step = match step {
                Handshake::Ready => break,
                Handshake::NeedMore => opening.exchange(&mut control)?,
                Handshake::StartTls => opening.start_tls(&mut control)?,
                Handshake::Reconnect => opening.again(&mut control)?,
            };
        }
        control.stream.socket().set_bound(None).map_err(|error| opening.failed(error))?;
        Ok(control)
    }
}

/// A connection being opened.
struct Opening<'a> {
    connect: &'a Connect,
    bound: Option<Duration>,
}

impl Opening<'_> {
    fn socket(&self) -> Result<Socket, Failed> {
        let open = || {
            let socket = Socket::connect(&self.connect.endpoint.address, self.bound)?;
            socket.set_bound(self.bound)?;
            Ok(socket)
        };
        open().map_err(|error| self.failed(error))
    }

    /// Sends what the session wants to say, waits for an answer and hands it on.
    fn exchange(&self, control: &mut Control) -> Result<Handshake, Failed> {
        control.stream.send(&mut control.out).map_err(|error| self.failed(error))?;
        let step = if control.at < control.input.len() { self.handle(control)? } else { Handshake::NeedMore };
        if step != Handshake::NeedMore || !control.out.is_empty() {
            return Ok(step);
        }
        match control.stream.receive(&mut control.input) {
            Ok(0) => Err(self.failed(std::io::Error::new(
                std::io::ErrorKind::ConnectionAborted,
                "server closed the connection unexpectedly",
            ))),
            Ok(_) => self.handle(control),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn handle(&self, control: &mut Control) -> Result<Handshake, Failed> {
        let step = control
            .session
            .handshake(&control.input, &mut control.at, &mut control.out)
            .map_err(|error| self.saw(Seen::Session(error)))?;
        control.input.drain(..control.at);
        control.at = 0;
        Ok(step)
    }

    fn start_tls(&self, control: &mut Control) -> Result<Handshake, Failed> {
        match self.secured(control) {
            Ok(()) => {
                let certificate = control.stream.certificate();
                Ok(control.session.secured(certificate.as_deref(), &mut control.out))
            }
            Err(_) if control.session.tls_failed() => Ok(Handshake::Reconnect),
            Err(source) => Err(self.saw(Seen::Tls(source))),
        }
    }

    fn secured(&self, control: &mut Control) -> std::io::Result<()> {
        let tls: &Tls = self
            .connect
            .endpoint
            .tls
            .as_ref()
            .ok_or_else(|| std::io::Error::other("no TLS configuration for this host"))?;
        // The socket changes owner: a fresh handle of the same connection takes its place until TLS is up.
        let socket = match control.stream.socket() {
            Socket::Tcp(stream) => Socket::Tcp(stream.try_clone()?),
            Socket::Unix(stream) => Socket::Unix(stream.try_clone()?),
        };
        control.stream = Stream::secure(socket, tls)?;
        Ok(())
    }

    /// A second connection, with or without TLS, as the session chose.
    fn again(&self, control: &mut Control) -> Result<Handshake, Failed> {
        control.stream = Stream::Plain(self.socket()?);
        control.input.clear();
        control.at = 0;
        control.out.clear();
        Ok(control.session.start(&mut control.out))
    }

    fn failed(&self, error: std::io::Error) -> Failed {
        self.saw(Seen::Io(error))
    }

    fn saw(&self, seen: Seen) -> Failed {
        Failed { address: self.connect.endpoint.address.clone(), seen }
    }
}
