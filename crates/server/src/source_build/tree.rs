//! A commit of a repository, or its working tree: which one, what it is called, and how it is built.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use protocol::nearest;
use spec::{Class, Error, visible};
use tempfile::TempDir;

use super::git::Git;
use super::kind::TreeFiles;
use crate::child::{Program, ask_command};

/// The reference that stands for the working tree with its changes.
pub const WORKING_TREE: &str = ".";

/// Longest reference, bytes.
const LONGEST: usize = 200;

/// Marks a working tree with changes.
const DIRTY: &str = "-dirty";

/// Sources to be built: a commit, or the working tree with its changes.
#[derive(Debug, Clone)]
pub struct SourceTree {
    git: Git,
    /// Path of the named folder from the top of the repository, `""` or with a slash at its end.
    inside: String,
    reference: String,
    commit: String,
    tree: String,
    name: String,
    leaves_out_changes: bool,
    has_submodules: bool,
    has_contrib: bool,
    files: TreeFiles,
    /// Index and objects of a working tree's changes: the repository does not get them.
    changes: Option<Arc<TempDir>>,
}

impl SourceTree {
    /// The tree of a reference in the repository around a folder; [`WORKING_TREE`] with its changes. Nothing in the
    /// repository changes.
    ///
    /// # Errors
    /// When git is missing, the folder is in no repository, or there is no such commit, with names that are near.
    pub fn look(folder: &Path, reference: &str) -> Result<Self, Error> {
        let git = Git::at(folder)?;
        let (top, inside) = top(&git)?;
        let git = git.in_folder(&top);
        let mut found = match reference {
            WORKING_TREE => Self::of_working_tree(git)?,
            reference => Self::of_commit(git, reference)?,
        };
        found.files = found.files_in(&inside)?;
        found.has_submodules = found.has(".gitmodules")?;
        found.has_contrib = found.has(&format!("{inside}contrib/Makefile"))?;
        found.inside = inside;
        Ok(found)
    }

    fn of_commit(git: Git, reference: &str) -> Result<Self, Error> {
        check_reference(reference)?;
        let parse = |what: &str| git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", what]);
        let Some(commit) = parse(&format!("{reference}^{{commit}}"))?.filter(|found| is_hash(found)) else {
            return Err(no_such_commit(&git, reference));
        };
        let tree =
            git.answer(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")], &[])?;
        let changed =
            || git.answer(&["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"], &[]);
        // A bare repository has no working tree.
        let is_checked_out = parse("HEAD^{commit}")?.as_ref() == Some(&commit)
            && git.ask(&["rev-parse", "--is-inside-work-tree"])?.as_deref() == Some("true");
        let leaves_out_changes = is_checked_out && !changed()?.is_empty();
        let name = name(&git, reference, &commit)?;
        Ok(Self {
            git,
            inside: String::new(),
            reference: reference.to_owned(),
            commit,
            tree,
            name,
            leaves_out_changes,
            has_submodules: false,
            has_contrib: false,
            files: TreeFiles::default(),
            changes: None,
        })
    }

    /// Adds the changes to a copy of the index, and the objects to a folder outside of the repository.
    fn of_working_tree(git: Git) -> Result<Self, Error> {
        let head = Self::of_commit(git, "HEAD")?;
        let git = &head.git;
        let failed = |error| Error::io("use", &std::env::temp_dir(), error);
        let changes = tempfile::Builder::new().prefix("pgdyno-tree-").tempdir().map_err(failed)?;
        let objects = changes.path().join("objects");
        std::fs::create_dir(&objects).map_err(failed)?;
        if let Some(account) = git.account() {
            for folder in [&objects, changes.path()] {
                chown(folder, Some(account.uid), Some(account.gid)).map_err(failed)?;
            }
        }
        let index = git.answer(&["rev-parse", "--path-format=absolute", "--git-path", "index"], &[])?;
        let mut copy = Command::new("cp");
        // With its time: git compares it with those of files, to see a change within the same second.
        copy.args(["-p", "--", &index]).arg(changes.path().join("index"));
        // Without an index all files are new.
        let _ = ask_command(copy, git.account(), true);
        let mut found =
            Self { changes: Some(Arc::new(changes)), reference: WORKING_TREE.to_owned(), ..head.clone() };
        let variables = found.variables()?;
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        git.answer(&["add", "--all", "--", "."], &variables)?;
        let tree = git.answer(&["write-tree"], &variables)?;
        if tree == head.tree {
            return Ok(Self { leaves_out_changes: false, ..head });
        }
        found.tree = tree;
        found.name = format!("{}{DIRTY}", head.name);
        found.leaves_out_changes = false;
        Ok(found)
    }

    /// Variables by which git finds the changes of a working tree.
    fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let Some(changes) = &self.changes else { return Ok(Vec::new()) };
        let objects =
            self.git.answer(&["rev-parse", "--path-format=absolute", "--git-path", "objects"], &[])?;
        Ok(vec![
            ("GIT_INDEX_FILE", changes.path().join("index").into()),
            ("GIT_OBJECT_DIRECTORY", changes.path().join("objects").into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects.into()),
        ])
    }

