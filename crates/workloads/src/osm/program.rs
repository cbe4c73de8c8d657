//! Finds osm2pgsql and its version.

use std::path::{Path, PathBuf};

use osm::log::version_in;
use spec::Error;

use super::options::OsmOptions;
use crate::error;
use crate::jobs::{ChildOrder, RunChild};

/// An osm2pgsql program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Osm2pgsql {
    /// Path or name.
    pub program: PathBuf,
    /// As it reports, e.g. `1.8.0`.
    pub version: String,
}

impl Osm2pgsql {
    /// Whether it has at least this version; an unknown version counts as new.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(own_major), Some(own_minor)) => (own_major, own_minor) >= (major, minor),
            _ => true,
        }
    }
}

impl Osm2pgsql {
    /// Checks that it supports such a load.
    ///
    /// # Errors
    /// The required version.
    pub(super) fn can(&self, options: &OsmOptions) -> Result<(), Error> {
        let from = |major, minor, what: &str| match self.at_least(major, minor) {
            true => Ok(()),
            false => Err(error::program(
                self.program.display(),
                format!(
                    "it is osm2pgsql {}, and {what} from {major}.{minor} on; install a newer one, or name it with osm.program",
                    self.version
                ),
            )),
        };
        from(1, 0, "pgdyno reads what it says")?;
        if options.output.as_deref() == Some("flex") { from(1, 3, "there is output flex") } else { Ok(()) }
    }
}

/// Asks osm2pgsql for its version.
///
/// # Errors
/// When it cannot be started or prints nothing that looks like a version.
pub fn find_version(program: &Path, run: &mut dyn RunChild) -> Result<Osm2pgsql, Error> {
    let order = ChildOrder {
        program: program.to_owned(),
        args: vec!["--version".into()],
        inputs: Vec::new(),
        env: Vec::new(),
        unwanted: None,
    };
    let mut version = None;
    const HINT: &str = "install osm2pgsql, or name it with osm.program (--program)";
    run.run(&order, &mut |_, _, line| {
        if version.is_none() {
            version = version_in(line).map(str::to_owned);
        }
    })
    .map_err(|problem| error::missing_error(format!("osm2pgsql: {problem}"), HINT))?;
    let version = version.ok_or_else(|| {
        error::program(
            program.display(),
            format!("it does not say its version as osm2pgsql does, and is another program; {HINT}"),
        )
    })?;
    Ok(Osm2pgsql { program: program.to_owned(), version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_old_is_told() {
        let of = |version: &str, output: Option<&str>| {
            let program = Osm2pgsql { program: "osm2pgsql".into(), version: version.to_owned() };
            let options = OsmOptions { output: output.map(str::to_owned), ..OsmOptions::new("a.osm.pbf") };
            program.can(&options).map_err(|error| error.to_string())
        };
        assert_eq!(of("1.2.1", None), Ok(()));
        assert_eq!(of("2.1.0", Some("flex")), Ok(()));
        assert!(
            of("1.2.1", Some("flex"))
                .unwrap_err()
                .contains("it is osm2pgsql 1.2.1, and there is output flex from 1.3 on")
        );
        assert!(of("0.96.0", None).unwrap_err().contains("from 1.0 on"));
    }

    #[test]
    fn versions_compare_by_number() {
        let program = |version: &str| Osm2pgsql { program: "osm2pgsql".into(), version: version.to_owned() };
        assert!(program("1.11.0").at_least(1, 4));
        assert!(program("2.0.0").at_least(1, 4));
        assert!(!program("1.2.1").at_least(1, 4));
        assert_eq!(version_in("2026-11-21 02:44:37  osm2pgsql version 1.8.0"), Some("1.8.0"));
    }
}
