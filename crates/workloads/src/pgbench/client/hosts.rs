//! Assigns servers to clients.

use std::sync::Arc;

use protocol::postgres::conninfo::TargetSession;
use script::Random;

use crate::error;
use crate::pgbench::drop_in::HostPolicy;
use crate::pgbench::prepare::PreparedScripts;
use crate::place::{Places, PostgresPlace};
use protocol::postgres::{Place, Role};
use spec::Error;
use spec::plan::topology::LoadTarget;

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
    program: &PreparedScripts,
    places: &Places,
    clients: usize,
    seed: u64,
) -> Result<Vec<Vec<Route>>, Error> {
    let place = places.postgres()?;
    if program.routes.targets.iter().any(Option::is_some) {
        return routed(&program.routes.targets, place, clients, seed);
    }
    let (policy, all) = (&program.drop_in_options.hosts, &place.all);
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

/// The servers of clients whose scripts name theirs. Several replicas take turns by client; the seed chooses the
/// first.
fn routed(
    targets: &[Option<LoadTarget>],
    place: &PostgresPlace,
    clients: usize,
    seed: u64,
) -> Result<Vec<Vec<Route>>, Error> {
    let only = |place: &Place| Route { all: [place.clone()].into(), at: 0, wanted: TargetSession::Any };
    let missing = |target: LoadTarget| error::no_target(target);
    let replicas: Arc<[Place]> = place.targets.replicas.clone().into();
    let first = first_replica(seed, replicas.len());
    let route = |client: usize, target: Option<LoadTarget>| match target {
        None => Ok(only(&place.place)),
        Some(LoadTarget::Primary) => {
            place.targets.primary.as_ref().map(only).ok_or_else(|| missing(LoadTarget::Primary))
        }
        Some(LoadTarget::Pooler) => {
            place.targets.pooler.as_ref().map(only).ok_or_else(|| missing(LoadTarget::Pooler))
        }
        Some(LoadTarget::Replica) if replicas.is_empty() => Err(missing(LoadTarget::Replica)),
        Some(LoadTarget::Replica) => Ok(only(&replicas[(first + client) % replicas.len()])),
    };
    (0..clients).map(|client| targets.iter().map(|target| route(client, *target)).collect()).collect()
}

/// Where the scripts for replicas go, as text.
pub(in crate::pgbench) fn routes_words(replicas: usize, seed: u64) -> String {
    match replicas {
        0 => "without replicas, scripts for a replica go to the primary".to_owned(),
        1 => "scripts for a replica go to the only one".to_owned(),
        several => {
            let first = first_replica(seed, several) + 1;
            format!(
                "scripts for a replica: client 0 uses replica {first} of {several}, each further client the next one"
            )
        }
    }
}

/// Index of the replica of client 0; the next client has the next one.
fn first_replica(seed: u64, replicas: usize) -> usize {
    match replicas {
        0 | 1 => 0,
        several => Random::new(seed ^ STREAM).up_to(several as u64 - 1) as usize,
    }
}
