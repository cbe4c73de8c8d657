//! Opens a connection to a resolved place.

use std::io;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::Tls;
use protocol::postgres::{Connection, Handshake};
use spec::Error;

use super::attempt::{FailedAttempt, FailedLayer};
use super::process::Peer;
use super::stream::{Socket, Stream};
use super::timeouts::GivenUp;
use super::{Control, Timeouts};

impl Control {
    /// Connects and logs in within `bound`; later statements use the default timeouts.
    pub fn open(connect: &Place, bound: Option<Duration>) -> Result<Self, Error> {
        Self::open_with(connect, bound, Timeouts::usual())
    }

    /// As [`Control::open`], with these timeouts.
    pub fn open_with(connect: &Place, bound: Option<Duration>, timeouts: Timeouts) -> Result<Self, Error> {
        let start = Instant::now();
        Self::attempt(connect, bound, timeouts).map_err(|failed| {
            let seconds = start.elapsed().as_secs_f64().round() as u64;
            failed.explained(&connect.login, seconds)
        })
    }

    /// As [`Control::open_with`], with the layer that failed.
    pub(crate) fn attempt(
        connect: &Place,
        bound: Option<Duration>,
        timeouts: Timeouts,
    ) -> Result<Self, FailedAttempt> {
        let mut opening = Opening { connect, watch: Box::new(timeouts.at_most(bound)) };
        let mut control = Self {
            stream: Stream::Plain(opening.socket()?),
            connect: connect.clone(),
            input: Vec::new(),
            at: 0,
            out: Vec::new(),
            notices: Vec::new(),
            connection: Connection::new(connect.login.clone()),
            timeouts,
            peer: Peer::Elsewhere,
            process: None,
            broken: None,
        };
        let mut step = control.connection.start(&mut control.out);
        loop {
            step = match step {
                Handshake::Ready => break,
                Handshake::NeedMore => opening.exchange(&mut control)?,
                Handshake::StartTls => opening.start_tls(&mut control)?,
                Handshake::Reconnect => opening.again(&mut control)?,
            };
        }
        control.peer = Peer::of(control.stream.socket());
        Ok(control)
    }
}

/// A connection being opened.
struct Opening<'a> {
    connect: &'a Place,
    watch: Box<dyn FnMut() -> io::Result<()>>,
}

impl Opening<'_> {
    fn socket(&mut self) -> Result<Socket, FailedAttempt> {
        Socket::connect(&self.connect.address, &self.connect.tcp, &mut self.watch)
            .map_err(|error| self.failed(error))
    }

    /// Sends the handshake's messages, waits for an answer and passes it on.
    fn exchange(&mut self, control: &mut Control) -> Result<Handshake, FailedAttempt> {
        control.stream.send(&mut control.out, &mut self.watch).map_err(|error| self.failed(error))?;
        let step = if control.at < control.input.len() { self.handle(control)? } else { Handshake::NeedMore };
        if step != Handshake::NeedMore || !control.out.is_empty() {
            return Ok(step);
        }
        match control.stream.receive(&mut control.input, &mut self.watch) {
            Ok(0) => Err(self.failed(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "server closed the connection unexpectedly",
            ))),
            Ok(_) => self.handle(control),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn handle(&self, control: &mut Control) -> Result<Handshake, FailedAttempt> {
        let step = control
            .connection
            .handshake(&control.input, &mut control.at, &mut control.out)
            .map_err(|error| self.saw(FailedLayer::Login(error)))?;
        control.input.drain(..control.at);
        control.at = 0;
        Ok(step)
    }

    fn start_tls(&mut self, control: &mut Control) -> Result<Handshake, FailedAttempt> {
        match self.secured(control) {
            Ok(()) => {
                let certificate = control.stream.certificate();
                Ok(control.connection.secured(certificate.as_deref(), &mut control.out))
            }
            // After a timeout or a stop the other way is not tried.
            Err(error) if error.kind() == io::ErrorKind::TimedOut || GivenUp::of(&error).is_some() => {
                Err(self.failed(error))
            }
            Err(error) if control.connection.tls_failed(&error.to_string()) => Ok(Handshake::Reconnect),
            Err(source) => Err(self.saw(FailedLayer::Tls(source))),
        }
    }

    fn secured(&mut self, control: &mut Control) -> io::Result<()> {
        let tls: &Tls = self
            .connect
            .tls
            .as_ref()
            .ok_or_else(|| io::Error::other("no TLS configuration for this host"))?;
        // The socket changes owner: another handle of the same connection replaces it until TLS is up.
        let socket = control.stream.socket().try_clone()?;
        control.stream = Stream::secure(socket, tls, &mut self.watch)?;
        Ok(())
    }

    /// A second connection, with or without TLS, as the handshake requires.
    fn again(&mut self, control: &mut Control) -> Result<Handshake, FailedAttempt> {
        control.stream = Stream::Plain(self.socket()?);
        control.input.clear();
        control.at = 0;
        control.out.clear();
        Ok(control.connection.start(&mut control.out))
    }

    fn failed(&self, error: io::Error) -> FailedAttempt {
        self.saw(FailedLayer::Io(error))
    }

    fn saw(&self, seen: FailedLayer) -> FailedAttempt {
        FailedAttempt { address: self.connect.address.clone(), seen }
    }
}
