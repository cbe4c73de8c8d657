//! A private PgBouncer before a private server.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use protocol::Address;
use protocol::postgres::sql::Sql;
use server::Target;
use server::control::Control;
use server::home::HomeFolder;
use server::managed::{Cluster, NetworkAccess};
use server::pooler::{Installed, PooledLoad, Pooler, UnsupportedLoad, Upstream, Version};
use server::settings::SettingValues;
use server::url::Rights;
use spec::plan::pooler::{PoolMode, PoolerOptions};
use spec::{Class, Error};

use crate::support::{Place, cluster, eventually, is_alive, kill, parent, watchdog};

fn options(pool_mode: PoolMode, pool_size: u32) -> PoolerOptions {
    PoolerOptions { pool_mode, pool_size, settings: BTreeMap::new() }
}

fn load(clients: u32, session: &SettingValues) -> PooledLoad<'_> {
    PooledLoad { clients, reconnects: false, prepared: false, transaction_blocks: false, session }
}

fn upstream(server: &Cluster) -> Upstream {
    Upstream { place: server.place("postgres"), ssl: Default::default() }
}

fn start(
    place: &Place,
    up: &Upstream,
    options: &PoolerOptions,
    load: &PooledLoad<'_>,
) -> Result<Pooler, Error> {
    Pooler::start(&place.home, up, options, load, &watchdog(), &server::Stop::new())
}

fn connect(pooler: &Pooler, database: &str) -> Control {
    Control::open(&pooler.place(database), Some(Duration::from_secs(10))).unwrap()
}

fn scalar(control: &mut Control, query: &str) -> String {
    control.scalar(query).unwrap().unwrap()
}

const BACKEND: &str = "SELECT pg_backend_pid()";

#[test]
fn transactions_go_through_each_pool_mode() {
    let place = Place::new();
    let server = cluster(&place);
    server.connect("postgres").unwrap().execute("CREATE TABLE t (x int)").unwrap();
    let (none, up) = (SettingValues::new(), upstream(&server));
    for mode in [PoolMode::Session, PoolMode::Transaction, PoolMode::Statement] {
        let pooler = start(&place, &up, &options(mode, 2), &load(2, &none)).unwrap();
        let (mut one, mut two) = (connect(&pooler, "postgres"), connect(&pooler, "postgres"));
        let block = one.execute("BEGIN");
        assert_eq!(block.is_ok(), mode != PoolMode::Statement, "{mode}");
        if block.is_ok() {
            one.execute("INSERT INTO t VALUES (1)").unwrap();
            assert_ne!(scalar(&mut two, BACKEND), scalar(&mut one, BACKEND), "{mode}");
            one.execute("COMMIT").unwrap();
        }
        // A client without a separate connection gets the free one.
        let shared = mode != PoolMode::Session;
        let mut one = if block.is_ok() { one } else { connect(&pooler, "postgres") };
        assert_eq!(scalar(&mut two, BACKEND) == scalar(&mut one, BACKEND), shared, "{mode}");
        let databases = connect(&pooler, "pgbouncer").query("SHOW POOLS").unwrap();
        let at = databases[0].columns.iter().position(|column| column == "pool_mode").unwrap();
        let of = |row: &Vec<Option<String>>| row[0].as_deref() == Some("postgres");
        let row = databases[0].rows.iter().find(|row| of(row)).unwrap();
        assert_eq!(row[at].as_deref(), Some(mode.name()));
    }
    let rows = server.connect("postgres").unwrap().scalar("SELECT count(*) FROM t").unwrap();
    assert_eq!(rows.as_deref(), Some("2"));
}

#[test]
fn it_is_private_and_of_a_known_version() {
    let place = Place::new();
    let server = cluster(&place);
    let none = SettingValues::new();
    let mut transaction = options(PoolMode::Transaction, 2);
    transaction.settings.insert("log_stats".to_owned(), "1".to_owned());
    let mut pooler = start(&place, &upstream(&server), &transaction, &load(2, &none)).unwrap();
    let installed = Installed::find(&watchdog(), &server::Stop::new()).unwrap();
    assert_eq!(pooler.version(), installed.version);
    assert!(pooler.version() > Version::of(1, 0));
    let status = std::fs::read_to_string(format!("/proc/{}/status", pooler.pid())).unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    assert_ne!(uid.split_whitespace().next(), Some("0"));
    let config = connect(&pooler, "pgbouncer").query("SHOW CONFIG").unwrap();
    let listen = config[0].rows.iter().find(|row| row[0].as_deref() == Some("listen_addr")).unwrap();
    assert!(listen[1].as_deref().is_none_or(str::is_empty), "{listen:?}");
    let quiet = config[0].rows.iter().find(|row| row[0].as_deref() == Some("log_stats")).unwrap();
    assert_eq!(quiet[1].as_deref(), Some("1"), "what is chosen wins");
    let Address::Unix(socket) = pooler.place("postgres").address else { panic!("no socket") };
    pooler.check().unwrap();
    let pid = pooler.pid();
    // Also a client that stays does not keep it from stopping.
    let _client = connect(&pooler, "postgres");
    drop(pooler);
    assert!(!is_alive(pid) && !socket.exists());
    assert_eq!(left(&place), 0);
}

