//! Network access to a managed server from this machine: a password and, for TLS, a self-signed certificate.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::Address;
use protocol::postgres::conninfo::{Password, PasswordSource, RootCertificates, SslOptions};
use protocol::postgres::sql::{Sql, quote_literal};
use protocol::postgres::tls::client_config;
use protocol::postgres::{Login, Place, ScramCache, SslMode, Tls};
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use spec::{Class, Error};

use super::error::server_file_error;
use super::{Cluster, Running, SUPERUSER};
use crate::child::Program;
use crate::home::Readable;

/// How a managed server is reached; each way includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// By its Unix socket, in a private folder, without a password.
    #[default]
    Socket,
    /// By a port of 127.0.0.1, with a password (SCRAM).
    Tcp,
    /// With TLS, and the server's certificate and name verified.
    Tls,
}

impl NetworkAccess {
    /// The option's value.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket => "socket",
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        }
    }
}

/// Files in the server's folder.
const PASSWORD: &str = "password";
const CERTIFICATE: &str = "server.crt";
const KEY: &str = "server.key";

/// The name in the certificate, in addition to the address.
const HOST: &str = "localhost";

/// What clients need in addition to the port.
#[derive(Debug)]
pub(super) struct Network {
    password: Password,
    scram_cache: Arc<ScramCache>,
    tls: Option<Tls>,
}

impl Cluster {
    /// Makes the server reachable in this way too; restarts it if necessary. Existing ways stay.
    ///
    /// # Errors
    /// When it was built without TLS, or it does not start again.
    pub fn listen(&mut self, via: NetworkAccess) -> Result<(), Error> {
        if self.marker.via() < via {
            self.check_can(via)?;
            let runs = !matches!(self.running, Running::No);
            self.stop()?;
            self.marker.set_via(via);
            self.write_marker()?;
            if runs {
                self.start()?;
            }
        }
        self.ensure_network()
    }

    /// How to connect to one of its databases in this way; `None` if it was not requested
    /// ([`ServerOptions::via`](super::ServerOptions::via), [`Cluster::listen`]).
    #[must_use]
    pub fn place_by(&self, via: NetworkAccess, database: &str) -> Option<Place> {
        if via == NetworkAccess::Socket {
            return Some(self.place(database));
        }
        let network = self.network.as_ref()?;
        let mut login = Login {
            password: Some(network.password.clone()),
            scram_cache: network.scram_cache.clone(),
            ..(*self.place(database).login).clone()
        };
        let tls = if via == NetworkAccess::Tls { Some(network.tls.clone()?) } else { None };
        login.ssl_mode = if tls.is_some() { SslMode::VerifyFull } else { SslMode::Disable };
        let address = Address::Tcp((Ipv4Addr::LOCALHOST, self.marker.port).into());
        Some(Place { tls, ..Place::new(address, Arc::new(login)) })
    }

    /// The file with the superuser's password, for servers with network.
    #[must_use]
    pub fn password_file(&self) -> PathBuf {
        self.folder.path().join(PASSWORD)
    }

    /// The self-signed certificate of a server with TLS.
    #[must_use]
    pub fn certificate_file(&self) -> PathBuf {
        self.folder.path().join(CERTIFICATE)
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.folder.path().join(KEY)
    }

    /// Checks that the server was built with the needed features, before anything is changed.
    pub(super) fn check_can(&self, via: NetworkAccess) -> Result<(), Error> {
        if via < NetworkAccess::Tls {
            return Ok(());
        }
        let postgres = self.installation.program("postgres");
        // It reads its settings, prints one, and exits.
        let program = Program::server(&postgres, self.folder.path(), self.account.as_ref())
            .arg("-D")
            .arg(self.data())
            .args(["-c", "ssl=on", "-C", "ssl"]);
        let stop = || self.stop.at_once();
        let finished = self.watchdog.run(&program, &stop, &mut |_| ())?;
        match finished.stopped {
            true => Err(Error::stopped()),
            false if finished.success() => Ok(()),
            false => {
                let what = format!(
                    "{} was built without TLS, or cannot use it; take another PostgreSQL (--pg-bin), or reach it by tcp or its \
                     socket",
                    postgres.display()
                );
                Err(Error::new(Class::Missing, what))
            }
        }
    }

