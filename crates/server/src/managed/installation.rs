//! Finds PostgreSQL's programs on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use spec::{Class, Error};

use crate::child::{self, Account};

/// The requested PostgreSQL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Folder of `initdb` and `postgres` (`--pg-bin`); `$PGDYNO_PG_BIN` when `None`.
    pub pg_bin: Option<PathBuf>,
    /// Major version; the first one found when `None`.
    pub version: Option<u32>,
}

/// A PostgreSQL server installed on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub bin: PathBuf,
    /// The major version, e.g. 15.
    pub major: u32,
    /// Output of `postgres --version`, e.g. `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
}

/// Oldest major version for private servers: `initdb --no-instructions` came with it.
const OLDEST: u32 = 14;

const NONE: &str = "no PostgreSQL server found; install it (Debian, Ubuntu: apt install postgresql; Fedora, RHEL: dnf install \
                    postgresql-server; macOS: brew install postgresql), or name its folder with --pg-bin or PGDYNO_PG_BIN";

impl Installation {
    /// The installation to use: the requested folder, otherwise the first in `PATH`, otherwise the newest
    /// known one.
    ///
    /// # Errors
    /// When none fits.
    pub fn find(choice: &Choice) -> Result<Self, Error> {
        let named = choice.pg_bin.clone().or_else(|| variable("PGDYNO_PG_BIN").map(PathBuf::from));
        if let Some(folder) = named {
            let found = Self::at(&folder).ok_or_else(|| not_there(&folder))?;
            return choose(vec![found], choice.version);
        }
        choose(Self::all(), choice.version)
    }

    /// All installations: those in `PATH` first, then the others, newest first.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut usual = Vec::new();
        for (folders, list) in [(in_path(), &mut found), (usual_folders(Path::new("/")), &mut usual)] {
            for folder in folders {
                // Different folders may lead to the same programs by links of folders, or of the programs
                // themselves.
                let Some(found) = real_folder(&folder).filter(|folder| seen.insert(folder.clone())) else {
                    continue;
                };
                list.extend(Self::at(&found));
            }
        }
        // Additional installations for comparisons have no PostGIS: they are used only on request.
        let is_built = |installation: &Self| installation.bin.starts_with(BUILT);
        usual.sort_by_key(|installation| (is_built(installation), std::cmp::Reverse(installation.major)));
        found.append(&mut usual);
        found
    }

    /// Whether a folder is one of this machine's folders of PostgreSQL; nothing in it is run.
    #[must_use]
    pub fn is_installed(bin: &Path) -> bool {
        let folders = in_path().into_iter().chain(usual_folders(Path::new("/")));
        folders.filter_map(|folder| real_folder(&folder)).any(|folder| folder == bin)
    }

    /// The installation in a folder, if any. Its server is asked for its version, as the account that will
    /// run it.
    #[must_use]
    pub fn at(bin: &Path) -> Option<Self> {
        if !bin.join("initdb").is_file() {
            return None;
        }
        let version = ask(&bin.join("postgres"), "--version")?;
        let (major, version) = parse_version(&version)?;
        Some(Self { bin: real_folder(bin).unwrap_or_else(|| bin.to_owned()), major, version })
    }

    /// Whether it has an extension; `None` if its folder of extensions is not found.
    #[must_use]
    pub fn has_extension(&self, name: &str) -> Option<bool> {
        let shared = ask(&self.program("pg_config"), "--sharedir").map(PathBuf::from);
        let near = ["../share", "../share/postgresql"].map(|folder| self.bin.join(folder));
        let debian = PathBuf::from(format!("/usr/share/postgresql/{}", self.major));
        let mut folders =
            shared.into_iter().chain(near).chain([debian]).map(|folder| folder.join("extension"));
        let folder = folders.find(|folder| folder.join("plpgsql.control").is_file())?;
        Some(folder.join(format!("{name}.control")).is_file())
    }

    /// Path of one of its programs.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// Why a named folder contains no server.
fn not_there(folder: &Path) -> Error {
    match Account::unprivileged() {
        Ok(Some(account)) if folder.is_dir() && !account.may_enter(folder) => missing_error(format!(
            "user {}, who runs servers when pgdyno is root, cannot enter {}",
            account.name,
            folder.display()
        ))
        .with_hint("open it and those above it to that user, or set PGDYNO_USER"),
        _ => no_server_in(folder),
    }
}

/// A named folder contains no server.
#[must_use]
pub fn no_server_in(folder: &Path) -> Error {
    missing_error(format!("{} holds no PostgreSQL server (initdb and postgres)", folder.display())).with_hint(
        "name the folder of its programs, such as /usr/lib/postgresql/17/bin; pgdyno doctor shows what is installed",
    )
}

fn missing_error(what: impl Into<String>) -> Error {
    Error::new(Class::Missing, what)
}

/// The folder of the programs that links in `bin` lead to; `None` when it contains no server.
#[must_use]
pub fn real_folder(bin: &Path) -> Option<PathBuf> {
    let complete = |folder: &Path| folder.join("initdb").is_file().then(|| folder.to_owned());
    let real = bin.join("postgres").canonicalize().ok()?;
    let of_program = real.parent().and_then(complete);
    of_program.or_else(|| complete(&bin.canonicalize().ok()?))
}

