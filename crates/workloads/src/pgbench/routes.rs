//! Which of a target's servers each script goes to.

use script::{Action, Scripts};
use spec::Error;
use spec::plan::topology::LoadTarget;

use super::drop_in::HostPolicy;
use super::options::PgbenchOptions;
use crate::error;

/// First words of statements that no replica carries out.
const WRITING: [&str; 22] = [
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "TRUNCATE",
    "CREATE",
    "ALTER",
    "DROP",
    "VACUUM",
    "ANALYZE",
    "CLUSTER",
    "REINDEX",
    "REFRESH",
    "IMPORT",
    "COMMENT",
    "GRANT",
    "REVOKE",
    "LISTEN",
    "NOTIFY",
    "SECURITY",
    "REASSIGN",
    "CHECKPOINT",
];

/// The servers of each client, and the one of each script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Routes {
    /// By link of a client: its server; `None` for the connection of the run.
    pub(super) targets: Vec<Option<LoadTarget>>,
    /// By script: its link.
    pub(super) links: Vec<usize>,
}

impl Routes {
    /// Scripts with these targets: a link for each server, in the order of the first script that uses it.
    pub(super) fn of(scripts: impl Iterator<Item = Option<LoadTarget>>) -> Self {
        let mut targets: Vec<Option<LoadTarget>> = Vec::new();
        let links = scripts.map(|target| {
            targets.iter().position(|other| *other == target).unwrap_or_else(|| {
                targets.push(target);
                targets.len() - 1
            })
        });
        Self { links: links.collect(), targets }
    }

    /// As the policy of a drop-in has them.
    pub(super) fn of_policy(hosts: &HostPolicy, scripts: usize) -> Self {
        let reads: &[usize] = match hosts {
            HostPolicy::ReadWrite { reads } => reads,
            _ => &[],
        };
        let links = (0..scripts).map(|script| usize::from(reads.contains(&script)));
        Self { targets: vec![None], links: links.collect() }
    }

    /// The server of a script; `None` for the connection of the run.
    pub(super) fn target(&self, script: usize) -> Option<LoadTarget> {
        self.targets.get(*self.links.get(script)?).copied().flatten()
    }
}

impl PgbenchOptions {
    /// The servers that its scripts go to, each once; `None` is the connection of the run.
    #[must_use]
    pub fn targets(&self) -> Vec<Option<LoadTarget>> {
        // Without any script it is a built-in one.
        let others = self.builtin.len() + self.files.len();
        let scripts = (others + self.scripts.len()).max(1);
        Routes::of(targets(self, scripts).into_iter()).targets
    }
}

/// The targets of all scripts, in their order: of the script, else of the workload.
pub(super) fn targets(options: &PgbenchOptions, scripts: usize) -> Vec<Option<LoadTarget>> {
    let own = options.scripts.iter().map(|script| script.target);
    // Scripts with an own target come last.
    let others = scripts.saturating_sub(options.scripts.len());
    let all = std::iter::repeat_n(None, others).chain(own).take(scripts);
    all.map(|own| own.or(options.target)).collect()
}

/// Refuses scripts for a replica with a statement that plainly writes. Other writes show in the first execution,
/// which is on a replica.
pub(super) fn refuse_writes(scripts: &Scripts, routes: &Routes) -> Result<(), Error> {
    for (index, script) in scripts.scripts().iter().enumerate() {
        if routes.target(index) != Some(LoadTarget::Replica) {
            continue;
        }
        let writes = script.commands.iter().find(|command| match &command.action {
            Action::Sql(statement) => writes(&String::from_utf8_lossy(statement.extended_text())),
            _ => false,
        });
        if let Some(command) = writes {
            return Err(a_replica_takes_no_writes(&script.name, command.line, &command.summary));
        }
    }
    Ok(())
}

/// The refusal of a script that writes.
pub(super) fn a_replica_takes_no_writes(script: &str, line: usize, statement: &str) -> Error {
    error::script(format!(
        "{script}, line {line}, writes, and a replica takes no writes: {statement}\n\
         send it to the primary: target = \"primary\""
    ))
}

fn writes(statement: &str) -> bool {
    let first = statement.split(|letter: char| !letter.is_ascii_alphabetic()).find(|word| !word.is_empty());
    first.is_some_and(|first| WRITING.iter().any(|word| first.eq_ignore_ascii_case(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgbench::options::ScriptOption;

    #[test]
    fn each_server_has_one_link_whatever_the_order_of_scripts() {
        use LoadTarget::{Primary, Replica};
        let routes = |targets: &[Option<LoadTarget>]| Routes::of(targets.iter().copied());
        for (targets, links) in [
            (&[None, None][..], &[0, 0][..]),
            (&[Some(Replica), Some(Primary), Some(Replica)], &[0, 1, 0]),
            (&[None, Some(Replica), None], &[0, 1, 0]),
        ] {
            let found = routes(targets);
            assert_eq!(found.links, links);
            assert!(targets.iter().enumerate().all(|(script, target)| found.target(script) == *target));
        }
        assert_eq!(Routes::of_policy(&HostPolicy::ReadWrite { reads: vec![1] }, 3).links, [0, 1, 0]);
    }

    #[test]
    fn a_script_has_its_own_target_or_that_of_the_workload() {
        let script = |target| ScriptOption { target, ..ScriptOption::default() };
        let options = PgbenchOptions {
            target: Some(LoadTarget::Replica),
            scripts: vec![script(Some(LoadTarget::Primary)), script(None)],
            ..PgbenchOptions::default()
        };
        let (primary, replica) = (Some(LoadTarget::Primary), Some(LoadTarget::Replica));
        assert_eq!(targets(&options, 3), [replica, primary, replica]);
    }

    #[test]
    fn only_statements_that_write_at_once_are_refused_by_their_text() {
        for (statement, wanted) in [
            ("UPDATE t SET x = 1", true),
            ("  delete from t", true),
            ("/* read */ SELECT 'update'", false),
            ("SELECT comment FROM t", false),
            ("WITH gone AS (DELETE FROM t RETURNING *) SELECT 1", false),
            ("BEGIN", false),
        ] {
            assert_eq!(writes(statement), wanted, "{statement}");
        }
    }
}
