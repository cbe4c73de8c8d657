//! How a drop-in for pgbench runs its scripts, beyond what an experiment file may say.

use std::sync::Arc;

use super::shell::Shell;
use super::source::ScriptSource;
use crate::error::WorkloadError;

/// How a drop-in for pgbench runs its scripts; no part of an experiment file.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Tell of each error after which a transaction is retried or counted as failed (`--verbose-errors`).
    pub verbose_errors: bool,
    /// Tell of each step of each client (`--debug`).
    pub debug: bool,
    /// Runs the commands of `\shell` and `\setshell`; without it scripts that use them are refused.
    pub shell: Option<Arc<dyn Shell>>,
    /// Run once on each connection before anything else, by the simple protocol and outside what is measured; its
    /// weight means nothing. Variables it sets stay set.
    pub startup: Option<ScriptSource>,
    /// Which clients choose among which scripts, the first clients being the first group's. Without groups, and for
    /// clients beyond the last one, all choose among all scripts.
    pub groups: Vec<Group>,
    /// Which of several servers a client connects to.
    pub hosts: HostPolicy,
}

/// Clients that choose among the same scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// How many clients; at least 1.
    pub clients: usize,
    /// Indexes of the scripts, from 0, with their weights in this group.
    pub scripts: Vec<(usize, u32)>,
}

/// Which of the servers in [`crate::PostgresPlace::all`] a client connects to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HostPolicy {
    /// The one of the place itself.
    #[default]
    First,
    /// Each client the next one.
    RoundRobin,
    /// Each client one drawn from its own stream, so that the clients' numbers stay as they are.
    Random,
    /// Each client the primary, and for some scripts a standby: each client the next one.
    ReadWrite {
        /// Indexes, from 0, of the scripts that go to a standby.
        reads: Vec<usize>,
    },
}

impl Manner {
    /// Checks that groups and policy fit `scripts` scripts.
    pub(super) fn validate(&self, scripts: usize) -> Result<(), WorkloadError> {
        let known = |index: usize| match index < scripts {
            true => Ok(()),
            false => Err(format!("there is no script {}; there are {scripts}", index + 1)),
        };
        for (number, group) in (1..).zip(&self.groups) {
            group
                .validate(known)
                .map_err(|problem| WorkloadError::Script(format!("group {number}: {problem}")))?;
        }
        if let HostPolicy::ReadWrite { reads } = &self.hosts {
            reads.iter().try_for_each(|index| known(*index)).map_err(WorkloadError::Script)?;
        }
        Ok(())
    }
}

impl Group {
    fn validate(&self, known: impl Fn(usize) -> Result<(), String>) -> Result<(), String> {
        if self.clients == 0 {
            return Err("it needs at least one client".to_owned());
        }
        if self.scripts.iter().all(|(_, weight)| *weight == 0) {
            return Err("total script weight must not be zero".to_owned());
        }
        self.scripts.iter().try_for_each(|(index, _)| known(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_policies_must_fit_the_scripts() {
        let group = |clients, scripts: &[(usize, u32)]| Manner {
            groups: vec![Group { clients, scripts: scripts.to_vec() }],
            ..Manner::default()
        };
        let reads = |reads: &[usize]| Manner {
            hosts: HostPolicy::ReadWrite { reads: reads.to_vec() },
            ..Manner::default()
        };
        let cases = [
            (group(1, &[(0, 1), (1, 0)]), None),
            (group(0, &[(0, 1)]), Some("group 1: it needs at least one client")),
            (group(1, &[(2, 1)]), Some("group 1: there is no script 3; there are 2")),
            (group(1, &[(0, 0)]), Some("group 1: total script weight must not be zero")),
            (group(1, &[]), Some("group 1: total script weight must not be zero")),
            (reads(&[0, 1]), None),
            (reads(&[5]), Some("there is no script 6; there are 2")),
        ];
        for (manner, wanted) in cases {
            let problem = manner.validate(2).err().map(|error| error.to_string());
            assert_eq!(problem.as_deref(), wanted, "{manner:?}");
        }
    }
}
