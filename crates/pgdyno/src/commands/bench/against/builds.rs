//! Builds of PostgreSQL as sides of a comparison: `build: /src/master/inst, /src/v3/inst`, `build: git master, git v3`.

use std::path::{Path, PathBuf};

use server::managed::check_initdb_option;
use server::source_build::SourceTree;
use spec::Error;

use super::written::{settings, split_words, words};

/// A build: what it is called, where it comes from, and what its servers are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct NamedBuild {
    pub(in crate::commands) name: String,
    pub(in crate::commands) from: BuildOrigin,
    /// Options of initdb.
    pub(in crate::commands) initdb: Vec<String>,
    pub(in crate::commands) settings: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) enum BuildOrigin {
    /// The folder of its programs.
    Folder(PathBuf),
    /// A branch, tag or commit, or `.`, with the options of configure, and the folder of the sources once it was looked up.
    Git { reference: String, options: Vec<String>, source: PathBuf },
}

impl NamedBuild {
    fn new(name: &str, from: BuildOrigin) -> Self {
        Self { name: name.to_owned(), from, initdb: Vec::new(), settings: Vec::new() }
    }
}

/// Folders that say nothing about the build in them.
const GENERIC: [&str; 13] = [
    "bin",
    "inst",
    "install",
    "installed",
    "build",
    "_build",
    "out",
    "prefix",
    "pgsql",
    "usr",
    "local",
    "tmp_install",
    "postgresql",
];

/// The builds in these folders, each of programs or above them.
///
/// # Errors
/// What is wrong; advice is on a separate line.
pub(super) fn named(folders: &[&str]) -> Result<Vec<NamedBuild>, String> {
    let builds = folders.iter().map(|written| build(written));
    Ok(told_apart(builds.collect::<Result<_, _>>()?))
}

/// `git master, git v3 --with-icu`, or one build and what its servers are made with:
/// `git v3; initdb: --wal-segsize=64; settings: new_guc=on`.
///
/// # Errors
/// As [`named`].
pub(super) fn parse(what: &str) -> Result<Vec<NamedBuild>, String> {
    let mut builds: Vec<NamedBuild> = Vec::new();
    for section in split_words(what, &[';'])? {
        let of_servers = section.split_once(':').map(|(kind, what)| (kind.trim(), what.trim()));
        match of_servers.filter(|(kind, _)| OF_SERVERS.contains(kind)) {
            None => {
                for written in split_words(section, &[','])? {
                    builds.push(build(written)?);
                }
            }
            Some((kind, what)) => {
                let [only] = &mut builds[..] else {
                    return Err(format!(
                        "{kind}: stands behind one build\ngive each build its own --against: --against 'build: git master' \
                         --against 'build: git v3; {kind}: …'"
                    ));
                };
                match kind {
                    "initdb" => only.initdb = initdb(what)?,
                    _ => only.settings = settings(what)?,
                }
            }
        }
    }
    Ok(told_apart(builds))
}

/// What may stand behind a build and a semicolon.
const OF_SERVERS: [&str; 2] = ["initdb", "settings"];

fn initdb(what: &str) -> Result<Vec<String>, String> {
    let options = words(what)?;
    options.iter().try_for_each(|option| check_initdb_option(option))?;
    Ok(options)
}

fn build(written: &str) -> Result<NamedBuild, String> {
    let exists = Path::new(written).exists();
    let is_git = written.split_whitespace().next() == Some("git") && !exists;
    if !is_git {
        // A folder is written plainly, or quoted as for a shell.
        let one = if exists { None } else { <[String; 1]>::try_from(words(written)?).ok() };
        let bin = bin(one.as_ref().map_or(written, |[word]| word))?;
        return Ok(NamedBuild::new(&name(&bin), BuildOrigin::Folder(bin)));
    }
    let mut words = words(written)?.into_iter().skip(1);
    let Some(reference) = words.next() else {
        return Err("git needs a branch, a tag or a commit\nwrite 'build: git master', or 'build: git .' for the working tree".to_owned());
    };
    let from = BuildOrigin::Git { options: words.collect(), source: PathBuf::new(), reference };
    Ok(NamedBuild::new("", from))
}

