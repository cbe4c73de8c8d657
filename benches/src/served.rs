//! A private server with pgbench's tables, for one measurement.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use protocol::postgres::sql::Sql;
use server::child::{Account, Watchdog};
use server::home::Home;
use server::managed::{Cluster, NetworkAccess, SUPERUSER};

use crate::{Args, MissingRequirement, child, stop};

pub(crate) const DATABASE: &str = "pgdyno";
/// Connections of a server in addition to the load's.
const SPARE_CONNECTIONS: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    /// TCP on 127.0.0.1, unencrypted.
    Tcp,
    /// TCP on 127.0.0.1 with TLS.
    Tls,
}

/// A private PostgreSQL server, stopped with its value.
pub(crate) struct PrivateServer {
    cluster: Cluster,
    /// libpq's environment variables for it.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) pgbench: PathBuf,
    _home: tempfile::TempDir,
}

impl PrivateServer {
    /// Starts a server with tables of this scale, and connections for this many clients.
    ///
    /// # Errors
    /// [`MissingRequirement`] without openssl for a server with TLS; otherwise when the server does not start.
    pub(crate) fn start(options: &Args, way: Way, scale: u32, clients: u32) -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
        let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
        let watchdog = Watchdog::current()?;
        let via = if way == Way::Socket { NetworkAccess::Socket } else { NetworkAccess::Tcp };
        let wanted = server::managed::ServerOptions { via, ..Default::default() };
        let mut cluster =
            Cluster::ensure(&Home::at(home.path()), "benches", &wanted, &watchdog, stop::switch())?;
        cluster.ensure_database(DATABASE)?;
        let mut settings = vec![format!("max_connections = {}", clients + SPARE_CONNECTIONS)];
        if way != Way::Socket {
            make_passwords_cheap(&cluster.data())?;
        }
        if way == Way::Tls {
            make_certificate(&cluster.data())?;
            settings.push("ssl = on".into());
        }
        for setting in settings {
            execute(&cluster, &format!("ALTER SYSTEM SET {setting}"))?;
        }
        cluster.restart()?;
        let env = environment(&cluster, way)?;
        make_tables(&program, &env, scale)?;
        let pgbench = options.pgbench.clone().unwrap_or_else(|| cluster.installation().program("pgbench"));
        if !pgbench.is_file() {
            return Err(MissingRequirement(format!(
                "no pgbench at {}; name one with --pgbench",
                pgbench.display()
            ))
            .into());
        }
        Ok(Self { cluster, env, pgbench, _home: home })
    }

    /// The connection string of its tables.
    ///
    /// # Errors
    /// It has none.
    pub(crate) fn dsn(&self) -> anyhow::Result<&str> {
        let own = self.env.iter().find(|(name, _)| name == "PGDATABASE");
        own.map(|(_, value)| value.as_str()).context("no connection string")
    }

    /// Runs a statement as superuser.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn execute(&self, statement: &str) -> anyhow::Result<()> {
        execute(&self.cluster, statement)
    }

    /// Runs a checkpoint, so that it does not fall into a measurement.
    ///
    /// # Errors
    /// When the server refuses.
    pub(crate) fn checkpoint(&self) -> anyhow::Result<()> {
        execute(&self.cluster, "CHECKPOINT")
    }

    pub(crate) fn socket_folder(&self) -> &Path {
        self.cluster.socket_folder()
    }

    /// Also part of the name of its Unix socket.
    pub(crate) fn port(&self) -> u16 {
        self.cluster.port()
    }
}

fn execute(cluster: &Cluster, statement: &str) -> anyhow::Result<()> {
    cluster.connect(DATABASE)?.execute(statement).map_err(|error| anyhow::anyhow!("{statement}: {error}"))
}

fn environment(cluster: &Cluster, way: Way) -> anyhow::Result<Vec<(String, String)>> {
    let rest = format!("port={} user={SUPERUSER} dbname={DATABASE}", cluster.port());
    let dsn = match way {
        Way::Socket => format!("host={} {rest}", cluster.socket_folder().display()),
        Way::Tcp => format!("host=127.0.0.1 sslmode=disable {rest}"),
        Way::Tls => format!("host=127.0.0.1 sslmode=require {rest}"),
    };
    let mut env = vec![("PGDATABASE".to_owned(), dsn)];
    if way != Way::Socket {
        let password = std::fs::read_to_string(cluster.password_file())?;
        env.push(("PGPASSWORD".to_owned(), password.trim().to_owned()));
    }
    Ok(env)
}

fn make_tables(pgdyno: &Path, env: &[(String, String)], scale: u32) -> anyhow::Result<()> {
    let words = ["pgbench", "-i", "-q", "-s", &scale.to_string()].map(OsString::from);
    child::run(pgdyno, &words, env).context("no tables").map(drop)
}

/// Makes clients send the plain password. Answering scram-sha-256 takes a client milliseconds, thousands of
/// times the cost of a transaction: the difference after subtracting it would be noise.
fn make_passwords_cheap(data: &Path) -> anyhow::Result<()> {
    let file = data.join("pg_hba.conf");
    let rules = std::fs::read_to_string(&file)?;
    Ok(std::fs::write(&file, rules.replace("scram-sha-256", "password"))?)
}

/// A key and a self-signed certificate, where a server looks for them.
fn make_certificate(data: &Path) -> anyhow::Result<()> {
    let files = [data.join("server.key"), data.join("server.crt")];
    let made = Command::new("openssl")
        .args([
            "req",
            "-new",
            "-x509",
            "-days",
            "2",
            "-nodes",
            "-newkey",
            "rsa:2048",
            "-subj",
            "/CN=localhost",
        ])
        .arg("-keyout")
        .arg(&files[0])
        .arg("-out")
        .arg(&files[1])
        .output()
        .map_err(|error| {
            MissingRequirement(format!(
                "openssl, which makes the server's certificate, does not start: {error}"
            ))
        })?;
    if !made.status.success() {
        bail!("openssl made no certificate: {}", String::from_utf8_lossy(&made.stderr));
    }
    if let Some(account) = Account::unprivileged()? {
        for file in &files {
            std::os::unix::fs::chown(file, Some(account.uid), Some(account.gid))?;
        }
    }
    Ok(())
}
