//! Options that several commands share: commands that make an experiment file from their arguments.

use super::args::{BenchArgs, Conduct, ScriptChoice, Scripts, TableArgs, TargetArgs};
use super::user_args::{GivenUsers, UserArgs, is_builtin};
use super::{check_script, usage_with};

#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct BenchRequest<'a> {
    pub(in crate::commands) tables: &'a TableArgs,
    pub(in crate::commands) scripts: &'a Scripts,
    pub(in crate::commands) conduct: &'a Conduct,
    pub(in crate::commands) target: &'a TargetArgs,
    /// Users, who name the scripts themselves.
    pub(in crate::commands) users: &'a UserArgs,
    /// Transactions that took longer are not retried.
    pub(in crate::commands) latency_limit_ms: Option<f64>,
}

impl<'a> BenchRequest<'a> {
    /// Refuses options of pgbench's tables if none are made; `asked_for`: a script needs them.
    ///
    /// # Errors
    /// The option, and how to get the tables.
    pub(in crate::commands) fn tables_fit(&self, asked_for: bool) -> anyhow::Result<()> {
        let makes = self.target.managed.is_some() && (self.tables.scale.is_some() || asked_for);
        let Some(option) = self.tables.given().filter(|_| !makes) else { return Ok(()) };
        let hint = match self.target.managed {
            Some(_) => "-s N makes them beside your own data",
            None => "--managed makes them on a private server, pgdyno bench -i on yours",
        };
        Err(usage_with(&format!("{option} is for pgbench's tables, and none are made here"), hint))
    }

    pub(super) fn of(args: &'a BenchArgs) -> Self {
        let BenchArgs { tables, scripts, conduct, target, pace, users, .. } = args;
        Self { tables, scripts, conduct, target, users, latency_limit_ms: pace.latency_limit }
    }

    /// The users, if there are any; then scripts must not be given too.
    ///
    /// # Errors
    /// What is wrong with their texts, or options that do not go with them.
    pub(in crate::commands) fn users(&self) -> anyhow::Result<Option<GivenUsers>> {
        let users = self.users.given()?;
        if users.is_some() && !self.scripts.in_order.is_empty() {
            let hint = "leave out -f, -b, -S and -N";
            return Err(usage_with("--users names its scripts itself", hint));
        }
        Ok(users)
    }

    /// The scripts of the users, or those given.
    ///
    /// # Errors
    /// As [`Self::users`].
    pub(in crate::commands) fn script_choices(&self) -> anyhow::Result<Vec<ScriptChoice>> {
        Ok(match self.users()? {
            Some(users) => {
                let choice = |step: &str| match is_builtin(step) {
                    true => ScriptChoice::Builtin(step.to_owned()),
                    false => ScriptChoice::File(step.to_owned()),
                };
                users.scripts().into_iter().map(choice).collect()
            }
            None => self.scripts.in_order.clone(),
        })
    }

    /// Refuses options without a meaning in an experiment file.
    ///
    /// # Errors
    /// An option that is not available `there`, or an invalid script.
    pub(in crate::commands) fn check(&self, there: &str) -> anyhow::Result<()> {
        let refused = [
            (self.tables.initialize, "-i", "--managed makes pgbench's tables by itself, at scale -s"),
            (self.conduct.progress.is_some(), "-P", "runs are shown as they end"),
            (
                self.scripts.in_order.iter().any(ScriptChoice::is_input),
                "-f -",
                "write the script into a file: it is read again for every run",
            ),
            (
                self.conduct.level.is_some(),
                "--level",
                "it is for single runs (pgdyno bench) and for files with [by_hand] (pgdyno run)",
            ),
            (self.conduct.report_per_command, "-r", "pgdyno bench tells the latency of each statement"),
        ];
        if let Some((_, option, hint)) = refused.into_iter().find(|(given, ..)| *given) {
            return Err(usage_with(&format!("{option} cannot be used {there}"), hint));
        }
        self.tables.steps()?;
        self.scripts.in_order.iter().try_for_each(check_script)
    }
}
