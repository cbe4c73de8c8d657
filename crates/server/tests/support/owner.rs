//! What tests of this crate need a program for: a watchdog (as `pgdyno watchdog …` is one), and an owner of a server
//! that can be killed (`owner FOLDER` makes a server at home there, says its pid, and waits; `redis-owner FOLDER` a
//! Redis server, and says its socket; `pooler-owner FOLDER PLACE` a pooler before the server whose socket is PLACE,
//! `replica-owner FOLDER` a server with a synchronous replica, and says both pids;
//! `tile-server-owner FOLDER PLACE` a TiPg with two workers before it;
//! `storage-owner FOLDER FILESYSTEM` a filesystem, given as JSON, and says its keeper's pid and where it is mounted;
//! `standing-owner FOLDER STORAGE` a server with such storage, given as JSON, and says its pid; `placement-owner PID CPUS` keeps a process on CPUs, and says the pid of its keeper; `changer FOLDER SERVER CHANGE…` makes changes, given as JSON, on a server given by
//! connection string or, at home there, by name, says `made`, and waits; a line on its standard input stops it as Ctrl-C would).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;

use protocol::postgres::conninfo::SslOptions;
use protocol::postgres::{Login, Place};
use spec::Error;
use spec::plan::Placement;
use spec::plan::pooler::PoolMode;

use server::Target;
use server::child::{Account, WATCHDOG_ARGUMENT, Watchdog, watchdog_main};
use server::home::Home;
use server::managed::{Cluster, ServerOptions};
use server::placement::Placed;
use server::pooler::{PooledLoad, Pooler, Upstream};
use server::redis::PrivateRedis;
use server::replica::Replicas;
use server::settings::journal::{GUARD_ARGUMENT, guard_main};
use server::storage::Mounted;
use server::tile_server::{self, ServedTables, TileServer};
use server::url::Rights;
use spec::plan::tile_server::TileServerKind;
use spec::plan::topology::{Replication, Topology};

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match args.split_first() {
        Some((first, rest)) if first == WATCHDOG_ARGUMENT => watchdog_main(rest),
        Some((first, rest)) if first == GUARD_ARGUMENT => guard_main(rest),
        Some((first, rest)) if first == "owner" && rest.len() == 1 => i32::from(own(&rest[0]).is_err()),
        Some((first, rest)) if first == "redis-owner" && rest.len() == 1 => {
            i32::from(own_redis(&rest[0]).is_err())
        }
        Some((first, rest)) if first == "pooler-owner" && rest.len() == 2 => {
            i32::from(own_pooler(&rest[0], &rest[1]).is_err())
        }
        Some((first, [home])) if first == "replica-owner" => i32::from(own_replica(home).is_err()),
        Some((first, [home, server])) if first == "tile-server-owner" => {
            i32::from(own_tile_server(home, server).is_err())
        }
        Some((first, [pid, cpus])) if first == "placement-owner" => i32::from(own_place(pid, cpus).is_err()),
        Some((first, [home, server, changes @ ..])) if first == "changer" => {
            let made = change(home, &server.to_string_lossy(), changes);
            made.map_or_else(
                |error| {
                    let _ = writeln!(std::io::stdout(), "{error}");
                    1
                },
                |()| 0,
            )
        }
        Some((first, [home, storage])) if first == "standing-owner" => {
            i32::from(own_standing(home, &storage.to_string_lossy()).is_err())
        }
        Some((first, [home, filesystem])) if first == "storage-owner" => {
            let owned = own_storage(home, &filesystem.to_string_lossy());
            owned.map_or_else(
                |error| {
                    let _ = writeln!(std::io::stdout(), "{error}");
                    1
                },
                |()| 0,
            )
        }
        _ => 64,
    };
    std::process::exit(code);
}

