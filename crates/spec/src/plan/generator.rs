//! The load generator's driver, and how its threads wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::count;

/// How a client thread waits for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// Polls before it sleeps where that helps.
    #[default]
    Auto,
    /// Sleeps at once.
    Sleep,
    /// Polls for 50 µs first; needs a CPU for each thread.
    Spin,
}

impl Waiting {
    /// Whether pgdyno chooses.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The driver that an experiment asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskedDriver {
    /// Chosen for the largest cell.
    #[default]
    Auto,
    /// epoll or kqueue.
    Portable,
    /// Linux only.
    IoUring,
}

impl AskedDriver {
    /// Whether pgdyno chooses.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The driver of an experiment's runs, and how its threads wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    pub driver: AskedDriver,
    /// Clients per thread, in the run with the most: pgdyno chooses the driver for this number.
    pub clients_per_thread: u32,
    pub spins: bool,
}

impl Generator {
    /// The choice as text.
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
