//! Finds installed programs, and the command that installs missing ones.

use std::path::{Path, PathBuf};

use crate::child::{self, Account};
use crate::member;

/// An installed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledProgram {
    pub path: PathBuf,
    /// If it prints one.
    pub version: Option<String>,
}

/// The first program of these names, in `PATH` and in the usual folders. It is asked for its version as the
/// account that runs programs.
#[must_use]
pub fn program(names: &[&str]) -> Option<InstalledProgram> {
    let path = member::find(names)?;
    let account = Account::unprivileged().ok().flatten();
    let output = child::ask_all(&path, &["--version"], account.as_ref()).unwrap_or_default();
    Some(InstalledProgram { version: version_in(&output), path })
}

/// The first word that is a version: `osm2pgsql version 1.8.0` gives `1.8.0`, and `v=7.0.15` gives `7.0.15`.
fn version_in(output: &str) -> Option<String> {
    output.split_whitespace().find_map(|word| {
        let word = word.trim_start_matches("v=").trim_start_matches('v').trim_end_matches([',', ';']);
        let is_version = word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        is_version.then(|| word.to_owned())
    })
}

/// A system's package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packages {
    /// Debian, Ubuntu and derivatives.
    Apt,
    /// Fedora, Red Hat Enterprise Linux and derivatives.
    Dnf,
    Apk,
    Pacman,
    /// macOS with Homebrew.
    Brew,
    Unknown,
}

impl Packages {
    /// The package manager of this system.
    #[must_use]
    pub fn here() -> Self {
        if cfg!(target_os = "macos") {
            return Self::Brew;
        }
        let text = std::fs::read_to_string(Path::new("/etc/os-release")).unwrap_or_default();
        Self::of_release(&text)
    }

    fn of_release(text: &str) -> Self {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let words = ["ID", "ID_LIKE"].into_iter().filter_map(value);
        let mut words = words.flat_map(|words| words.trim_matches('"').split_whitespace());
        let known = |word: &str| match word {
            "debian" | "ubuntu" => Some(Self::Apt),
            "fedora" | "rhel" | "centos" => Some(Self::Dnf),
            "alpine" => Some(Self::Apk),
            "arch" => Some(Self::Pacman),
            _ => None,
        };
        words.find_map(known).unwrap_or(Self::Unknown)
    }

    /// The command that installs packages, for the current user.
    #[must_use]
    pub fn command(self) -> Option<String> {
        let (command, for_root) = match self {
            Self::Apt => ("apt-get install", true),
            Self::Dnf => ("dnf install", true),
            Self::Apk => ("apk add", true),
            Self::Pacman => ("pacman -S", true),
            Self::Brew => ("brew install", false),
            Self::Unknown => return None,
        };
        let sudo = if for_root && !rustix::process::geteuid().is_root() { "sudo " } else { "" };
        Some(format!("{sudo}{command}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let cases = [
            ("2026-11-21 02:44:37  osm2pgsql version 1.8.0", Some("1.8.0")),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0", Some("7.0.15")),
            ("PgBouncer 1.18.0\nlibevent 2.1.12-stable", Some("1.18.0")),
            ("mke2fs 1.47.0 (5-Feb-2023)", Some("1.47.0")),
            ("mkfs.btrfs, part of btrfs-progs v6.2", Some("6.2")),
            ("nginx version: nginx/1", None),
            ("", None),
        ];
        for (output, wanted) in cases {
            assert_eq!(version_in(output).as_deref(), wanted, "{output}");
        }
    }

    #[test]
    fn systems_are_known_by_what_they_are_like() {
        let cases = [
            ("NAME=x\nID=debian\n", Packages::Apt),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Packages::Apt),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", Packages::Dnf),
            ("ID=alpine\n", Packages::Apk),
            ("ID=nixos\n", Packages::Unknown),
            ("", Packages::Unknown),
        ];
        for (text, wanted) in cases {
            assert_eq!(Packages::of_release(text), wanted, "{text}");
        }
    }
}