fn change(home: &OsString, server: &str, changes: &[OsString]) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let home = Home::at(home.as_ref());
    let mut target = if server.contains('=') {
        Target::url(server, Rights::Change, &[], &home, &watchdog)?
    } else {
        Target::managed(&home, server, &ServerOptions::default(), &[], &watchdog, &server::Stop::new())?
    };
    std::thread::spawn(|| {
        for _ in std::io::stdin().lines().map_while(Result::ok) {
            server::Stop::of_process().press();
        }
    });
    for change in changes {
        let change = serde_json::from_str(&change.to_string_lossy()).unwrap_or_default();
        target.make(&change, &server::change::ChangeOptions::default())?;
    }
    let _ = writeln!(std::io::stdout(), "made");
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_redis(home: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let redis = PrivateRedis::start(&Home::at(home.as_ref()), &watchdog, &server::Stop::new())?;
    if let protocol::Address::Unix(socket) = redis.address() {
        let _ = writeln!(std::io::stdout(), "{} {}", redis.pid(), socket.display());
    }
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_replica(home: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let (home, stop) = (Home::at(home.as_ref()), server::Stop::new());
    let primary = Cluster::ensure(&home, "main", &ServerOptions::default(), &watchdog, &stop)?;
    let topology = Topology::new(1, Replication::Sync);
    let replicas = Replicas::start(&home, &primary, topology, &watchdog, &stop)?;
    let _ = writeln!(std::io::stdout(), "{} {}", primary.pid().unwrap_or_default(), replicas.pids()[0]);
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_standing(home: &OsString, storage: &str) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let options = ServerOptions { storage: serde_json::from_str(storage).ok(), ..ServerOptions::default() };
    let home = Home::at(home.as_ref());
    let target = Target::managed(&home, "main", &options, &[], &watchdog, &server::Stop::of_process())?;
    let _ = writeln!(std::io::stdout(), "{}", target.postmaster().unwrap_or(0));
    // As Ctrl-C, while something works.
    let _ = std::io::stdin().lines().next();
    server::Stop::of_process().press();
    drop(target);
    Ok(())
}

fn own_storage(home: &OsString, filesystem: &str) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let account = Account::unprivileged().unwrap_or_default();
    let Ok(filesystem) = serde_json::from_str(filesystem) else { return Err(Error::stopped()) };
    let (home, stop) = (Home::at(home.as_ref()), server::Stop::new());
    let made = Mounted::make(&home, &filesystem, account.as_ref(), &watchdog, &stop)?;
    let _ = writeln!(std::io::stdout(), "{} {}", made.keeper().unwrap_or(0), made.folder().display());
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_pooler(home: &OsString, server: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let address = protocol::Address::Unix(server.into());
    let upstream = Upstream {
        place: Place::new(address, Arc::new(Login::new("postgres", "postgres"))),
        ssl: SslOptions::default(),
    };
    let options = spec::plan::pooler::PoolerOptions {
        pool_mode: PoolMode::Transaction,
        pool_size: 2,
        settings: BTreeMap::new(),
    };
    let session = BTreeMap::new();
    let load = PooledLoad {
        clients: 2,
        reconnects: false,
        prepared: false,
        transaction_blocks: true,
        session: &session,
    };
    let home = Home::at(home.as_ref());
    let pooler = Pooler::start(&home, &upstream, &options, &load, &watchdog, &server::Stop::new())?;
    if let protocol::Address::Unix(socket) = pooler.place("postgres").address {
        let _ = writeln!(std::io::stdout(), "{} {}", pooler.pid(), socket.display());
    }
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_tile_server(home: &OsString, server: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let (home, stop) = (Home::at(home.as_ref()), server::Stop::new());
    let address = protocol::Address::Unix(server.into());
    let upstream = Upstream {
        place: Place::new(address, Arc::new(Login::new("postgres", "postgres"))),
        ssl: SslOptions::default(),
    };
    let options = spec::plan::tile_server::TileServerOptions {
        workers: Some(2),
        ..spec::plan::tile_server::TileServerOptions::usual(TileServerKind::Tipg)
    };
    let installed = tile_server::Installed::find(&options, &watchdog, &stop)?;
    let before = ServedTables { upstream: &upstream, schemas: &["public".to_owned()], clients: 2 };
    let started = TileServer::start(&home, (&installed, &options), &before, None, (&watchdog, &stop))?;
    let _ = writeln!(std::io::stdout(), "{} {}", started.pid(), started.address());
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own_place(pid: &OsString, cpus: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let pid = pid.to_string_lossy().parse().unwrap_or(0);
    let placed = Placed::begin(
        &watchdog,
        &[pid],
        &Placement { server: Some(cpus.to_string_lossy().parse()?), ..Placement::default() },
    )?;
    let _ = writeln!(std::io::stdout(), "{}", placed.keeper().unwrap_or(0));
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own(home: &OsString) -> Result<(), Error> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let home = Home::at(home.as_ref());
    let server = Cluster::ensure(&home, "main", &ServerOptions::default(), &watchdog, &server::Stop::new())?;
    let _ = writeln!(std::io::stdout(), "{}", server.pid().unwrap_or(0));
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}