    fn answer(&self, arguments: &[&str]) -> Result<String, Error> {
        let variables = self.variables()?;
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        self.git.answer(arguments, &variables)
    }

    /// Whether the tree has this file or folder.
    fn has(&self, path: &str) -> Result<bool, Error> {
        Ok(!self.answer(&["ls-tree", "--full-tree", "--name-only", &self.tree, path])?.is_empty())
    }

    fn files_in(&self, inside: &str) -> Result<TreeFiles, Error> {
        let has = |name: &str| self.has(&format!("{inside}{name}"));
        let mut uses_pgxs = false;
        for name in ["GNUmakefile", "makefile", "Makefile"] {
            if has(name)? {
                let text = self.answer(&["cat-file", "blob", &format!("{}:{inside}{name}", self.tree)])?;
                uses_pgxs |= text.contains("PGXS") || text.contains("pgxs");
            }
        }
        Ok(TreeFiles {
            has_configure: has("configure")?,
            has_meson: has("meson.build")?,
            has_backend: has("src/backend")?,
            uses_pgxs,
        })
    }

    /// The program that writes the tree as a tar archive to its standard output.
    pub(super) fn archive(&self) -> Result<Program, Error> {
        let variables = self.variables()?;
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        Ok(self.git.program(&["archive", "--format=tar", &self.tree], &variables))
    }

    pub(super) fn files(&self) -> TreeFiles {
        self.files
    }

    /// Whether it has PostgreSQL's additional modules.
    pub(super) fn has_contrib(&self) -> bool {
        self.has_contrib
    }

    pub(super) fn inside(&self) -> &str {
        &self.inside
    }

    /// Identifies the content of the files: the hash of git's tree, 40 hex digits.
    pub(super) fn tree(&self) -> &str {
        &self.tree
    }

    /// Uid of the account that git runs as for root: sources of two users share no build.
    pub(super) fn owner(&self) -> Option<u32> {
        self.git.account().map(|account| account.uid)
    }

    /// Top of the repository, with the folder in it that is built.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        match self.inside.trim_end_matches('/') {
            "" => self.git.folder().to_owned(),
            inside => self.git.folder().join(inside),
        }
    }

    /// As given.
    #[must_use]
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// 40 hex digits, with `-dirty` behind them for a working tree with changes.
    #[must_use]
    pub fn commit(&self) -> String {
        let dirty = if self.changes.is_some() { DIRTY } else { "" };
        format!("{}{dirty}", self.commit)
    }

    /// What a person calls it: the branch or tag, else the first digits of the commit; with `-dirty`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is the checked-out commit, and the working tree has changes that are not in it.
    #[must_use]
    pub fn leaves_out_changes(&self) -> bool {
        self.leaves_out_changes
    }

    /// Whether it has submodules, which are not built.
    #[must_use]
    pub fn has_submodules(&self) -> bool {
        self.has_submodules
    }
}

