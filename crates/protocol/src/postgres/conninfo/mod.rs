//! libpq's rules for describing a connection: strings and URIs, the environment, the service file, the
//! passfile.
//!
//! [`Parameters`] collects the options, each with its origin. Resolving them in an [`Env`] gives a [`Config`]
//! with every default filled in. The precedence is libpq's: what the user wrote, the service file, the
//! environment, built-in defaults.

mod config;
mod connection_string;
mod describe;
mod env;
mod error;
mod hosts;
mod keywords;
mod options;
mod parameters;
mod passfile;
mod password;
mod resolve;
mod secret;
mod service;
mod text;
mod uri;

pub use config::Config;
pub use connection_string::ConnectionString;
pub use env::Env;
pub use error::{ConnInfoError, UriError};
pub use hosts::{HostAddress, HostSpec};
pub use options::{
    ClientCertificate, RootCertificates, SslOptions, TargetSession, TcpOptions, TlsVersion, Verification,
};
pub use parameters::{Origin, Parameters};
pub use password::{Password, PasswordSource};
