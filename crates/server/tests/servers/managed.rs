//! The life of managed servers.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::postgres::conninfo::{Password, PasswordSource};
use protocol::postgres::sql::Sql;
use server::child::Account;
use server::control::{ConnectFailure, Control};
use server::home::HomeFolder;
use server::managed::{Choice, Cluster, NetworkAccess, ServerOptions, list, status};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, is_alive, kill, parent, watchdog};

fn ensure(place: &Place, options: &ServerOptions) -> Result<Cluster, Error> {
    Cluster::ensure(&place.home, "main", options, &watchdog(), &server::Stop::new())
}

fn assert_in_use_by(place: &Place, pid: u32) {
    let error = ensure(place, &ServerOptions::default()).unwrap_err();
    assert_eq!(error.class(), Class::Refused);
    assert!(error.to_string().ends_with(&format!("is in use by another pgdyno (pid {pid})")), "{error}");
    assert!(error.hint().is_some(), "{error}");
}

fn assert_not_found<T: std::fmt::Debug>(found: Result<T, Error>) {
    let error = found.unwrap_err();
    assert!(error.to_string().starts_with("managed server "), "{error}");
}

fn is_disk_full(error: &Error) -> bool {
    let text = error.to_string();
    text.starts_with("the disk under ") && text.contains(" is full: ")
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
    assert_eq!(list(&place.home).unwrap().0.len(), 1);
    assert_in_use_by(&place, std::process::id());
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
    assert_eq!(error.class(), Class::Missing, "{error}");
    assert!(error.to_string().contains("extension no_such_extension is not installed"), "{error}");
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
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert_eq!(server.connect("postgres").unwrap().scalar("SELECT 1").unwrap().as_deref(), Some("1"));
}

#[test]
fn a_detached_server_stays_and_is_used_again() {
    let place = Place::new();
    drop(cluster(&place));
    let server = ensure(&place, &ServerOptions { detached: true, ..ServerOptions::default() }).unwrap();
    let pid = server.pid().unwrap();
    drop(server);
    assert!(is_alive(pid));
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert_eq!(server.pid(), Some(pid));
    drop(server);
    assert!(is_alive(pid));
    let mut server = Cluster::open(&place.home, "main", &watchdog(), &server::Stop::new()).unwrap();
    server.stop().unwrap();
    assert!(!is_alive(pid));
    server.destroy().unwrap();
    assert_not_found(status(&place.home, "main"));
}

/// The server's own words were the answer, and nothing could be measured.
#[test]
fn data_of_another_catalog_version_are_made_again() {
    use std::os::unix::fs::FileExt;
    let place = Place::new();
    let server = cluster(&place);
    let control = server.data().join("global/pg_control");
    server.connect("postgres").unwrap().execute("CREATE TABLE t ()").unwrap();
    drop(server);
    // The version of its format, behind the system identifier.
    let other = || {
        std::fs::File::options().write(true).open(&control).unwrap().write_all_at(&[9, 9, 0, 0], 8).unwrap()
    };
    other();
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert_eq!(server.made_again(), Some("another catalog version of PostgreSQL"));
    let found = server.connect("postgres").unwrap().scalar("SELECT to_regclass('t') IS NULL").unwrap();
    assert_eq!(found.as_deref(), Some("t"));
    drop(server);
    // What a user keeps is not removed.
    drop(ensure(&place, &ServerOptions { detached: true, ..ServerOptions::default() }).unwrap());
    Cluster::open(&place.home, "main", &watchdog(), &server::Stop::new()).unwrap().stop().unwrap();
    other();
    let error = ensure(&place, &ServerOptions::default()).unwrap_err();
    assert!(error.to_string().contains("holds data whose catalog version differs"), "{error}");
    assert!(control.exists());
}

#[test]
fn network_is_on_loopback_with_a_password() {
    use protocol::postgres::{Config, conninfo::Env};
    let place = Place::new();
    drop(cluster(&place));
    let server =
        ensure(&place, &ServerOptions { via: NetworkAccess::Tcp, ..ServerOptions::default() }).unwrap();
    let password = std::fs::read_to_string(server.password_file()).unwrap();
    assert_eq!(server.password_file().metadata().unwrap().mode() & 0o777, 0o600);
    let connect = |password: &str| {
        let dsn = format!("host=127.0.0.1 port={} user=postgres dbname=postgres", server.port());
        let env = Env::empty().with_user("x").with_variable("PGPASSWORD", password);
        server::control::connect(&Config::parse(Some(&dsn), &env).unwrap())
    };
    let mut control = connect(password.trim()).unwrap();
    assert_eq!(control.scalar("SHOW listen_addresses").unwrap().as_deref(), Some("127.0.0.1"));
    let error = connect("wrong").unwrap_err();
    assert!(error.attached() == Some(&ConnectFailure::WrongPassword), "{error}");
    let error = connect("").unwrap_err();
    assert!(error.attached() == Some(&ConnectFailure::PasswordNeeded), "{error}");
    let log = std::fs::read_to_string(server.folder().join("server.log")).unwrap();
    assert!(!log.contains(password.trim()));
}

