//! The CPUs of client threads and servers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Cpus;

/// The CPUs of client threads and of a managed server; by default the system chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// CPUs of client threads, assigned in turn, one per thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Cpus>,
    /// CPUs of all processes of managed servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Cpus>,
    /// Whether nothing else uses the CPUs of client threads; true if the server has other CPUs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Whether idle CPUs are kept out of sleep states.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awake: bool,
}

impl Placement {
    /// How long an idle client thread polls before it sleeps, if each has a CPU for itself.
    pub const SPIN: Duration = Duration::from_micros(50);
    /// Fewest clients per thread for which polling is used: with 8 it lowered speed in measurements
    /// (docs/placement.md).
    const CLIENTS_TO_SPIN: usize = 32;

    /// The placement as text.
    #[must_use]
    pub fn words(&self) -> String {
        let clients = self.clients.as_ref().map(|cpus| format!("clients on CPU {cpus}"));
        let server = self.server.as_ref().map(|cpus| format!("server on CPU {cpus}"));
        let awake = self.awake.then(|| "idle CPUs kept awake".to_owned());
        let parts: Vec<String> = [clients, server, awake].into_iter().flatten().collect();
        if parts.is_empty() { "wherever the system likes".to_owned() } else { parts.join(", ") }
    }

    /// Whether this many client threads may poll before they sleep: each has a CPU for itself, and the server
    /// has other CPUs.
    #[must_use]
    pub fn can_spin(&self, threads: usize) -> bool {
        let Some(clients) = &self.clients else { return false };
        let apart = match &self.server {
            Some(server) => clients.is_apart_from(server),
            None => self.alone,
        };
        apart && threads <= clients.count()
    }

    /// Whether polling pays off: each thread has many clients.
    #[must_use]
    pub fn is_to_spin(clients: usize, threads: usize) -> bool {
        clients >= Self::CLIENTS_TO_SPIN * threads
    }
}

/// A placement that pgdyno chose for all runs of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPlacement {
    /// The name of a built-in placement.
    pub level: String,
    pub placement: Placement,
}

impl ChosenPlacement {
    /// The choice as text, without the reason.
    #[must_use]
    pub fn words(&self) -> String {
        format!("placement {} ({})", self.level, self.placement.words())
    }
}
