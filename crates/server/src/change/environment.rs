//! What a command finds around it: the same for the do and for an undo in another process, days later.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use protocol::postgres::Database;
use serde::{Deserialize, Serialize};

use super::error::ChangeError;
use crate::child::{Account, Program};

/// Variable by which the processes of a command are known, also those that left its process group.
pub(super) const MARK: &str = "PGDYNO_CHANGE";

/// Variable that brings the shell its command.
const TEXT: &str = "PGDYNO_COMMAND";
const EVAL: &str = "eval \"unset PGDYNO_COMMAND\n$PGDYNO_COMMAND\"";

/// Where commands of a change run, and which server they are told of: `PGHOST`, `PGPORT`, `PGUSER`, `PGDATABASE` and what
/// TLS needs. Of pgdyno's own environment they get `PATH`, `HOME` and the like only. There is no password in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Folder that commands start in.
    pub folder: PathBuf,
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    /// That of a database, in the folder we are in; `more` are further variables, none of them secret.
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

    /// The same with commands that start in another folder, where one is given.
    #[must_use]
    pub fn starting_in(self, folder: Option<PathBuf>) -> Self {
        Self { folder: folder.unwrap_or(self.folder), ..self }
    }

    /// The account that commands run as (`None`: the user we are).
    ///
    /// # Errors
    /// When there is none, or it may not enter the folder that they start in.
    pub(crate) fn account(&self) -> Result<Option<Account>, ChangeError> {
        let account = Account::unprivileged()?;
        match &account {
            Some(account) if !account.may_enter(&self.folder) => {
                Err(ChangeError::Folder { folder: self.folder.clone(), account: account.name.clone() })
            }
            _ => Ok(account),
        }
    }

    /// `/bin/sh` with the command, which stands in no argument: everybody could read it there. Its processes carry `mark`.
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
