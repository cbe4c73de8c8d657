//! What one connection needs to log in, and how that can fail.

use std::sync::Arc;

use super::choices::Choices;
use super::conninfo::Password;
use super::frame::Broken;
use super::scram::{ScramCache, ScramError};
use super::server_error::ServerError;

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum SslMode {
    /// Never TLS.
    Disable,
    /// TLS only if the server does not take a plain connection.
    Allow,
    /// TLS if the server has it (the default).
    #[default]
    Prefer,
    /// Only TLS; the certificate is not checked unless there is a root certificate.
    Require,
    /// Only TLS, with a certificate that a known authority signed.
    VerifyCa,
    /// The same, and the certificate must be for this host.
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

    /// As a connection string names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::CHOICES.name(self)
    }

    /// True when a plain connection will not do.
    pub(crate) fn demands_tls(self) -> bool {
        self >= SslMode::Require
    }
}

/// How TLS is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SslNegotiation {
    /// Ask first, in clear (all servers).
    #[default]
    Postgres,
    /// Start TLS at once (servers from 17 on).
    Direct,
}

impl SslNegotiation {
    pub(crate) const CHOICES: Choices<SslNegotiation> = Choices {
        expected: "postgres or direct",
        values: &[("postgres", SslNegotiation::Postgres), ("direct", SslNegotiation::Direct)],
    };
}

/// Whether SCRAM must be tied to the TLS connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ChannelBinding {
    /// Never.
    Disable,
    /// If both sides can (the default).
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

/// A way to prove who one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// The server asks for nothing.
    None,
    Password,
    /// The password hashed with MD5.
    Md5,
    /// SCRAM-SHA-256, with or without channel binding.
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

    /// As `require_auth` names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::CHOICES.name(self)
    }
}

/// libpq's `require_auth`: which methods the server may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuthPolicy {
    /// A bit for each method, by its place in the enum.
    allowed: u8,
}

impl AuthPolicy {
    pub(crate) const NOTHING: AuthPolicy = AuthPolicy { allowed: 0 };

    /// The same with `method` allowed or not.
    #[must_use]
    pub(crate) fn with(self, method: AuthMethod, allowed: bool) -> AuthPolicy {
        let bit = 1 << method as u8;
        AuthPolicy { allowed: if allowed { self.allowed | bit } else { self.allowed & !bit } }
    }

    /// True when the server may ask for `method`.
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

/// What one connection needs to log in; shared by all connections that log in alike.
#[derive(Debug, Clone)]
pub struct Login {
    /// Role to log in as.
    pub user: String,
    /// Database to connect to.
    pub dbname: String,
    /// Other parameters sent at startup, such as `application_name` and `options`.
    pub parameters: Vec<(String, String)>,
    /// The password, if there is one.
    pub password: Option<Password>,
    /// Whether to use TLS; [`SslMode::Disable`] over a Unix socket.
    pub ssl_mode: SslMode,
    /// How to start TLS.
    pub ssl_negotiation: SslNegotiation,
    /// Whether SCRAM must be tied to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// Which methods the server may ask for.
    pub require_auth: AuthPolicy,
    /// Keys derived from passwords so far.
    pub scram_cache: Arc<ScramCache>,
}

impl Login {
    /// A login without password, TLS or further parameters; change its fields for more.
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
    /// The server refused.
    #[error("{}", two_refusals(.error, .earlier.as_deref()))]
    Server {
        /// What it said.
        error: Box<ServerError>,
        /// What it said to the first try, when sslmode `allow` or `prefer` made a second one.
        earlier: Option<Box<ServerError>>,
    },
    /// The server wants a password and there is none: ask for one, put it into the login, connect again.
    #[error("fe_sendauth: no password supplied")]
    PasswordNeeded,
    /// The server does not do TLS and the sslmode demands it.
    #[error("server does not support SSL, but SSL was required")]
    TlsRefused,
    /// The server asks for a method that is not built in.
    #[error(
        "the server asks for {0} authentication, which pgdyno does not support; use a password, md5, scram-sha-256 or trust rule in pg_hba.conf"
    )]
    Unsupported(&'static str),
    /// The server asks for what `require_auth` rules out.
    #[error(
        "authentication method requirement failed: server requested {requested}, which require_auth does not allow"
    )]
    MethodNotAllowed {
        /// The method it asked for, by its `require_auth` name.
        requested: &'static str,
    },
    /// `channel_binding=require` cannot be met.
    #[error("channel binding is required, but {0}")]
    ChannelBinding(&'static str),
    /// The SCRAM exchange failed on our side, e.g. the server could not prove that it knows the password.
    #[error(transparent)]
    Scram(#[from] ScramError),
    /// The byte stream is not PostgreSQL's.
    #[error(transparent)]
    Broken(#[from] Broken),
}

fn two_refusals(error: &ServerError, earlier: Option<&ServerError>) -> String {
    match earlier {
        Some(earlier) => format!("{earlier}\n{error}"),
        None => error.to_string(),
    }
}
