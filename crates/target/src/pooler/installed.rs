//! Which PgBouncer is installed.

use std::path::PathBuf;

use super::{PoolerError, Version};
use crate::child::{Account, Program, Watchdog};
use crate::member;
use crate::stop::Stop;

/// An installed PgBouncer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub program: PathBuf,
    pub version: Version,
}

impl Installed {
    /// The PgBouncer in `PATH` or the usual places, and what version it says it is.
    ///
    /// # Errors
    /// [`PoolerError::NotInstalled`], or when it cannot be run.
    pub fn find(watchdog: &Watchdog, stop: &Stop) -> Result<Self, PoolerError> {
        let program = member::find(&["pgbouncer"]).ok_or(PoolerError::NotInstalled)?;
        let mut asked = Program::new(&program).arg("--version");
        asked.clean_environment = true;
        asked.account = Account::unprivileged()?;
        let mut lines = Vec::new();
        watchdog.run(&asked, &|| stop.at_once(), &mut |line| lines.push(line.text))?;
        match lines.iter().find_map(|line| Version::parse(line)) {
            Some(version) => Ok(Self { program, version }),
            None if stop.at_once() => Err(PoolerError::Stopped),
            None => Err(PoolerError::Start(format!("{} says no version", program.display()))),
        }
    }
}
