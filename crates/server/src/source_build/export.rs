//! Writes a tree of a repository as an archive, with every file as committed.
//!
//! git changes files by attributes when it writes them: `export-ignore` and `export-subst` of archives, line ends, `ident`,
//! encodings, filters. Files of a repository and its configuration set attributes. So the archive is made in a temporary
//! repository. It has the objects of the other one and no configuration, and its attributes override all others.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use spec::Error;
use tempfile::TempDir;

use super::git::Git;
use crate::child::Program;

/// Content of `info/attributes`, which overrides all other attributes, also in macros. An encoding cannot be `false`, so it is
/// unset.
const ATTRIBUTES: &str =
    "* -export-ignore -export-subst -text -ident -filter !eol !crlf !working-tree-encoding\n";

/// Digits of a SHA-256, in repositories with `extensions.objectFormat`.
const LONG_HASH: usize = 64;

/// The export of a tree; the temporary repository is removed with it.
#[derive(Debug)]
pub(super) struct Export {
    program: Program,
    _repository: TempDir,
}

impl Export {
    /// The export of a tree, whose objects are in these folders.
    ///
    /// # Errors
    /// When the temporary repository cannot be made.
    pub(super) fn of(git: &Git, tree: &str, objects: &[PathBuf]) -> Result<Self, Error> {
        let failed = |error| Error::io("make a repository in", &std::env::temp_dir(), error);
        let repository = temporary(git, "pgdyno-export-").map_err(failed)?;
        fill(repository.path(), tree, objects).and_then(|()| give(git, repository.path())).map_err(failed)?;
        let place: &OsStr = repository.path().as_os_str();
        let arguments = ["-c", "tar.umask=0022", "archive", "--format=tar", tree];
        let program =
            git.program(&arguments, &[("GIT_DIR", place), ("GIT_CONFIG_NOSYSTEM", OsStr::new("1"))]);
        Ok(Self { program, _repository: repository })
    }

    /// Writes a tar archive to its standard output.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }
}

/// A temporary folder of git's account.
pub(super) fn temporary(git: &Git, prefix: &str) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(above(git))?;
    give(git, folder.path())?;
    Ok(folder)
}

/// Where temporary folders are. Root's own, such as one of pam_tmpdir, may be closed to git's account.
fn above(git: &Git) -> PathBuf {
    let own = std::env::temp_dir();
    match git.account() {
        Some(account) if !account.may_enter(&own) => PathBuf::from("/tmp"),
        _ => own,
    }
}

/// Gives a folder and what is in it, which this process made, to git's account.
pub(super) fn give(git: &Git, path: &Path) -> io::Result<()> {
    let Some(account) = git.account() else { return Ok(()) };
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(git, &entry?.path())?;
        }
    }
    chown(path, Some(account.uid), Some(account.gid))
}

fn fill(folder: &Path, tree: &str, objects: &[PathBuf]) -> io::Result<()> {
    for inner in ["objects/info", "refs", "info"] {
        fs::create_dir_all(folder.join(inner))?;
    }
    let format = match tree.len() {
        LONG_HASH => {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
        }
        _ => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    };
    let mut alternates = Vec::new();
    for path in objects {
        alternates.extend_from_slice(path.as_os_str().as_encoded_bytes());
        alternates.push(b'\n');
    }
    fs::write(folder.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(folder.join("config"), format)?;
    fs::write(folder.join("info/attributes"), ATTRIBUTES)?;
    fs::write(folder.join("objects/info/alternates"), alternates)
}