/// Top of the repository around a folder, and the path of the folder from there.
fn top(git: &Git) -> Result<(PathBuf, String), Error> {
    if let Some(top) = git.ask(&["rev-parse", "--show-toplevel"])? {
        let inside = git.answer(&["rev-parse", "--show-prefix"], &[])?;
        return Ok((PathBuf::from(top), inside));
    }
    if git.ask(&["rev-parse", "--is-bare-repository"])?.as_deref() == Some("true") {
        return Ok((git.folder().to_owned(), String::new()));
    }
    let said =
        git.answer(&["rev-parse", "--git-dir"], &[]).err().map(|error| error.to_string()).unwrap_or_default();
    // Words of git that say more than that there is none: a repository of another user, a broken one.
    if !said.is_empty() && !said.contains("not a git repository") {
        return Err(Error::new(Class::BadInput, said));
    }
    let what = format!("{} is not in a git repository", git.folder().display());
    Err(Error::new(Class::BadInput, what).with_hint("name the folder of the source tree: --source FOLDER"))
}

fn check_reference(reference: &str) -> Result<(), Error> {
    let why = if reference.is_empty() {
        "a ref is missing"
    } else if reference.starts_with('-') {
        "a ref does not begin with a dash"
    } else if reference.chars().any(char::is_control) {
        "a ref has no line breaks or other control characters"
    } else if reference.len() > LONGEST {
        "it is longer than 200 bytes"
    } else {
        return Ok(());
    };
    let shown: String = reference.chars().take(40).collect();
    let what = format!("invalid git ref {}: {why}", visible::line(&format!("{shown:?}")));
    Err(Error::new(Class::BadInput, what).with_hint("name a branch, a tag or a commit: 'build: git master'"))
}

fn no_such_commit(git: &Git, reference: &str) -> Error {
    let folder = git.folder().display();
    let what = format!("there is no branch, tag or commit {reference:?} in {folder}");
    let format = "--format=%(refname:short)";
    let all = git.ask(&["for-each-ref", format, "refs/heads", "refs/tags", "refs/remotes"]);
    let all = all.ok().flatten().unwrap_or_default();
    let hint = match nearest(reference, all.lines()) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let some: Vec<&str> = all.lines().take(6).collect();
            let some = if some.is_empty() {
                "no commit is in it".to_owned()
            } else {
                format!("there are: {}", some.join(", "))
            };
            format!("{some}; another repository: --source FOLDER")
        }
    };
    Error::new(Class::BadInput, what).with_hint(visible::line(&hint).into_owned())
}

fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The branch or tag, else the commit's first digits.
fn name(git: &Git, reference: &str, commit: &str) -> Result<String, Error> {
    let full =
        git.ask(&["rev-parse", "--symbolic-full-name", "--end-of-options", reference])?.unwrap_or_default();
    // Git 2.39 prints the option as well.
    let full = full.lines().last().unwrap_or_default();
    match name_of(full) {
        Some(name) => Ok(name.to_owned()),
        None => Ok(git.ask(&["rev-parse", "--short", commit])?.unwrap_or_else(|| commit[..10].to_owned())),
    }
}

