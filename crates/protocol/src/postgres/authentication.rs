//! Authentication of the client, and with SCRAM also of the server.

use std::sync::OnceLock;

use postgres_protocol::authentication::md5_hash;

use super::frame::{FrameError, Reader};
use super::frontend;
use super::login::{AuthMethod, ChannelBinding, Login, LoginError};
use super::scram::{Binding, Exchange};

const SCRAM: &str = "SCRAM-SHA-256";
const SCRAM_PLUS: &str = "SCRAM-SHA-256-PLUS";

#[derive(Debug)]
pub(super) enum Channel {
    Plain,
    /// With the hash of the server's certificate for channel binding, if it has one.
    Tls {
        end_point: Option<Vec<u8>>,
    },
}

/// The state of authentication.
#[derive(Debug)]
pub(super) enum Proof {
    None,
    Sent,
    Scram {
        exchange: Exchange,
        bound: bool,
    },
    /// Both sides proved that they know the password; `bound` to the TLS connection or not.
    Mutual {
        bound: bool,
    },
}

/// Answers the server's authentication requests.
pub(super) struct Authentication<'a> {
    pub(super) login: &'a Login,
    pub(super) channel: &'a Channel,
    pub(super) proof: &'a mut Proof,
    /// Why TLS failed, if the connection continues without it and the user is not warned yet.
    pub(super) tls_failure: &'a mut Option<String>,
}

