//! From an open link to a session that takes queries: TLS, authentication, the server's first settings.

use postgres_protocol::authentication::md5_hash;

use super::frame::{self, Broken, Reader};
use super::frontend;
use super::login::{AuthMethod, ChannelBinding, SessionError, SslMode, SslNegotiation};
use super::scram::{Binding, Exchange};
use super::server_error::{ErrorFields, ServerError};
use super::session::{CancelKey, Session};
use super::tls;

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Most notices kept from one handshake; a server that sends more is not worth the memory.
const MOST_NOTICES: usize = 100;

/// How far a handshake has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// Send what was appended, and go on when more arrives.
    NeedMore,
    /// Start TLS on the link, then call [`Session::secured`], or [`Session::tls_failed`] if it does not come up.
    StartTls,
    /// Close the link, connect again and call [`Session::start`]: the next try is without TLS (sslmode `prefer`) or with it
    /// (sslmode `allow`).
    Reconnect,
    /// The session takes queries.
    Ready,
}

/// Where a session stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// Not begun, or given up.
    Closed,
    /// About to connect again the other way.
    SecondTry,
    /// Waiting for the one-byte answer to the request for TLS.
    SslAnswer,
    /// Waiting for TLS to come up.
    Tls,
    /// Authentication is going on.
    Auth(Proof),
    /// Authenticated; the server sends its settings.
    Settings,
    /// Takes queries.
    Ready,
}

/// What has been proved so far.
#[derive(Debug)]
pub(super) enum Proof {
    /// Nothing was asked yet.
    None,
    /// A password was sent.
    Sent,
    /// A SCRAM exchange is under way.
    Scram { exchange: Exchange, bound: bool },
    /// Both sides proved that they know the password; `bound` to the TLS connection or not.
    Mutual { bound: bool },
}

