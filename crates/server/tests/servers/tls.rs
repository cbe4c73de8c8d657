//! Control connections under TLS.

use std::path::Path;
use std::process::{Command, Stdio};

use protocol::postgres::sql::Sql;
use protocol::postgres::{Config, conninfo::Env};
use server::child::Account;
use server::control::{ConnectFailure, Control, connect};
use server::managed::{Cluster, NetworkAccess, ServerOptions};
use spec::Error;

use crate::support::{Place, cluster, watchdog};

/// Makes a certificate for `localhost` that is its own authority, as PostgreSQL's documentation does.
fn make_certificate(data: &Path) {
    let (key, certificate) = (data.join("server.key"), data.join("server.crt"));
    let status = Command::new("openssl")
        .args(["req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    if let Some(account) = Account::unprivileged().unwrap() {
        for file in [&key, &certificate] {
            std::os::unix::fs::chown(file, Some(account.uid), Some(account.gid)).unwrap();
        }
    }
}

fn open(server: &Cluster, rest: &str) -> Result<Control, Error> {
    let password = std::fs::read_to_string(server.password_file()).unwrap();
    let dsn = format!(
        "host=localhost hostaddr=127.0.0.1 port={} user=postgres dbname=postgres {rest}",
        server.port()
    );
    let env = Env::process().with_variable("PGPASSWORD", password.trim());
    connect(&Config::parse(Some(&dsn), &env).unwrap())
}

#[test]
fn tls_is_used_as_asked() {
    let place = Place::new();
    drop(cluster(&place));
    let options = ServerOptions { via: NetworkAccess::Tcp, ..ServerOptions::default() };
    let mut server =
        Cluster::ensure(&place.home, "main", &options, &watchdog(), &server::Stop::new()).unwrap();
    assert!(!open(&server, "sslmode=prefer").unwrap().is_secure());
    let refused = open(&server, "sslmode=require").unwrap_err();
    assert!(refused.attached() == Some(&ConnectFailure::Login), "{refused}");

    make_certificate(&server.data());
    server.connect("postgres").unwrap().execute("ALTER SYSTEM SET ssl = on").unwrap();
    server.restart().unwrap();
    let root = format!("sslrootcert={}", server.data().join("server.crt").display());
    for (rest, secure) in [
        ("sslmode=disable".to_owned(), false),
        ("sslmode=prefer".to_owned(), true),
        ("sslmode=require channel_binding=require".to_owned(), true),
        (format!("sslmode=verify-full {root}"), true),
        // No DNS name.
        ("sslmode=require host=db-".to_owned(), true),
        (format!("sslmode=verify-ca {root} host=db-"), true),
    ] {
        let mut control = open(&server, &rest).unwrap_or_else(|error| panic!("{rest}: {error}"));
        assert_eq!(control.is_secure(), secure, "{rest}");
        assert_eq!(control.scalar("SELECT length(repeat('x', 100000))").unwrap().as_deref(), Some("100000"));
    }
    let wrong = open(&server, &format!("sslmode=verify-full {root} hostaddr=127.0.0.1 host=example.org"))
        .unwrap_err();
    assert!(wrong.attached() == Some(&ConnectFailure::Tls), "{wrong}");
    let unnamed = open(&server, &format!("sslmode=verify-full {root} host=db-")).unwrap_err();
    assert!(unnamed.attached() == Some(&ConnectFailure::Description), "{unnamed}");
}
