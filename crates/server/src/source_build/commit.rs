//! Commits of a git repository, as git says.

use std::path::Path;

use spec::Error;

use super::git::Git;

/// Marks a tree with changes that are not committed.
pub(super) const DIRTY: &str = "-dirty";

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

/// The commit of the source tree around a folder of programs: 40 hex digits, with `-dirty` behind it if files that
/// git tracks differ. `None` if the folder is not in a source tree of PostgreSQL, or as for [`checked_out`].
#[must_use]
pub fn commit_of(bin: &Path) -> Option<String> {
    let tree = source_tree(bin)?;
    let commit = checked_out(tree)?.id;
    let is_changed = has_changes(&Git::at(tree).ok()?).ok()?;
    Some(format!("{commit}{}", if is_changed { DIRTY } else { "" }))
}

/// Whether files that git tracks differ from the commit that is checked out.
pub(super) fn has_changes(git: &Git) -> Result<bool, Error> {
    let asked = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
    Ok(!git.answer(&asked, &[])?.is_empty())
}

/// The nearest folder above that is a source tree of PostgreSQL.
fn source_tree(bin: &Path) -> Option<&Path> {
    bin.ancestors().find(|folder| folder.join("src/backend").is_dir() && folder.join(".git").exists())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_build_inside_of_a_source_tree_is_of_its_commit() {
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let bin = top.path().join("inst/bin");
        for folder in [&bin, &top.path().join("src/backend")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        assert_eq!(commit_of(&bin), None);
        std::fs::write(top.path().join("src/backend/x.c"), "1").unwrap();
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
            let done =
                Command::new("git").current_dir(top.path()).args(who).args(arguments).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "--quiet"]);
        git(&["add", "src"]);
        git(&["commit", "--quiet", "-m", "one"]);
        let commit = commit_of(&bin).unwrap();
        assert_eq!((commit.len(), checked_out(top.path()).unwrap().subject), (40, "one".to_owned()));
        std::fs::write(top.path().join("src/backend/x.c"), "changed").unwrap();
        assert_eq!(commit_of(&bin), Some(format!("{commit}-dirty")));
    }
}
