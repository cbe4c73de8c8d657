//! Options of a build that only pgdyno sets: they say where files are installed, or for which PostgreSQL. With others a
//! build would write outside of its copy, or measure another server than its arm names.

/// Folders of the GNU coding standards ("Directory Variables"), of autoconf, meson and PGXS, and what goes before or
/// behind them.
const FOLDERS: [&str; 42] = [
    "prefix",
    "exec-prefix",
    "destdir",
    "bindir",
    "sbindir",
    "libexecdir",
    "datarootdir",
    "datadir",
    "sharedir",
    "sysconfdir",
    "sharedstatedir",
    "localstatedir",
    "runstatedir",
    "libdir",
    "pkglibdir",
    "includedir",
    "oldincludedir",
    "pkgincludedir",
    "includedir-server",
    "includedir-internal",
    "mandir",
    "docdir",
    "infodir",
    "htmldir",
    "dvidir",
    "pdfdir",
    "psdir",
    "localedir",
    "lispdir",
    "licensedir",
    "pgxsdir",
    "bitcodedir",
    "moduledir",
    "datamoduledir",
    "docmoduledir",
    "incmoduledir",
    "srcdir",
    "top-srcdir",
    "top-builddir",
    "abs-top-srcdir",
    "abs-top-builddir",
    "vpath",
];

/// Variables of PGXS that say which PostgreSQL an extension is built for.
const SERVERS: [&str; 4] = ["pg-config", "pgxs", "use-pgxs", "no-pgxs"];

/// Variables that change what make does: with them nothing may be built or installed.
const MAKE: [&str; 12] = [
    "makeflags",
    "gnumakeflags",
    "mflags",
    "makefiles",
    "makeoverrides",
    "shell",
    "install",
    "install-program",
    "install-script",
    "install-data",
    "install-shlib",
    "mkdir-p",
];

/// Shortest abbreviation that is refused: configure takes `--pre` for `--prefix`, and `--h` is `--help`.
const SHORTEST: usize = 2;

/// What an option would set that pgdyno sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    Folder,
    Server,
    Make,
}

impl Reserved {
    /// Of an option of configure or meson, or of a variable, with its value: `--bindir=/x`, `-Dprefix=/x`, `DESTDIR=/x`.
    pub(super) fn of(option: &str) -> Option<Self> {
        let name = option.split('=').next().unwrap_or_default();
        let bare = name.strip_prefix("-D").unwrap_or(name).trim_start_matches('-');
        let plain = bare.trim().to_ascii_lowercase().replace('_', "-");
        let is_option = name.starts_with('-') && !name.starts_with("-D");
        let is_short = |of: &&&str| is_option && plain.len() >= SHORTEST && of.starts_with(&plain);
        // configure has further folders in some versions.
        let is_folder_option = name.starts_with("--") && name.ends_with("dir");
        if is_folder_option || FOLDERS.contains(&plain.as_str()) || FOLDERS.iter().any(|of| is_short(&of)) {
            return Some(Self::Folder);
        }
        let is_variable = !name.starts_with('-');
        let is_of_make = is_variable && MAKE.contains(&plain.as_str());
        let is_of_server = SERVERS.contains(&plain.as_str());
        is_of_make.then_some(Self::Make).or_else(|| is_of_server.then_some(Self::Server))
    }

    /// Why it is refused, advice on a separate line.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Folder => "pgdyno chooses the folders of a build\nleave it out",
            Self::Make => "pgdyno runs make, which builds and installs everything\nleave it out",
            Self::Server => {
                "pgdyno chooses the PostgreSQL that an extension is built for\nleave it out; another one is the base of the \
                 comparison, 'build: FOLDER', or --pg-bin FOLDER"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pgdyno_sets_is_refused_however_it_is_written() {
        for folder in [
            "--prefix=/x",
            "-prefix=/x",
            "--pre=/x",
            "--exec_prefix=/x",
            "--exec-prefix",
            "--bindir=/x",
            "--libd=/x",
            "--newdir=/x",
            "-Dprefix=/x",
            "-Dlibdir=/x",
            "prefix=/x",
            "PREFIX=/x",
            "DESTDIR=/x",
            "DESTDIR=",
            "pkglibdir=/x",
            "includedir_server=/x",
            "datadir=/x",
            "MODULEDIR=../../x",
            "top_srcdir=/x",
            "VPATH=/x",
        ] {
            assert_eq!(Reserved::of(folder), Some(Reserved::Folder), "{folder}");
        }
        for server in ["PG_CONFIG=/x", "pg_config=/x", "PGXS=/x", "USE_PGXS=", "NO_PGXS=1"] {
            assert_eq!(Reserved::of(server), Some(Reserved::Server), "{server}");
        }
        for make in ["MAKEFLAGS=-n", "INSTALL=true", "SHELL=/bin/true", "INSTALL_PROGRAM=:"] {
            assert_eq!(Reserved::of(make), Some(Reserved::Make), "{make}");
        }
        for free in [
            "--with-icu",
            "--enable-cassert",
            "--without-readline",
            "--with-includes=/opt/include",
            "--with-libraries=/opt/lib",
            "--with-system-tzdata=/usr/share/zoneinfo",
            "--host=x",
            "--help",
            "-q",
            "CFLAGS=-O2 --prefix=/x",
            "COPT=-O3",
            "PG_CPPFLAGS=-I/opt/include",
            "PROJ_DIR=/opt/proj",
            "-Dicu=enabled",
            "-Dextra_include_dirs=/x",
            "-Dbuildtype=debug",
        ] {
            assert_eq!(Reserved::of(free), None, "{free}");
        }
    }
}
