//! A commit of a repository, or its working tree: which one, what it is called, and how it is built.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use spec::{Class, Error, visible};
use tempfile::TempDir;

use super::commit::{DIRTY, has_changes};
use super::export::{self, Export};
use super::git::Git;
use super::kind::TreeFiles;
use super::names::{check_is_one, name, no_such_commit};
use crate::child::ask_command;

/// The reference that stands for the working tree with its changes.
pub const WORKING_TREE: &str = ".";

/// Longest reference, bytes.
const LONGEST: usize = 200;

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
    /// Files of a working tree that git does not know and cannot read.
    left_out: Vec<String>,
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
    /// When git is missing, the folder is in no repository, there is no such commit, with names that are near, or several
    /// commits have the name.
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
        check_is_one(&git, reference)?;
        let tree =
            git.answer(&["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")], &[])?;
        // A bare repository has no working tree.
        let is_checked_out = parse("HEAD^{commit}")?.as_ref() == Some(&commit)
            && git.ask(&["rev-parse", "--is-inside-work-tree"])?.as_deref() == Some("true");
        let leaves_out_changes = is_checked_out && has_changes(&git)?;
        let name = name(&git, reference, &commit)?;
        Ok(Self {
            git,
            inside: String::new(),
            reference: reference.to_owned(),
            commit,
            tree,
            name,
            leaves_out_changes,
            left_out: Vec::new(),
            has_submodules: false,
            has_contrib: false,
            files: TreeFiles::default(),
            changes: None,
        })
    }

    /// Adds changed files, and new ones that are not ignored, to a copy of the index, and the objects to a folder outside
    /// of the repository.
    fn of_working_tree(git: Git) -> Result<Self, Error> {
        let head = Self::of_commit(git, "HEAD")?;
        let git = &head.git;
        let failed = |error| Error::io("use", &std::env::temp_dir(), error);
        let changes = export::temporary(git, "pgdyno-tree-").map_err(failed)?;
        let objects = changes.path().join("objects");
        std::fs::create_dir(&objects).and_then(|()| export::give(git, &objects)).map_err(failed)?;
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
        let left_out = added(git, &variables)?;
        let tree = git.answer(&["write-tree"], &variables)?;
        if tree == head.tree {
            return Ok(Self { leaves_out_changes: false, left_out, ..head });
        }
        found.tree = tree;
        found.name = format!("{}{DIRTY}", head.name);
        found.leaves_out_changes = false;
        found.left_out = left_out;
        Ok(found)
    }

    /// Variables by which git finds the changes of a working tree.
    fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        let Some(changes) = &self.changes else { return Ok(Vec::new()) };
        Ok(vec![
            ("GIT_INDEX_FILE", changes.path().join("index").into()),
            ("GIT_OBJECT_DIRECTORY", changes.path().join("objects").into()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.objects()?.into()),
        ])
    }

    /// Folder of the repository's objects.
    fn objects(&self) -> Result<PathBuf, Error> {
        let asked = ["rev-parse", "--path-format=absolute", "--git-path", "objects"];
        Ok(PathBuf::from(self.git.answer(&asked, &[])?))
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

    /// The export of all its files, each as committed; submodules are empty folders.
    pub(super) fn export(&self) -> Result<Export, Error> {
        let changes = self.changes.iter().map(|changes| changes.path().join("objects"));
        let objects: Vec<PathBuf> = changes.chain([self.objects()?]).collect();
        Export::of(&self.git, &self.tree, &objects)
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

    /// Files of a working tree that git does not know, that are not ignored, and that cannot be read: they are not a part
    /// of it.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Name of the user who reads the sources for root; `None` for the current one.
    #[must_use]
    pub fn reader(&self) -> Option<&str> {
        self.git.account().map(|account| account.name.as_str())
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

fn is_hash(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Adds changed files, and new ones that are not ignored, to the index that the variables name. Returns new files that
/// cannot be read.
///
/// # Errors
/// When a changed file that git knows cannot be read.
fn added(git: &Git, variables: &[(&str, &OsStr)]) -> Result<Vec<String>, Error> {
    // git would look into submodules, by their own configuration, and they are not a part of the build.
    let known = git.answer(&["ls-files", "--stage", "-z"], variables)?;
    let without: Vec<String> =
        submodules(&known).map(|path| format!(":(top,exclude,literal){path}")).collect();
    let without = without.iter().map(String::as_str);
    let add: Vec<&str> = ["add", "--all", "--ignore-errors", "--", "."].into_iter().chain(without).collect();
    let Err(failed) = git.attempt(&add, variables)? else { return Ok(Vec::new()) };
    let list = |arguments: &[&str]| -> Result<Vec<String>, Error> {
        let text = git.answer(arguments, variables)?;
        Ok(text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    };
    let changed = list(&["diff-files", "--name-only", "-z", "--ignore-submodules=all"])?;
    let left_out = list(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    match (&changed[..], &left_out[..]) {
        ([], [_, ..]) => Ok(left_out),
        _ => Err(failed.with_hint("let git read the changed files, or build a commit: 'build: git HEAD'")),
    }
}

/// Paths of the submodules in `git ls-files --stage -z`: mode 160000.
fn submodules(listed: &str) -> impl Iterator<Item = &str> {
    let entries = listed.split('\0').filter(|entry| entry.starts_with("160000 "));
    entries.filter_map(|entry| entry.split_once('\t')).map(|(_, path)| path)
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

    /// Files in the archive of a tree, as git would hash them without attributes: `ls-tree -r`.
    fn exported(tree: &SourceTree, top: &Path) -> (String, String) {
        let export = tree.export().unwrap();
        let program = export.program();
        let mut command = Command::new(&program.path);
        command.args(&program.args).envs(program.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(program.folder.as_ref().unwrap());
        let archive = crate::child::as_account(&mut command, program.account.as_ref()).output().unwrap();
        assert!(archive.status.success(), "{archive:?}");
        let out = tempfile::tempdir().unwrap();
        std::fs::write(out.path().join("tar"), &archive.stdout).unwrap();
        run_in(out.path(), "mkdir tree && tar -x -f tar -C tree && git init --quiet g");
        let add = "cd g && git config core.autocrlf false && echo '* -text -ident -filter !eol !working-tree-encoding' > .git/info/attributes && \
                   git --work-tree=../tree -c core.attributesFile=/dev/null add --all --force . && git ls-files --stage";
        let found = run_in(out.path(), add);
        let listed =
            Command::new("git").current_dir(top).args(["ls-tree", "-r", &tree.tree]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let listed = listed.lines().map(|line| {
            let (entry, name) = line.split_once('\t').unwrap();
            let words: Vec<&str> = entry.split(' ').collect();
            format!("{} {} 0\t{name}\n", words[0], words[2])
        });
        (found, listed.collect())
    }

    fn run_in(folder: &Path, script: &str) -> String {
        let done = Command::new("sh").current_dir(folder).args(["-e", "-c", script]).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Regression: the tree that was built lacked files with `export-ignore`, and others had other contents.
    #[test]
    fn no_attribute_and_no_filter_changes_what_is_built() {
        let top = repository();
        let ran = top.path().join("ran");
        let script = format!(
            "printf 'gone export-ignore\nsub export-ignore\nsubst export-subst\ncrlf text eol=crlf\nid ident\nutf working-tree-encoding=UTF-16LE\nf \
             filter=x\n' > .gitattributes
             printf 'x\\n' | iconv -t UTF-16LE > utf
             for name in gone subst crlf id f; do printf '$Format:%%H$ $Id$\\nx\\n' > $name; done
             mkdir sub; echo x > sub/x; ln -s gone link; chmod +x f
             for way in clean smudge process; do git config filter.x.$way 'touch {0}; exit 1'; done
             git config filter.x.required true",
            ran.display()
        );
        run_in(top.path(), &script);
        let no_filter = ["-c", "filter.x.process=", "-c", "filter.x.clean=", "-c", "filter.x.required=false"];
        run(top.path(), &[&no_filter[..], &["add", "."]].concat());
        run(top.path(), &[&no_filter[..], &["commit", "--quiet", "-m", "two"]].concat());
        let (found, wanted) = exported(&SourceTree::look(top.path(), "master").unwrap(), top.path());
        // `utf` is stored as UTF-8, whatever the encoding of the working tree.
        assert!(found == wanted && wanted.lines().count() == 11, "{found}\n{wanted}");
        std::fs::write(top.path().join("f"), "changed").unwrap();
        let changed = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert!(changed.export().is_ok() && changed.commit().ends_with("-dirty"));
        assert!(!ran.exists(), "no program that the repository names ran");
    }

    /// Regression: the tag was built, without a warning.
    #[test]
    fn a_name_of_two_commits_is_refused_with_both() {
        let top = repository();
        run(top.path(), &["tag", "same"]);
        run(top.path(), &["branch", "same"]);
        run(top.path(), &["tag", "v3"]);
        std::fs::write(top.path().join("a"), "2").unwrap();
        run(top.path(), &["commit", "--quiet", "-am", "two"]);
        run(top.path(), &["branch", "v3"]);
        assert_eq!(SourceTree::look(top.path(), "same").unwrap().name(), "same");
        for (reference, hint) in [
            ("v3", "name one of them: refs/tags/v3 or refs/heads/v3"),
            ("v3~0", "refs/tags/v3~0 or refs/heads/v3~0"),
        ] {
            let error = SourceTree::look(top.path(), reference).unwrap_err();
            assert!(error.to_string().contains("refs/tags/v3 is commit "), "{error}");
            assert!(error.hint().unwrap().contains(hint), "{error:?}");
        }
        let [tag, branch] =
            ["refs/tags/v3", "refs/heads/v3"].map(|name| SourceTree::look(top.path(), name).unwrap());
        assert!(tag.commit != branch.commit && (tag.name(), branch.name()) == ("v3", "v3"));
    }

    /// Regression: a database of another user in the tree, which git did not know, stopped the build.
    #[test]
    fn new_files_that_cannot_be_read_are_left_out_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let top = repository();
        let hide = |name: &str| {
            std::fs::set_permissions(top.path().join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
        };
        for name in ["results.sqlite", "ignored", "new.c"] {
            std::fs::write(top.path().join(name), name).unwrap();
        }
        std::fs::write(top.path().join(".gitignore"), "ignored\n").unwrap();
        run(top.path(), &["init", "--quiet", "nested"]);
        hide("results.sqlite");
        hide("ignored");
        let found = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert_eq!(found.left_out(), ["nested/", "results.sqlite"]);
        assert!(found.has("new.c").unwrap() && !found.has("results.sqlite").unwrap());
        std::fs::write(top.path().join("a"), "changed").unwrap();
        hide("a");
        let error = SourceTree::look(top.path(), WORKING_TREE).unwrap_err();
        assert!(error.to_string().contains("Permission denied") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn submodules_are_empty_folders() {
        let (top, other) = (repository(), repository());
        let url = other.path().display().to_string();
        run(
            top.path(),
            &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "its module"],
        );
        run(top.path(), &["commit", "--quiet", "-m", "two"]);
        std::fs::write(top.path().join("its module/a"), "changed").unwrap();
        let found = SourceTree::look(top.path(), WORKING_TREE).unwrap();
        assert!(found.has_submodules() && found.commit().len() == 40, "{found:?}");
        assert_eq!(
            submodules("100644 00 0\ta\x00160000 11 0\tits module\0").collect::<Vec<_>>(),
            ["its module"]
        );
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
        for number in 0..9 {
            run(top.path(), &["tag", &format!("v{number}")]);
        }
        let error = SourceTree::look(top.path(), "something else").unwrap_err();
        assert!(error.hint().unwrap().contains("master, v0, v1, v2, v3 and 5 more"), "{error:?}");
        let empty = tempfile::tempdir().unwrap();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(empty.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for folder in [empty.path(), &empty.path().join("nowhere")] {
            let error = SourceTree::look(folder, "master").unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("--source")), "{error}");
        }
    }
}
