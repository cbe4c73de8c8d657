//! The options of a connection that are more than a text.

use std::path::PathBuf;
use std::time::Duration;

use crate::postgres::choices::Choices;
use crate::postgres::login::{SslMode, SslNegotiation};

/// Which of several servers will do; checked by the caller after login (`transaction_read_only`, `in_hot_standby`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TargetSession {
    /// The first that answers.
    #[default]
    Any,
    /// One whose sessions are read-write by default.
    ReadWrite,
    /// One whose sessions are read-only by default.
    ReadOnly,
    /// One that is not in hot standby.
    Primary,
    Standby,
    /// One in hot standby if there is one, else any.
    PreferStandby,
}

impl TargetSession {
    pub(super) const CHOICES: Choices<TargetSession> = Choices {
        expected: "any, read-write, read-only, primary, standby or prefer-standby",
        values: &[
            ("any", TargetSession::Any),
            ("read-write", TargetSession::ReadWrite),
            ("read-only", TargetSession::ReadOnly),
            ("primary", TargetSession::Primary),
            ("standby", TargetSession::Standby),
            ("prefer-standby", TargetSession::PreferStandby),
        ],
    };
}

/// A version of TLS that libpq names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2.
    V1_2,
    /// TLS 1.3.
    V1_3,
}

impl TlsVersion {
    pub(super) const CHOICES: Choices<TlsVersion> = Choices {
        expected: "TLSv1.2 or TLSv1.3; older versions are not built in",
        values: &[("TLSv1.2", TlsVersion::V1_2), ("TLSv1.3", TlsVersion::V1_3)],
    };
}

/// Where certificates of authorities come from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RootCertificates {
    #[default]
    None,
    File(PathBuf),
    /// What the operating system trusts.
    System,
}

/// Our certificate and its key, in PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientCertificate {
    /// The certificate, its issuers after it.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verification {
    /// Nothing (but that the server has its key).
    None,
    /// That a known authority signed it.
    Authority,
    /// And that it is for the host connected to.
    AuthorityAndHost,
}

/// How TLS is used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SslOptions {
    /// Whether to use it.
    pub mode: SslMode,
    /// How to start it.
    pub negotiation: SslNegotiation,
    /// Authorities to trust.
    pub root: RootCertificates,
    /// Our own certificate, sent when the server asks for one.
    pub client: Option<ClientCertificate>,
    /// Do not send the host's name in clear (`sslsni=0`).
    pub hide_name: bool,
    /// Oldest version to use.
    pub min_version: Option<TlsVersion>,
    /// Newest version to use.
    pub max_version: Option<TlsVersion>,
}

impl SslOptions {
    /// What is checked: by the mode, and as in libpq also in weaker modes once there is a root certificate.
    #[must_use]
    pub fn verification(&self) -> Verification {
        match (self.mode, &self.root) {
            (SslMode::VerifyFull, _) => Verification::AuthorityAndHost,
            (SslMode::VerifyCa, _) | (_, RootCertificates::File(_) | RootCertificates::System) => {
                Verification::Authority
            }
            (_, RootCertificates::None) => Verification::None,
        }
    }
}

/// How TCP connections are kept and given up; `None` leaves it to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TcpOptions {
    /// Send keepalive probes.
    pub keepalives: bool,
    /// Idle time before the first probe.
    pub idle: Option<Duration>,
    /// Time between probes.
    pub interval: Option<Duration>,
    /// Probes without an answer before the connection is given up.
    pub count: Option<u32>,
    /// How long sent data may stay without acknowledgement.
    pub user_timeout: Option<Duration>,
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions { keepalives: true, idle: None, interval: None, count: None, user_timeout: None }
    }
}
