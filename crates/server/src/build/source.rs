//! The commit of the source tree in which a build was installed.

use std::path::{Path, PathBuf};

use crate::child::{self, Account};

/// Marks a tree with changes that are not committed.
const DIRTY: &str = "-dirty";

/// The commit of the source tree around a folder of programs: 40 hex digits, with `-dirty` behind it if files that
/// git tracks differ. `None` if the folder is not in a source tree of PostgreSQL, or git is missing.
///
/// git runs as the account that runs servers: a repository can name programs that git starts.
#[must_use]
pub fn commit_of(bin: &Path) -> Option<String> {
    let tree = source_tree(bin)?;
    let account = Account::unprivileged().ok()?;
    let git = |arguments: &[&str]| {
        let safe = format!("safe.directory={}", tree.display());
        let folder = tree.to_str()?;
        let all: Vec<&str> =
            ["-c", &safe, "-C", folder].into_iter().chain(arguments.iter().copied()).collect();
        child::ask(Path::new("git"), &all, account.as_ref()).ok()
    };
    let commit = git(&["rev-parse", "HEAD"])?.trim().to_owned();
    let is_commit = commit.len() == 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.trim().is_empty();
    is_commit.then(|| format!("{commit}{}", if changed { DIRTY } else { "" }))
}

/// The nearest folder above that is a source tree of PostgreSQL.
fn source_tree(bin: &Path) -> Option<PathBuf> {
    let is_source = |folder: &&Path| folder.join("src/backend").is_dir() && folder.join(".git").exists();
    bin.ancestors().find(is_source).map(Path::to_owned)
}