/// Gives builds from git their names and the folder of the repository, by asking git there; `shared` are options of all
/// of them.
///
/// # Errors
/// When git is missing, or there is no such commit.
pub(super) fn looked_up(
    builds: Vec<NamedBuild>,
    folder: &Path,
    shared: &[String],
) -> Result<Vec<NamedBuild>, Error> {
    let look = |build: NamedBuild| {
        let BuildOrigin::Git { reference, options, .. } = build.from else { return Ok(build) };
        let tree = SourceTree::look(folder, &reference)?;
        let options = shared.iter().cloned().chain(options).collect();
        let from = BuildOrigin::Git { reference, options, source: tree.folder() };
        Ok(NamedBuild { name: plain(tree.name()), from, ..build })
    };
    Ok(told_apart(builds.into_iter().map(look).collect::<Result<_, Error>>()?))
}

/// The same builds, with numbers behind equal names.
pub(super) fn told_apart(builds: Vec<NamedBuild>) -> Vec<NamedBuild> {
    let mut named: Vec<NamedBuild> = Vec::new();
    for build in builds {
        let name = unique(&build.name, &named);
        named.push(NamedBuild { name, ..build });
    }
    named
}

fn bin(written: &str) -> Result<PathBuf, String> {
    let folder = std::path::absolute(written).unwrap_or_else(|_| written.into());
    let found = [folder.join("bin"), folder.clone()].into_iter().find(|bin| bin.join("initdb").is_file());
    found.ok_or_else(|| {
        let folder = folder.display();
        format!(
            "{folder} holds no build of PostgreSQL: there is neither {folder}/bin/initdb nor {folder}/initdb\n\
             name the folder that configure --prefix=… or meson's prefix named, after make install; for a branch, tag or commit \
             write the word git before it: 'build: git master'; a comma or semicolon of a name needs a backslash"
        )
    })
}

/// The name that a person would use: the nearest folder above the programs whose name says something.
fn name(bin: &Path) -> String {
    let names = bin.components().rev().map(|part| part.as_os_str().to_string_lossy());
    let names: Vec<_> = names.filter(|name| name != "/").collect();
    let said = names.iter().find(|name| !GENERIC.contains(&&***name));
    plain(&said.map_or_else(|| "build".to_owned(), |name| name.to_string()))
}

/// A name of an arm: up to 30 letters, digits, dots and dashes.
fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(30)
        .collect();
    // A number is a version that is installed.
    if plain.parse::<u32>().is_ok() { format!("pg-{plain}") } else { plain }
}

