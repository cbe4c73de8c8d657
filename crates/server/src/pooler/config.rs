//! PgBouncer's files: `pgbouncer.ini` and the list of users.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use protocol::Address;
use protocol::postgres::conninfo::{RootCertificates, SslOptions, TlsVersion, Verification};
use protocol::postgres::sql::quote_literal;
use protocol::postgres::{ChannelBinding, Login, Place, SslMode};
use spec::plan::pooler::PoolerOptions;
use spec::{Class, Error};

use super::load::is_kept;
use super::{PORT, Version};
use crate::error::file_error;
use crate::member::Folders;
use crate::settings::SettingValues;

/// Connections in addition to the load's: ours.
const SPARE_CLIENTS: u32 = 20;
/// PgBouncer's own database, not the server's.
const CONSOLE: &str = "pgbouncer";
/// The parts of `DISCARD ALL`, which itself cannot be in a transaction with what follows.
const DISCARD_ALL: &str = "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *; \
                           SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES";
/// Prevents that the log grows with the load; can be overridden.
const QUIET: [(&str, &str); 3] = [("log_connections", "0"), ("log_disconnections", "0"), ("log_stats", "0")];

/// Where a pooler connects: to the server as pgdyno does, without the settings of an arm.
#[derive(Debug, Clone)]
pub struct Upstream {
    pub place: Place,
    /// TLS to the server; unused over a Unix socket.
    pub ssl: SslOptions,
}

/// Session settings by how they are applied.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Sent by each client, and kept by PgBouncer.
    kept: SettingValues,
    /// Set by PgBouncer on each connection to the server.
    set: SettingValues,
}

impl Session {
    pub(super) fn of(wanted: &SettingValues, version: Version) -> Self {
        let (kept, set): (SettingValues, SettingValues) =
            wanted.clone().into_iter().partition(|(name, _)| is_kept(name, version));
        Self { kept, set }
    }

    /// A client's startup parameters; those of the arm replace others.
    pub(super) fn over(&self, parameters: &[(String, String)]) -> Vec<(String, String)> {
        let replaced = |name: &str| self.kept.keys().any(|kept| kept.eq_ignore_ascii_case(name));
        let own = parameters.iter().filter(|(name, _)| !replaced(name));
        own.map(|(name, value)| (name, value))
            .chain(&self.kept)
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect()
    }

    /// A statement that sets all others; `None` where there are none.
    fn statement(&self) -> Option<String> {
        let set = |(name, value): (&String, &String)| {
            format!("pg_catalog.set_config({}, {}, false)", quote_literal(name), quote_literal(value))
        };
        let all: Vec<String> = self.set.iter().map(set).collect();
        (!all.is_empty()).then(|| format!("SELECT {}", all.join(", ")))
    }
}

/// Writes both files, and copies of the certificates in them; returns the path of the first.
pub(super) fn write(
    folders: &Folders,
    upstream: &Upstream,
    session: &Session,
    options: &PoolerOptions,
    clients: u32,
) -> Result<PathBuf, Error> {
    let login = &upstream.place.login;
    if login.channel_binding == ChannelBinding::Require {
        return Err(unreachable("it does no channel binding, which the connection string requires"));
    }
    if login.dbname == CONSOLE {
        return Err(unreachable("the database pgbouncer is its own console; use another name"));
    }
    let users = folders.write("userlist.txt", &users(login)?)?;
    let max_client_conn = clients.saturating_add(SPARE_CLIENTS);
    let statement = session.statement();
    let mut text = format!("[databases]\n* = {}", server(&upstream.place)?);
    if let Some(statement) = &statement {
        let _ = write!(text, " connect_query={}", quoted(statement));
    }
    text += "\n\n[pgbouncer]\n";
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = {value}");
    };
    set("unix_socket_dir", &folders.sockets.to_string_lossy());
    set("unix_socket_mode", "0700");
    set("listen_port", &PORT.to_string());
    set("auth_type", "trust");
    set("auth_file", &users.to_string_lossy());
    set("stats_users", &login.user);
    set("pool_mode", options.pool_mode.name());
    set("default_pool_size", &options.pool_size.to_string());
    set("max_client_conn", &max_client_conn.to_string());
    if let Some(statement) = &statement {
        set("server_reset_query", &format!("{DISCARD_ALL}; {statement}"));
    }
    tls(folders, upstream)?.iter().for_each(|(name, value)| set(name, value));
    // The last of repeated names counts.
    QUIET.iter().for_each(|(name, value)| set(name, value));
    options.settings.iter().for_each(|(name, value)| set(name, value));
    folders.write("pgbouncer.ini", text.as_bytes())
}

/// `"user" "password"`: who may connect (over a private socket), and how to log in at the server.
fn users(login: &Login) -> Result<Vec<u8>, Error> {
    let password = login.password.as_ref().map_or(&b""[..], |password| password.as_bytes());
    let one_line = |text: &[u8]| !text.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'));
    if !one_line(login.user.as_bytes()) || !one_line(password) {
        return Err(unreachable("the user's name or password has more than one line"));
    }
    Ok([&user_quoted(login.user.as_bytes())[..], b" ", &user_quoted(password), b"\n"].concat())
}

/// The server's connection cannot be expressed for PgBouncer.
fn unreachable(why: &str) -> Error {
    Error::new(Class::Missing, format!("PgBouncer cannot reach the server as pgdyno does: {why}"))
}

