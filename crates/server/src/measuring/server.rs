//! Announces a measurement on the server, to those who measure it from other machines: a named session holds
//! an advisory lock, outside any transaction, so that it blocks nothing. Not through a pooler: the lock would
//! stay on a connection that others use next.

use protocol::postgres::sql::{Sql, SqlError, quote_literal};
use spec::{Class, Error};

use super::is_of_one_load;
use crate::control::Control;
use crate::error::server_error;
use crate::host::machine;

/// The key of the lock, two numbers: "pgdy", "meas".
const KEY: (u32, u32) = (0x7067_6479, 0x6d65_6173);
/// Prefix of the session's name; machine and command follow.
const PREFIX: &str = "pgdyno measuring";
/// Characters of the machine's identity in the name.
const LONG_ENOUGH: usize = 12;

/// A session that announces this measurement, as long as it lives.
#[derive(Debug)]
pub struct Marker {
    control: Control,
}

impl Marker {
    /// Takes a separate connection.
    ///
    /// # Errors
    /// When a pooler is in between, or the server refuses; other processes are then not seen.
    pub fn over(mut control: Control, command: &str) -> Result<Self, Error> {
        let failed = |error: SqlError| server_error(error.to_string(), error);
        if !control.is_direct().map_err(failed)? {
            return Err(Error::new(Class::Missing, "a pooler is in front of the server"));
        }
        let name = quote_literal(&format!("{PREFIX} {} {command}", here()));
        control
            .execute(&format!("SELECT pg_catalog.set_config('application_name', {name}, false)"))
            .map_err(failed)?;
        Ok(Self { control })
    }

    /// Announces the measurement.
    pub fn begin(&mut self) -> Result<(), SqlError> {
        let (one, other) = KEY;
        // Shared: it does not block others, and always succeeds.
        self.control
            .execute(&format!("SELECT pg_catalog.pg_try_advisory_lock_shared({one}, {other})"))
            .map(drop)
    }

    /// Sessions of other machines that measure this server, to wait for, in words. Parts of loads wait for no other
    /// parts.
    pub fn before_us(&mut self) -> Result<Vec<String>, SqlError> {
        let is_part = super::is_part(&super::command());
        let others = self.others()?;
        Ok(others.into_iter().filter(|other| !(is_part && super::is_part(other))).collect())
    }

    /// Sessions of other machines that measure this server, in words; not those of parts of this process's load.
    pub fn others(&mut self) -> Result<Vec<String>, SqlError> {
        let (one, other) = KEY;
        let sql = format!(
            "SELECT DISTINCT a.application_name, coalesce(pg_catalog.host(a.client_addr), ''), \
             coalesce(pg_catalog.to_char(a.backend_start, 'HH24:MI:SS'), '') \
             FROM pg_catalog.pg_locks AS l JOIN pg_catalog.pg_stat_activity AS a USING (pid) \
             WHERE l.locktype = 'advisory' AND l.classid = {one} AND l.objid = {other} AND l.objsubid = 2 \
             AND l.pid <> pg_catalog.pg_backend_pid()"
        );
        let rows = self.control.rows(&sql)?;
        let texts =
            rows.iter().map(|row| row.iter().map(|text| text.as_deref().unwrap_or_default()).collect());
        let own = super::command();
        Ok(texts.filter_map(|row: Vec<&str>| words(&row, (&here(), &own))).collect())
    }
}

/// The announcement in a session's name; `None` for this machine, whose processes are found by their files, and for
/// parts of the load of our own command.
fn words(row: &[&str], (here, own): (&str, &str)) -> Option<String> {
    let [name, address, since] = row else { return None };
    let (machine, command) = match name.strip_prefix(PREFIX).map(str::trim_start) {
        Some(rest) => rest.split_once(' ').unwrap_or((rest, "pgdyno")),
        None => ("", "pgdyno"),
    };
    let part = |before: &str, text: &str| match text {
        "" => String::new(),
        text => format!("{before}{}", spec::visible::line(text)),
    };
    (machine != here && !is_of_one_load(command, own))
        .then(|| format!("{}{}{}", part("", command), part(" from ", address), part(", since ", since)))
}

fn here() -> String {
    machine().chars().take(LONG_ENOUGH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_this_machine_are_left_out() {
        let announced =
            |name: &str| words(&[name, "10.0.0.7", "21:03:12"], ("abc", "pgdyno bench of load 1a2b"));
        assert_eq!(announced("pgdyno measuring abc pgdyno run"), None);
        assert_eq!(
            announced("pgdyno measuring def pgdyno bench").as_deref(),
            Some("pgdyno bench from 10.0.0.7, since 21:03:12")
        );
        assert_eq!(announced("pgdyno measuring def pgdyno bench of load 1a2b"), None);
        assert!(announced("pgdyno measuring def pgdyno bench of load 3c4d").is_some());
        // A session with the lock and another name counts, too.
        assert_eq!(announced("psql").as_deref(), Some("pgdyno from 10.0.0.7, since 21:03:12"));
        assert_eq!(words(&["x", "", ""], ("abc", "")).as_deref(), Some("pgdyno"));
    }
}
