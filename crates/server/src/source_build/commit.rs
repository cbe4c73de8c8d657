//! Commits of a git repository, as git says.

use std::path::Path;

use super::git::Git;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCommit {
    /// 40 hex digits.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// The commit that is checked out in the repository around a folder; `None` if there is none, git is missing, or the
/// repository belongs to another user.
#[must_use]
pub fn checked_out(folder: &Path) -> Option<GitCommit> {
    let git = Git::at(folder).ok()?;
    // A repository can name the program that checks signatures.
    let said = git.ask(&["log", "--no-show-signature", "-1", "--format=%H%n%s"]).ok()??;
    let (id, subject) = said.trim_end().split_once('\n').unwrap_or((said.trim_end(), ""));
    let is_commit = id.len() == 40 && id.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_commit.then(|| GitCommit { id: id.to_owned(), subject: subject.to_owned() })
}
