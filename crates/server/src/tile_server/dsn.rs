//! A tile server's connection string, which both kinds parse alike.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use protocol::postgres::conninfo::{RootCertificates, Verification};
use protocol::postgres::{ChannelBinding, Login, SslMode};
use protocol::{Address, percent_encoded};
use spec::Error;
use spec::plan::tile_server::TileServerKind;

use super::unreachable;
use crate::error::file_error;
use crate::member::Folders;
use crate::pooler::Upstream;

/// Parameters that a tile server sets itself.
const OWN: [&str; 2] = ["application_name", "client_encoding"];

/// The connection string, and copies of certificates, whose originals its account may not be able to read.
#[derive(Debug)]
pub(super) struct Dsn {
    /// Without certificates.
    pub(super) uri: String,
    pub(super) root: Option<PathBuf>,
    pub(super) client: Option<(PathBuf, PathBuf)>,
}

impl Dsn {
    /// `postgresql://USER[:PASSWORD]@HOST:PORT/DATABASE?…`; the folder of a socket is a host.
    pub(super) fn of(folders: &Folders, upstream: &Upstream, kind: TileServerKind) -> Result<Self, Error> {
        let place = &upstream.place;
        let login = &place.login;
        if login.channel_binding == ChannelBinding::Require {
            let why = "it does no channel binding, which the connection string requires";
            return Err(unreachable(kind, why));
        }
        let mut uri = format!("postgresql://{}", percent_encoded(login.user.as_bytes()));
        if let Some(password) = &login.password {
            let _ = write!(uri, ":{}", percent_encoded(password.as_bytes()));
        }
        let (host, port) = host(upstream)
            .ok_or_else(|| unreachable(kind, "its socket has a name that no server gives it"))?;
        let mode = mode(upstream);
        let _ = write!(uri, "@{host}:{port}/{}", percent_encoded(login.dbname.as_bytes()));
        let _ = write!(uri, "?sslmode={}", mode.name());
        let options = options(login);
        if !options.is_empty() {
            let _ = write!(uri, "&options={}", percent_encoded(options.as_bytes()));
        }
        let mut dsn = Self { uri, root: None, client: None };
        if mode == SslMode::Disable {
            return Ok(dsn);
        }
        let copy = |from: &Path, name: &str| {
            let content = std::fs::read(from);
            let content = content.map_err(|source| file_error(from, source))?;
            folders.write(name, &content)
        };
        if let RootCertificates::File(path) = &upstream.ssl.root {
            dsn.root = Some(copy(path, "root.crt")?);
        }
        if let Some(client) = &upstream.ssl.client {
            dsn.client = Some((copy(&client.certificate, "client.crt")?, copy(&client.key, "client.key")?));
        }
        Ok(dsn)
    }
}

/// `None` if its socket does not have a server's usual name.
fn host(upstream: &Upstream) -> Option<(String, u16)> {
    let place = &upstream.place;
    match &place.address {
        Address::Unix(path) => {
            let name = path.file_name().and_then(|name| name.to_str());
            let port =
                name.and_then(|name| name.strip_prefix(".s.PGSQL.")).and_then(|port| port.parse().ok());
            match (path.parent().and_then(Path::to_str), port) {
                (Some(folder), Some(port)) => Some((percent_encoded(folder.as_bytes()), port)),
                _ => None,
            }
        }
        Address::Tcp(address) => {
            // A certificate is checked against the name that is connected to.
            let name = place.tls.as_ref().map(|tls| tls.name.to_str().into_owned());
            let verified = name.filter(|_| place.login.ssl_mode == SslMode::VerifyFull);
            let host = verified.unwrap_or_else(|| match address.ip() {
                std::net::IpAddr::V4(ip) => ip.to_string(),
                std::net::IpAddr::V6(ip) => format!("[{ip}]"),
            });
            Some((host, address.port()))
        }
    }
}

/// As in a pooler.
fn mode(upstream: &Upstream) -> SslMode {
    let ssl = &upstream.ssl;
    if upstream.place.tls.is_none() || upstream.place.login.ssl_mode == SslMode::Disable {
        return SslMode::Disable;
    }
    match (ssl.mode, ssl.verification()) {
        (SslMode::Require, Verification::Authority) => SslMode::VerifyCa,
        // martin's driver has fewer modes; both encrypt where the server requires it.
        (SslMode::Allow, _) => SslMode::Prefer,
        (mode, _) => mode,
    }
}

/// Startup parameters as `options`, which can set them.
fn options(login: &Login) -> String {
    let all = login.parameters.iter().filter(|(name, _)| !OWN.contains(&name.as_str()));
    let words = all.map(|(name, value)| match name.as_str() {
        "options" => value.clone(),
        _ => format!("-c {name}={}", value.replace('\\', "\\\\").replace(' ', "\\ ")),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::postgres::Place;
    use protocol::postgres::conninfo::{Password, PasswordSource, SslOptions};

    use super::*;
    use crate::home::{Home, HomeFolder};

    fn upstream(address: Address, login: Login) -> Upstream {
        Upstream { place: Place::new(address, Arc::new(login)), ssl: SslOptions::default() }
    }

    #[test]
    fn the_way_to_a_server_is_written_for_both_drivers() {
        let folder = tempfile::tempdir().unwrap();
        let folders = Folders::make(&Home::at(folder.path()), HomeFolder::TileServers, "", None).unwrap();
        let mut login = Login::new("an@n", "my db");
        login.password = Some(Password::new("p:w$%", PasswordSource::Environment));
        login.parameters = [("options", "-c work_mem=8MB"), ("TimeZone", "a b"), ("application_name", "x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let of = |address| {
            Dsn::of(&folders, &upstream(address, login.clone()), TileServerKind::Martin)
                .ok()
                .map(|dsn| dsn.uri)
        };
        let rest = "my%20db?sslmode=disable&options=-c%20work_mem%3D8MB%20-c%20TimeZone%3Da%5C%20b";
        assert_eq!(
            of(Address::Unix("/run/a b/.s.PGSQL.5433".into())).unwrap(),
            format!("postgresql://an%40n:p%3Aw%24%25@%2Frun%2Fa%20b:5433/{rest}")
        );
        let v6 = of(Address::Tcp((std::net::Ipv6Addr::LOCALHOST, 5432).into())).unwrap();
        assert_eq!(v6, format!("postgresql://an%40n:p%3Aw%24%25@[::1]:5432/{rest}"));
        assert_eq!(of(Address::Unix("/run/pg.sock".into())), None);
    }
}