/// How the connection is made, as the server sees it.
fn seen(control: &mut Control) -> (Option<String>, bool) {
    let query = "SELECT host(client_addr), ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) \
                 WHERE pid = pg_backend_pid()";
    let row = control.query(query).unwrap()[0].rows[0].clone();
    (row[0].clone(), row[1].as_deref() == Some("t"))
}

fn open(place: &protocol::postgres::Place) -> Result<Control, Error> {
    Control::open(place, Some(Duration::from_secs(10)))
}

#[test]
fn a_server_made_earlier_is_reached_by_tcp_and_tls_once_that_is_asked_for() {
    let place = Place::new();
    let mut server = cluster(&place);
    server.connect("postgres").unwrap().execute("CREATE TABLE kept (x int)").unwrap();
    assert!(server.place_by(NetworkAccess::Tcp, "postgres").is_none());
    let pid = server.pid();
    server.listen(NetworkAccess::Socket).unwrap();
    assert_eq!(server.pid(), pid);
    server.listen(NetworkAccess::Tls).unwrap();
    assert_ne!(server.pid(), pid, "it is restarted once");
    let (pid, certificate) = (server.pid(), std::fs::read(server.certificate_file()).unwrap());
    server.listen(NetworkAccess::Tcp).unwrap();
    assert_eq!(server.pid(), pid);
    let here = Some("127.0.0.1".to_owned());
    for (via, wanted) in [
        (NetworkAccess::Socket, (None, false)),
        (NetworkAccess::Tcp, (here.clone(), false)),
        (NetworkAccess::Tls, (here, true)),
    ] {
        let mut control = open(&server.place_by(via, "postgres").unwrap()).unwrap();
        assert_eq!(seen(&mut control), wanted, "{via:?}");
        assert_eq!(control.scalar("SELECT count(*) FROM kept").unwrap().as_deref(), Some("0"));
    }
    let key = server.folder().join("server.key").metadata().unwrap();
    match Account::unprivileged().unwrap() {
        Some(account) => assert_eq!((key.mode() & 0o777, key.uid(), key.gid()), (0o640, 0, account.gid)),
        None => assert_eq!(key.mode() & 0o777, 0o600),
    }
    // A later use has it only if it asks for it, and then with the same certificate.
    drop(server);
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert!(server.place_by(NetworkAccess::Tcp, "postgres").is_none());
    assert_eq!(
        server.connect("postgres").unwrap().scalar("SHOW listen_addresses").unwrap().as_deref(),
        Some("")
    );
    drop(server);
    let server =
        ensure(&place, &ServerOptions { via: NetworkAccess::Tls, ..ServerOptions::default() }).unwrap();
    assert_eq!(std::fs::read(server.certificate_file()).unwrap(), certificate);
    assert!(seen(&mut open(&server.place_by(NetworkAccess::Tls, "postgres").unwrap()).unwrap()).1);
}

#[test]
fn a_wrong_password_and_another_certificate_are_refused() {
    let place = Place::new();
    let mut server = cluster(&place);
    server.listen(NetworkAccess::Tls).unwrap();
    for via in [NetworkAccess::Tcp, NetworkAccess::Tls] {
        let mut wrong = server.place_by(via, "postgres").unwrap();
        let mut login = (*wrong.login).clone();
        login.password = Some(Password::new("wrong", PasswordSource::Environment));
        login.scram_cache = Default::default();
        wrong.login = login.into();
        let error = open(&wrong).unwrap_err();
        assert!(error.attached() == Some(&ConnectFailure::WrongPassword), "{via:?}: {error}");
    }
    let of_this = server.place_by(NetworkAccess::Tls, "postgres").unwrap();
    for file in [server.certificate_file(), server.folder().join("server.key")] {
        std::fs::remove_file(file).unwrap();
    }
    server.restart().unwrap();
    let error = open(&of_this).unwrap_err();
    assert!(error.attached() == Some(&ConnectFailure::Tls), "{error}");
}

