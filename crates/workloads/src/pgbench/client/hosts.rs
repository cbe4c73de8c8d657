//! Assigns servers to clients.

use std::sync::Arc;

use protocol::postgres::conninfo::TargetSession;
use script::Random;

use crate::error;
use crate::pgbench::drop_in::HostPolicy;
use crate::place::Places;
use protocol::postgres::{Place, Role};
use spec::Error;

/// Mixed with the run's seed, so that the clients' own numbers do not depend on the servers.
const STREAM: u64 = 0x686F_7374_7370_7265;

/// A server for a client's link, and its alternatives when it is lost.
#[derive(Debug, Clone)]
pub(super) struct Route {
    all: Arc<[Place]>,
    at: usize,
    wanted: TargetSession,
}

impl Route {
    pub(super) fn connect(&self) -> &Place {
        &self.all[self.at]
    }

    /// Moves to the next server; `None` where there is no other.
    pub(super) fn next(&mut self) -> Option<&Place> {
        self.at = (self.at + 1) % self.all.len();
        (self.all.len() > 1).then(|| self.connect())
    }

    /// The accepted kind of server.
    pub(super) fn wanted(&self) -> TargetSession {
        self.wanted
    }
}

/// The servers of each of `clients` clients, in the order of their links.
///
/// # Errors
/// When there is no server of the kind the policy needs.
pub(super) fn servers(
    policy: &HostPolicy,
    places: &Places,
    clients: usize,
    seed: u64,
) -> Result<Vec<Vec<Route>>, Error> {
    let place = places.postgres()?;
    let all = &place.all;
    if all.is_empty() || *policy == HostPolicy::First {
        let all = match &place.again[..] {
            [] => [place.place.clone()].into(),
            several => several.into(),
        };
        return Ok(vec![vec![Route { all, at: 0, wanted: place.wanted }]; clients]);
    }
    let shared: Arc<[Place]> = all.iter().map(|server| server.place.clone()).collect();
    let route = |at: usize, wanted| Route { all: Arc::clone(&shared), at, wanted };
    let connect = |index: usize| vec![route(index % all.len(), TargetSession::Any)];
    Ok(match policy {
        HostPolicy::First | HostPolicy::RoundRobin => (0..clients).map(connect).collect(),
        HostPolicy::Random => {
            let mut stream = Random::new(seed ^ STREAM);
            (0..clients).map(|_| connect(stream.up_to(all.len() as u64 - 1) as usize)).collect()
        }
        HostPolicy::ReadWrite { .. } => {
            let of = |role| (0..all.len()).filter(move |&index| all[index].role == role);
            let primary = of(Role::Primary).next().ok_or_else(|| error::no_server("primary"))?;
            let standbys: Vec<usize> = of(Role::Standby).collect();
            if standbys.is_empty() {
                return Err(error::no_server("standby"));
            }
            let pair = |client: usize| {
                let standby = standbys[client % standbys.len()];
                // Reads go to any server rather than to none.
                vec![route(primary, TargetSession::Primary), route(standby, TargetSession::Any)]
            };
            (0..clients).map(pair).collect()
        }
    })
}
