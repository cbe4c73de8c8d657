//! Which servers each client connects to.

use engine::Link;
use script::Random;

use super::PgbenchClient;
use crate::error::WorkloadError;
use crate::pgbench::manner::HostPolicy;
use crate::place::{Connect, Places, Role};

/// The link to the server that takes writes, and that to a standby.
const PRIMARY: Link = 0;
const STANDBY: Link = 1;

/// Told from the run's seed, so that the clients' own numbers do not depend on how they are spread over servers.
const STREAM: u64 = 0x686F_7374_7370_7265;

/// The servers of each of `clients` clients, in the order of their links.
///
/// # Errors
/// When there is no server of the kind the policy needs.
pub(super) fn servers(
    policy: &HostPolicy,
    places: &Places,
    clients: usize,
    seed: u64,
) -> Result<Vec<Vec<Connect>>, WorkloadError> {
    let all = &places.postgres_all;
    if all.is_empty() || *policy == HostPolicy::First {
        return Ok(vec![vec![places.postgres()?.clone()]; clients]);
    }
    let connect = |index: usize| vec![all[index % all.len()].connect.clone()];
    Ok(match policy {
        HostPolicy::First | HostPolicy::RoundRobin => (0..clients).map(connect).collect(),
        HostPolicy::Random => {
            let mut stream = Random::new(seed ^ STREAM);
            (0..clients).map(|_| connect(stream.up_to(all.len() as u64 - 1) as usize)).collect()
        }
        HostPolicy::ReadWrite { .. } => {
            let of =
                |role| all.iter().filter(move |server| server.role == role).map(|server| &server.connect);
            let primary = of(Role::Primary).next().ok_or(WorkloadError::NoServer { kind: "primary" })?;
            let standbys: Vec<_> = of(Role::Standby).collect();
            if standbys.is_empty() {
                return Err(WorkloadError::NoServer { kind: "standby" });
            }
            let pair = |client: usize| vec![primary.clone(), standbys[client % standbys.len()].clone()];
            (0..clients).map(pair).collect()
        }
    })
}

impl PgbenchClient {
    /// The link a script goes to.
    pub(super) fn link_for(&self, script: usize) -> Link {
        if self.conns.len() > 1 && self.program.reads[script] { STANDBY } else { PRIMARY }
    }
}