/// `refs/remotes/origin/v3` is v3.
fn name_of(full: &str) -> Option<&str> {
    if let Some(of_remote) = full.strip_prefix("refs/remotes/") {
        return of_remote.split_once('/').map(|(_, name)| name);
    }
    ["refs/heads/", "refs/tags/"].iter().find_map(|kind| full.strip_prefix(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository that the account of servers may read, too.
    fn repository() -> TempDir {
        let top = tempfile::tempdir().unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(top.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        run(top.path(), &["init", "--quiet", "--initial-branch=master"]);
        std::fs::create_dir_all(top.path().join("ext")).unwrap();
        std::fs::write(top.path().join("ext/Makefile"), "include $(PGXS)\n").unwrap();
        std::fs::write(top.path().join("a"), "1").unwrap();
        run(top.path(), &["add", "."]);
        run(top.path(), &["commit", "--quiet", "-m", "one"]);
        run(top.path(), &["branch", "feature/v3-0002"]);
        top
    }

    fn run(folder: &Path, arguments: &[&str]) {
        let who = ["-c", "user.name=x", "-c", "user.email=x@x"];
        let done = Command::new("git").current_dir(folder).args(who).args(arguments).status().unwrap();
        assert!(done.success());
    }

    #[test]
    fn a_ref_has_the_name_that_people_use() {
        let top = repository();
        let master = SourceTree::look(top.path(), "master").unwrap();
        let names = ["master", "HEAD", "feature/v3-0002", "heads/master"];
        let names = names.map(|reference| SourceTree::look(top.path(), reference).unwrap().name().to_owned());
        assert_eq!(names, ["master", "master", "feature/v3-0002", "master"]);
        for hash in [master.commit.as_str(), &master.commit[..8]] {
            let by_hash = SourceTree::look(top.path(), hash).unwrap();
            assert!(master.commit.starts_with(by_hash.name()) && by_hash.name().len() < 20, "{by_hash:?}");
        }
        assert_eq!(name_of("refs/remotes/origin/a/b"), Some("a/b"));
        assert_eq!(name_of(""), None);
        assert!(SourceTree::look(&top.path().join("ext"), "master").unwrap().files().uses_pgxs);
        assert!(!master.files().uses_pgxs && !master.leaves_out_changes());
    }

    #[test]
    fn changes_of_the_working_tree_are_left_out_or_have_a_name() {
        let top = repository();
        let state = || {
            let git = |arguments: &[&str]| {
                Command::new("git").current_dir(top.path()).args(arguments).output().unwrap().stdout
            };
            (git(&["status", "--porcelain"]), git(&["count-objects", "-v"]), git(&["write-tree"]))
        };
        let clean = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert_eq!((clean.name(), clean.commit().len()), ("master", 40));
        // The same length, within the second in which it was committed.
        std::fs::write(top.path().join("a"), "2").unwrap();
        let before = state();
        let committed = SourceTree::look(top.path(), "master").unwrap();
        assert!(committed.leaves_out_changes() && committed.tree() == clean.tree());
        let changed = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert!(changed.name() == "master-dirty" && changed.commit().ends_with("-dirty"), "{changed:?}");
        std::fs::write(top.path().join("new.c"), "new").unwrap();
        let more = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert!(changed.tree() != clean.tree() && more.tree() != changed.tree());
        std::fs::remove_file(top.path().join("new.c")).unwrap();
        assert_eq!(state(), before, "the repository is as it was");
    }

    #[test]
    fn what_is_no_commit_is_told_with_what_is_near() {
        let top = repository();
        for (reference, wanted) in [
            ("mastr", "did you mean master?"),
            ("--upload-pack=x", "begin with a dash"),
            ("-x", "begin with a dash"),
            ("a\nb", "control characters"),
            ("it's \"x\"", "there are: feature/v3-0002, master"),
            ("", "is missing"),
            ("master:a", "no branch, tag or commit"),
        ] {
            let error = SourceTree::look(top.path(), reference).unwrap_err();
            let told = format!("{error} {}", error.hint().unwrap_or_default());
            assert!(told.contains(wanted) && told.lines().count() == 1, "{reference:?}: {told}");
        }
        let empty = tempfile::tempdir().unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(empty.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for folder in [empty.path(), &empty.path().join("nowhere")] {
            let error = SourceTree::look(folder, "master").unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("--source")), "{error}");
        }
    }
}