fn unique(name: &str, builds: &[NamedBuild]) -> String {
    let is_taken = |name: &str| builds.iter().any(|build| build.name == name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    [name.to_owned()].into_iter().chain(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_have_the_names_that_people_use() {
        for (bin, wanted) in [
            ("/home/me/pg/master/inst/bin", "master"),
            ("/home/me/builds/v3-0002/bin", "v3-0002"),
            ("/src/postgres/tmp_install/usr/local/pgsql/bin", "postgres"),
            ("/usr/lib/postgresql/16/bin", "pg-16"),
            ("/opt/my build/bin", "my-build"),
            ("/usr/local/pgsql/bin", "build"),
            ("/bin", "build"),
        ] {
            assert_eq!(name(Path::new(bin)), wanted, "{bin}");
        }
        let taken = [NamedBuild::new("x", BuildOrigin::Folder("/x/bin".into()))];
        assert_eq!(unique("x", &taken), "x-2");
    }

    /// A name with a quote was an open quotation, and one with a comma two builds.
    #[test]
    fn names_with_special_characters_are_quoted_as_in_a_shell() {
        let top = tempfile::tempdir().unwrap();
        for name in ["a\"b", "it's", "a,b", "a;b", "a b", "a\\b", "git x"] {
            let folder = top.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("initdb"), "").unwrap();
            let backslashes: String = name
                .chars()
                .flat_map(|c| (!c.is_alphanumeric()).then_some('\\').into_iter().chain([c]))
                .collect();
            let quoted = format!("'{}'", name.replace("'", r"'\''"));
            for written in [backslashes, quoted] {
                let folders = format!("{0}/{written}, {0}/{written}", top.path().display());
                let found = parse(&folders).unwrap_or_else(|why| panic!("{folders}: {why}"));
                let [one, other] = &found[..] else { panic!("{folders}: {found:?}") };
                assert_eq!((&one.from, &other.from), (&BuildOrigin::Folder(folder.clone()), &one.from));
                let git = parse(&format!("git {written} --with-icu")).unwrap();
                let [NamedBuild { from: BuildOrigin::Git { reference, options, .. }, .. }] = &git[..] else {
                    panic!("{written}: {git:?}")
                };
                assert_eq!((reference.as_str(), options.join(" ").as_str()), (name, "--with-icu"));
            }
        }
    }

    #[test]
    fn a_folder_without_a_build_is_told_with_what_is_missing() {
        let top = tempfile::tempdir().unwrap();
        let [one, other] = ["one/bin", "other"].map(|name| top.path().join(name));
        for folder in [&one, &other] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("initdb"), "").unwrap();
        }
        let text = |path: &Path| path.display().to_string();
        let found = named(&[&text(one.parent().unwrap()), &text(&one), &text(&other)]).unwrap();
        assert_eq!(
            found.iter().map(|build| build.name.as_str()).collect::<Vec<_>>(),
            ["one", "one-2", "other"]
        );
        let bins = found.iter().map(|build| build.from.clone());
        let wanted = [&one, &one, &other].map(|bin| BuildOrigin::Folder(bin.clone()));
        assert_eq!(bins.collect::<Vec<_>>(), wanted);
        let why = named(&[&text(top.path())]).unwrap_err();
        assert!(why.contains("holds no build of PostgreSQL") && why.contains("/bin/initdb"), "{why}");
    }

    #[test]
    fn refs_stand_with_their_options_and_with_what_servers_are_made_with() {
        let git = |reference: &str, options: &[&str]| {
            let options = options.iter().map(|&option| option.to_owned()).collect();
            BuildOrigin::Git { reference: reference.to_owned(), options, source: PathBuf::new() }
        };
        let found = parse("git master, git v3-0002 --with-icu CFLAGS='-O3, -g'").unwrap();
        let from: Vec<BuildOrigin> = found.into_iter().map(|build| build.from).collect();
        assert_eq!(from, [git("master", &[]), git("v3-0002", &["--with-icu", "CFLAGS=-O3, -g"])]);
        let found =
            parse("git v3; initdb: --wal-segsize=64 -k; settings: new_guc=on, work_mem='1 MB'").unwrap();
        let [build] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&build.from, build.initdb.join(" ").as_str()), (&git("v3", &[]), "--wal-segsize=64 -k"));
        let settings = [("new_guc", "on"), ("work_mem", "1 MB")];
        assert_eq!(build.settings, settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (what, wanted) in [
            ("git", "needs a branch"),
            ("git a, git b; settings: x=1", "stands behind one build"),
            ("settings: x=1", "stands behind one build"),
            ("git a; initdb: -D/x", "pgdyno decides that"),
            ("git a; settings: x", "invalid setting x"),
            ("git master, v3", "the word git before it"),
            ("git 'a", "put a backslash"),
            ("git it's", "put a backslash"),
            ("/opt/a\"b", "put a backslash"),
        ] {
            let why = parse(what).unwrap_err();
            assert!(why.contains(wanted) && why.contains('\n'), "{what}: {why}");
        }
        assert_eq!((plain("feature/v3").as_str(), plain("16").as_str()), ("feature-v3", "pg-16"));
    }
}