#[test]
fn session_settings_reach_every_connection_in_every_mode() {
    let place = Place::new();
    let server = cluster(&place);
    let up = upstream(&server);
    const SESSION: [(&str, &str); 3] =
        [("work_mem", "7MB"), ("search_path", "\"it's\", b"), ("TimeZone", "Asia/Tokyo")];
    let session = SettingValues::from(SESSION.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for mode in [PoolMode::Session, PoolMode::Transaction, PoolMode::Statement] {
        let pooler = start(&place, &up, &options(mode, 1), &load(1, &session)).unwrap();
        // The second client gets what the first one left.
        for client in 0..2 {
            let mut control = connect(&pooler, "postgres");
            for (name, wanted) in SESSION {
                assert_eq!(scalar(&mut control, &format!("SHOW {name}")), wanted, "{mode}, client {client}");
            }
            control.execute("SET work_mem = '1MB'").unwrap();
            if mode != PoolMode::Session {
                control.execute("SET work_mem = '7MB'").unwrap();
            }
        }
    }
    let cannot = SettingValues::from([("jit".to_owned(), "perhaps".to_owned())]);
    let error = start(&place, &up, &options(PoolMode::Transaction, 1), &load(1, &cannot)).unwrap_err();
    assert!(error.to_string().starts_with("not in force behind pgbouncer: jit: "), "{error}");
}

#[test]
fn a_wrong_option_or_load_is_refused_before_anything_starts() {
    let place = Place::new();
    let server = cluster(&place);
    let (none, up) = (SettingValues::new(), upstream(&server));
    let with = |name: &str, value: &str| {
        let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        start(&place, &up, &PoolerOptions { settings, ..options(PoolMode::Session, 2) }, &load(2, &none))
    };
    let error = with("auth_type", "any").unwrap_err();
    assert_eq!(error.class(), Class::BadInput);
    assert!(error.to_string().starts_with("option auth_type of the pooler: "), "{error}");
    let many = start(&place, &up, &options(PoolMode::Session, 2), &load(3, &none));
    assert!(matches!(many.unwrap_err().cause(), Some(UnsupportedLoad::TooFewConnections { .. })));
    // What only PgBouncer knows it says itself.
    let error = with("frobnicate", "1").unwrap_err().to_string();
    assert!(error.starts_with("pgbouncer did not start: ") && error.contains("frobnicate"), "{error}");
    assert_eq!(left(&place), 0);
}

#[test]
fn a_server_by_url_is_reached_with_its_password_and_without_it_the_reason_is_told() {
    let place = Place::new();
    let server = cluster(&place);
    let secret = "p\"w '%;#";
    let sql = format!("CREATE ROLE ann LOGIN PASSWORD {}", protocol::postgres::sql::quote_literal(secret));
    server.connect("postgres").unwrap().execute(&sql).unwrap();
    let hba = server.data().join("pg_hba.conf");
    let rules = std::fs::read_to_string(&hba).unwrap();
    std::fs::write(&hba, format!("local all ann scram-sha-256\n{rules}")).unwrap();
    server.connect("postgres").unwrap().execute("SELECT pg_reload_conf()").unwrap();
    let file = place.folder().join("passfile");
    std::fs::write(&file, format!("*:*:*:ann:{secret}\n")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let dsn = format!(
        "host={} port={} user=ann dbname=postgres passfile={}",
        server.socket_folder().display(),
        server.port(),
        file.display()
    );
    let target = Target::url(&dsn, Rights::ReadOnly, &[], &place.home, &watchdog()).unwrap();
    let none = SettingValues::new();
    let transaction = options(PoolMode::Transaction, 2);
    let pooler = start(&place, &target.upstream(), &transaction, &load(2, &none)).unwrap();
    assert_eq!(scalar(&mut connect(&pooler, "postgres"), "SELECT session_user"), "ann");
    let command = std::fs::read(format!("/proc/{}/cmdline", pooler.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&command).contains("p\"w"));
    for entry in std::fs::read_dir(place.home.path(HomeFolder::Poolers)).unwrap() {
        for file in std::fs::read_dir(entry.unwrap().path()).unwrap().map(Result::unwrap) {
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
            assert!(file.path().is_dir() || mode & 0o137 == 0, "{:?} {mode:o}", file.path());
        }
    }
    drop(pooler);

    let mut wrong = target.upstream();
    let mut login = (*wrong.place.login).clone();
    login.password = None;
    wrong.place.login = login.into();
    let error = start(&place, &wrong, &transaction, &load(2, &none)).unwrap_err().to_string();
    assert!(error.starts_with("no connection through pgbouncer: ") && error.contains("ann"), "{error}");
}

#[test]
fn a_pooler_reaches_its_server_under_tls_as_the_url_says() {
    let place = Place::new();
    let mut server = cluster(&place);
    server.listen(NetworkAccess::Tls).unwrap();
    let file = place.folder().join("passfile");
    let password = std::fs::read_to_string(server.password_file()).unwrap();
    std::fs::write(&file, format!("*:*:*:*:{password}")).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (none, transaction) = (SettingValues::new(), options(PoolMode::Transaction, 2));
    for (mode, tls) in [("verify-full", true), ("verify-ca", true), ("require", true), ("disable", false)] {
        let dsn = format!(
            "host=localhost hostaddr=127.0.0.1 port={} user=postgres dbname=postgres passfile={} sslmode={mode} \
             sslrootcert={}",
            server.port(),
            file.display(),
            server.certificate_file().display(),
        );
        let target = Target::url(&dsn, Rights::ReadOnly, &[], &place.home, &watchdog()).unwrap();
        let pooler = start(&place, &target.upstream(), &transaction, &load(2, &none)).unwrap();
        let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let wanted = if tls { "t" } else { "f" };
        assert_eq!(scalar(&mut connect(&pooler, "postgres"), query), wanted, "{mode}");
    }
}

#[test]
fn nobody_waits_for_a_pooler_who_wants_to_stop() {
    let place = Place::new();
    let server = cluster(&place);
    let (none, stop) = (SettingValues::new(), server::Stop::new());
    stop.press();
    let options = options(PoolMode::Transaction, 2);
    let up = upstream(&server);
    let stopped = Pooler::start(&place.home, &up, &options, &load(2, &none), &watchdog(), &stop);
    assert!(matches!(&stopped, Err(error) if error.is_stopped()), "{stopped:?}");
    assert_eq!(left(&place), 0);
}

#[test]
fn its_death_is_told() {
    let place = Place::new();
    let server = cluster(&place);
    let none = SettingValues::new();
    let transaction = options(PoolMode::Transaction, 2);
    let mut pooler = start(&place, &upstream(&server), &transaction, &load(2, &none)).unwrap();
    kill(pooler.pid());
    let start = std::time::Instant::now();
    let error = loop {
        match pooler.check() {
            Err(error) => break error,
            Ok(()) => assert!(start.elapsed() < Duration::from_secs(5), "it is still taken for alive"),
        }
    };
    assert!(error.to_string().starts_with("pgbouncer died (signal 9): "), "{error}");
}

/// A process that owns a pooler before a server, the pooler's pid, and its socket.
fn owner(place: &Place, server: &Cluster) -> (Child, u32, PathBuf) {
    let Address::Unix(socket) = server.place("postgres").address else { panic!("no socket") };
    let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno-test-owner"));
    command.arg("pooler-owner").arg(place.home.folder()).arg(socket).stdout(Stdio::piped());
    let mut owner = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (pid, socket) = line.trim().split_once(' ').unwrap();
    (owner, pid.parse().unwrap(), socket.into())
}

/// How many poolers have a folder in the home.
fn left(place: &Place) -> usize {
    std::fs::read_dir(place.home.path(HomeFolder::Poolers)).map_or(0, Iterator::count)
}

#[test]
fn nothing_of_a_pooler_outlives_a_killed_owner() {
    let place = Place::new();
    let server = cluster(&place);
    let (mut killed, pid, socket) = owner(&place, &server);
    let guard = parent(pid);
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(Duration::from_secs(10), "nothing is left", || {
        !is_alive(pid) && !is_alive(guard) && !socket.parent().unwrap().exists() && left(&place) == 0
    });
    // With its watchdog killed too, the next one removes what is left.
    let (mut killed, pid, socket) = owner(&place, &server);
    kill(parent(pid));
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(Duration::from_secs(10), "it is dead", || !is_alive(pid));
    server::remove_dead_members(&place.home);
    assert!(!socket.parent().unwrap().exists() && left(&place) == 0);
}