/// Programs like the server's, with a `postgres` built without TLS.
fn without_tls(place: &Place, server: &Cluster) -> PathBuf {
    let bin = place.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let real = &server.installation().bin;
    for entry in std::fs::read_dir(real).unwrap().map(Result::unwrap) {
        std::os::unix::fs::symlink(entry.path(), bin.join(entry.file_name())).unwrap();
    }
    let postgres = bin.join("postgres");
    std::fs::remove_file(&postgres).unwrap();
    let real = real.join("postgres");
    let script =
        format!("#!/bin/sh\ncase \"$*\" in *ssl=on*) exit 1;; esac\nexec {} \"$@\"\n", real.display());
    std::fs::write(&postgres, script).unwrap();
    for (file, mode) in [(&bin, 0o755), (&postgres, 0o755)] {
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    bin
}

#[test]
fn a_postgresql_without_tls_is_named_and_goes_on_without() {
    let place = Place::new();
    let server = cluster(&place);
    let choice = Choice { pg_bin: Some(without_tls(&place, &server)), version: None };
    drop(server);
    let options = |via| ServerOptions { choice: choice.clone(), via, ..ServerOptions::default() };
    let error = ensure(&place, &options(NetworkAccess::Tls)).unwrap_err();
    assert!(error.to_string().contains("was built without TLS"), "{error}");
    let mut server = ensure(&place, &options(NetworkAccess::Tcp)).unwrap();
    let error = server.listen(NetworkAccess::Tls).unwrap_err();
    assert!(error.to_string().contains("was built without TLS"), "{error}");
    open(&server.place_by(NetworkAccess::Tcp, "postgres").unwrap()).unwrap();
}

#[test]
fn a_detached_server_that_is_restarted_for_tls_stays_detached() {
    let place = Place::new();
    drop(cluster(&place));
    drop(ensure(&place, &ServerOptions { detached: true, ..ServerOptions::default() }).unwrap());
    let server =
        ensure(&place, &ServerOptions { via: NetworkAccess::Tls, ..ServerOptions::default() }).unwrap();
    let pid = server.pid().unwrap();
    assert!(server.is_detached());
    drop(server);
    assert!(is_alive(pid));
    // A request for less uses it unchanged.
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert_eq!(server.pid(), Some(pid));
    server.destroy().unwrap();
    assert!(!is_alive(pid));
}

#[test]
fn the_load_goes_the_way_that_was_chosen_and_control_by_the_socket() {
    let place = Place::new();
    drop(cluster(&place));
    let stop = server::Stop::new();
    let options = ServerOptions::default();
    let mut target = server::Target::managed(&place.home, "main", &options, &[], &watchdog(), &stop).unwrap();
    target.reach_by(NetworkAccess::Tls).unwrap();
    target.apply(&[("work_mem".to_owned(), "7MB".to_owned())].into()).unwrap();
    let mut load = target.control_like_load().unwrap();
    assert!(seen(&mut load).1);
    assert_eq!(load.scalar("SHOW work_mem").unwrap().as_deref(), Some("7MB"));
    assert_eq!(seen(&mut target.control().unwrap()), (None, false));
    assert!(target.redacted().ends_with("dbname=pgdyno sslmode=verify-full"), "{}", target.redacted());
    target.reach_by(NetworkAccess::Socket).unwrap();
    assert_eq!(seen(&mut target.control_like_load().unwrap()), (None, false));
}

#[test]
fn folders_of_others_are_left_alone() {
    let place = Place::new();
    place
        .home
        .make_part(HomeFolder::Clusters, server::child::Account::unprivileged().unwrap().as_ref())
        .unwrap();
    let folder = place.home.path(HomeFolder::Clusters).join("main");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("precious"), "x").unwrap();
    let error = ensure(&place, &ServerOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is not pgdyno's"), "{error}");
    let open = Cluster::open(&place.home, "main", &watchdog(), &server::Stop::new());
    assert_not_found(open);
    assert!(folder.join("precious").exists());
}

#[test]
fn a_wrong_wish_is_named() {
    let place = Place::new();
    drop(cluster(&place));
    let choice = Choice { version: Some(99), pg_bin: None };
    let error = ensure(&place, &ServerOptions { choice, ..ServerOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("but 99 is asked for"), "{error}");
}

#[test]
fn initdb_stops_when_asked() {
    let place = Place::new();
    let stop = server::Stop::new();
    stop.press();
    let stopped = Cluster::ensure(&place.home, "main", &ServerOptions::default(), &watchdog(), &stop);
    assert!(matches!(&stopped, Err(error) if error.is_stopped()), "{stopped:?}");
    // What is half made is made again.
    assert!(ensure(&place, &ServerOptions::default()).is_ok());
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
    assert_in_use_by(&place, owner.id());
    kill(owner.id());
    owner.wait().unwrap();
    eventually(Duration::from_secs(10), "server and watchdog end", || !is_alive(server) && !is_alive(guard));
    // The next one finds everything in order.
    assert!(ensure(&place, &ServerOptions::default()).is_ok());
}

#[test]
fn an_orphan_without_watchdog_is_replaced() {
    let place = Place::new();
    let server = cluster(&place);
    let pid = server.pid().unwrap();
    // A pid file that names a stranger must not keep the server from starting.
    drop(server);
    let data = place.home.path(HomeFolder::Clusters).join("main/data");
    std::fs::write(data.join("postmaster.pid"), format!("{}\n{}\n", std::process::id(), data.display()))
        .unwrap();
    let server = ensure(&place, &ServerOptions::default()).unwrap();
    assert_ne!(server.pid(), Some(pid));
}

/// Its own small disk; only root can make one.
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
    let error = ensure(&place, &ServerOptions::default()).unwrap_err();
    assert_eq!(error.class(), Class::Io);
    assert!(is_disk_full(&error), "{error}");
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
    // It survives this, or its death is reported correctly.
    let checked = server.check();
    assert!(checked.as_ref().err().is_none_or(is_disk_full), "{checked:?}");
    drop(server);
    drop(disk);
}
