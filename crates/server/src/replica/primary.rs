//! What the primary is asked, and told, about its replicas.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use spec::plan::topology::Replication;
use spec::{Class, Error};

use super::one::Replica;
use crate::control::Control;
use crate::error::sql_error;
use crate::stop::Stop;

/// Senders of a base backup: its data, and the WAL meanwhile.
const SENDERS_OF_BACKUP: u32 = 2;
/// Timeout of a replica that was started and should follow, or catch up.
const FOLLOW_BOUND: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(10);
/// Settings that differ between any two servers, or that say only how it is a replica.
const NOT_COMPARED: &str = "'port', 'unix_socket_directories', 'listen_addresses', 'data_directory', 'config_file', \
    'hba_file', 'ident_file', 'external_pid_file', 'primary_conninfo', 'cluster_name', 'in_hot_standby', \
    'transaction_read_only', 'synchronous_standby_names', 'application_name', 'ssl', 'ssl_cert_file', 'ssl_key_file', \
    'server_encoding', 'data_directory_mode'";

/// How a primary lists a standby: its pid there changes with each connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerKey {
    /// `application_name`.
    pub name: String,
    /// Its address; empty for a Unix socket.
    pub client: String,
}

/// A standby as its primary sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    pub name: String,
    /// `streaming`, `catchup` and so on.
    pub state: String,
    /// `async`, `sync`, `quorum` or `potential`.
    pub sync_state: String,
}

/// The standbys that are connected to a primary.
///
/// # Errors
/// When it cannot be queried.
pub fn followers(control: &mut dyn Sql) -> Result<Vec<Follower>, SqlError> {
    let query = "SELECT application_name, state, sync_state FROM pg_catalog.pg_stat_replication ORDER BY pid";
    let text = |value: Option<String>| value.unwrap_or_default();
    let rows = control.rows(query)?.into_iter().map(|row| {
        let mut row = row.into_iter().map(text);
        let mut next = || row.next().unwrap_or_default();
        Follower { name: next(), state: next(), sync_state: next() }
    });
    Ok(rows.collect())
}

/// Checks that a server's settings allow so many replicas.
///
/// # Errors
/// Which setting does not.
pub(super) fn can_have(control: &mut Control, replicas: u32) -> Result<(), Error> {
    let query = "SELECT pg_catalog.current_setting('wal_level'), pg_catalog.current_setting('max_wal_senders'), \
                 pg_catalog.current_setting('max_replication_slots')";
    let failed = |error| sql_error("reading the settings for replicas", error);
    let row = control.rows(query).map_err(failed)?.into_iter().next().unwrap_or_default();
    let mut row = row.into_iter().map(Option::unwrap_or_default);
    let mut next = || row.next().unwrap_or_default();
    let wal_level = next();
    if wal_level == "minimal" {
        let what =
            "a server with wal_level = minimal can have no replicas: its WAL does not hold what they need";
        return Err(
            Error::new(Class::BadInput, what).with_hint("set wal_level = replica, or leave out replicas")
        );
    }
    let needed = replicas - 1 + SENDERS_OF_BACKUP;
    for name in ["max_wal_senders", "max_replication_slots"] {
        let most: u32 = next().parse().unwrap_or(0);
        if most < needed {
            let replicas = if replicas == 1 {
                "1 replica needs".to_owned()
            } else {
                format!("{replicas} replicas need")
            };
            let what =
                format!("{name} is {most}, and {replicas} {needed} of them while the last one is made");
            return Err(Error::new(Class::BadInput, what).with_hint(format!("set {name} = {needed} or more")));
        }
    }
    Ok(())
}

/// Waits until the primary sends WAL to all of them.
pub(super) fn await_streaming(control: &mut Control, all: &mut [Replica], stop: &Stop) -> Result<(), Error> {
    await_followers(control, all, stop, "stream", |follower| follower.state == "streaming")
}

/// Makes commits wait for all replicas from now on.
pub(super) fn wait_for_all(
    control: &mut Control,
    all: &mut [Replica],
    replication: Replication,
    stop: &Stop,
) -> Result<(), Error> {
    let names: Vec<String> = all.iter().map(Replica::name).collect();
    let names = format!("FIRST {} ({})", names.len(), names.join(", "));
    let level = replication.synchronous_commit().unwrap_or("on");
    for (name, value) in [("synchronous_commit", level), ("synchronous_standby_names", &names)] {
        alter(control, &format!("ALTER SYSTEM SET {name} = {}", quote_literal(value)))?;
    }
    alter(control, RELOAD)?;
    await_followers(control, all, stop, "become synchronous", |follower| follower.sync_state == "sync")
}

