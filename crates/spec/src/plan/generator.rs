//! What moves the bytes of runs, and how it waits.

use serde::{Deserialize, Serialize};

use crate::count;

/// What a client thread does that has nothing to do until answers come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// It looks for news for a while before it sleeps, where that helps.
    #[default]
    Auto,
    /// It sleeps at once.
    Sleep,
    /// It looks for news for a while before it sleeps.
    Spin,
}

impl Waiting {
    /// Whether it is left to pgdyno.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// Which driver an experiment asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedDriver {
    /// Chosen for its largest cell.
    #[default]
    Auto,
    /// epoll or kqueue.
    Portable,
    /// Linux's io_uring.
    IoUring,
}

impl AskedDriver {
    /// Whether it is left to pgdyno.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// What moves the bytes of an experiment's runs, and what its threads do while they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    pub driver: AskedDriver,
    /// Clients a thread, of the run that has most: a driver that pgdyno chooses suits these.
    pub clients_per_thread: u32,
    /// Whether threads look for news before they sleep.
    pub spins: bool,
}

impl Generator {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let driver = match self.driver {
            AskedDriver::Auto => format!(
                "one driver for all runs, chosen for {} per thread",
                count(u64::from(self.clients_per_thread), "client")
            ),
            AskedDriver::Portable => "driver portable".to_owned(),
            AskedDriver::IoUring => "driver io_uring".to_owned(),
        };
        let waits =
            if self.spins { "threads spin before they sleep" } else { "threads sleep while they wait" };
        format!("load generator: {driver}; {waits}")
    }
}
