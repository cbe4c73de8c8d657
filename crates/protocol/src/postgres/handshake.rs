//! From an open link to a connection ready for queries: TLS, authentication, the server's first settings.

use std::sync::Arc;

use super::announced::{Announced, CancelKey};
use super::authentication::{Authentication, Channel, Proof};
use super::frame::{self, FrameError, Reader};
use super::frontend;
use super::login::{Login, LoginError, SslMode, SslNegotiation};
use super::server_error::{ErrorFields, ServerError};
use super::tls;
use crate::limits;

/// What the caller must do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// Send what was appended, and continue when more arrives.
    NeedMore,
    /// Start TLS on the link, then call [`Connection::secured`](super::Connection::secured), or
    /// [`Connection::tls_failed`](super::Connection::tls_failed).
    StartTls,
    /// Close the link, connect again and call [`Connection::start`](super::Connection::start): the next try
    /// is without TLS (sslmode `prefer`) or with TLS (sslmode `allow`).
    Reconnect,
    /// The connection is ready for queries.
    Ready,
}

#[derive(Debug)]
enum HandshakeStage {
    /// Not started, or given up.
    Closed,
    /// About to connect again with or without TLS.
    SecondTry,
    /// Waiting for the one-byte answer to the TLS request.
    SslAnswer,
    Tls,
    Auth(Proof),
    /// Authenticated; the server sends its settings.
    Settings,
    Ready,
}

#[derive(Debug)]
pub(super) struct Opening {
    login: Arc<Login>,
    stage: HandshakeStage,
    /// Use TLS on this connection, until the server refuses it.
    try_tls: bool,
    /// The refusal that led to this second try with or without TLS.
    first_refusal: Option<Box<ServerError>>,
    channel: Channel,
    /// Bytes of messages received so far.
    received: usize,
    /// Why TLS failed, if sslmode `prefer` continued without it.
    tls_failure: Option<String>,
}

impl Opening {
    pub(super) fn new(login: Arc<Login>) -> Opening {
        Opening {
            try_tls: login.ssl_mode >= SslMode::Prefer,
            login,
            stage: HandshakeStage::Closed,
            first_refusal: None,
            channel: Channel::Plain,
            received: 0,
            tls_failure: None,
        }
    }

    pub(super) fn is_secure(&self) -> bool {
        matches!(self.channel, Channel::Tls { .. })
    }

    pub(super) fn start(&mut self, out: &mut Vec<u8>) -> Handshake {
        if !matches!(self.stage, HandshakeStage::SecondTry) {
            self.try_tls = self.login.ssl_mode >= SslMode::Prefer;
            self.first_refusal = None;
            self.tls_failure = None;
        }
        self.channel = Channel::Plain;
        self.received = 0;
        if !self.try_tls {
            return self.send_startup(out);
        }
        match self.login.ssl_negotiation {
            SslNegotiation::Direct => {
                self.stage = HandshakeStage::Tls;
                Handshake::StartTls
            }
            SslNegotiation::Postgres => {
                frontend::ssl_request(out);
                self.stage = HandshakeStage::SslAnswer;
                Handshake::NeedMore
            }
        }
    }

    pub(super) fn secured(&mut self, certificate: Option<&[u8]>, out: &mut Vec<u8>) -> Handshake {
        self.channel = Channel::Tls { end_point: certificate.and_then(tls::server_end_point) };
        self.send_startup(out)
    }

    pub(super) fn tls_failed(&mut self, why: &str) -> bool {
        let again = self.login.ssl_mode == SslMode::Prefer && self.try_tls;
        self.tls_failure = again.then(|| why.to_owned());
        self.try_tls = false;
        self.stage = if again { HandshakeStage::SecondTry } else { HandshakeStage::Closed };
        again
    }

    pub(super) fn arrived(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Vec<u8>,
        announced: &mut Announced,
    ) -> Result<Handshake, LoginError> {
        loop {
            let rest = input.get(*at..).unwrap_or_default();
            match self.stage {
                HandshakeStage::Ready => return Ok(Handshake::Ready),
                HandshakeStage::Closed | HandshakeStage::SecondTry | HandshakeStage::Tls => {
                    return Ok(Handshake::NeedMore);
                }
                HandshakeStage::SslAnswer => {
                    let Some((&answer, behind)) = rest.split_first() else {
                        return Ok(Handshake::NeedMore);
                    };
                    *at += 1;
                    return self.ssl_answer(answer, behind, out);
                }
                HandshakeStage::Auth(_) | HandshakeStage::Settings => {
                    let Some(header) = frame::header(rest)? else {
                        return Ok(Handshake::NeedMore);
                    };
                    self.check_length(header)?;
                    let end = frame::HEADER + header.body;
                    let Some(body) = rest.get(frame::HEADER..end) else {
                        return Ok(Handshake::NeedMore);
                    };
                    *at += end;
                    self.count(end)?;
                    if self.handle_message(header.tag, body, out, announced)? == Handshake::Reconnect {
                        return Ok(Handshake::Reconnect);
                    }
                }
            }
        }
    }

