//! Connection options that are not plain text.

use std::path::PathBuf;
use std::time::Duration;

use crate::postgres::login::Choices;
use crate::postgres::login::{SslMode, SslNegotiation};

/// Which of several servers to accept; the caller checks it after login (`transaction_read_only`,
/// `in_hot_standby`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TargetSession {
    /// The first that answers.
    #[default]
    Any,
    ReadWrite,
    /// Sessions are read-only by default.
    ReadOnly,
    Primary,
    Standby,
    /// In hot standby if possible, otherwise any.
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
    V1_2,
    V1_3,
}

impl TlsVersion {
    pub(super) const CHOICES: Choices<TlsVersion> = Choices {
        expected: "TLSv1.2 or TLSv1.3; older versions are not built in",
        values: &[("TLSv1.2", TlsVersion::V1_2), ("TLSv1.3", TlsVersion::V1_3)],
    };
}

/// The trusted certificate authorities.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RootCertificates {
    #[default]
    None,
    File(PathBuf),
    /// Those of the operating system.
    System,
}

/// The client's certificate and key, in PEM files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientCertificate {
    /// The certificate, followed by its issuers.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// How much of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verification {
    /// Only that the server has the certificate's key.
    None,
    /// And that a trusted authority signed it.
    Authority,
    AuthorityAndHost,
}

/// How TLS is used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SslOptions {
    pub mode: SslMode,
    pub negotiation: SslNegotiation,
    pub root: RootCertificates,
    pub client: Option<ClientCertificate>,
    /// Do not send the host's name unencrypted (`sslsni=0`).
    pub hide_name: bool,
    pub min_version: Option<TlsVersion>,
    pub max_version: Option<TlsVersion>,
}

impl SslOptions {
    /// What is checked according to the mode. As in libpq, weaker modes check too if there is a root
    /// certificate.
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

/// TCP keepalive and timeouts; `None` leaves them to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TcpOptions {
    pub keepalives: bool,
    /// Idle time before the first probe.
    pub idle: Option<Duration>,
    /// Time between probes.
    pub interval: Option<Duration>,
    /// Unanswered probes after which the connection is closed.
    pub count: Option<u32>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions { keepalives: true, idle: None, interval: None, count: None, user_timeout: None }
    }
}
