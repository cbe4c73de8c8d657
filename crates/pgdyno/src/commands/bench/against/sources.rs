//! The folder of sources in a saved experiment file: relative to the file where both are in one repository, so that the
//! file works in every clone.

use std::path::{Component, Path, PathBuf};

use spec::experiment::Experiment;

/// Writes the sources relative to the file, if they are in one repository. Returns where they are, in words; `None`
/// without builds from git.
pub(super) fn place(experiment: &mut Experiment, file: &Path) -> Option<String> {
    let of_git =
        experiment.version.iter_mut().map(|(_, version)| version).filter(|version| version.git.is_some());
    let mut told = None;
    for source in of_git.filter_map(|version| version.source.as_mut()) {
        // A dollar is doubled in a file.
        let folder = PathBuf::from(source.replace("$$", "$"));
        told = Some(match relative(&folder, file) {
            Some(path) => {
                *source = path.to_string_lossy().replace('$', "$$");
                "sources: the repository of the file itself, so it works in every clone".to_owned()
            }
            None => {
                format!("sources: {}; in another clone give run or gate --source FOLDER", folder.display())
            }
        });
    }
    told
}

/// The path from a file's folder to another folder; `None` if they are not in one repository.
fn relative(folder: &Path, file: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let above = file.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = above.canonicalize().ok()?;
    (repository(&folder)? == repository(&above)?).then(|| between(&above, &folder))
}

/// Top of the repository around a folder. The one of a worktree or submodule has a file `.git`.
fn repository(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|above| above.join(".git").exists())
}

/// From one folder to another, both absolute and without links.
fn between(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(to.components().skip(common)).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

#[cfg(test)]
mod tests {
    use spec::experiment::Version;

    use super::*;

    #[test]
    fn sources_are_relative_within_a_repository_only() {
        let top = tempfile::tempdir().unwrap();
        for folder in ["pg/.git", "pg/ci", "pg/contrib/x", "pg/other/.git", "out"] {
            std::fs::create_dir_all(top.path().join(folder)).unwrap();
        }
        let placed = |source: &str, file: &str| {
            let mut experiment = Experiment::default();
            let source = top.path().join(source).display().to_string();
            let version = Version { git: Some("v3".to_owned()), source: Some(source), ..Version::default() };
            experiment.version.insert("v3", version);
            let told = place(&mut experiment, &top.path().join(file)).unwrap();
            (experiment.version.get("v3").unwrap().source.clone().unwrap(), told)
        };
        for (source, file, wanted) in [
            ("pg", "pg/gate.toml", "."),
            ("pg", "pg/ci/gate.toml", ".."),
            ("pg/contrib/x", "pg/ci/gate.toml", "../contrib/x"),
            ("pg/contrib/x", "pg/gate.toml", "contrib/x"),
        ] {
            let (written, told) = placed(source, file);
            assert!(written == wanted && told.contains("every clone"), "{written} {told}");
        }
        for file in ["out/gate.toml", "pg/other/gate.toml"] {
            let (written, told) = placed("pg", file);
            assert!(
                Path::new(&written).is_absolute() && told.contains("--source FOLDER"),
                "{written} {told}"
            );
        }
        assert_eq!(place(&mut Experiment::default(), Path::new("x.toml")), None);
    }
}