/// Makes commits wait for no replica.
pub(super) fn wait_for_none(control: &mut Control) -> Result<(), Error> {
    for name in ["synchronous_standby_names", "synchronous_commit"] {
        alter(control, &format!("ALTER SYSTEM RESET {name}"))?;
    }
    alter(control, RELOAD)
}

const RELOAD: &str = "SELECT pg_catalog.pg_reload_conf()";

fn alter(control: &mut Control, statement: &str) -> Result<(), Error> {
    control.execute(statement).map_err(|error| sql_error("setting how commits wait for replicas", error))
}

fn await_followers(
    control: &mut Control,
    all: &mut [Replica],
    stop: &Stop,
    what: &str,
    is_there: impl Fn(&Follower) -> bool,
) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        let seen = followers(control).map_err(|error| sql_error("looking for the replicas", error))?;
        let missing = all.iter_mut().find(|replica| {
            !seen.iter().any(|follower| follower.name == replica.name() && is_there(follower))
        });
        let Some(missing) = missing else { return Ok(()) };
        missing.check()?;
        if stop.at_once() {
            return Err(Error::stopped());
        }
        if start.elapsed() > FOLLOW_BOUND {
            let why = missing.complaint().map(|line| format!(": {line}")).unwrap_or_default();
            let what = format!("{} did not {what} within {} s{why}", missing.name(), FOLLOW_BOUND.as_secs());
            return Err(Error::new(Class::Child, what));
        }
        std::thread::sleep(STEP);
    }
}

pub(super) fn await_caught_up(
    primary: &mut Control,
    replicas: &mut [Control],
    stop: &Stop,
) -> Result<(), Error> {
    let failed = |error| sql_error("waiting until the replicas have caught up", error);
    let written =
        primary.scalar("SELECT pg_catalog.pg_current_wal_lsn()").map_err(failed)?.unwrap_or_default();
    let query = format!(
        "SELECT pg_catalog.pg_wal_lsn_diff({}::pg_lsn, pg_catalog.pg_last_wal_replay_lsn())",
        quote_literal(&written)
    );
    let start = Instant::now();
    for (index, replica) in replicas.iter_mut().enumerate() {
        loop {
            let behind = replica.scalar(&query).map_err(failed)?.and_then(|bytes| bytes.parse::<i64>().ok());
            let Some(behind) = behind.filter(|bytes| *bytes > 0) else { break };
            if stop.at_once() {
                return Err(Error::stopped());
            }
            if start.elapsed() > FOLLOW_BOUND {
                let seconds = FOLLOW_BOUND.as_secs();
                let number = index + 1;
                let what = format!(
                    "replica {number} is {behind} bytes of WAL behind after {seconds} s without load"
                );
                return Err(Error::new(Class::Guard, what)
                    .with_hint("see in its log whether it still follows, and whether recovery is paused"));
            }
            std::thread::sleep(STEP);
        }
    }
    Ok(())
}

/// Settings in which a replica differs from its primary, as text.
pub(super) fn differing_settings(primary: &mut Control, replica: &mut Control) -> Result<String, Error> {
    let failed = |error| sql_error("comparing the settings of a replica", error);
    let query = format!(
        "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings WHERE name NOT IN ({NOT_COMPARED}) ORDER BY name"
    );
    let theirs = primary.rows(&query).map_err(failed)?;
    let own = replica.rows(&query).map_err(failed)?;
    let differ: Vec<String> = own
        .into_iter()
        .filter(|row| !theirs.contains(row))
        .map(|row| {
            let mut row = row.into_iter().map(Option::unwrap_or_default);
            format!("{} = {}", row.next().unwrap_or_default(), row.next().unwrap_or_default())
        })
        .collect();
    Ok(match differ.is_empty() {
        true => "its settings are the primary's".to_owned(),
        false => format!("its settings are the primary's, but {}", differ.join(", ")),
    })
}
