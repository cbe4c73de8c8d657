//! A private Pgpool-II in front of a managed server and its replicas: a Unix socket in a private folder, under a
//! watchdog.
//!
//! It parses each statement, and sends reads outside of writing transactions to one of the nodes. Each of its
//! children serves one client, with a connection to each node. It detaches no node: a replica that fails is an error
//! of its clients, and not a silent change of what is measured.

mod config;

use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::Address;
use protocol::postgres::sql::Sql;
use protocol::postgres::{Login, Place};
use spec::plan::pooler::PgpoolOptions;
use spec::{Class, Error};

pub use self::config::check;
use super::verified;
use crate::child::{Account, Program, StopWay, Watchdog};
use crate::control::{Control, with_session_settings};
use crate::error::sql_error;
use crate::home::{Home, HomeFolder};
use crate::member::{self, Folders, Member};
use crate::secrets::Secrets;
use crate::settings::SettingValues;
use crate::stop::Stop;

const NAME: &str = "pgpool";
const NOT_INSTALLED: &str = "pgpool is not installed; install Pgpool-II (Debian, Ubuntu: apt install pgpool2; Fedora, RHEL: \
                             dnf install pgpool-II)";
/// Parts of the sockets' names; nothing listens on the network.
const PORT: u16 = 9999;
const PCP_PORT: u16 = 9898;
/// Timeout of the first answer: it looks for the primary before.
const START_BOUND: Duration = Duration::from_secs(30);
const CONNECT_BOUND: Duration = Duration::from_secs(20);

/// A version of Pgpool-II: `4.3.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgpoolVersion {
    text: String,
    major: u32,
    minor: u32,
}

impl PgpoolVersion {
    /// `pgpool-II version 4.3.5 (tamahomeboshi)`.
    fn parse(line: &str) -> Option<Self> {
        let text = line.trim().strip_prefix("pgpool-II version ")?.split_whitespace().next()?.to_owned();
        let mut parts = text.split('.');
        let mut number = || {
            let part = parts.next()?;
            let digits = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().ok()
        };
        let (major, minor) = (number()?, number()?);
        Some(Self { text, major, minor })
    }

    /// From 4.4 on the folder of its socket has another setting.
    fn has_several_socket_folders(&self) -> bool {
        (self.major, self.minor) >= (4, 4)
    }
}

impl fmt::Display for PgpoolVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// What Pgpool-II sent to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSelects {
    /// `primary`, or `replica 1` and so on.
    pub node: String,
    /// `SELECT` statements since its start.
    pub selects: u64,
}

/// A private Pgpool-II in use; dropping it stops it.
#[derive(Debug)]
pub struct Pgpool {
    member: Member,
    version: PgpoolVersion,
    login: Login,
    session: SettingValues,
}

impl Pgpool {
    /// The installed version.
    ///
    /// # Errors
    /// When there is none.
    pub fn installed(watchdog: &Watchdog, stop: &Stop) -> Result<PgpoolVersion, Error> {
        Ok(find(watchdog, stop)?.1)
    }

    /// Starts one for this number of clients in front of `nodes`, the primary first, and connects through it once,
    /// which checks that the session settings of the arm are in force.
    ///
    /// # Errors
    /// When it is not installed, does not start, or the connection fails.
    pub fn start(
        home: &Home,
        nodes: &[Place],
        options: &PgpoolOptions,
        (clients, session): (u32, &SettingValues),
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        check(options)?;
        let (program, version) = find(watchdog, stop)?;
        let Some(primary) = nodes.first() else {
            return Err(Error::new(Class::Internal, "Pgpool-II needs a server"));
        };
        let account = Account::unprivileged()?;
        let folders = Folders::make(home, HomeFolder::Poolers, &socket_name(), account.as_ref())?;
        let config = config::write(&folders, nodes, options, clients, &version)?;
        let passwords = folders.write("pcp.conf", b"")?;
        let program = Program::server(program, &folders.work, account.as_ref())
            .args(["-n", "-D", "-f"])
            .arg(config)
            .arg("-F")
            .arg(passwords)
            .stopped_by(StopWay::Quit)
            .with_workers();
        let login = Login::clone(&primary.login);
        let member = Member::start((NAME, Secrets::default()), program, folders, watchdog)?;
        let mut pgpool = Self { member, version, login, session: session.clone() };
        let socket = pgpool.socket();
        pgpool.member.await_ready_within(START_BOUND, stop, |_| UnixStream::connect(&socket).is_ok())?;
        verified(NAME, &pgpool.member, &pgpool.place(&pgpool.login.dbname), session, stop)?;
        Ok(pgpool)
    }

