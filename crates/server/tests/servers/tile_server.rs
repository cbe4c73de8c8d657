//! Private tile servers before a private server with PostGIS: TiPg for real, martin where it is installed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::conninfo::{Password, PasswordSource};
use protocol::postgres::sql::Sql;
use server::Stop;
use server::managed::Cluster;
use server::pooler::Upstream;
use server::tile_server::{Installed, ServedTables, TileServer};
use spec::plan::tile_server::{TileServerKind, TileServerOptions};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, is_alive, kill, not_run, parent, watchdog};

/// A server with a table of squares around the middle of the map.
fn with_a_table(place: &Place) -> Cluster {
    let server = cluster(place);
    let mut sql = server.connect("postgres").unwrap();
    sql.execute("CREATE EXTENSION postgis").unwrap();
    sql.execute("CREATE SCHEMA osm").unwrap();
    let table = "CREATE TABLE osm.squares AS SELECT i AS id, 'no ' || i AS name, ST_MakeEnvelope(i * 10, 0, i * 10 + 5, \
                 5, 3857)::geometry(Polygon, 3857) AS way FROM generate_series(0, 99) AS i";
    sql.execute(table).unwrap();
    server
}

fn upstream(server: &Cluster) -> Upstream {
    Upstream { place: server.place("postgres"), ssl: Default::default() }
}

/// The kinds that are installed here; TiPg must be.
fn kinds() -> Vec<(TileServerKind, Installed)> {
    let found = |kind| match Installed::find(&TileServerOptions::usual(kind), &watchdog(), &Stop::new()) {
        Ok(installed) => Some((kind, installed)),
        Err(error) if kind == TileServerKind::Martin && error.to_string().contains("is not installed") => {
            not_run("no martin");
            None
        }
        Err(error) => panic!("{error}"),
    };
    TileServerKind::ALL.into_iter().filter_map(found).collect()
}

fn start(
    place: &Place,
    server: &Upstream,
    installed: &Installed,
    options: &TileServerOptions,
) -> Result<TileServer, Error> {
    let schemas = ["public", "osm"].map(str::to_owned);
    let before = ServedTables { upstream: server, schemas: &schemas, clients: 3 };
    TileServer::start(&place.home, (installed, options), &before, None, (&watchdog(), &Stop::new()))
}

fn two_workers(kind: TileServerKind) -> TileServerOptions {
    TileServerOptions { workers: Some(2), ..TileServerOptions::usual(kind) }
}

/// Status and body.
fn get(address: SocketAddr, path: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), answer[end + 4..].to_vec())
}

fn tile(server: &TileServer, kind: TileServerKind) -> (u16, Vec<u8>) {
    let path =
        kind.tiles_of_source().replace("{source}", "osm.squares").replace("{z}/{x}/{y}", "14/8192/8191");
    get(server.address(), &path)
}

/// How many tile servers have a folder in the home.
fn left(place: &Place) -> usize {
    std::fs::read_dir(place.home.path(server::home::HomeFolder::TileServers)).map_or(0, Iterator::count)
}