impl Session {
    /// The link is open: begins the handshake.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Handshake {
        if !matches!(self.stage, Stage::SecondTry) {
            self.try_tls = self.login.ssl_mode >= SslMode::Prefer;
            self.first_refusal = None;
        }
        self.reset();
        if !self.try_tls {
            return self.send_startup(out);
        }
        match self.login.ssl_negotiation {
            SslNegotiation::Direct => {
                self.stage = Stage::Tls;
                Handshake::StartTls
            }
            SslNegotiation::Postgres => {
                frontend::ssl_request(out);
                self.stage = Stage::SslAnswer;
                Handshake::NeedMore
            }
        }
    }

    /// TLS is up; `certificate` is the server's own, in DER.
    pub fn secured(&mut self, certificate: Option<&[u8]>, out: &mut Vec<u8>) -> Handshake {
        self.secure = true;
        self.binding = certificate.and_then(tls::server_end_point);
        self.send_startup(out)
    }

    /// TLS did not come up. True when the sslmode allows another try without it: connect again and call
    /// [`start`](Session::start).
    pub fn tls_failed(&mut self) -> bool {
        let again = self.login.ssl_mode == SslMode::Prefer && self.try_tls;
        self.try_tls = false;
        self.stage = if again { Stage::SecondTry } else { Stage::Closed };
        again
    }

    /// Handles what arrived during the handshake, from index `at` on, which is moved behind what was used.
    ///
    /// # Errors
    /// When the server refuses, asks for what we do not have or do not do, or does not speak PostgreSQL's protocol.
    /// The connection must then be closed.
    pub fn handshake(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Vec<u8>,
    ) -> Result<Handshake, SessionError> {
        loop {
            let rest = input.get(*at..).unwrap_or_default();
            match self.stage {
                Stage::Ready => return Ok(Handshake::Ready),
                Stage::Closed | Stage::SecondTry | Stage::Tls => return Ok(Handshake::NeedMore),
                Stage::SslAnswer => {
                    let Some((&answer, behind)) = rest.split_first() else {
                        return Ok(Handshake::NeedMore);
                    };
                    *at += 1;
                    return self.ssl_answer(answer, behind, out);
                }
                Stage::Auth(_) | Stage::Settings => {
                    let Some(header) = frame::header(rest)? else {
                        return Ok(Handshake::NeedMore);
                    };
                    self.check_length(header)?;
                    let end = frame::HEADER + header.body;
                    let Some(body) = rest.get(frame::HEADER..end) else {
                        return Ok(Handshake::NeedMore);
                    };
                    *at += end;
                    if self.message(header.tag, body, out)? == Handshake::Reconnect {
                        return Ok(Handshake::Reconnect);
                    }
                }
            }
        }
    }

    /// Before a session is ready, only what an accepted one is told may be long: a stranger cannot make us wait for, and
    /// keep, a gigabyte that will never be a message.
    fn check_length(&self, header: frame::Header) -> Result<(), Broken> {
        let may_be_long = matches!(self.stage, Stage::Settings) && matches!(header.tag, b'E' | b'N');
        if header.body > frame::SHORT_LIMIT && !may_be_long {
            return Err(Broken::Length { tag: header.tag, length: (header.body + 4) as u32 });
        }
        Ok(())
    }

    fn send_startup(&mut self, out: &mut Vec<u8>) -> Handshake {
        let login = &self.login;
        let named = [("user", login.user.as_str()), ("database", login.dbname.as_str())];
        let others = login.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        frontend::startup(out, named.into_iter().chain(others));
        self.stage = Stage::Auth(Proof::None);
        Handshake::NeedMore
    }

    fn ssl_answer(
        &mut self,
        answer: u8,
        behind: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Handshake, SessionError> {
        match answer {
            b'S' if !behind.is_empty() => Err(Broken::ClearBytesAfterSsl.into()),
            b'S' => {
                self.stage = Stage::Tls;
                Ok(Handshake::StartTls)
            }
            b'N' if self.login.ssl_mode.demands_tls() => Err(SessionError::TlsRefused),
            b'N' => {
                self.try_tls = false;
                Ok(self.send_startup(out))
            }
            _ => Err(Broken::SslAnswer { answer }.into()),
        }
    }

    /// Handles one message before the session is ready.
    fn message(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<Handshake, SessionError> {
        let mut reader = Reader::new(tag, body);
        let settled = matches!(self.stage, Stage::Settings);
        match tag {
            b'E' => return self.refused(ErrorFields::read(tag, body)?.to_owned()),
            b'N' => {
                let notice = ErrorFields::read(tag, body)?;
                if self.notices.len() < MOST_NOTICES {
                    self.notices.push(notice.to_owned());
                }
            }
            b'S' => self.set(reader.cstr()?, reader.cstr()?),
            b'R' if !settled => self.authenticate(&mut reader, out)?,
            b'K' if settled => {
                self.cancel_key = Some(CancelKey { process_id: reader.u32()?, secret: reader.u32()? });
            }
            b'Z' if settled => self.stage = Stage::Ready,
            _ => return Err(Broken::Unexpected { tag, during: "connection start" }.into()),
        }
        Ok(Handshake::NeedMore)
    }

    /// The server refused. Before it accepted us, sslmode `allow` and `prefer` try the other way once.
    fn refused(&mut self, error: ServerError) -> Result<Handshake, SessionError> {
        let mode = self.login.ssl_mode;
        let other_way = mode == SslMode::Prefer && self.secure || mode == SslMode::Allow && !self.try_tls;
        if other_way && self.first_refusal.is_none() && matches!(self.stage, Stage::Auth(_)) {
            self.first_refusal = Some(Box::new(error));
            self.try_tls = !self.try_tls;
            self.stage = Stage::SecondTry;
            return Ok(Handshake::Reconnect);
        }
        self.stage = Stage::Closed;
        Err(SessionError::Server { error: Box::new(error), earlier: self.first_refusal.take() })
    }

    /// Handles one authentication request; the numbers are the protocol's.
    fn authenticate(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), SessionError> {
        match reader.i32()? {
            0 => self.accepted()?,
            3 => {
                let password = self.password_for(AuthMethod::Password)?;
                frontend::password(out, password);
                self.stage = Stage::Auth(Proof::Sent);
            }
            5 => {
                let password = self.password_for(AuthMethod::Md5)?;
                let hash = md5_hash(self.login.user.as_bytes(), password, reader.bytes4()?);
                frontend::password(out, hash.as_bytes());
                self.stage = Stage::Auth(Proof::Sent);
            }
            10 => self.begin_scram(reader, out)?,
            11 => self.continue_scram(reader.rest(), out)?,
            12 => self.finish_scram(reader.rest())?,
            2 => return Err(SessionError::Unsupported("Kerberos 5")),
            6 => return Err(SessionError::Unsupported("SCM credential")),
            7 | 8 => return Err(SessionError::Unsupported("GSSAPI")),
            9 => return Err(SessionError::Unsupported("SSPI")),
            _ => return Err(SessionError::Unsupported("an unknown")),
        }
        Ok(())
    }

    /// The server lets us in. It may not do so in the middle of SCRAM, or without the proof that was demanded of it.
    fn accepted(&mut self) -> Result<(), SessionError> {
        let bound = match &self.stage {
            Stage::Auth(Proof::Scram { .. }) => {
                return Err(Broken::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
            }
            Stage::Auth(Proof::None) => {
                self.check_allowed(AuthMethod::None)?;
                false
            }
            Stage::Auth(Proof::Mutual { bound }) => *bound,
            _ => false,
        };
        if !bound && self.login.channel_binding == ChannelBinding::Require {
            return Err(SessionError::ChannelBinding("the server authenticated the client without it"));
        }
        self.stage = Stage::Settings;
        Ok(())
    }

    fn check_allowed(&self, method: AuthMethod) -> Result<(), SessionError> {
        if self.login.require_auth.allows(method) {
            Ok(())
        } else {
            Err(SessionError::MethodNotAllowed { requested: method.name() })
        }
    }

    /// The password, if this method may be used: plain and hashed passwords carry no channel binding.
    fn password_for(&self, method: AuthMethod) -> Result<&[u8], SessionError> {
        self.check_allowed(method)?;
        if self.login.channel_binding == ChannelBinding::Require && method != AuthMethod::ScramSha256 {
            return Err(SessionError::ChannelBinding(
                "the server's authentication request does not support it",
            ));
        }
        match &self.login.password {
            Some(password) if !password.as_bytes().is_empty() => Ok(password.as_bytes()),
            _ => Err(SessionError::PasswordNeeded),
        }
    }

    fn begin_scram(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), SessionError> {
        if let Stage::Auth(Proof::Scram { .. } | Proof::Mutual { .. }) = self.stage {
            return Err(Broken::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
        }
        let (mut plain, mut plus) = (false, false);
        loop {
            match reader.cstr()? {
                b"" => break,
                name => {
                    plain |= name == SCRAM.as_bytes();
                    plus |= name == SCRAM_PLUS.as_bytes();
                }
            }
        }
        if plus && !self.secure {
            return Err(SessionError::ChannelBinding("the server offers it over a connection without TLS"));
        }
        if !plain && !plus {
            return Err(SessionError::Unsupported("an unknown SASL"));
        }
        self.password_for(AuthMethod::ScramSha256)?;

        let wanted = self.login.channel_binding;
        let binding = match self.binding.as_deref() {
            Some(hash) if plus && wanted != ChannelBinding::Disable => Binding::EndPoint(hash),
            _ if wanted == ChannelBinding::Require => {
                return Err(SessionError::ChannelBinding(self.why_unbound(plus)));
            }
            Some(_) if wanted != ChannelBinding::Disable => Binding::NotOffered,
            _ => Binding::Unsupported,
        };
        let bound = matches!(binding, Binding::EndPoint(_));
        if !bound && !plain {
            return Err(SessionError::ChannelBinding(self.why_unbound(plus)));
        }
        let exchange = Exchange::new(binding)?;
        frontend::sasl_initial(out, if bound { SCRAM_PLUS } else { SCRAM }, exchange.first().as_bytes());
        self.stage = Stage::Auth(Proof::Scram { exchange, bound });
        Ok(())
    }

    fn why_unbound(&self, offered: bool) -> &'static str {
        match (self.secure, offered) {
            (false, _) => "SSL is not in use",
            (true, false) => "the server does not offer it",
            (true, true) if self.binding.is_none() => "the server's certificate has no usable hash",
            (true, true) => "channel_binding=disable forbids it",
        }
    }

    fn continue_scram(&mut self, challenge: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        let Stage::Auth(Proof::Scram { exchange, .. }) = &mut self.stage else {
            return Err(Broken::Unexpected { tag: b'R', during: "authentication" }.into());
        };
        if exchange.has_responded() {
            // Every challenge may cost the whole key derivation: one is all a server gets.
            return Err(Broken::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
        }
        let password = self.login.password.as_ref().map_or(&b""[..], |password| password.as_bytes());
        let answer = exchange.respond(challenge, password, &self.login.scram_cache)?;
        frontend::sasl_response(out, answer.as_bytes());
        Ok(())
    }

    fn finish_scram(&mut self, message: &[u8]) -> Result<(), SessionError> {
        let Stage::Auth(Proof::Scram { exchange, bound }) = &self.stage else {
            return Err(Broken::Unexpected { tag: b'R', during: "authentication" }.into());
        };
        exchange.verify(message)?;
        self.stage = Stage::Auth(Proof::Mutual { bound: *bound });
        Ok(())
    }
}