    /// Where clients connect to reach a database of the servers, with the settings of the arm.
    #[must_use]
    pub fn place(&self, database: &str) -> Place {
        let login = Login { dbname: database.to_owned(), ..self.login.clone() };
        with_session_settings(&Place::new(Address::Unix(self.socket()), Arc::new(login)), &self.session)
    }

    /// As it reports it.
    #[must_use]
    pub fn version(&self) -> &PgpoolVersion {
        &self.version
    }

    /// Pid of its parent process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.member.pid()
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// How it died, with its last lines.
    pub fn check(&mut self) -> Result<(), Error> {
        self.member.check()
    }

    fn socket(&self) -> PathBuf {
        self.member.sockets().join(socket_name())
    }
}

/// Asks a Pgpool-II what it sent to each node so far.
///
/// # Errors
/// When it does not answer.
pub fn node_selects(place: &Place) -> Result<Vec<NodeSelects>, Error> {
    let failed = |error| sql_error("asking pgpool for its nodes", error);
    let mut control = Control::open(place, Some(CONNECT_BOUND))?;
    let set = control.query("SHOW POOL_NODES").map_err(failed)?.into_iter().next().unwrap_or_default();
    let column = |name: &str| set.columns.iter().position(|column| column == name);
    let (node, selects) = (column("node_id"), column("select_cnt"));
    let read = |row: &Vec<Option<String>>| {
        let text = |at: Option<usize>| row.get(at?)?.as_deref();
        let node = match text(node)? {
            "0" => "primary".to_owned(),
            replica => format!("replica {replica}"),
        };
        Some(NodeSelects { node, selects: text(selects)?.parse().ok()? })
    };
    Ok(set.rows.iter().filter_map(read).collect())
}

fn find(watchdog: &Watchdog, stop: &Stop) -> Result<(PathBuf, PgpoolVersion), Error> {
    let program = member::find(&["pgpool"]).ok_or_else(|| Error::new(Class::Missing, NOT_INSTALLED))?;
    let mut asked = Program::new(&program).arg("--version");
    asked.clean_environment = true;
    asked.account = Account::unprivileged()?;
    let mut lines = Vec::new();
    watchdog.run(&asked, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
    match lines.iter().find_map(|line| PgpoolVersion::parse(line)) {
        Some(version) => Ok((program, version)),
        None if stop.at_once() => Err(Error::stopped()),
        None => Err(member::not_started(NAME, &format!("{} says no version", program.display()))),
    }
}

fn socket_name() -> String {
    format!(".s.PGSQL.{PORT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (line, wanted, several) in [
            ("pgpool-II version 4.3.5 (tamahomeboshi)", Some("4.3.5"), false),
            ("pgpool-II version 4.4.0 (nurikoboshi)\n", Some("4.4.0"), true),
            ("pgpool-II version 4.6devel (x)", Some("4.6devel"), true),
            ("PgBouncer 1.18.0", None, false),
        ] {
            let version = PgpoolVersion::parse(line);
            assert_eq!(version.as_ref().map(ToString::to_string).as_deref(), wanted, "{line}");
            assert_eq!(
                version.is_some_and(|version| version.has_several_socket_folders()),
                several,
                "{line}"
            );
        }
    }
}
