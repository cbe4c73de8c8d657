//! Identifies a server, however it was reached: by socket or network, by one name or another.

use std::net::{IpAddr, UdpSocket};
use std::path::Path;

use protocol::Address;
use protocol::postgres::sql::{Sql, SqlError};
use serde::{Deserialize, Serialize};

use crate::control::Control;

/// A database cluster on a machine.
///
/// The system identifier alone is not enough: copies of a cluster share it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerId {
    /// Made by initdb; the same in every copy of the cluster.
    pub system_identifier: String,
    /// The port it reports.
    #[serde(default)]
    pub port: Option<u16>,
    /// Data folder, if our role may see it.
    #[serde(default)]
    pub data_directory: Option<String>,
    /// When it started, µs since 1970: no two servers share it, and a restart changes it.
    #[serde(default)]
    pub started_us: Option<i64>,
    /// "this machine", or its address.
    #[serde(default)]
    pub machine: Option<String>,
    /// The machine that was connected to; differs from `machine` behind a forwarded port.
    #[serde(default)]
    pub reached_at: Option<String>,
    #[serde(default)]
    pub reached_port: Option<u16>,
}

/// The current machine, by any of its addresses.
pub(super) const HERE: &str = "this machine";

/// Port in the name of a socket: `/run/postgresql/.s.PGSQL.5432`.
pub(super) fn port_of(address: &Address) -> Option<u16> {
    match address {
        Address::Tcp(address) => Some(address.port()),
        Address::Unix(path) => path.extension()?.to_str()?.parse().ok(),
    }
}

/// Only an address of this machine can be bound to.
fn is_ours(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

fn machine_of(address: &Address) -> String {
    match address {
        Address::Tcp(address) if !is_ours(address.ip()) => address.ip().to_string(),
        _ => HERE.to_owned(),
    }
}

/// The machine behind the address that was connected to, from the server's end of the connection.
fn machine_behind(address: &Address, server_end: Option<&str>) -> String {
    let end: Option<IpAddr> = server_end.and_then(|text| text.parse().ok());
    match (machine_of(address), address, end) {
        // A container: its port is forwarded from this machine's.
        (machine, Address::Tcp(_), Some(end)) if machine == HERE && !is_ours(end) => end.to_string(),
        (machine, ..) => machine,
    }
}

impl ServerId {
    /// Asks the server.
    pub fn ask(control: &mut Control) -> Result<Self, SqlError> {
        const QUESTION: &str = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()), \
             pg_catalog.current_setting('port'), \
             (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'), \
             (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint::text, \
             pg_catalog.host(pg_catalog.inet_server_addr())";
        let address = control.place().address.clone();
        let row = control.rows(QUESTION)?.into_iter().next().unwrap_or_default();
        let mut values = row.into_iter();
        let mut next = || values.next().flatten().filter(|value| !value.is_empty());
        let (identifier, port, folder, started) = (next(), next(), next(), next());
        Ok(Self {
            system_identifier: identifier.unwrap_or_default(),
            port: port.and_then(|port| port.parse().ok()),
            data_directory: folder,
            started_us: started.and_then(|started| started.parse().ok()),
            machine: Some(machine_behind(&address, next().as_deref())),
            reached_at: Some(machine_of(&address)),
            reached_port: port_of(&address),
        })
    }

    /// Its data folder, if the server runs on this machine and the role may know the folder.
    #[must_use]
    pub fn folder_here(&self) -> Option<&Path> {
        let is_here = self.machine.as_deref() == Some(HERE);
        self.data_directory.as_deref().filter(|_| is_here).map(Path::new)
    }

    /// Whether both are one server. Unknown fields are ignored.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
            one.zip(other).is_none_or(|(one, other)| one == other)
        }
        if self.system_identifier != other.system_identifier {
            return false;
        }
        if self.started_us.is_some() && self.started_us == other.started_us {
            return true;
        }
        agree(self.port.as_ref(), other.port.as_ref())
            && agree(self.data_directory.as_ref(), other.data_directory.as_ref())
            && agree(self.machine.as_ref(), other.machine.as_ref())
    }

    /// Whether a connection to this address may lead to it: checked before a server is asked.
    #[must_use]
    pub fn may_be_at(&self, address: &Address) -> bool {
        let machine = machine_of(address);
        let machines = [&self.machine, &self.reached_at];
        let known_machine = machines.iter().any(|known| known.is_some());
        let here = machines.iter().any(|known| known.as_ref() == Some(&machine));
        let ports = [self.port, self.reached_port];
        let known_port = ports.iter().any(Option::is_some);
        (here || !known_machine) && (ports.contains(&port_of(address)) || !known_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> Address {
        Address::Tcp(text.parse().unwrap())
    }

    fn server(machine: &str, port: u16, folder: Option<&str>, started_us: i64) -> ServerId {
        ServerId {
            system_identifier: "7".into(),
            port: Some(port),
            data_directory: folder.map(str::to_owned),
            started_us: Some(started_us),
            machine: Some(machine.into()),
            reached_at: Some(machine.into()),
            reached_port: Some(port),
        }
    }

    #[test]
    fn one_server_is_known_by_socket_and_by_network() {
        let socket = Address::Unix("/run/postgresql/.s.PGSQL.5433".into());
        assert_eq!(machine_of(&socket), machine_of(&tcp("127.0.0.1:5433")));
        assert_eq!(machine_of(&socket), machine_of(&tcp("[::1]:5433")));
        assert_eq!(machine_of(&tcp("192.0.2.1:5432")), "192.0.2.1");
        assert_eq!((port_of(&socket), port_of(&tcp("[::1]:9"))), (Some(5433), Some(9)));
        let known = server(HERE, 5433, Some("/data"), 1);
        assert!(known.may_be_at(&socket) && known.may_be_at(&tcp("127.0.0.1:5433")));
        assert!(!known.may_be_at(&tcp("127.0.0.1:5432")) && !known.may_be_at(&tcp("192.0.2.1:5433")));
        assert!(ServerId::default().may_be_at(&socket), "a journal of an older pgdyno knows no place");
    }

    #[test]
    fn a_forwarded_port_leads_to_another_machine() {
        assert_eq!(machine_behind(&tcp("127.0.0.1:5432"), Some("192.0.2.7")), "192.0.2.7");
        assert_eq!(machine_behind(&tcp("127.0.0.1:5432"), Some("127.0.0.1")), HERE);
        assert_eq!(machine_behind(&tcp("127.0.0.1:5432"), None), HERE);
        assert_eq!(machine_behind(&tcp("192.0.2.1:5432"), Some("127.0.0.1")), "192.0.2.1");
    }

    #[test]
    fn copies_of_a_cluster_are_other_servers() {
        let one = server(HERE, 5432, Some("/a"), 1);
        let cases = [
            (server(HERE, 5432, Some("/a"), 2), true, "restarted"),
            (server(HERE, 5432, None, 2), true, "seen by a role that may not see its folder"),
            (server("192.0.2.1", 6432, None, 1), true, "reached by another way, still running"),
            (server(HERE, 5433, Some("/a"), 2), false, "another port"),
            (server(HERE, 5432, Some("/b"), 2), false, "another folder"),
            (server("192.0.2.1", 5432, Some("/a"), 2), false, "another machine"),
            (ServerId { system_identifier: "8".into(), ..one.clone() }, false, "another cluster"),
            (ServerId { system_identifier: "7".into(), ..ServerId::default() }, true, "an older journal"),
        ];
        for (other, same, what) in cases {
            assert_eq!((one.is(&other), other.is(&one)), (same, same), "{what}");
        }
    }
}
