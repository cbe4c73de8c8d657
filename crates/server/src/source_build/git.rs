//! Questions to git about a repository. They change nothing, use no network, and run none of the programs that a
//! repository's hooks and monitors name.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;

use spec::{Class, Error};

use super::missing::missing;
use crate::child::{Account, Program, ProgramAnswer, ask_command};

/// Settings that a repository cannot override: it can name programs in each of them.
const SAFE: [&str; 4] = ["core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0", "core.pager=cat"];

/// git in a folder, as the account that may read it.
#[derive(Debug, Clone)]
pub(super) struct Git {
    folder: PathBuf,
    account: Option<Account>,
}

impl Git {
    /// git in this folder. As root it runs as the folder's owner.
    ///
    /// # Errors
    /// When the folder does not exist, or no account can read it.
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
                "user {}, as whom pgdyno runs git for root, cannot enter {}",
                account.name,
                folder.display()
            );
            return Err(Error::new(Class::BadInput, what).with_hint(
                "let that user enter it, give the sources to a user, or run pgdyno as that user",
            ));
        }
        Ok(Self { folder, account })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The same repository, from another of its folders.
    pub(super) fn in_folder(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), account: self.account.clone() }
    }

    /// Arguments before those of a question.
    fn arguments(&self) -> Vec<String> {
        // The owner is the account, or root, whom the account need not fear.
        let safe = self.account.is_some().then_some("safe.directory=*");
        let settings = SAFE.into_iter().chain(safe).flat_map(|setting| ["-c".to_owned(), setting.to_owned()]);
        settings.chain(["--no-pager".to_owned()]).collect()
    }

    /// Variables of git's environment; those of a caller, such as a hook, name other repositories.
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
        ask_command(self.command(arguments, more), self.account.as_ref(), errors).map_err(|error| match error
            .kind()
        {
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

    fn words_of_failure(&self, arguments: &[&str], text: &str) -> Error {
        let first = arguments.first().copied().unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(3).collect();
        let what = format!("git {first} in {}: {}", self.folder.display(), lines.join(" "));
        Error::new(Class::BadInput, what)
    }

    /// git as a program with a watchdog, for what may take long; it starts in this folder.
    pub(super) fn program(&self, arguments: &[&str], more: &[(&str, &OsStr)]) -> Program {
        let program = Program::server("git", &self.folder, self.account.as_ref());
        let program = program.args(self.arguments()).args(arguments.iter().copied()).with_workers();
        let common = self.environment().into_iter().map(|(name, value)| (name, OsStr::new(value)));
        common.chain(more.iter().copied()).fold(program, |program, (name, value)| program.env(name, value))
    }
}
