//! Facts about this host, found once and kept in pgdyno's own folder for later runs: its own wake-up lag, and
//! the advised placement.

use serde::{Deserialize, Serialize};
use server::child::Account;
use server::home::{Home, Readable, cannot_use};
use server::host;
use server::placement::allowed;
use spec::Error;

use crate::validity::HOST_FACTOR;

const FILE: &str = "host.json";

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct KnownHost {
    machine: Machine,
    /// How late arrivals start with nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lag: Option<Lag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) placement: Option<Advice>,
}

/// Identifies a host: another kernel or other CPUs place and wake up differently.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Machine {
    uuid: String,
    cpu: String,
    kernel: String,
    /// CPUs that pgdyno may use; empty if the system does not report them.
    cpus: String,
}

/// How late 1 % of the arrivals start on this host with nothing to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lag {
    pub(crate) p99_us: f64,
    /// UTC, RFC 3339.
    pub(crate) found_at: String,
}

impl Lag {
    pub(crate) fn now(p99_us: f64) -> Self {
        Self { p99_us, found_at: jiff::Timestamp::now().to_string() }
    }

    pub(crate) fn words(&self) -> String {
        let from = crate::validity::LAG_US.max(HOST_FACTOR * self.p99_us);
        format!(
            "with nothing to do 1 % of the arrivals start {:.0} µs late on this host; a schedule is late from {from:.0} µs on",
            self.p99_us
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Advice {
    /// A predefined name.
    pub(crate) level: String,
    pub(crate) why: String,
    /// UTC, RFC 3339.
    pub(crate) found_at: String,
}

impl Advice {
    pub(crate) fn now(level: &str, why: &str) -> Self {
        let found_at = jiff::Timestamp::now().to_string();
        Self { level: level.to_owned(), why: why.to_owned(), found_at }
    }
}

impl Machine {
    fn here() -> Self {
        let spec::Host { uuid, cpu, facts, .. } = host::describe(None);
        let kernel = facts.get("kernel").cloned().unwrap_or_default();
        let cpus = allowed().map(|cpus| cpus.to_string()).unwrap_or_default();
        Self { uuid, cpu, kernel, cpus }
    }

    fn words(&self) -> String {
        format!("{}, CPUs {}, kernel {}", self.cpu, self.cpus, self.kernel)
    }
}

impl KnownHost {
    /// The facts about this host; empty if it was never measured or has changed. Also returns the description
    /// of the other host.
    pub(crate) fn here() -> (Self, Option<String>) {
        let home = Home::locate().ok().and_then(|home| home.open().ok().flatten());
        Self::read(Machine::here(), home.and_then(|home| home.read(FILE).ok()))
    }

    fn read(machine: Machine, kept: Option<Vec<u8>>) -> (Self, Option<String>) {
        let kept: Option<Self> = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match kept {
            Some(kept) if kept.machine == machine => (kept, None),
            kept => (Self { machine, ..Self::default() }, kept.map(|kept| kept.machine.words())),
        }
    }

    /// Adds facts.
    ///
    /// # Errors
    /// When pgdyno's folder cannot be used.
    pub(crate) fn update(add: impl FnOnce(&mut Self)) -> Result<(), Error> {
        let (mut known, _) = Self::here();
        add(&mut known);
        known.keep()
    }

    fn keep(&self) -> Result<(), Error> {
        let home = Home::locate()?.make(Account::unprivileged()?.as_ref())?;
        let text = serde_json::to_vec_pretty(self).expect("plain data");
        home.replace(FILE, &text, Readable::ByUs)
            .map(drop)
            .map_err(|source| cannot_use(&home.path().join(FILE), source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(cpus: &str) -> Machine {
        let (uuid, cpu, kernel) = ("u".to_owned(), "a CPU".to_owned(), "Linux 6".to_owned());
        Machine { uuid, cpu, kernel, cpus: cpus.to_owned() }
    }

    #[test]
    fn what_was_found_is_known_of_the_same_host_only() {
        let found = KnownHost {
            machine: machine("0-3"),
            lag: Some(Lag::now(140.0)),
            placement: Some(Advice::now("apart", "it is steady")),
        };
        let kept = Some(serde_json::to_vec(&found).unwrap());
        assert_eq!(KnownHost::read(machine("0-3"), kept.clone()), (found, None));
        let (other, told) = KnownHost::read(machine("0"), kept);
        assert_eq!((other.lag, other.placement), (None, None));
        assert_eq!(told.as_deref(), Some("a CPU, CPUs 0-3, kernel Linux 6"));
        let nothing = KnownHost { machine: machine("0"), ..KnownHost::default() };
        for kept in [None, Some(b"{".to_vec())] {
            assert_eq!(KnownHost::read(machine("0"), kept), (nothing.clone(), None));
        }
    }
}
