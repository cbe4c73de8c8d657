//! Programs that a build needs, and the packages that have them.

use std::path::{Path, PathBuf};

use spec::{Class, Error};

/// Program, package of Debian and Ubuntu, package of Fedora and RHEL.
const PACKAGES: [(&str, &str, &str); 9] = [
    ("git", "git", "git"),
    ("tar", "tar", "tar"),
    ("make", "make", "make"),
    ("gcc", "gcc", "gcc"),
    ("bison", "bison", "bison"),
    ("flex", "flex", "flex"),
    ("perl", "perl", "perl"),
    ("meson", "meson", "meson"),
    ("ninja", "ninja-build", "ninja-build"),
];

/// What configure says of a library that it does not find, and its packages.
const LIBRARIES: [(&str, &str, &str); 7] = [
    ("readline library not found", "libreadline-dev", "readline-devel"),
    ("zlib library not found", "zlib1g-dev", "zlib-devel"),
    ("ICU library not found", "libicu-dev", "libicu-devel"),
    ("icu-uc", "libicu-dev", "libicu-devel"),
    ("library 'crypto' is required", "libssl-dev", "openssl-devel"),
    ("library 'ssl' is required", "libssl-dev", "openssl-devel"),
    ("library 'xml2'", "libxml2-dev", "libxml2-devel"),
];

/// A program that is not on this machine.
pub(super) fn missing(program: &str) -> Error {
    let package = PACKAGES.iter().find(|(name, ..)| *name == program);
    let what = format!("{program} is not installed, and a build from git needs it");
    let hint = match package {
        Some((_, debian, fedora)) => install(debian, fedora),
        None => format!("install {program}, or name another one in the options: CC=…"),
    };
    Error::new(Class::Missing, what).with_hint(hint)
}

/// The library that configure lacks by this log, as advice.
pub(super) fn of_library(log: &str) -> Option<String> {
    let (_, debian, fedora) = LIBRARIES.iter().find(|(said, ..)| log.contains(said))?;
    Some(install(debian, fedora))
}

fn install(debian: &str, fedora: &str) -> String {
    format!("Debian, Ubuntu: apt install {debian}; Fedora, RHEL: dnf install {fedora}")
}

/// The path of a program in `PATH`.
pub(super) fn in_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|state| state.is_file() && state.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_or_library_is_named_with_its_package() {
        let error = missing("ninja");
        assert_eq!(error.class(), Class::Missing);
        assert!(error.hint().unwrap().contains("apt install ninja-build"), "{error:?}");
        assert!(missing("clang-99").hint().unwrap().contains("CC="));
        let log = "checking for readline.h\nconfigure: error: readline library not found\n";
        assert!(of_library(log).unwrap().contains("libreadline-dev"));
        assert_eq!(of_library("configure: error: no"), None);
        assert!(in_path("sh").is_some() && in_path("no-such-program-here").is_none());
    }
}
