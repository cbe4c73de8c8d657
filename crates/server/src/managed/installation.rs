//! Finds PostgreSQL's programs on this machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use spec::{Class, Error, visible};

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

    /// Options of `configure` that it was built with; `None` if it was built by meson, or has no `pg_config`.
    #[must_use]
    pub fn configure_options(&self) -> Option<Vec<String>> {
        Some(spec::build_options::words(&ask(&self.program("pg_config"), "--configure")?))
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
        _ => not_starting(folder).unwrap_or_else(|| no_server_in(folder)),
    }
}

/// Why the server in a folder does not start, as it or the system reports it; `None` without a server.
fn not_starting(folder: &Path) -> Option<Error> {
    if !["initdb", "postgres"].iter().all(|program| folder.join(program).is_file()) {
        return None;
    }
    let program = folder.join("postgres");
    let shown = program.display();
    let mut command = Command::new(&program);
    command.arg("--version");
    let answer = child::ask_command(command, Account::unprivileged().ok()?.as_ref(), true);
    let libraries =
        format!("libraries that it lacks: ldd {shown}; those in another folder are found by LD_LIBRARY_PATH");
    let (why, hint) = match answer {
        // Asked before its words: a shell, which the C library starts for it, would speak.
        _ if is_for_other_machine(&program) == Some(true) => {
            ("it is for another kind of machine".to_owned(), format!("see which: file {shown}"))
        }
        Ok(answer) if answer.succeeded => {
            let what = format!(
                "{shown} --version prints {:?}, not a version of PostgreSQL",
                first_line(&answer.text)
            );
            let hint = "name the folder of PostgreSQL's programs, such as /usr/lib/postgresql/17/bin";
            return Some(missing_error(what).with_hint(hint));
        }
        Ok(answer) if answer.text.is_empty() => ("it fails and prints nothing".to_owned(), libraries),
        Ok(answer) => {
            let line = first_line(&answer.text);
            // The loader names the program, too.
            (line.strip_prefix(&format!("{shown}: ")).unwrap_or(&line).to_owned(), libraries)
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => (
            error.to_string(),
            format!("make it executable for the user who runs servers: chmod a+x {shown}"),
        ),
        Err(error) => (error.to_string(), libraries),
    };
    Some(missing_error(format!("{shown} does not start: {why}")).with_hint(hint))
}

/// Whether a program has another class, byte order or machine in its ELF header than this one; `None` if one has no such
/// header.
fn is_for_other_machine(program: &Path) -> Option<bool> {
    let kind = |path: &Path| -> Option<([u8; 2], [u8; 2])> {
        let mut header = [0; 20];
        File::open(path).ok()?.read_exact(&mut header).ok()?;
        header.starts_with(b"\x7fELF").then_some(([header[4], header[5]], [header[18], header[19]]))
    };
    Some(kind(program)? != kind(&std::env::current_exe().ok()?)?)
}

/// The first line of a program's words, at most 300 characters, without control characters.
fn first_line(text: &str) -> String {
    let line: String = text.lines().next().unwrap_or_default().chars().take(300).collect();
    visible::line(&line).into_owned()
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

    #[test]
    fn a_server_that_does_not_start_is_told_in_its_own_words() {
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        let set =
            |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        set(top.path(), 0o755);
        assert!(not_starting(top.path()).is_none());
        let postgres = top.path().join("postgres");
        std::fs::write(top.path().join("initdb"), "").unwrap();
        // 32 bits, for the WE 32100.
        let other_machine = "\u{7f}ELF\u{1}\u{1}\u{1}\0\0\0\0\0\0\0\0\0\u{2}\0\u{1}\0";
        for (text, mode, wanted, hint) in [
            (
                "#!/bin/sh\necho 'libx.so: cannot open' >&2; exit 127\n",
                0o755,
                "does not start: libx.so: cannot open",
                "ldd ",
            ),
            ("#!/bin/sh\nexit 1\n", 0o755, "it fails and prints nothing", "ldd "),
            ("#!/bin/sh\necho redis 7\n", 0o755, "prints \"redis 7\", not a version", "such as"),
            ("#!/no/such/loader\n", 0o755, "does not start: No such file", "ldd "),
            (other_machine, 0o755, "does not start: it is for another kind of machine", "file "),
            ("#!/bin/sh\n", 0o644, "does not start: Permission denied", "chmod a+x "),
        ] {
            // A new file: another test that forks may have the old one open for writing.
            let _ = std::fs::remove_file(&postgres);
            std::fs::write(&postgres, text).unwrap();
            set(&postgres, mode);
            let told = loop {
                let error = Installation::find(&Choice { pg_bin: Some(top.path().into()), version: None })
                    .unwrap_err();
                if !error.to_string().contains("Text file busy") {
                    break format!("{error} | {}", error.hint().unwrap_or_default());
                }
            };
            assert!(told.contains(wanted) && told.contains(hint), "{told}");
        }
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
