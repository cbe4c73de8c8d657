//! The life of managed servers.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::postgres::sql::Sql;
use target::managed::{Choice, Cluster, ManagedError, Options, list, status};

use crate::support::{Place, cluster, eventually, is_alive, kill, parent, watchdog};

fn ensure(place: &Place, options: &Options) -> Result<Cluster, ManagedError> {
    Cluster::ensure(&place.home, "main", options, &watchdog(), &target::Stop::new())
}

#[test]
fn a_server_is_made_private_and_stopped_with_its_owner() {
    let place = Place::new();
    let server = cluster(&place);
    let pid = server.pid().unwrap();
    let mut control = server.connect("postgres").unwrap();
    assert_eq!(control.scalar("SHOW data_checksums").unwrap().as_deref(), Some("on"));
    assert_eq!(control.scalar("SHOW server_encoding").unwrap().as_deref(), Some("UTF8"));
    assert_eq!(control.scalar("SHOW listen_addresses").unwrap().as_deref(), Some(""));
    assert_eq!(server.socket_folder().metadata().unwrap().mode() & 0o777, 0o700);
    assert_ne!(std::fs::metadata(server.data()).unwrap().uid(), 0);

    let seen = status(&place.home, "main").unwrap();
    assert_eq!((seen.pid, seen.ready, seen.detached), (Some(pid), true, false));
    assert_eq!(seen.used_by, Some(std::process::id()));
    assert_eq!(list(&place.home).unwrap().len(), 1);
    match ensure(&place, &Options::default()) {
        Err(ManagedError::InUse { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    drop(control);
    drop(server);
    assert!(!is_alive(pid));
    assert_eq!(status(&place.home, "main").unwrap().pid, None);
}

#[test]
fn databases_and_extensions_are_made_once() {
    let place = Place::new();
    let server = cluster(&place);
    assert!(server.ensure_database("a \"b\"").unwrap());
    assert!(!server.ensure_database("a \"b\"").unwrap());
    let error = server.ensure_extension("postgres", "no_such_extension").unwrap_err();
    assert!(matches!(error, ManagedError::MissingExtension { .. }), "{error}");
    assert!(error.to_string().contains("apt install"), "{error}");
}

#[test]
fn a_killed_watchdog_and_a_killed_server_are_survived() {
    let place = Place::new();
    let mut server = cluster(&place);
    let pid = server.pid().unwrap();
    kill(pid);
    eventually(Duration::from_secs(5), "death is seen", || server.check().is_err());
    server.start().unwrap();
    let pid = server.pid().unwrap();
    // Without its watchdog the kernel stops the server.
    kill(parent(pid));
    eventually(Duration::from_secs(10), "server stops", || !is_alive(pid));
    assert!(server.check().is_err());
    server.start().unwrap();
    server.check().unwrap();
    drop(server);
    let server = ensure(&place, &Options::default()).unwrap();
    assert_eq!(server.connect("postgres").unwrap().scalar("SELECT 1").unwrap().as_deref(), Some("1"));
}

#[test]
fn a_detached_server_stays_and_is_used_again() {
    let place = Place::new();
    drop(cluster(&place));
    let server = ensure(&place, &Options { detached: true, ..Options::default() }).unwrap();
    let pid = server.pid().unwrap();
    drop(server);
    assert!(is_alive(pid));
    let server = ensure(&place, &Options::default()).unwrap();
    assert_eq!(server.pid(), Some(pid));
    drop(server);
    assert!(is_alive(pid));
    let mut server = Cluster::open(&place.home, "main", &watchdog(), &target::Stop::new()).unwrap();
    server.stop().unwrap();
    assert!(!is_alive(pid));
    server.destroy().unwrap();
    assert!(matches!(status(&place.home, "main"), Err(ManagedError::NotFound(_))));
}

#[test]
fn network_is_on_loopback_with_a_password() {
    use protocol::postgres::{Config, conninfo::Env};
    let place = Place::new();
    drop(cluster(&place));
    let server = ensure(&place, &Options { network: true, ..Options::default() }).unwrap();
    let password = std::fs::read_to_string(server.password_file()).unwrap();
    assert_eq!(server.password_file().metadata().unwrap().mode() & 0o777, 0o600);
    let connect = |password: &str| {
        let dsn = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
        let env = Env::empty().with_user("x").with_variable("PGPASSWORD", password);
        target::control::connect(&Config::parse(Some(&dsn), &env).unwrap())
    };
    let mut control = connect(password.trim()).unwrap();
    assert_eq!(control.scalar("SHOW listen_addresses").unwrap().as_deref(), Some("127.0.0.1"));
    let error = connect("wrong").unwrap_err();
    assert!(matches!(error, target::control::ConnectError::WrongPassword { .. }), "{error}");
    let error = connect("").unwrap_err();
    assert!(matches!(error, target::control::ConnectError::PasswordNeeded { .. }), "{error}");
    let log = std::fs::read_to_string(server.folder().join("server.log")).unwrap();
    assert!(!log.contains(password.trim()));
}

#[test]
fn folders_of_others_are_left_alone() {
    let place = Place::new();
    place.home.prepare(target::child::Account::unprivileged().unwrap().as_ref()).unwrap();
    let folder = place.home.clusters().join("main");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("precious"), "x").unwrap();
    assert!(matches!(ensure(&place, &Options::default()), Err(ManagedError::NotOurs(_))));
    let open = Cluster::open(&place.home, "main", &watchdog(), &target::Stop::new());
    assert!(matches!(open, Err(ManagedError::NotFound(_))));
    assert!(folder.join("precious").exists());
}

#[test]
fn a_wrong_wish_is_named() {
    let place = Place::new();
    drop(cluster(&place));
    let choice = Choice { version: Some(99), pg_bin: None };
    let error = ensure(&place, &Options { choice, ..Options::default() }).unwrap_err();
    assert!(matches!(error, ManagedError::OtherVersion { asked: 99, .. }), "{error}");
}

#[test]
fn initdb_stops_when_asked() {
    let place = Place::new();
    let stop = target::Stop::new();
    stop.press();
    let stopped = Cluster::ensure(&place.home, "main", &Options::default(), &watchdog(), &stop);
    assert!(matches!(stopped, Err(ManagedError::Stopped)), "{stopped:?}");
    // What is half made is made anew.
    assert!(ensure(&place, &Options::default()).is_ok());
}

#[test]
fn nothing_outlives_a_killed_owner() {
    let place = Place::new();
    drop(cluster(&place));
    let mut owner = Command::new(watchdog().exe)
        .arg("owner")
        .arg(place.home.folder())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server: u32 = line.trim().parse().unwrap();
    let guard = parent(server);
    match ensure(&place, &Options::default()) {
        Err(ManagedError::InUse { pid, .. }) => assert_eq!(pid, Some(owner.id())),
        other => panic!("{other:?}"),
    }
    kill(owner.id());
    owner.wait().unwrap();
    eventually(Duration::from_secs(10), "server and watchdog end", || !is_alive(server) && !is_alive(guard));
    // The next one finds everything in order.
    assert!(ensure(&place, &Options::default()).is_ok());
}

#[test]
fn an_orphan_without_watchdog_is_replaced() {
    let place = Place::new();
    let server = cluster(&place);
    let pid = server.pid().unwrap();
    // A pid file that names a stranger must not keep the server from starting.
    drop(server);
    let data = place.home.clusters().join("main/data");
    std::fs::write(data.join("postmaster.pid"), format!("{}\n{}\n", std::process::id(), data.display()))
        .unwrap();
    let server = ensure(&place, &Options::default()).unwrap();
    assert_ne!(server.pid(), Some(pid));
}

/// A small disk of its own; only root can make one.
struct SmallDisk<'a>(&'a std::path::Path);

impl<'a> SmallDisk<'a> {
    fn mount(folder: &'a std::path::Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=755");
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder).status();
        status.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_is_named() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(place.folder(), "20M") else { return };
    let error = ensure(&place, &Options::default()).unwrap_err();
    assert!(matches!(error, ManagedError::DiskFull { .. }), "{error}");
    assert!(error.to_string().contains("No space left on device"), "{error}");
    drop(disk);

    let Some(disk) = SmallDisk::mount(place.folder(), "80M") else { return };
    let mut server = cluster(&place);
    let mut control = server.connect("postgres").unwrap();
    let fill = "CREATE TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 200000)";
    let error = control.execute(fill).unwrap_err();
    assert!(error.is("53100") || error.sqlstate.is_none(), "{error}");
    assert!(server.disk_full().is_some());
    drop(control);
    // It survives this, or its death is told as what it is.
    assert!(matches!(server.check(), Ok(()) | Err(ManagedError::DiskFull { .. })));
    drop(server);
    drop(disk);
}
