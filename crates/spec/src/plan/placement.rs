//! The CPUs of client threads and servers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cpus;

/// The CPUs of client threads and of a managed server; by default the system chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// CPUs of the load generator's threads, assigned in turn. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Cpus>,
    /// CPUs of managed servers, with their pooler, Redis and tile servers. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<Cpus>,
    /// Nothing else uses the CPUs of the clients, so threads may poll before they sleep. Implied when `server` has
    /// other CPUs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Keep idle CPUs from sleeping.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awake: bool,
    /// Most CPU time of managed servers together, in CPUs: `0.25` is a quarter of one. Needs a control group that
    /// pgdyno may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 1024.0))]
    pub quota: Option<CpuQuota>,
}

/// A limit of CPU time, in CPUs: 0.25 is a quarter of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct CpuQuota {
    /// Of each 100 ms.
    pub us: u32,
}

impl CpuQuota {
    /// The period of a quota, µs, as is usual for containers.
    pub const PERIOD_US: u32 = 100_000;
}

impl TryFrom<f64> for CpuQuota {
    type Error = String;

    fn try_from(cpus: f64) -> Result<Self, String> {
        match (0.01..=1024.0).contains(&cpus) {
            true => Ok(Self { us: (cpus * f64::from(Self::PERIOD_US)).round() as u32 }),
            false => Err("must be from 0.01 to 1024 CPUs".to_owned()),
        }
    }
}

impl From<CpuQuota> for f64 {
    fn from(quota: CpuQuota) -> Self {
        Self::from(quota.us) / Self::from(CpuQuota::PERIOD_US)
    }
}

impl Placement {
    /// How long an idle client thread polls before it sleeps, if each has a CPU for itself.
    pub const SPIN: Duration = Duration::from_micros(50);
    /// Fewest clients per thread for which polling is used: with 8 it lowered speed in measurements
    /// (docs/measured/cost.md).
    const CLIENTS_TO_SPIN: usize = 32;

    /// The placement as text.
    #[must_use]
    pub fn words(&self) -> String {
        let clients = self.clients.as_ref().map(|cpus| format!("clients on CPU {cpus}"));
        let server = self.server.as_ref().map(|cpus| format!("server on CPU {cpus}"));
        let awake = self.awake.then(|| "idle CPUs kept awake".to_owned());
        let quota =
            self.quota.map(|quota| format!("server with at most {} of a CPU's time", f64::from(quota)));
        let parts: Vec<String> = [clients, server, awake, quota].into_iter().flatten().collect();
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
