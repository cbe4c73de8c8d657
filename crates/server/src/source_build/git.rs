//! Questions to git about a repository. They change nothing, use no network, and run none of the programs that its
//! configuration names: hooks, monitors, filters.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

use spec::{Class, Error};

use super::missing::missing;
use crate::child::{Account, Program, ProgramAnswer, ask_command, ask_command_for_list};

/// Settings that a repository cannot override: it can name programs in each of them.
const SAFE: [&str; 4] = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0", "core.pager=cat"];

/// Settings of a filter that name its programs, and the values that run none (`convert.c` of git: an empty program is
/// not run).
const OF_FILTERS: [&str; 4] = ["clean=", "smudge=", "process=", "required=false"];

/// Longest answer, bytes: lists of all files of a tree.
const LONGEST: usize = 64 << 20;

/// git in a folder, as the account that may read it.
#[derive(Debug, Clone)]
pub(super) struct Git {
    folder: PathBuf,
    account: Option<Account>,
    /// Names of the filters in the configuration: `lfs`.
    filters: BTreeSet<String>,
}

impl Git {
    /// git in this folder. As root it runs as the folder's owner.
    ///
    /// # Errors
    /// When the folder does not exist, no account can read it, git is missing, or a filter cannot be switched off.
    pub(super) fn at(folder: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let what = format!("cannot use the source folder {}: {error}", folder.display());
            Error::new(Class::BadInput, what).with_hint("name the folder of the source tree: --source FOLDER")
        };
        let folder = folder.canonicalize().map_err(failed)?;
        let state = folder.metadata().map_err(failed)?;
        if !state.is_dir() {
            return Err(failed(ErrorKind::NotADirectory.into()));
        }
        let account = Account::of_owner(&state)?;
        if let Some(account) = &account
            && !account.may_enter(&folder)
        {
            let what = format!(
                "pgdyno runs git as user {} here, who cannot enter {}",
                account.name,
                folder.display()
            );
            return Err(Error::new(Class::BadInput, what).with_hint(
                "let that user enter it, give the sources to a user, or run pgdyno as that user",
            ));
        }
        let mut git = Self { folder, account, filters: BTreeSet::new() };
        let asked = ["config", "--null", "--name-only", "--get-regexp", r"^filter\."];
        git.filters = filters(&git.ask(&asked)?.unwrap_or_default());
        match git.filters.iter().find(|name| name.contains('=')) {
            None => Ok(git),
            Some(name) => {
                let what = format!(
                    "the filter {name:?} in git's configuration of {} cannot be switched off: its name has a =",
                    git.folder.display()
                );
                Err(Error::new(Class::BadInput, what).with_hint("rename it: git config --rename-section"))
            }
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The same repository, from another of its folders.
    pub(super) fn in_folder(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// Arguments before the command.
    fn arguments(&self) -> Vec<String> {
        // The folder belongs to the account itself or to root, and root is trusted.
        let safe = self.account.is_some().then_some("safe.directory=*");
        let safe = SAFE.into_iter().chain(safe).map(str::to_owned);
        let filters =
            self.filters.iter().flat_map(|name| OF_FILTERS.map(|setting| format!("filter.{name}.{setting}")));
        let settings = safe.chain(filters).flat_map(|setting| ["-c".to_owned(), setting]);
        settings.chain(["--no-pager".to_owned()]).collect()
    }

    /// Variables of git's environment. Variables of a caller, such as a hook, would name another repository.
    fn environment(&self) -> Vec<(&'static str, &'static str)> {
        let of_account = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("HOME", "/")];
        let common = [
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_ALLOW_PROTOCOL", "none"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
        ];
        common.into_iter().chain(self.account.iter().flat_map(|_| of_account)).collect()
    }

    fn command(&self, arguments: &[&str], more: &[(&str, &OsStr)]) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(self.environment()).envs(more.iter().copied());
        command.args(self.arguments()).args(arguments).current_dir(&self.folder);
        command
    }

    fn run(&self, arguments: &[&str], more: &[(&str, &OsStr)], errors: bool) -> Result<ProgramAnswer, Error> {
        let (command, account) = (self.command(arguments, more), self.account.as_ref());
        let answer = match errors {
            true => ask_command(command, account, true),
            false => ask_command_for_list(command, account, LONGEST),
        };
        answer.map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing("git"),
            _ => {
                let words = arguments.join(" ");
                let what = format!("git {words} in {} failed: {error}", self.folder.display());
                Error::new(Class::Child, what)
            }
        })
    }

    /// What git prints; `None` if it fails.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Option<String>, Error> {
        let answer = self.run(arguments, &[], false)?;
        Ok(answer.succeeded.then_some(answer.text))
    }

    /// What git prints with these variables.
    ///
    /// # Errors
    /// With git's own words, when it fails.
    pub(super) fn answer(&self, arguments: &[&str], more: &[(&str, &OsStr)]) -> Result<String, Error> {
        let answer = self.run(arguments, more, false)?;
        if answer.succeeded {
            return Ok(answer.text);
        }
        Err(self.words_of_failure(arguments, &self.run(arguments, more, true)?.text))
    }

    /// Lets git do something with these variables; its words if it fails.
    ///
    /// # Errors
    /// When git cannot be run.
    pub(super) fn attempt(
        &self,
        arguments: &[&str],
        more: &[(&str, &OsStr)],
    ) -> Result<Result<(), Error>, Error> {
        if self.run(arguments, more, false)?.succeeded {
            return Ok(Ok(()));
        }
        Ok(Err(self.words_of_failure(arguments, &self.run(arguments, more, true)?.text)))
    }

    fn words_of_failure(&self, arguments: &[&str], text: &str) -> Error {
        let first = arguments.first().copied().unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        let what = format!("git {first} in {}: {}", self.folder.display(), lines.join(" "));
        Error::new(Class::BadInput, what)
    }

    /// git as a program with a watchdog, for what may take long; it starts in this folder.
    pub(super) fn program(&self, arguments: &[&str], more: &[(&str, &OsStr)]) -> Program {
        let program = Program::server("git", &self.folder, self.account.as_ref());
        let program = program.args(self.arguments()).args(arguments.iter().copied()).with_descendants();
        let common = self.environment().into_iter().map(|(name, value)| (name, OsStr::new(value)));
        common.chain(more.iter().copied()).fold(program, |program, (name, value)| program.env(name, value))
    }
}

/// Names of filters by the keys of their settings, a NUL behind each: `filter.lfs.clean`.
fn filters(keys: &str) -> BTreeSet<String> {
    let name = |key: &str| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned());
    keys.split('\0').filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_known_by_their_settings() {
        let keys = "filter.lfs.clean\0filter.lfs.required\0filter.a.b c.smudge\0filter.clean\0";
        assert_eq!(filters(keys).into_iter().collect::<Vec<_>>(), ["a.b c", "lfs"]);
        assert!(filters("").is_empty());
    }
}