impl<'a> Authentication<'a> {
    /// Answers one request by its protocol number; true when the server accepts the client.
    pub(super) fn answer(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<bool, LoginError> {
        match reader.i32()? {
            0 => {
                self.accepted()?;
                return Ok(true);
            }
            3 => {
                let password = self.password_for(AuthMethod::Password)?;
                frontend::password(out, password);
                *self.proof = Proof::Sent;
            }
            5 => {
                let password = self.password_for(AuthMethod::Md5)?;
                let hash = md5_hash(self.login.user.as_bytes(), password, reader.bytes4()?);
                frontend::password(out, hash.as_bytes());
                *self.proof = Proof::Sent;
            }
            10 => self.begin_scram(reader, out)?,
            11 => self.continue_scram(reader.rest(), out)?,
            12 => self.finish_scram(reader.rest())?,
            2 => return Err(LoginError::Unsupported("Kerberos 5")),
            6 => return Err(LoginError::Unsupported("SCM credential")),
            7 | 8 => return Err(LoginError::Unsupported("GSSAPI")),
            9 => return Err(LoginError::Unsupported("SSPI")),
            _ => return Err(LoginError::Unsupported("an unknown")),
        }
        Ok(false)
    }

    /// The server accepts the client. It must not in the middle of SCRAM, or without the proof that is
    /// required of it.
    fn accepted(&self) -> Result<(), LoginError> {
        let bound = match &self.proof {
            Proof::Scram { .. } => {
                return Err(FrameError::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
            }
            Proof::None => {
                self.check_allowed(AuthMethod::None)?;
                false
            }
            Proof::Mutual { bound } => *bound,
            Proof::Sent => false,
        };
        if !bound && self.login.channel_binding == ChannelBinding::Require {
            return Err(LoginError::ChannelBinding("the server authenticated the client without it"));
        }
        Ok(())
    }

    fn check_allowed(&self, method: AuthMethod) -> Result<(), LoginError> {
        if self.login.require_auth.allows(method) {
            Ok(())
        } else {
            Err(LoginError::MethodNotAllowed { requested: method.name() })
        }
    }

    /// The password, if this method may be used: plain and hashed passwords have no channel binding.
    fn password_for(&mut self, method: AuthMethod) -> Result<&'a [u8], LoginError> {
        self.check_allowed(method)?;
        if self.login.channel_binding == ChannelBinding::Require && method != AuthMethod::ScramSha256 {
            return Err(LoginError::ChannelBinding(
                "the server's authentication request does not support it",
            ));
        }
        match &self.login.password {
            Some(password) if !password.as_bytes().is_empty() => {
                if let Some(why) = self.tls_failure.take() {
                    warn_unencrypted(self.login, method, &why);
                }
                Ok(password.as_bytes())
            }
            _ => Err(LoginError::PasswordNeeded),
        }
    }

    fn begin_scram(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), LoginError> {
        if let Proof::Scram { .. } | Proof::Mutual { .. } = self.proof {
            return Err(FrameError::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
        }
        let Offered { plain, plus } = Offered::read(reader)?;
        if plus && matches!(self.channel, Channel::Plain) {
            return Err(LoginError::ChannelBinding("the server offers it over a connection without TLS"));
        }
        if !plain && !plus {
            return Err(LoginError::Unsupported("an unknown SASL"));
        }
        self.password_for(AuthMethod::ScramSha256)?;

        let wanted = self.login.channel_binding;
        let end_point = match self.channel {
            Channel::Plain => None,
            Channel::Tls { end_point } => end_point.as_deref(),
        };
        let binding = match end_point {
            Some(hash) if plus && wanted != ChannelBinding::Disable => Binding::EndPoint(hash),
            _ if wanted == ChannelBinding::Require => {
                return Err(LoginError::ChannelBinding(self.why_unbound(plus)));
            }
            Some(_) if wanted != ChannelBinding::Disable => Binding::NotOffered,
            _ => Binding::Unsupported,
        };
        let bound = matches!(binding, Binding::EndPoint(_));
        if !bound && !plain {
            return Err(LoginError::ChannelBinding(self.why_unbound(plus)));
        }
        let exchange = Exchange::new(binding)?;
        frontend::sasl_initial(out, if bound { SCRAM_PLUS } else { SCRAM }, exchange.first().as_bytes());
        *self.proof = Proof::Scram { exchange, bound };
        Ok(())
    }

    fn why_unbound(&self, offered: bool) -> &'static str {
        match self.channel {
            Channel::Plain => "SSL is not in use",
            Channel::Tls { .. } if !offered => "the server does not offer it",
            Channel::Tls { end_point: None } => "the server's certificate has no usable hash",
            Channel::Tls { .. } => "channel_binding=disable forbids it",
        }
    }

    fn continue_scram(&mut self, challenge: &[u8], out: &mut Vec<u8>) -> Result<(), LoginError> {
        let Proof::Scram { exchange, .. } = &mut *self.proof else {
            return Err(FrameError::Unexpected { tag: b'R', during: "authentication" }.into());
        };
        if exchange.has_responded() {
            // Every challenge may cost a key derivation: a server gets only one.
            return Err(FrameError::Unexpected { tag: b'R', during: "a SCRAM exchange" }.into());
        }
        let password = self.login.password.as_ref().map_or(&b""[..], |password| password.as_bytes());
        let answer = exchange.respond(challenge, password, &self.login.scram_cache)?;
        frontend::sasl_response(out, answer.as_bytes());
        Ok(())
    }

    fn finish_scram(&mut self, message: &[u8]) -> Result<(), LoginError> {
        let Proof::Scram { exchange, bound } = &*self.proof else {
            return Err(FrameError::Unexpected { tag: b'R', during: "authentication" }.into());
        };
        exchange.verify(message)?;
        *self.proof = Proof::Mutual { bound: *bound };
        Ok(())
    }
}

/// The known SASL mechanisms among those a server offers.
#[derive(Default)]
struct Offered {
    plain: bool,
    plus: bool,
}

impl Offered {
    fn read(reader: &mut Reader<'_>) -> Result<Offered, FrameError> {
        let mut offered = Offered::default();
        loop {
            match reader.cstr()? {
                b"" => return Ok(offered),
                name => {
                    offered.plain |= name == SCRAM.as_bytes();
                    offered.plus |= name == SCRAM_PLUS.as_bytes();
                }
            }
        }
    }
}

static WARNING: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the function that prints the warning in this process; only the first call has an effect.
pub fn on_unencrypted_password(print: fn(&str)) {
    let _ = WARNING.set(print);
}

/// Warns before a password leaves a connection whose TLS failed: with sslmode `prefer`, libpq continues
/// without TLS.
fn warn_unencrypted(login: &Login, method: AuthMethod, why: &str) {
    let Some(print) = WARNING.get() else { return };
    let sent = match method {
        AuthMethod::ScramSha256 => "the proof of the password",
        AuthMethod::Md5 => "the hash of the password",
        AuthMethod::Password | AuthMethod::None => "the password",
    };
    print(&format!(
        "TLS to the server failed ({why}), and sslmode=prefer goes on without it: {sent} of role {:?} is sent unencrypted; \
         sslmode=verify-full refuses such a server, and sslmode=disable states that no encryption is wanted",
        login.user
    ));
}
