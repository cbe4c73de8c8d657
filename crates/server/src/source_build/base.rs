//! The PostgreSQL that an extension is built for: the arms of a comparison of extensions are copies of it.

use std::path::{Path, PathBuf};

use spec::{Class, Error};

use crate::build::tree_of;
use crate::child::{Account, ask};
use crate::managed::Installation;

/// Programs that make, run and describe a server; where all programs of a system are in one folder, only these belong
/// to PostgreSQL.
pub(super) const PROGRAMS: [&str; 12] = [
    "postgres",
    "initdb",
    "pg_ctl",
    "pg_config",
    "pg_basebackup",
    "pg_controldata",
    "pg_isready",
    "pg_waldump",
    "pg_dump",
    "pg_restore",
    "psql",
    "pgbench",
];

/// A PostgreSQL with what is needed to build extensions for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasePostgres {
    pub(super) bin: PathBuf,
    pub(super) libraries: PathBuf,
    pub(super) shared: PathBuf,
    /// The compiler that PGXS uses, with its arguments.
    pub(super) compiler: String,
    /// SHA-256 over its files.
    pub(super) sha256: String,
    version: String,
}

impl BasePostgres {
    /// The folders of an installation. As root its `pg_config` runs as the account for servers.
    ///
    /// # Errors
    /// When pg_config or the headers are missing, with the package that has them.
    pub fn of(installation: &Installation) -> Result<Self, Error> {
        let account = Account::unprivileged()?;
        let program = installation.program("pg_config");
        let lacks = |what: String| {
            let major = installation.major;
            let hint = format!(
                "Debian, Ubuntu: apt install postgresql-server-dev-{major}; Fedora, RHEL: dnf install postgresql{major}-devel"
            );
            Error::new(Class::Missing, what).with_hint(hint)
        };
        let config = |option: &str| -> Result<PathBuf, Error> {
            let answer = ask(&program, &[option], account.as_ref()).map_err(|error| {
                let what =
                    format!("an extension is built with {}, which cannot be run: {error}", program.display());
                lacks(what)
            })?;
            Ok(PathBuf::from(answer))
        };
        let pgxs = config("--pgxs")?;
        let headers = config("--includedir-server")?;
        for needed in [&pgxs, &headers.join("postgres.h")] {
            if !needed.is_file() {
                let bin = installation.bin.display();
                return Err(lacks(format!(
                    "PostgreSQL {} in {bin} lacks what extensions are built with: {}",
                    installation.version,
                    needed.display()
                )));
            }
        }
        Ok(Self {
            libraries: config("--pkglibdir")?,
            shared: config("--sharedir")?,
            compiler: config("--cc")?.display().to_string(),
            sha256: tree_of(&installation.bin)?.sha256,
            bin: installation.bin.clone(),
            version: installation.version.clone(),
        })
    }

    pub(super) fn pg_config(&self) -> PathBuf {
        self.bin.join("pg_config")
    }

    /// As `postgres --version` prints it.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A path of it below another root.
    pub(super) fn below(root: &Path, path: &Path) -> PathBuf {
        root.join(path.strip_prefix("/").unwrap_or(path))
    }
}
