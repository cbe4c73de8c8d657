//! Names of commits: which one is meant, and what a person calls it.

use protocol::nearest;
use spec::{Class, Error, visible};

use super::git::Git;

/// Names in an error.
const NAMED: usize = 6;

/// Where git looks for a name, the first first. It takes a tag before a branch, and only warns.
const KINDS: [&str; 4] = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// Refuses a name of several commits: a tag and a branch can have one name.
///
/// # Errors
/// With each commit, and how to name it.
pub(super) fn check_is_one(git: &Git, reference: &str) -> Result<(), Error> {
    let (name, rest) = reference.split_at(end_of_name(reference));
    let mut found: Vec<(String, String)> = Vec::new();
    for kind in KINDS {
        let full = format!("{kind}{name}");
        let what = format!("{full}^{{commit}}");
        let commit = git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &what])?;
        found.extend(commit.map(|commit| (full, commit)));
    }
    let Some((_, first)) = found.first() else { return Ok(()) };
    if found.iter().all(|(_, commit)| commit == first) {
        return Ok(());
    }
    let each: Vec<String> = found
        .iter()
        .map(|(full, commit)| format!("{full} is commit {}", &commit[..commit.len().min(10)]))
        .collect();
    let what = format!(
        "{reference:?} is the name of several commits in {}: {}",
        git.folder().display(),
        each.join(", ")
    );
    let names: Vec<String> = found.iter().map(|(full, _)| format!("{full}{rest}")).collect();
    let hint = format!("name one of them: {}", names.join(" or "));
    Err(Error::new(Class::BadInput, visible::line(&what).into_owned())
        .with_hint(visible::line(&hint).into_owned()))
}

/// Where a name ends and a suffix begins: `v3~2`, `v3^{commit}`, `v3@{1}`.
fn end_of_name(reference: &str) -> usize {
    let ends = [reference.find(['^', '~', ':']), reference.find("@{")];
    ends.into_iter().flatten().min().unwrap_or(reference.len())
}

/// There is no such commit; with names that are near.
pub(super) fn no_such_commit(git: &Git, reference: &str) -> Error {
    let folder = git.folder().display();
    let what = format!("there is no branch, tag or commit {reference:?} in {folder}");
    let format = "--format=%(refname:short)";
    let all = git.ask(&["for-each-ref", format, "refs/heads", "refs/tags", "refs/remotes"]);
    let all = all.ok().flatten().unwrap_or_default();
    let hint = match nearest(reference, all.lines()) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let some: Vec<&str> = all.lines().take(NAMED).collect();
            let some = match all.lines().count().saturating_sub(NAMED) {
                _ if some.is_empty() => "it has no branch and no tag".to_owned(),
                0 => format!("there are: {}", some.join(", ")),
                more => format!("there are: {} and {more} more", some.join(", ")),
            };
            format!("{some}; another repository: --source FOLDER")
        }
    };
    Error::new(Class::BadInput, what).with_hint(visible::line(&hint).into_owned())
}

/// The branch or tag, else the commit's first digits.
pub(super) fn name(git: &Git, reference: &str, commit: &str) -> Result<String, Error> {
    let full =
        git.ask(&["rev-parse", "--symbolic-full-name", "--end-of-options", reference])?.unwrap_or_default();
    // Git 2.39 prints the option as well.
    let full = full.lines().last().unwrap_or_default();
    match name_of(full) {
        Some(name) => Ok(name.to_owned()),
        // git does not answer for a name of a tag and a branch, which are one commit here.
        None if is_branch(git, reference)? => Ok(reference.to_owned()),
        None => Ok(git.ask(&["rev-parse", "--short", commit])?.unwrap_or_else(|| commit[..10].to_owned())),
    }
}

fn is_branch(git: &Git, reference: &str) -> Result<bool, Error> {
    let full = format!("refs/heads/{reference}");
    let is_name = end_of_name(reference) == reference.len();
    Ok(is_name && git.ask(&["rev-parse", "--verify", "--quiet", &full])?.is_some())
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

    #[test]
    fn names_are_cut_from_what_stands_behind_them_and_before() {
        for (reference, name) in
            [("v3", "v3"), ("v3~2", "v3"), ("a@b^{tree}", "a@b"), ("v3@{1}", "v3"), ("@", "@")]
        {
            assert_eq!(&reference[..end_of_name(reference)], name);
        }
        assert_eq!(name_of("refs/remotes/origin/a/b"), Some("a/b"));
        assert_eq!(name_of(""), None);
    }
}
