//! Commits of a git repository, as git says.

use std::path::Path;

use crate::child::{self, Account};

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// 40 hex digits.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// The commit that is checked out in the repository around a folder; `None` if there is none, git is missing, or the
/// account that runs servers may not read it.
///
/// git runs as that account: a repository can name programs that git starts.
#[must_use]
pub fn checked_out(folder: &Path) -> Option<GitCommit> {
    let account = Account::unprivileged().ok()?;
    let folder = folder.to_str()?;
    let arguments = ["-c", "safe.directory=*", "-C", folder, "log", "-1", "--format=%H%n%s"];
    let said = child::ask(Path::new("git"), &arguments, account.as_ref()).ok()?;
    let (id, subject) = said.trim_end().split_once('\n').unwrap_or((said.trim_end(), ""));
    let is_commit = id.len() == 40 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_commit.then(|| GitCommit { id: id.to_owned(), subject: subject.to_owned() })
}
