//! What tests of this crate need a program for: a watchdog (as `pgdyno watchdog …` is one), and an owner of a server
//! that can be killed (`owner FOLDER` makes a server at home there, says its pid, and waits; `redis-owner FOLDER` a
//! Redis server, and says its socket).

use std::ffi::OsString;
use std::io::Write;

use target::child::{WATCHDOG_ARGUMENT, Watchdog, watchdog_main};
use target::home::Home;
use target::managed::{Cluster, ManagedError, Options};
use target::redis::{Redis, RedisError};
use target::settings::journal::{GUARD_ARGUMENT, guard_main};

fn main() {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = match args.split_first() {
        Some((first, rest)) if first == WATCHDOG_ARGUMENT => watchdog_main(rest),
        Some((first, rest)) if first == GUARD_ARGUMENT => guard_main(rest),
        Some((first, rest)) if first == "owner" && rest.len() == 1 => i32::from(own(&rest[0]).is_err()),
        Some((first, rest)) if first == "redis-owner" && rest.len() == 1 => {
            i32::from(own_redis(&rest[0]).is_err())
        }
        _ => 64,
    };
    std::process::exit(code);
}

fn own_redis(home: &OsString) -> Result<(), RedisError> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let redis = Redis::start(&Home::at(home.as_ref()), &watchdog, &target::Stop::new())?;
    if let protocol::Address::Unix(socket) = redis.address() {
        let _ = writeln!(std::io::stdout(), "{} {}", redis.pid(), socket.display());
    }
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}

fn own(home: &OsString) -> Result<(), ManagedError> {
    let watchdog = Watchdog { exe: std::env::current_exe().unwrap_or_default() };
    let home = Home::at(home.as_ref());
    let server = Cluster::ensure(&home, "main", &Options::default(), &watchdog, &target::Stop::new())?;
    let _ = writeln!(std::io::stdout(), "{}", server.pid().unwrap_or(0));
    std::thread::sleep(std::time::Duration::from_secs(60));
    Ok(())
}
