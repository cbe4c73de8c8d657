//! Replicas of a server that others run, by their connection strings: checked, and found on their primary.

use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use spec::{Class, Error};

use super::primary::FollowerKey;
use crate::child::Watchdog;
use crate::control::Control;
use crate::error::sql_error;
use crate::home::Home;
use crate::url::{Rights, UrlServer};

const SYSTEM: &str = "SELECT system_identifier FROM pg_catalog.pg_control_system()";
const RECOVERS: &str = "SELECT pg_catalog.pg_is_in_recovery()";
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// A replica that others run.
#[derive(Debug)]
pub struct UrlReplica {
    server: UrlServer,
    database: String,
}

impl UrlReplica {
    /// Connects to a replica of the server behind `primary`, with the given number from 1, and checks that it is one.
    ///
    /// # Errors
    /// When it cannot be reached, is not in recovery, or replicates another server.
    pub fn open(
        (number, dsn): (usize, &str),
        primary: &mut Control,
        database: &str,
        home: &Home,
        watchdog: &Watchdog,
    ) -> Result<Self, Error> {
        let named = |error: Error| {
            let what = format!("replica {number}: {error}");
            error.in_words(what)
        };
        let server = UrlServer::open(dsn, Rights::ReadOnly, home, watchdog).map_err(named)?;
        let replica = Self { server, database: database.to_owned() };
        let mut control = replica.control().map_err(named)?;
        let shown = replica.server.redacted();
        let failed = |error| named(sql_error("checking the replica", error));
        if primary.scalar(RECOVERS).map_err(failed)?.as_deref() == Some("t") {
            let what = "replicas are named, and the target is a replica itself: it is in recovery";
            return Err(Error::new(Class::BadInput, what).with_hint("name the primary in `url`"));
        }
        let recovers = control.scalar(RECOVERS).map_err(failed)?;
        if recovers.as_deref() != Some("t") {
            let what = format!(
                "replica {number} ({shown}) is not a replica: it is not in recovery, so it takes writes"
            );
            return Err(Error::new(Class::BadInput, what)
                .with_hint("name a standby in `replicas`, and the primary in `url`"));
        }
        let (own, theirs) = (system(&mut control).map_err(failed)?, system(primary).map_err(failed)?);
        if let Some((own, theirs)) = own.zip(theirs).filter(|(own, theirs)| own != theirs) {
            let what = format!(
                "replica {number} ({shown}) replicates another server: its system identifier is {own}, and that of the \
                 target is {theirs}"
            );
            return Err(Error::new(Class::BadInput, what).with_hint("name a standby of the server in `url`"));
        }
        Ok(replica)
    }

    /// The connection without secrets.
    #[must_use]
    pub fn redacted(&self) -> String {
        self.server.redacted()
    }

    /// Where clients connect.
    #[must_use]
    pub fn place(&self) -> protocol::postgres::Place {
        self.server.place(Some(&self.database))
    }

    /// A connection to it.
    pub fn control(&self) -> Result<Control, Error> {
        Control::open(&self.place(), Some(std::time::Duration::from_secs(30)))
    }

    /// How its primary lists it in `pg_stat_replication`.
    ///
    /// # Errors
    /// As text, why that is not known.
    pub fn key(&self, primary: &mut Control) -> Result<FollowerKey, String> {
        let mut own = self.control().map_err(|error| error.to_string())?;
        let unknown = |error: SqlError| error.text;
        let seen = super::Positions::look(primary).map_err(unknown)?;
        if seen.standbys.is_empty() {
            return Err(match seen.hidden {
                true => {
                    "the role may not read pg_stat_replication on the primary; GRANT pg_monitor allows it"
                }
                false => "pg_stat_replication on the primary has no streaming standby",
            }
            .to_owned());
        }
        let keys: Vec<&FollowerKey> = seen.standbys.iter().map(|standby| &standby.key).collect();
        let only = |fits: &dyn Fn(&FollowerKey) -> bool| match keys
            .iter()
            .filter(|key| fits(key))
            .collect::<Vec<_>>()[..]
        {
            [one] => Some((*one).clone()),
            _ => None,
        };
        if let Some(key) = by_slot(&mut own, primary).filter(|key| only(&|other| other == key).is_some()) {
            return Ok(key);
        }
        let text =
            |control: &mut Control, query: &str| control.scalar(query).ok().flatten().unwrap_or_default();
        let name = text(&mut own, "SELECT pg_catalog.current_setting('cluster_name')");
        let host = text(&mut own, "SELECT pg_catalog.host(pg_catalog.inet_server_addr())");
        only(&|key| !name.is_empty() && key.name == name)
            .or_else(|| only(&|key| !host.is_empty() && key.client == host))
            .or_else(|| only(&|_| keys.len() == 1))
            .ok_or_else(|| {
                let count = keys.len();
                format!("it is not clear which of the {count} standbys in pg_stat_replication it is; set cluster_name on it")
            })
    }
}

/// The standby that uses the same slot, where both servers let us read that.
fn by_slot(own: &mut Control, primary: &mut Control) -> Option<FollowerKey> {
    let slot = own.scalar("SELECT nullif(slot_name, '') FROM pg_catalog.pg_stat_wal_receiver").ok()??;
    let query = format!(
        "SELECT r.application_name, coalesce(pg_catalog.host(r.client_addr), '') FROM pg_catalog.pg_replication_slots s \
         JOIN pg_catalog.pg_stat_replication r ON r.pid = s.active_pid WHERE s.slot_name = {}",
        quote_literal(&slot)
    );
    let row = primary.rows(&query).ok()?.into_iter().next()?;
    let mut row = row.into_iter().map(Option::unwrap_or_default);
    Some(FollowerKey { name: row.next()?, client: row.next()? })
}

/// The system identifier; `None` if the role may not read it.
fn system(control: &mut Control) -> Result<Option<String>, SqlError> {
    match control.scalar(SYSTEM) {
        Err(error) if error.is(INSUFFICIENT_PRIVILEGE) => Ok(None),
        other => other,
    }
}
