//! Where the files of a build are, found from the folder of its programs. Nothing is executed: `pg_config` may be
//! anybody's program.

use std::path::{Path, PathBuf};

/// A file that every folder of shared files has.
const IN_SHARED: &str = "postgres.bki";

/// Folders with libraries: loadable modules, and libpq where it belongs to the build.
pub(super) fn libraries(bin: &Path) -> Vec<PathBuf> {
    let Some(prefix) = bin.parent() else { return Vec::new() };
    let roots = ["lib", "lib64"].map(|name| prefix.join(name));
    let modules: Vec<PathBuf> = roots.iter().flat_map(|root| with_modules(root)).collect();
    match is_of_system(prefix) {
        true => modules,
        false => roots.into_iter().filter(|root| root.is_dir()).collect(),
    }
}

/// The folder with `postgres.bki` and `extension`.
pub(super) fn shared(bin: &Path) -> Option<PathBuf> {
    let prefix = bin.parent()?;
    let near = ["share", "share/postgresql", "share/pgsql"].map(|name| prefix.join(name));
    // Debian: /usr/lib/postgresql/15/bin and /usr/share/postgresql/15.
    let debian = prefix.ancestors().nth(3).zip(prefix.file_name());
    let debian = debian.map(|(root, version)| root.join("share/postgresql").join(version));
    near.into_iter().chain(debian).find(|folder| folder.join(IN_SHARED).is_file())
}

/// A folder that other programs share: only PostgreSQL's own folders in it belong to the build.
fn is_of_system(prefix: &Path) -> bool {
    ["/usr", "/usr/local", "/opt/local", "/"].iter().any(|folder| prefix == Path::new(folder))
}

/// Folders at most two levels below `root` that hold PL/pgSQL, which every build has.
fn with_modules(root: &Path) -> Vec<PathBuf> {
    let has_modules =
        |folder: &PathBuf| ["plpgsql.so", "plpgsql.dylib"].iter().any(|name| folder.join(name).is_file());
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !path.is_symlink()).collect()
    };
    let first = inside(root);
    let second: Vec<PathBuf> = first.iter().flat_map(|folder| inside(folder)).collect();
    let mut found: Vec<PathBuf> = [root.to_owned()].into_iter().chain(first).chain(second).collect();
    found.retain(has_modules);
    found
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    #[test]
    fn folders_of_the_usual_layouts_are_found() {
        for (bin, lib, share) in [
            ("pg/bin", "pg/lib", "pg/share"),
            ("inst/bin", "inst/lib/postgresql", "inst/share/postgresql"),
            ("usr/lib/postgresql/16/bin", "usr/lib/postgresql/16/lib", "usr/share/postgresql/16"),
            ("usr/pgsql-17/bin", "usr/pgsql-17/lib", "usr/pgsql-17/share"),
            ("meson/bin", "meson/lib/x86_64-linux-gnu/postgresql", "meson/share/postgresql"),
        ] {
            let top = tempfile::tempdir().unwrap();
            let [bin, lib, share] = [bin, lib, share].map(|name| top.path().join(name));
            for folder in [&bin, &lib, &share] {
                create_dir_all(folder).unwrap();
            }
            write(lib.join("plpgsql.so"), "").unwrap();
            write(share.join(IN_SHARED), "").unwrap();
            let libraries = libraries(&bin);
            assert!(libraries.iter().any(|found| lib.starts_with(found)), "{libraries:?}");
            assert_eq!(with_modules(&bin.parent().unwrap().join("lib")), [lib]);
            assert_eq!(shared(&bin), Some(share));
        }
        assert_eq!(shared(Path::new("/")), None);
    }
}