    /// Makes sure that a running server with network has a password, and loads what clients need.
    pub(super) fn ensure_network(&mut self) -> Result<(), Error> {
        let via = self.marker.via();
        if via == NetworkAccess::Socket {
            self.network = None;
            return Ok(());
        }
        if !self.folder.has(PASSWORD) {
            self.set_password()?;
        }
        let password = self.folder.read_text(PASSWORD).map_err(|error| self.file_error(PASSWORD, error))?;
        let tls = if via == NetworkAccess::Tls { Some(verified_by(&self.certificate_file())?) } else { None };
        self.network = Some(Network {
            password: Password::new(password.trim(), PasswordSource::Passfile(self.password_file())),
            scram_cache: Arc::default(),
            tls,
        });
        Ok(())
    }

    fn set_password(&self) -> Result<(), Error> {
        let password = uuid::Uuid::new_v4().simple().to_string();
        let sql = format!("ALTER ROLE {SUPERUSER} PASSWORD {}", quote_literal(&password));
        // A failing statement is logged with its text; this one must not be.
        let quiet = "SET log_statement = none; SET log_min_error_statement = panic; SET log_min_duration_statement = -1; \
                     SET password_encryption = 'scram-sha-256'";
        let mut control = self.connect("postgres")?;
        control
            .execute(quiet)
            .and_then(|()| control.execute(&sql))
            .map_err(|error| self.sql_error("setting the password".to_owned(), error))?;
        let written = self.folder.replace(PASSWORD, format!("{password}\n").as_bytes(), Readable::ByUs);
        written.map(drop).map_err(|error| self.file_error(PASSWORD, error))
    }

    /// Makes the certificate of a server with TLS once.
    pub(super) fn ensure_certificate(&self) -> Result<(), Error> {
        if self.marker.via() < NetworkAccess::Tls || (self.folder.has(KEY) && self.folder.has(CERTIFICATE)) {
            return Ok(());
        }
        self.make_certificate()
    }

    /// Makes a key and a self-signed certificate for this machine. The server's account may read them;
    /// PostgreSQL accepts a key that root's group may read, but no other shared one.
    fn make_certificate(&self) -> Result<(), Error> {
        let names = vec![HOST.to_owned(), Ipv4Addr::LOCALHOST.to_string()];
        let failed = |error| self.file_error(CERTIFICATE, std::io::Error::other(error));
        let made = rcgen::generate_simple_self_signed(names).map_err(failed)?;
        let key = Readable::By(self.account.as_ref());
        // A key without its certificate is made again.
        for (name, text, readable) in
            [(KEY, made.signing_key.serialize_pem(), key), (CERTIFICATE, made.cert.pem(), Readable::ByAll)]
        {
            let written = self.folder.replace(name, text.as_bytes(), readable);
            written.map(drop).map_err(|error| self.file_error(name, error))?;
        }
        Ok(())
    }
}

fn verified_by(certificate: &Path) -> Result<Tls, Error> {
    let failed = |why: String| server_file_error(certificate, std::io::Error::other(why));
    let options = SslOptions {
        mode: SslMode::VerifyFull,
        root: RootCertificates::File(certificate.to_owned()),
        ..SslOptions::default()
    };
    let config = client_config(&options).map_err(|error| failed(error.to_string()))?;
    let config = config.ok_or_else(|| failed("no TLS".to_owned()))?;
    let name = ServerName::try_from(HOST).map_err(|error| failed(error.to_string()))?;
    Ok(Tls { config, name })
}
