//! One replica: its base backup, and its server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::postgres::Place;
use spec::{Class, Error};

use super::FIRST_VERSION;
use crate::child::{Account, Program, StopWay, Watchdog};
use crate::control::Control;
use crate::home::{Home, HomeFolder};
use crate::managed::{Cluster, SUPERUSER, is_ready, place_of};
use crate::member::{Folders, Member};
use crate::secrets::Secrets;
use crate::stop::Stop;

/// Part of the socket's name; nothing listens on the network.
const PORT: u16 = 5432;
/// Timeout of its start: it replays the WAL of its base backup.
const START_BOUND: Duration = Duration::from_secs(600);
const CONNECT_BOUND: Duration = Duration::from_secs(10);
/// Lines of pg_basebackup in an error.
const QUOTED_LINES: usize = 4;
/// Parts of log lines that say why a replica does not follow.
const COMPLAINTS: [&str; 5] = [
    "has already been removed",
    "could not receive data from WAL stream",
    "could not connect to the primary",
    "recovery has paused",
    "received promote request",
];

/// Settings of a replica, in addition to those of its primary: it makes a temporary slot, and tries again soon
/// after the primary was restarted.
const OWN_SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "unix_socket_permissions=0700",
    // Else it answers nobody.
    "hot_standby=on",
    // A named slot is not pgdyno's to make.
    "primary_slot_name=",
    "wal_receiver_create_temp_slot=on",
    "wal_retrieve_retry_interval=200ms",
    "synchronous_standby_names=",
];

/// A running replica; dropping it stops and removes it.
#[derive(Debug)]
pub(super) struct Replica {
    member: Member,
    number: u32,
}

impl Replica {
    /// Takes a base backup of the running primary, starts a server on it, and waits until it takes queries.
    ///
    /// # Errors
    /// When `pg_basebackup` is missing or fails, or the server does not start.
    pub(super) fn start(
        home: &Home,
        cluster: &Cluster,
        number: u32,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let account = Account::unprivileged()?;
        let folders = Folders::make(home, HomeFolder::Replicas, &socket_name(), account.as_ref())?;
        backup(cluster, &folders, account.as_ref(), watchdog, stop)?;
        let program = server(cluster, &folders, account.as_ref(), number);
        let member = Member::start(("a replica", Secrets::default()), program, folders, watchdog)?;
        let mut replica = Self { member, number };
        replica.member.await_ready_within(START_BOUND, stop, |member| {
            member.work().is_some_and(|data| is_ready(&data, Some(member.pid())))
        })?;
        Ok(replica)
    }

    /// Its name on the primary.
    pub(super) fn name(&self) -> String {
        name_of(self.number)
    }

    /// How to connect to one of its databases.
    pub(super) fn place(&self, database: &str) -> Place {
        place_of(&self.member.sockets().join(socket_name()), database)
    }

    /// A connection to its database `postgres`.
    pub(super) fn control(&self) -> Result<Control, Error> {
        Control::open(&self.place("postgres"), Some(CONNECT_BOUND))
    }

    pub(super) fn pid(&self) -> u32 {
        self.member.pid()
    }

    pub(super) fn check(&mut self) -> Result<(), Error> {
        self.member.check().map_err(|error| {
            let what = format!("{} (replica {}): {error}", self.name(), self.number);
            error.in_words(what)
        })
    }

    /// The last line of its log that says why it does not follow the primary.
    pub(super) fn complaint(&self) -> Option<String> {
        let log = self.member.log_text();
        let line = log.lines().rev().find(|line| COMPLAINTS.iter().any(|part| line.contains(part)))?;
        Some(line.trim().to_owned())
    }
}

/// Its name on the primary (`application_name`), by its number from 1.
fn name_of(number: u32) -> String {
    format!("pgdyno_replica_{number}")
}

fn socket_name() -> String {
    format!(".s.PGSQL.{PORT}")
}

/// Fills the work folder with a base backup; the WAL written meanwhile is part of it.
fn backup(
    cluster: &Cluster,
    folders: &Folders,
    account: Option<&Account>,
    watchdog: &Watchdog,
    stop: &Stop,
) -> Result<(), Error> {
    let installation = cluster.installation();
    if installation.major < FIRST_VERSION {
        let what = format!(
            "replicas need PostgreSQL {FIRST_VERSION} or newer, and the managed server {:?} is {}",
            cluster.name(),
            installation.version
        );
        return Err(
            Error::new(Class::Missing, what).with_hint("choose a newer version, or leave out replicas")
        );
    }
    let program = installation.program("pg_basebackup");
    if !program.is_file() {
        let what = format!("replicas are made by pg_basebackup, and {} does not exist", program.display());
        let hint = "install PostgreSQL's client programs of this version (Debian, Ubuntu: postgresql-client)";
        return Err(Error::new(Class::Missing, what).with_hint(hint));
    }
    let program = Program::server(program, &folders.work, account)
        .arg("-h")
        .arg(cluster.socket_folder())
        .args(["-p".to_owned(), cluster.port().to_string()])
        .args(["-U", SUPERUSER, "-w", "-X", "stream", "-R", "--checkpoint=fast", "-D"])
        .arg(&folders.work)
        .leaving([folders.files(), &folders.sockets]);
    let mut lines = Vec::new();
    let finished = watchdog.run(&program, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
    match finished.stopped {
        true => Err(Error::stopped()),
        false if finished.success() => Ok(()),
        false => {
            let output = lines.split_off(lines.len().saturating_sub(QUOTED_LINES)).join("\n");
            Err(Error::new(Class::Child, format!("pg_basebackup failed:\n{output}")))
        }
    }
}

fn server(cluster: &Cluster, folders: &Folders, account: Option<&Account>, number: u32) -> Program {
    let name = name_of(number);
    let own = OWN_SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]);
    Program::server(cluster.installation().program("postgres"), &folders.work, account)
        .arg("-D")
        .arg(&folders.work)
        .arg("-k")
        .arg(&folders.sockets)
        .args(["-p".to_owned(), PORT.to_string()])
        .args(["-c".to_owned(), format!("primary_conninfo={}", followed(cluster, &name))])
        .args(["-c".to_owned(), format!("cluster_name={name}")])
        .args(own)
        .stopped_by(StopWay::Postgres)
}

/// The primary's connection string; it contains no secret.
fn followed(cluster: &Cluster, name: &str) -> String {
    let quoted = |path: &Path| path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'");
    let host: PathBuf = cluster.socket_folder().to_owned();
    format!("host='{}' port={} user={SUPERUSER} application_name={name}", quoted(&host), cluster.port())
}
