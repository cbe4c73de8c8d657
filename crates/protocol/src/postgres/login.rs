//! What a connection needs to log in, and why a login fails.

use std::sync::Arc;

use super::conninfo::Password;
use super::frame::FrameError;
use super::scram::{ScramCache, ScramError};
use super::server_error::ServerError;

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SslMode {
    Disable,
    /// TLS only if the server refuses a plain connection.
    Allow,
    /// TLS if the server supports it (the default).
    #[default]
    Prefer,
    /// TLS only; the certificate is checked only if there is a root certificate.
    Require,
    /// TLS only, with a certificate signed by a trusted authority.
    VerifyCa,
    /// As [`Self::VerifyCa`], and the certificate must be for this host.
    VerifyFull,
}

impl SslMode {
    pub(crate) const CHOICES: Choices<SslMode> = Choices {
        expected: "disable, allow, prefer, require, verify-ca or verify-full",
        values: &[
            ("disable", SslMode::Disable),
            ("allow", SslMode::Allow),
            ("prefer", SslMode::Prefer),
            ("require", SslMode::Require),
            ("verify-ca", SslMode::VerifyCa),
            ("verify-full", SslMode::VerifyFull),
        ],
    };

    /// The name in a connection string.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::CHOICES.name(self)
    }

    pub(crate) fn demands_tls(self) -> bool {
        self >= SslMode::Require
    }
}

/// How TLS is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SslNegotiation {
    /// Ask first, unencrypted (all servers).
    #[default]
    Postgres,
    /// Start TLS at once (from PostgreSQL 17 on).
    Direct,
}

impl SslNegotiation {
    pub(crate) const CHOICES: Choices<SslNegotiation> = Choices {
        expected: "postgres or direct",
        values: &[("postgres", SslNegotiation::Postgres), ("direct", SslNegotiation::Direct)],
    };
}

/// Whether SCRAM must be bound to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChannelBinding {
    Disable,
    /// If both sides support it (the default).
    #[default]
    Prefer,
    Require,
}

impl ChannelBinding {
    pub(crate) const CHOICES: Choices<ChannelBinding> = Choices {
        expected: "disable, prefer or require",
        values: &[
            ("disable", ChannelBinding::Disable),
            ("prefer", ChannelBinding::Prefer),
            ("require", ChannelBinding::Require),
        ],
    };
}

/// A method of authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// The server requires no authentication.
    None,
    Password,
    Md5,
    /// With or without channel binding.
    ScramSha256,
}

impl AuthMethod {
    pub(crate) const CHOICES: Choices<AuthMethod> = Choices {
        expected: "a list of password, md5, scram-sha-256, gss, sspi, oauth and none",
        values: &[
            ("none", AuthMethod::None),
            ("password", AuthMethod::Password),
            ("md5", AuthMethod::Md5),
            ("scram-sha-256", AuthMethod::ScramSha256),
        ],
    };

    /// The name in `require_auth`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::CHOICES.name(self)
    }
}

/// libpq's `require_auth`: which methods the server may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthPolicy {
    /// A bit for each method, by its position in the enum.
    allowed: u8,
}

impl AuthPolicy {
    pub(crate) const NOTHING: AuthPolicy = AuthPolicy { allowed: 0 };

    #[must_use]
    pub(crate) fn with(self, method: AuthMethod, allowed: bool) -> AuthPolicy {
        let bit = 1 << method as u8;
        AuthPolicy { allowed: if allowed { self.allowed | bit } else { self.allowed & !bit } }
    }

    /// Whether the server may ask for `method`.
    #[must_use]
    pub fn allows(self, method: AuthMethod) -> bool {
        self.allowed & (1 << method as u8) != 0
    }
}

impl Default for AuthPolicy {
    fn default() -> Self {
        AuthPolicy { allowed: u8::MAX }
    }
}

/// What a connection needs to log in; shared by connections with the same login.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub dbname: String,
    /// Other startup parameters, such as `application_name` and `options`.
    pub parameters: Vec<(String, String)>,
    pub password: Option<Password>,
    /// [`SslMode::Disable`] over a Unix socket.
    pub ssl_mode: SslMode,
    pub ssl_negotiation: SslNegotiation,
    pub channel_binding: ChannelBinding,
    pub require_auth: AuthPolicy,
    pub scram_cache: Arc<ScramCache>,
}

impl Login {
    /// A login without password, TLS and further parameters; set its fields for more.
    #[must_use]
    pub fn new(user: impl Into<String>, dbname: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            dbname: dbname.into(),
            parameters: Vec::new(),
            password: None,
            ssl_mode: SslMode::Disable,
            ssl_negotiation: SslNegotiation::Postgres,
            channel_binding: ChannelBinding::Prefer,
            require_auth: AuthPolicy::default(),
            scram_cache: Arc::default(),
        }
    }
}

/// Why a login failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("{}", two_refusals(.error, .earlier.as_deref()))]
    Server {
        error: Box<ServerError>,
        /// The refusal of the first try, when sslmode `allow` or `prefer` made a second one.
        earlier: Option<Box<ServerError>>,
    },
    /// Ask for a password, set it in the login, connect again.
    #[error("fe_sendauth: no password supplied")]
    PasswordNeeded,
    /// The server does not support TLS and the sslmode requires it.
    #[error("server does not support SSL, but SSL was required")]
    TlsRefused,
    #[error(
        "the server asks for {0} authentication, which pgdyno does not support; use a password, md5, scram-sha-256 or trust rule in pg_hba.conf"
    )]
    Unsupported(&'static str),
    #[error(
        "authentication method requirement failed: server requested {requested}, which require_auth does not allow"
    )]
    MethodNotAllowed {
        /// Its name in `require_auth`.
        requested: &'static str,
    },
    /// `channel_binding=require` cannot be met.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(&'static str),
    /// The client ended the SCRAM exchange, e.g. because the server could not prove that it knows the
    /// password.
    #[error(transparent)]
    Scram(#[from] ScramError),
    #[error(transparent)]
    Broken(#[from] FrameError),
}

fn two_refusals(error: &ServerError, earlier: Option<&ServerError>) -> String {
    match earlier {
        Some(earlier) => format!("{earlier}\n{error}"),
        None => error.to_string(),
    }
}

/// The names of an option's values; of two names for a value, the first is written.
#[derive(Debug)]
pub(crate) struct Choices<T: 'static> {
    /// All names, for messages.
    pub(crate) expected: &'static str,
    pub(crate) values: &'static [(&'static str, T)],
}

impl<T: Copy + PartialEq> Choices<T> {
    pub(crate) fn read(&self, name: &str) -> Option<T> {
        self.values.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// The name of a value; empty if it has none.
    pub(crate) fn name(&self, value: T) -> &'static str {
        self.values.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
    }
}