    /// Before the connection is ready, only the messages after authentication may be long: a stranger must
    /// not make the client wait for, and keep, a gigabyte that will never be a message.
    fn check_length(&self, header: frame::Header) -> Result<(), FrameError> {
        let may_be_long = matches!(self.stage, HandshakeStage::Settings) && matches!(header.tag, b'E' | b'N');
        if header.body > frame::SHORT_LIMIT && !may_be_long {
            return Err(FrameError::Length { tag: header.tag, length: (header.body + 4) as u32 });
        }
        header.check_kept()
    }

    /// Limits the settings and notices a server may send before it is ready.
    fn count(&mut self, bytes: usize) -> Result<(), FrameError> {
        self.received = self.received.saturating_add(bytes);
        let limit = limits::max_answer();
        if self.received > limit { Err(FrameError::LongStart { limit }) } else { Ok(()) }
    }

    fn send_startup(&mut self, out: &mut Vec<u8>) -> Handshake {
        let login = &self.login;
        let named = [("user", login.user.as_str()), ("database", login.dbname.as_str())];
        let others = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        frontend::startup(out, named.into_iter().chain(others));
        self.stage = HandshakeStage::Auth(Proof::None);
        Handshake::NeedMore
    }

    fn ssl_answer(&mut self, answer: u8, behind: &[u8], out: &mut Vec<u8>) -> Result<Handshake, LoginError> {
        match answer {
            b'S' if !behind.is_empty() => Err(FrameError::ClearBytesAfterSsl.into()),
            b'S' => {
                self.stage = HandshakeStage::Tls;
                Ok(Handshake::StartTls)
            }
            b'N' if self.login.ssl_mode.demands_tls() => Err(LoginError::TlsRefused),
            b'N' => {
                self.try_tls = false;
                Ok(self.send_startup(out))
            }
            _ => Err(FrameError::SslAnswer { answer }.into()),
        }
    }

    fn handle_message(
        &mut self,
        tag: u8,
        body: &[u8],
        out: &mut Vec<u8>,
        announced: &mut Announced,
    ) -> Result<Handshake, LoginError> {
        let mut reader = Reader::new(tag, body);
        let settled = matches!(self.stage, HandshakeStage::Settings);
        match tag {
            b'E' => return self.refused(ErrorFields::read(tag, body)?.to_owned()),
            b'N' => announced.remark(ErrorFields::read(tag, body)?.to_owned(), body.len()),
            b'S' => announced.set(reader.cstr()?, reader.cstr()?),
            b'R' if !settled => self.authenticate(&mut reader, out)?,
            b'K' if settled => {
                announced.cancel_key = Some(CancelKey { process_id: reader.u32()?, secret: reader.u32()? });
            }
            b'Z' if settled => self.stage = HandshakeStage::Ready,
            _ => return Err(FrameError::Unexpected { tag, during: "connection start" }.into()),
        }
        Ok(Handshake::NeedMore)
    }

    /// The server refused. Before authentication, sslmode `allow` and `prefer` try the other way once.
    fn refused(&mut self, error: ServerError) -> Result<Handshake, LoginError> {
        let mode = self.login.ssl_mode;
        let other_way =
            mode == SslMode::Prefer && self.is_secure() || mode == SslMode::Allow && !self.try_tls;
        if other_way && self.first_refusal.is_none() && matches!(self.stage, HandshakeStage::Auth(_)) {
            self.first_refusal = Some(Box::new(error));
            self.try_tls = !self.try_tls;
            self.stage = HandshakeStage::SecondTry;
            return Ok(Handshake::Reconnect);
        }
        self.stage = HandshakeStage::Closed;
        Err(LoginError::Server { error: Box::new(error), earlier: self.first_refusal.take() })
    }

    fn authenticate(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), LoginError> {
        let HandshakeStage::Auth(proof) = &mut self.stage else {
            return Err(FrameError::Unexpected { tag: b'R', during: "connection start" }.into());
        };
        let tls_failure = &mut self.tls_failure;
        let mut authentication =
            Authentication { login: &self.login, channel: &self.channel, proof, tls_failure };
        if authentication.answer(reader, out)? {
            self.stage = HandshakeStage::Settings;
        }
        Ok(())
    }
}