fn choose(found: Vec<Installation>, version: Option<u32>) -> Result<Installation, Error> {
    let names: Vec<String> =
        found.iter().map(|one| format!("{} in {}", one.major, one.bin.display())).collect();
    let fits = |one: &Installation| version.is_none_or(|wanted| one.major == wanted);
    let is_new = |one: &&Installation| one.major >= OLDEST;
    let chosen =
        found.iter().filter(|one| fits(one)).find(is_new).or_else(|| found.iter().find(|one| fits(one)));
    match (chosen.cloned(), version) {
        (Some(Installation { major, bin, .. }), _) if major < OLDEST => Err(missing_error(format!(
            "private servers need PostgreSQL {OLDEST} or newer, and {} has {major}; install a newer one, or name its \
                 folder with --pg-bin",
            bin.display()
        ))),
        (Some(installation), _) => Ok(installation),
        (None, Some(wanted)) if !names.is_empty() => {
            let found = names.join(", ");
            Err(missing_error(format!(
                "PostgreSQL {wanted} is not installed (found: {found}); install it (Debian, Ubuntu: apt install \
                 postgresql-{wanted}; 17 and 18 without PostGIS: make versions), or name its folder with --pg-bin"
            )))
        }
        _ => Err(missing_error(NONE)),
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian …)`, `17devel`, `16beta1`.
fn parse_version(text: &str) -> Option<(u32, String)> {
    let version = text.trim().split_once("(PostgreSQL)")?.1.trim();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    Some((digits.parse().ok()?, version.to_owned()))
}

fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Folders of `PATH` with a server, and the folder that `pg_config` reports.
fn in_path() -> Vec<PathBuf> {
    let path = variable("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| folder.join("postgres").is_file()).collect();
    folders.extend(ask(Path::new("pg_config"), "--bindir").map(PathBuf::from));
    folders
}

/// Where `make versions` installs PostgreSQL: used only on request, since it lacks what the system's has.
const BUILT: &str = "/opt/pgdyno";

/// Where packages and source builds install their programs; `root` is `/`, except in tests.
fn usual_folders(root: &Path) -> Vec<PathBuf> {
    // (folder, prefix of the names in it, what follows)
    let families = [
        ("usr/lib/postgresql", "", "bin"),
        ("usr", "pgsql-", "bin"),
        ("usr/lib64/pgsql", "", "bin"),
        ("opt/pgdyno/postgresql", "", "bin"),
        ("opt/homebrew/opt", "postgresql", "bin"),
        ("usr/local/opt", "postgresql", "bin"),
        ("Applications/Postgres.app/Contents/Versions", "", "bin"),
    ];
    let mut folders =
        vec![root.join("usr/local/pgsql/bin"), root.join("usr/local/bin"), root.join("usr/bin")];
    for (folder, beginning, end) in families {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        let matching =
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
        folders.extend(matching.map(|entry| entry.path().join(end)));
    }
    folders.retain(|folder| folder.join("postgres").is_file());
    folders
}

fn ask(program: &Path, option: &str) -> Option<String> {
    let account = Account::unprivileged().ok()?;
    child::ask(program, &[option], account.as_ref()).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let cases = [
            (
                "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n",
                Some((15, "15.18 (Debian 15.18-0+deb12u1)")),
            ),
            ("postgres (PostgreSQL) 18beta1", Some((18, "18beta1"))),
            ("redis 7", None),
            ("postgres (PostgreSQL) x", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(
                parse_version(text),
                wanted.map(|(major, version)| (major, version.to_owned())),
                "{text}"
            );
        }
    }

    #[test]
    fn choices() {
        let one = |major| Installation { bin: format!("/{major}").into(), major, version: String::new() };
        assert_eq!(choose(vec![one(15), one(17)], None).unwrap().major, 15);
        assert_eq!(choose(vec![one(15), one(17)], Some(17)).unwrap().major, 17);
        let error = choose(vec![one(15)], Some(17)).unwrap_err();
        assert!(
            error.to_string().starts_with("PostgreSQL 17 is not installed (found: 15 in /15)"),
            "{error}"
        );
        let error = choose(vec![], Some(17)).unwrap_err();
        assert!(error.to_string().starts_with("no PostgreSQL server found"), "{error}");
        assert_eq!(choose(vec![one(13), one(16)], None).unwrap().major, 16);
        let error = choose(vec![one(13)], None).unwrap_err();
        assert!(error.to_string().contains("need PostgreSQL 14 or newer, and /13 has 13"), "{error}");
    }

    /// Links in /usr/local/bin to the programs of a package made two installations of one.
    #[test]
    fn an_installation_reached_by_links_is_one() {
        let top = tempfile::tempdir().unwrap();
        let [real, links, alias] = ["real/bin", "links", "alias"].map(|name| top.path().join(name));
        for folder in [&real, &links] {
            std::fs::create_dir_all(folder).unwrap();
        }
        for program in ["postgres", "initdb"] {
            std::fs::write(real.join(program), "").unwrap();
            std::os::unix::fs::symlink(real.join(program), links.join(program)).unwrap();
        }
        std::os::unix::fs::symlink(&real, &alias).unwrap();
        let real = real.canonicalize().unwrap();
        for folder in [&real, &links, &alias] {
            assert_eq!(real_folder(folder).as_ref(), Some(&real), "{}", folder.display());
        }
        assert_eq!(real_folder(top.path()), None);
    }

    #[test]
    fn usual_places() {
        let top = tempfile::tempdir().unwrap();
        let places = ["usr/lib/postgresql/15/bin", "usr/pgsql-17/bin", "opt/homebrew/opt/postgresql@16/bin"];
        for place in places {
            std::fs::create_dir_all(top.path().join(place)).unwrap();
            std::fs::write(top.path().join(place).join("postgres"), "").unwrap();
        }
        std::fs::create_dir_all(top.path().join("usr/lib/postgresql/14/bin")).unwrap();
        assert_eq!(usual_folders(top.path()).len(), places.len());
    }
}
