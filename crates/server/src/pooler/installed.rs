//! Which PgBouncer is installed.

use std::path::PathBuf;

use spec::{Class, Error};

use super::{NAME, Version};
use crate::child::{Account, Program, Watchdog};
use crate::member;
use crate::stop::Stop;

const NOT_INSTALLED: &str = "pgbouncer is not installed; install it (Debian, Ubuntu: apt install pgbouncer; Fedora, RHEL: dnf \
                             install pgbouncer; macOS: brew install pgbouncer)";

/// An installed PgBouncer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub program: PathBuf,
    pub version: Version,
}

impl Installed {
    /// The PgBouncer in `PATH` or the usual places, and its version.
    pub fn find(watchdog: &Watchdog, stop: &Stop) -> Result<Self, Error> {
        let program =
            member::find(&["pgbouncer"]).ok_or_else(|| Error::new(Class::Missing, NOT_INSTALLED))?;
        let mut asked = Program::new(&program).arg("--version");
        asked.clean_environment = true;
        asked.account = Account::unprivileged()?;
        let mut lines = Vec::new();
        watchdog.run(&asked, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
        match lines.iter().find_map(|line| Version::parse(line)) {
            Some(version) => Ok(Self { program, version }),
            None if stop.at_once() => Err(Error::stopped()),
            None => Err(member::not_started(NAME, &format!("{} says no version", program.display()))),
        }
    }
}
