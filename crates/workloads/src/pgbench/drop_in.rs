//! How a drop-in for pgbench runs its scripts, in addition to an experiment file's options.

use std::fmt;
use std::sync::Arc;

use spec::Error;

use super::source::ScriptSource;
use crate::error;

/// How a drop-in for pgbench runs its scripts; not available in an experiment file.
#[derive(Debug, Clone, Default)]
pub struct DropInOptions {
    /// Report each error after which a transaction is retried or counted as failed (`--verbose-errors`).
    pub verbose_errors: bool,
    /// Report each step of each client (`--debug`).
    pub debug: bool,
    /// Runs the commands of `\shell` and `\setshell`; without it scripts with them are refused.
    pub shell: Option<Arc<dyn Shell>>,
    /// Runs once on each connection before anything else, by the simple protocol and outside the measurement;
    /// its weight is ignored. Variables it sets stay set.
    pub startup: Option<ScriptSource>,
    /// Which clients choose among which scripts; the first clients belong to the first group. Without groups,
    /// and for clients after the last one, all scripts.
    pub groups: Vec<ClientGroup>,
    pub hosts: HostPolicy,
}

/// Clients that choose among the same scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientGroup {
    /// At least 1.
    pub clients: usize,
    /// Indexes of the scripts, with their weights in this group.
    pub scripts: Vec<(usize, u32)>,
}

/// Which of the servers in [`crate::PostgresPlace::all`] a client connects to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum HostPolicy {
    /// The place's own server.
    #[default]
    First,
    /// Each client uses the next one.
    RoundRobin,
    /// Each client draws one from a separate stream, so that its other random numbers do not change.
    Random,
    /// Each client uses the primary, and for some scripts a standby: each client the next one.
    ReadWrite {
        /// Indexes of the scripts that go to a standby.
        reads: Vec<usize>,
    },
}

impl DropInOptions {
    /// Checks groups and policy against the number of scripts.
    pub(super) fn validate(&self, scripts: usize) -> Result<(), Error> {
        let known = |index: usize| match index < scripts {
            true => Ok(()),
            false => Err(format!("script {} does not exist; there are {scripts}", index + 1)),
        };
        for (number, group) in (1..).zip(&self.groups) {
            group.validate(known).map_err(|problem| error::script(format!("group {number}: {problem}")))?;
        }
        if let HostPolicy::ReadWrite { reads } = &self.hosts {
            reads.iter().try_for_each(|index| known(*index)).map_err(error::script)?;
        }
        Ok(())
    }
}

impl ClientGroup {
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

/// A command line of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// For `sh -c`.
    pub text: Vec<u8>,
    /// Whether its output is captured; otherwise it goes to the program's standard output.
    pub capture: bool,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellDone {
    NotStarted,
    Ended {
        /// Exit status 0.
        success: bool,
        /// If captured, at least its first line (as far as it came); otherwise empty.
        output: Vec<u8>,
    },
}

/// Called once when the command has ended, from any thread.
pub type WhenDone = Box<dyn FnOnce(ShellDone) + Send>;

/// Runs commands outside the threads that drive the load.
pub trait Shell: Send + Sync + fmt::Debug {
    /// Starts a command and returns at once.
    fn start(&self, command: ShellCommand, done: WhenDone);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_policies_must_fit_the_scripts() {
        let group = |clients, scripts: &[(usize, u32)]| DropInOptions {
            groups: vec![ClientGroup { clients, scripts: scripts.to_vec() }],
            ..DropInOptions::default()
        };
        let reads = |reads: &[usize]| DropInOptions {
            hosts: HostPolicy::ReadWrite { reads: reads.to_vec() },
            ..DropInOptions::default()
        };
        let cases = [
            (group(1, &[(0, 1), (1, 0)]), None),
            (group(0, &[(0, 1)]), Some("group 1: it needs at least one client")),
            (group(1, &[(2, 1)]), Some("group 1: script 3 does not exist; there are 2")),
            (group(1, &[(0, 0)]), Some("group 1: total script weight must not be zero")),
            (group(1, &[]), Some("group 1: total script weight must not be zero")),
            (reads(&[0, 1]), None),
            (reads(&[5]), Some("script 6 does not exist; there are 2")),
        ];
        for (drop_in_options, wanted) in cases {
            let problem = drop_in_options.validate(2).err().map(|error| error.to_string());
            assert_eq!(problem.as_deref(), wanted, "{drop_in_options:?}");
        }
    }
}