fn user_quoted(text: &[u8]) -> Vec<u8> {
    let doubled = |byte: &u8| if *byte == b'"' { vec![b'"'; 2] } else { vec![*byte] };
    [&b"\""[..], &text.iter().flat_map(doubled).collect::<Vec<u8>>(), b"\""].concat()
}

/// `host=… port=…` of the server.
fn server(place: &Place) -> Result<String, Error> {
    match &place.address {
        Address::Unix(path) => {
            let name = path.file_name().and_then(|name| name.to_str());
            let port = name.and_then(|name| name.strip_prefix(".s.PGSQL."));
            let folder = path.parent().and_then(Path::to_str);
            let (Some(folder), Some(port)) = (folder, port) else {
                return Err(unreachable("its socket has a name that no server gives it"));
            };
            Ok(format!("host={} port={port}", quoted(folder)))
        }
        Address::Tcp(address) => {
            // A certificate is checked against the name that is connected to.
            let name = place.tls.as_ref().map(|tls| tls.name.to_str().into_owned());
            let verified = name.filter(|_| place.login.ssl_mode == SslMode::VerifyFull);
            let host = verified.unwrap_or_else(|| address.ip().to_string());
            Ok(format!("host={} port={}", quoted(&host), address.port()))
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// TLS to the server, with copies of the certificates, whose originals its account may not be able to read.
fn tls(folders: &Folders, upstream: &Upstream) -> Result<Vec<(&'static str, String)>, Error> {
    let ssl = &upstream.ssl;
    if upstream.place.tls.is_none() || upstream.place.login.ssl_mode == SslMode::Disable {
        return Ok(vec![("server_tls_sslmode", SslMode::Disable.name().to_owned())]);
    }
    let mode = match (ssl.mode, ssl.verification()) {
        (SslMode::Require, Verification::Authority) => SslMode::VerifyCa,
        (mode, _) => mode,
    };
    let copy = |from: &Path, name: &str| {
        let content = std::fs::read(from);
        let content = content.map_err(|source| file_error(from, source))?;
        Ok::<_, Error>(folders.write(name, &content)?.display().to_string())
    };
    let mut lines = vec![("server_tls_sslmode", mode.name().to_owned())];
    match &ssl.root {
        RootCertificates::File(path) => lines.push(("server_tls_ca_file", copy(path, "root.crt")?)),
        // It finds the system's by itself.
        RootCertificates::System | RootCertificates::None => {}
    }
    if let Some(client) = &ssl.client {
        lines.push(("server_tls_cert_file", copy(&client.certificate, "client.crt")?));
        lines.push(("server_tls_key_file", copy(&client.key, "client.key")?));
    }
    let allowed =
        [(TlsVersion::V1_2, "tlsv1.2"), (TlsVersion::V1_3, "tlsv1.3")].into_iter().filter(|(v, _)| {
            ssl.min_version.is_none_or(|least| least <= *v) && ssl.max_version.is_none_or(|most| *v <= most)
        });
    let allowed: Vec<&str> = allowed.map(|(_, name)| name).collect();
    if ssl.min_version.is_some() || ssl.max_version.is_some() {
        lines.push(("server_tls_protocols", allowed.join(",")));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::postgres::conninfo::{Password, PasswordSource};

    use super::*;

    #[test]
    fn users_and_passwords_are_quoted() {
        let mut login = Login::new("an\"n", "d");
        assert_eq!(users(&login).unwrap(), b"\"an\"\"n\" \"\"\n");
        login.password = Some(Password::new("p\"w", PasswordSource::Environment));
        assert_eq!(users(&login).unwrap(), b"\"an\"\"n\" \"p\"\"w\"\n");
        login.password = Some(Password::new("p\n\"x\" \"y\"", PasswordSource::Environment));
        assert_eq!(users(&login).unwrap_err().class(), Class::Missing);
    }

    #[test]
    fn the_server_is_named_as_it_is_reached() {
        let login = Arc::new(Login::new("u", "d"));
        for (address, wanted) in [
            (Address::Unix("/run/a b/.s.PGSQL.5433".into()), Some("host='/run/a b' port=5433")),
            (Address::Unix("/run/pg.sock".into()), None),
            (Address::Tcp(([127, 0, 0, 1], 5432).into()), Some("host='127.0.0.1' port=5432")),
        ] {
            let got = server(&Place::new(address.clone(), login.clone())).ok();
            assert_eq!(got.as_deref(), wanted, "{address:?}");
        }
    }

    #[test]
    fn session_settings_go_the_way_that_reaches_every_connection() {
        let wanted =
            [("work_mem", "64MB"), ("TimeZone", "UTC"), ("app.x", "it's")].map(|(n, v)| (n.into(), v.into()));
        let session = Session::of(&SettingValues::from(wanted), Version::of(1, 18));
        let sent = [("application_name", "x"), ("timezone", "Asia/Tokyo")].map(|(n, v)| (n.into(), v.into()));
        let wanted = [("application_name", "x"), ("TimeZone", "UTC")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(session.over(&sent), wanted);
        assert_eq!(
            session.statement().unwrap(),
            "SELECT pg_catalog.set_config('app.x', 'it''s', false), pg_catalog.set_config('work_mem', '64MB', false)"
        );
        assert_eq!(Session::default().statement(), None);
    }
}