fn dies(server: &mut TileServer) -> Error {
    let start = Instant::now();
    loop {
        match server.check() {
            Err(error) => return error,
            Ok(()) => assert!(start.elapsed() < Duration::from_secs(15), "it is still taken for alive"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tiles_of_a_table_are_served_and_of_others_it_is_told() {
    let place = Place::new();
    let server = with_a_table(&place);
    for (kind, installed) in kinds() {
        let mut served = start(&place, &upstream(&server), &installed, &two_workers(kind)).unwrap();
        served.check().unwrap();
        served.serves("osm", "squares").unwrap();
        let (status, body) = tile(&served, kind);
        let texts = String::from_utf8_lossy(&body).into_owned();
        assert!(status == 200 && texts.contains("no 99"), "{kind}: {status} {texts}");
        let error = served.serves("osm", "circles").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{kind} has no tiles of osm.circles: ")), "{error}");
        assert!(served.words().starts_with("2 workers, "), "{}", served.words());
        let pid = served.pid();
        drop(served);
        assert!(!is_alive(pid) && left(&place) == 0, "{kind}");
    }
}

#[test]
fn its_connections_are_as_many_and_have_the_settings_that_were_asked_for() {
    let place = Place::new();
    let server = with_a_table(&place);
    let mut up = upstream(&server);
    let mut login = (*up.place.login).clone();
    login.parameters.push(("options".to_owned(), "-c work_mem=7MB -c search_path=osm,\\ public".to_owned()));
    up.place.login = login.into();
    let seen = "CREATE FUNCTION public.seen(z int, x int, y int) RETURNS bytea LANGUAGE sql AS $$ SELECT \
                convert_to(current_setting('work_mem'), 'UTF8') $$";
    let mut sql = server.connect("postgres").unwrap();
    sql.execute(seen).unwrap();
    for (kind, installed) in kinds() {
        let options = TileServerOptions { connections: Some(4), ..two_workers(kind) };
        let served = start(&place, &up, &installed, &options).unwrap();
        served.serves("osm", "squares").unwrap();
        if kind == TileServerKind::Martin {
            assert_eq!(get(served.address(), "/public.seen/0/0/0").1, b"7MB");
        }
        let count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> \
                     pg_backend_pid()";
        let connections: u32 = sql.scalar(count).unwrap().unwrap().parse().unwrap();
        // TiPg opens them at once, martin when they are needed.
        let wanted = if kind == TileServerKind::Tipg { 4..=4 } else { 1..=4 };
        assert!(wanted.contains(&connections), "{kind}: {connections}");
        drop(served);
        eventually(Duration::from_secs(5), "its connections are closed", || {
            sql.scalar(count).unwrap().as_deref() == Some("0")
        });
    }
}

#[test]
fn it_is_private_and_what_is_secret_stands_nowhere() {
    let place = Place::new();
    let server = with_a_table(&place);
    let secret = "p\"w '%;#$:@/é";
    let role = format!("CREATE ROLE ann LOGIN PASSWORD {}", protocol::postgres::sql::quote_literal(secret));
    let mut sql = server.connect("postgres").unwrap();
    sql.execute(&role).unwrap();
    sql.execute("GRANT USAGE ON SCHEMA osm TO ann; GRANT SELECT ON osm.squares TO ann").unwrap();
    let hba = server.data().join("pg_hba.conf");
    let rules = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, format!("local all ann scram-sha-256\n{rules}")).unwrap();
    sql.execute("SELECT pg_reload_conf()").unwrap();
    let mut up = upstream(&server);
    let mut login = (*up.place.login).clone();
    login.user = "ann".to_owned();
    login.password = Some(Password::new(secret, PasswordSource::Environment));
    up.place.login = login.clone().into();
    for (kind, installed) in kinds() {
        let served = start(&place, &up, &installed, &two_workers(kind)).unwrap();
        served.serves("osm", "squares").unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        assert_ne!(uid.split_whitespace().next(), Some("0"));
        for pid in [served.pid(), parent(served.pid())] {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
            assert!(!String::from_utf8_lossy(&command).contains("p%22w"), "{kind}");
        }
        for entry in std::fs::read_dir(place.home.path(server::home::HomeFolder::TileServers)).unwrap() {
            for file in std::fs::read_dir(entry.unwrap().path()).unwrap().map(Result::unwrap) {
                let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
                assert!(mode & 0o137 == 0 || !file.path().is_file(), "{:?} {mode:o}", file.path());
            }
        }
        assert_eq!(served.address().ip().to_string(), "127.0.0.1");
        drop(served);
        let mut wrong = login.clone();
        wrong.password = Some(Password::new("wr%ng", PasswordSource::Environment));
        up.place.login = wrong.into();
        let told = start(&place, &up, &installed, &two_workers(kind)).unwrap_err().to_string();
        assert!(told.contains(&format!("{kind} did not start")), "{told}");
        assert!(!told.contains("wr%ng") && !told.contains("wr%25ng"), "{told}");
        up.place.login = login.clone().into();
        assert_eq!(left(&place), 0);
    }
}

#[test]
fn the_death_of_a_tile_server_and_of_its_database_are_told() {
    let place = Place::new();
    let mut server = with_a_table(&place);
    for (kind, installed) in kinds() {
        let mut served = start(&place, &upstream(&server), &installed, &two_workers(kind)).unwrap();
        let address = served.address();
        kill(served.pid());
        let error = dies(&mut served);
        assert!(error.to_string().starts_with(&format!("{kind} died (signal 9): ")), "{error}");
        // Its workers are gone too, although it could not tell them.
        eventually(Duration::from_secs(10), "nobody listens any more", || {
            TcpStream::connect(address).is_err()
        });
    }
    let served: Vec<_> = kinds()
        .into_iter()
        .map(|(kind, installed)| start(&place, &upstream(&server), &installed, &two_workers(kind)).unwrap())
        .collect();
    server.stop().unwrap();
    for served in &served {
        let error = served.serves("osm", "squares").unwrap_err();
        assert_eq!(error.class(), Class::Unreachable);
        assert!(error.to_string().contains("makes no tiles"), "{error}");
    }
    // And none is started before a server that is not there.
    for (kind, installed) in kinds() {
        let start_of = Instant::now();
        let error =
            start(&place, &upstream(&server), &installed, &two_workers(kind)).unwrap_err().to_string();
        let log = error.strip_prefix(&format!("{kind} did not start: "));
        assert!(log.is_some_and(|log| !log.is_empty()), "{error}");
        assert!(start_of.elapsed() < Duration::from_secs(40), "{kind}: {:?}", start_of.elapsed());
    }
}

#[test]
fn its_port_stays_the_same_where_nobody_took_it() {
    let place = Place::new();
    let server = with_a_table(&place);
    let (kind, installed) = kinds().remove(0);
    let (up, options) =
        (upstream(&server), TileServerOptions { workers: Some(1), ..TileServerOptions::usual(kind) });
    let schemas = server::tile_server::schemas(&mut server.connect("postgres").unwrap()).unwrap();
    assert_eq!(schemas, ["osm", "public"]);
    let before = ServedTables { upstream: &up, schemas: &schemas, clients: 1 };
    let at = |port| {
        let both = (&installed, &options);
        TileServer::start(&place.home, both, &before, port, (&watchdog(), &Stop::new())).unwrap()
    };
    let first = at(None);
    let port = first.address().port();
    drop(first);
    let second = at(Some(port));
    assert_eq!(second.address().port(), port);
    drop(second);
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let third = at(Some(port));
    assert_ne!(third.address().port(), port);
    third.serves("osm", "squares").unwrap();
    drop(taken);
}

#[test]
fn what_is_not_installed_or_no_tile_server_is_told_with_what_to_try() {
    let find = |kind, program: &Path| {
        let options =
            TileServerOptions { program: Some(program.to_owned()), ..TileServerOptions::usual(kind) };
        Installed::find(&options, &watchdog(), &Stop::new()).unwrap_err().to_string()
    };
    let told = find(TileServerKind::Tipg, Path::new("/bin/false"));
    assert!(told.starts_with("/bin/false: it says no version; setup/install tipg"), "{told}");
    let told = find(TileServerKind::Martin, Path::new("/no/martin"));
    assert!(told.starts_with("/no/martin: No such file") && told.contains("PGDYNO_MARTIN"), "{told}");
}

#[test]
fn nobody_waits_for_a_tile_server_who_wants_to_stop() {
    let place = Place::new();
    let server = cluster(&place);
    let (kind, installed) = kinds().remove(0);
    let (stop, up) = (Stop::new(), upstream(&server));
    stop.press();
    let before = ServedTables { upstream: &up, schemas: &["public".to_owned()], clients: 1 };
    let options = two_workers(kind);
    let stopped = TileServer::start(&place.home, (&installed, &options), &before, None, (&watchdog(), &stop));
    assert!(matches!(&stopped, Err(error) if error.is_stopped()), "{stopped:?}");
    assert_eq!(left(&place), 0);
}

/// A process that owns a TiPg before a server, its pid and where it listens.
fn owner(place: &Place, server: &Cluster) -> (Child, u32, SocketAddr) {
    let Address::Unix(socket) = server.place("postgres").address else { panic!("no socket") };
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno-test-owner"));
    command.arg("tile-server-owner").arg(place.home.folder()).arg(socket).stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pid, address) = line.trim().split_once(' ').unwrap();
    (owner, pid.parse().unwrap(), address.parse().unwrap())
}

#[test]
fn nothing_of_a_tile_server_outlives_a_killed_owner() {
    let place = Place::new();
    let server = with_a_table(&place);
    let (mut killed, pid, address) = owner(&place, &server);
    let guard = parent(pid);
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(Duration::from_secs(12), "nothing is left", || {
        !is_alive(pid) && !is_alive(guard) && TcpStream::connect(address).is_err() && left(&place) == 0
    });
    // With its watchdog killed too, the kernel tells it, and the next one removes what is left.
    let (mut killed, pid, address) = owner(&place, &server);
    kill(parent(pid));
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(Duration::from_secs(12), "it is dead", || {
        !is_alive(pid) && TcpStream::connect(address).is_err()
    });
    server::remove_dead_members(&place.home);
    assert_eq!(left(&place), 0);
}
