//! Where client threads and servers run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Cpus;

/// Where client threads and a managed server run; by default wherever the system likes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// CPUs of client threads, one for each by turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Cpus>,
    /// CPUs of the processes of managed servers, alike for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Cpus>,
    /// Whether nothing else uses the CPUs of client threads; so it is where the server is put on others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Whether idle CPUs are kept from sleeping.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awake: bool,
}

impl Placement {
    /// How long a client thread that has nothing to do looks for news before it sleeps, where each has a CPU for itself.
    pub const SPIN: Duration = Duration::from_micros(50);
    /// Clients of a thread from which on it does: with 8 it cost speed where it was measured (docs/placement.md).
    const CLIENTS_TO_SPIN: usize = 32;

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let clients = self.clients.as_ref().map(|cpus| format!("clients on CPU {cpus}"));
        let server = self.server.as_ref().map(|cpus| format!("server on CPU {cpus}"));
        let awake = self.awake.then(|| "idle CPUs kept awake".to_owned());
        let parts: Vec<String> = [clients, server, awake].into_iter().flatten().collect();
        if parts.is_empty() { "wherever the system likes".to_owned() } else { parts.join(", ") }
    }

    /// Whether so many client threads may look for news before they sleep: each has a CPU for itself, and the server has other
    /// CPUs.
    #[must_use]
    pub fn can_spin(&self, threads: usize) -> bool {
        let Some(clients) = &self.clients else { return false };
        let apart = match &self.server {
            Some(server) => clients.is_apart_from(server),
            None => self.alone,
        };
        apart && threads <= clients.count()
    }

    /// Whether it is worth it: each thread has many clients.
    #[must_use]
    pub fn is_to_spin(clients: usize, threads: usize) -> bool {
        clients >= Self::CLIENTS_TO_SPIN * threads
    }
}

/// A placement that pgdyno chose for all runs of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPlacement {
    /// One of pgdyno's own names.
    pub level: String,
    pub placement: Placement,
    /// Why that one, in words.
    pub why: String,
}

impl ChosenPlacement {
    /// In words, without why.
    #[must_use]
    pub fn words(&self) -> String {
        format!("placement {} ({})", self.level, self.placement.words())
    }
}
