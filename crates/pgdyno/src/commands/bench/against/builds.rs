//! Builds of PostgreSQL as sides of a comparison: `build: /src/master/inst, /src/v3/inst`.

use std::path::{Path, PathBuf};

/// A build, by the folder of its programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::commands) struct NamedBuild {
    pub(in crate::commands) name: String,
    pub(in crate::commands) bin: PathBuf,
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
    let builds = folders.iter().map(|written| bin(written).map(|bin| NamedBuild { name: name(&bin), bin }));
    Ok(told_apart(builds.collect::<Result<_, _>>()?))
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
    if written.split_whitespace().next() == Some("git") && !Path::new(written).exists() {
        return Err("not available: pgdyno does not build source trees yet\n\
                    configure, make and install it with a prefix of its own, and name that folder"
            .to_owned());
    }
    let folder = std::path::absolute(written).unwrap_or_else(|_| written.into());
    let found = [folder.join("bin"), folder.clone()].into_iter().find(|bin| bin.join("initdb").is_file());
    found.ok_or_else(|| {
        let folder = folder.display();
        format!(
            "{folder} holds no build of PostgreSQL: there is neither {folder}/bin/initdb nor {folder}/initdb\n\
             name the folder that configure --prefix=… or meson's prefix named, after make install"
        )
    })
}

/// The name that a person would use: the nearest folder above the programs whose name says something.
fn name(bin: &Path) -> String {
    let names = bin.components().rev().map(|part| part.as_os_str().to_string_lossy());
    let names: Vec<_> = names.filter(|name| name != "/").collect();
    let said = names.iter().find(|name| !GENERIC.contains(&&***name));
    let said = said.map_or_else(|| "build".to_owned(), |name| name.to_string());
    let plain: String = said
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
        let taken = [NamedBuild { name: "x".into(), bin: "/x/bin".into() }];
        assert_eq!(unique("x", &taken), "x-2");
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
        assert_eq!(found.iter().map(|build| &build.bin).collect::<Vec<_>>(), [&one, &one, &other]);
        let why = named(&[&text(top.path())]).unwrap_err();
        assert!(why.contains("holds no build of PostgreSQL") && why.contains("/bin/initdb"), "{why}");
        assert!(named(&["git master"]).unwrap_err().starts_with("not available: "));
    }
}
