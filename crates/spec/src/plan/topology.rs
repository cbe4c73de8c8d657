//! Replicas of a server, and which of a target's servers a load goes to.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most replicas of a server.
pub const MOST_REPLICAS: u32 = 8;

/// What a commit on the primary waits for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Replication {
    /// No replica.
    #[default]
    Async,
    /// All replicas have flushed it.
    Sync,
    /// All replicas have applied it.
    RemoteApply,
}

impl Replication {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Async, Self::Sync, Self::RemoteApply];

    /// The value in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Sync => "sync",
            Self::RemoteApply => "remote_apply",
        }
    }

    /// By its value in experiment files.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// The `synchronous_commit` of the primary; `None` if its own setting counts.
    #[must_use]
    pub fn synchronous_commit(self) -> Option<&'static str> {
        match self {
            Self::Async => None,
            Self::Sync => Some("on"),
            Self::RemoteApply => Some("remote_apply"),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Async => "asynchronous",
            Self::Sync => "synchronous",
            Self::RemoteApply => "synchronous (remote_apply)",
        }
    }
}

impl fmt::Display for Replication {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The replicas of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Topology {
    /// 0 to [`MOST_REPLICAS`].
    pub replicas: u32,
    /// [`Replication::Async`] without replicas, and at a server given by URL.
    pub replication: Replication,
}

impl Topology {
    /// A number of replicas; the replication of none is always the same.
    #[must_use]
    pub fn new(replicas: u32, replication: Replication) -> Self {
        Self { replicas, replication: if replicas == 0 { Replication::default() } else { replication } }
    }

    /// Whether there is no replica.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.replicas == 0
    }

    /// As text: `2 synchronous replicas`.
    #[must_use]
    pub fn words(&self) -> String {
        match self.replicas {
            0 => "no replica".to_owned(),
            1 => format!("1 {} replica", self.replication.words()),
            several => format!("{several} {} replicas", self.replication.words()),
        }
    }
}

/// Which of a target's servers a script goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadTarget {
    /// The server itself, without a pooler.
    Primary,
    /// A replica; several take turns by client.
    Replica,
    /// The pooler of the run.
    Pooler,
}

impl LoadTarget {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Primary, Self::Replica, Self::Pooler];

    /// The value in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Replica => "replica",
            Self::Pooler => "pooler",
        }
    }

    /// By its value in experiment files.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for LoadTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for one in Replication::ALL {
            assert_eq!(Replication::of_name(one.name()), Some(one));
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{one}\""));
        }
        for one in LoadTarget::ALL {
            assert_eq!(LoadTarget::of_name(one.name()), Some(one));
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{one}\""));
        }
        assert_eq!(Replication::of_name("synchronous"), None);
    }

    #[test]
    fn no_replica_is_the_same_in_every_mode() {
        for (replicas, replication, wanted) in [
            (0, Replication::Sync, "no replica"),
            (1, Replication::Async, "1 asynchronous replica"),
            (2, Replication::Sync, "2 synchronous replicas"),
            (3, Replication::RemoteApply, "3 synchronous (remote_apply) replicas"),
        ] {
            assert_eq!(Topology::new(replicas, replication).words(), wanted);
        }
        assert_eq!(Topology::new(0, Replication::Sync), Topology::default());
    }
}
