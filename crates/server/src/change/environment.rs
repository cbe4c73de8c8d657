//! The environment of a command: the same for the do and for an undo in another process, days later.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use protocol::postgres::Database;
use serde::{Deserialize, Serialize};
use spec::{Class, Error};

use crate::child::{Account, Program};

/// Variable that identifies a command's processes, even those which left its process group.
pub(super) const MARK: &str = "PGDYNO_CHANGE";

/// Variable that passes the command to the shell.
const TEXT: &str = "PGDYNO_COMMAND";
const EVAL: &str = "eval \"unset PGDYNO_COMMAND\n$PGDYNO_COMMAND\"";

/// Where commands of a change run, and the server they connect to: `PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE`
/// and what TLS needs. From pgdyno's environment they inherit only `PATH`, `HOME` and similar variables. It
/// contains no password.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    pub folder: PathBuf,
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// The environment for a database, in the current folder; `more` are further variables, none of them
    /// secret.
    #[must_use]
    pub fn of(database: &Database, more: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        let own = [
            ("PGHOST", database.host.clone()),
            ("PGPORT", database.port.to_string()),
            ("PGUSER", database.user.clone()),
            ("PGDATABASE", database.dbname.clone()),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let more = more.into_iter().map(|(name, value)| (text(name), text(value)));
        Self {
            folder: std::env::current_dir().unwrap_or_else(|_| "/".into()),
            variables: own.chain(more).collect(),
        }
    }

    /// Sets the folder in which commands start, if any.
    #[must_use]
    pub fn starting_in(self, folder: Option<PathBuf>) -> Self {
        Self { folder: folder.unwrap_or(self.folder), ..self }
    }

    /// The account that commands run as (`None`: the current user).
    ///
    /// # Errors
    /// When there is none, or it may not enter the folder that they start in.
    pub(crate) fn account(&self) -> Result<Option<Account>, Error> {
        let account = Account::unprivileged()?;
        match &account {
            Some(account) if !account.may_enter(&self.folder) => {
                let what = format!(
                    "user {} runs commands when pgdyno is root, and cannot enter {}; put the experiment into a folder that \
                     this user can enter, or run pgdyno as yourself",
                    account.name,
                    self.folder.display()
                );
                Err(Error::new(Class::Io, what))
            }
            _ => Ok(account),
        }
    }

    /// `/bin/sh` with the command in a variable, since everybody could read it in an argument. Its processes
    /// carry `mark`.
    pub(super) fn shell(&self, command: &str, mark: &str) -> Program {
        let mut program = Program::new("/bin/sh").arg("-c").arg(EVAL).env(TEXT, command).env(MARK, mark);
        program.clean_environment = true;
        program.folder = Some(self.folder.clone());
        program.env.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        program
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_variable() {
        let database = Database {
            host: "/run".to_owned(),
            port: 5433,
            user: "ann".to_owned(),
            dbname: "shop".to_owned(),
            password: Some("geheim".to_owned()),
        };
        let environment = Environment::of(&database, [("PGPASSFILE".into(), "/home/ann/.pgpass".into())]);
        let variables: Vec<_> =
            environment.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let wanted =
            ["PGDATABASE=shop", "PGHOST=/run", "PGPASSFILE=/home/ann/.pgpass", "PGPORT=5433", "PGUSER=ann"];
        assert_eq!(variables, wanted);
        let program = environment.shell("x", "1-do");
        assert!(program.clean_environment && !format!("{program:?}").contains("geheim"));
    }
}
