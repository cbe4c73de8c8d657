//! Finds the installed tile server.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use spec::plan::tile_server::{TileServerKind, TileServerOptions};
use spec::{Class, Error};

use crate::child::{Account, Program, Watchdog};
use crate::member;
use crate::stop::Stop;

/// Where `setup/install` puts them for root.
const TOOLS: &str = "/opt/pgdyno/tools";
/// Asks Python for the versions of both packages, without loading them.
const PACKAGES: &str =
    "from importlib.metadata import version as v; print('tipg', v('tipg'), 'uvicorn', v('uvicorn'))";
/// The first martin that reads our configuration file: earlier ones ignore its keys, and cache tiles.
const LEAST_MARTIN: (u32, u32) = (1, 14);

/// An installed tile server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The executable; for TiPg its Python.
    pub program: PathBuf,
    /// E.g. `1.14.0`; for TiPg with the version of its web server: `1.6.1, uvicorn 0.54.0`.
    pub version: String,
}

impl Installed {
    /// The tile server named by the options or `$PGDYNO_TIPG`, `$PGDYNO_MARTIN`; otherwise the first one in
    /// `PATH`, next to our executable, or in `/opt/pgdyno/tools`.
    ///
    /// # Errors
    /// When none is installed, or the named one does not work.
    pub fn find(options: &TileServerOptions, watchdog: &Watchdog, stop: &Stop) -> Result<Self, Error> {
        let kind = options.kind;
        let variable = match kind {
            TileServerKind::Tipg => "PGDYNO_TIPG",
            TileServerKind::Martin => "PGDYNO_MARTIN",
        };
        let by_environment = std::env::var_os(variable).filter(|name| !name.is_empty()).map(PathBuf::from);
        if let Some(named) = options.program.clone().or(by_environment) {
            let program = in_folder(kind, &named);
            return Self::ask(kind, &program, watchdog, stop)?.map_err(|why| {
                Error::new(Class::Missing, format!("{}: {why}; {}", program.display(), install_hint(kind)))
            });
        }
        for program in usual(kind).into_iter().filter(|program| program.is_file()) {
            if let Ok(found) = Self::ask(kind, &program, watchdog, stop)? {
                return Ok(found);
            }
        }
        Err(Error::new(Class::Missing, format!("{kind} is not installed; {}", install_hint(kind))))
    }

    /// Its version, asked as it will be run; in words why it is not suitable.
    fn ask(
        kind: TileServerKind,
        program: &Path,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Result<Self, String>, Error> {
        let mut asked = Program::new(program);
        asked = match kind {
            TileServerKind::Tipg => asked.args(["-s", "-c", PACKAGES]),
            TileServerKind::Martin => asked.arg("--version"),
        };
        asked.clean_environment = true;
        asked.account = Account::unprivileged()?;
        let mut output = String::new();
        let ran = watchdog.run(&asked, &|| stop.at_once(), &mut |line| {
            output.push_str(&line.text);
            output.push('\n');
        });
        match ran {
            Err(error) if error.class() == Class::Missing => {
                return Ok(Err(error.source().map_or_else(|| error.to_string(), ToString::to_string)));
            }
            other => other?,
        };
        if stop.at_once() {
            return Err(Error::stopped());
        }
        let version = output.lines().find_map(|line| version(kind, line));
        Ok(version
            .map(|version| Self { program: program.to_owned(), version })
            .ok_or_else(|| output.lines().last().unwrap_or("it says no version").to_owned()))
    }
}

/// What to try where there is none, or none that is suitable.
fn install_hint(kind: TileServerKind) -> &'static str {
    match kind {
        TileServerKind::Tipg => {
            "setup/install tipg puts it where it is found; or name a Python that has tipg and uvicorn as PGDYNO_TIPG, or as \
             the tile server's `program`"
        }
        TileServerKind::Martin => {
            "setup/install martin builds it where it is found; or name a martin 1.14 or newer as PGDYNO_MARTIN, or as the \
             tile server's `program`"
        }
    }
}

/// A virtual environment may be named by its folder.
fn in_folder(kind: TileServerKind, named: &Path) -> PathBuf {
    match kind {
        TileServerKind::Tipg if named.is_dir() => named.join("bin/python"),
        _ => named.to_owned(),
    }
}

fn usual(kind: TileServerKind) -> Vec<PathBuf> {
    let tools = built_tools().into_iter().chain([PathBuf::from(TOOLS)]);
    match kind {
        // A Python in PATH rarely has it, and is asked last.
        TileServerKind::Tipg => {
            tools.map(|tools| tools.join("tipg/bin/python")).chain(member::find(&["python3"])).collect()
        }
        TileServerKind::Martin => {
            member::find(&["martin"]).into_iter().chain(tools.map(|tools| tools.join("bin/martin"))).collect()
        }
    }
}

/// `tools` in the folder that our executable was built in (`target/release/pgdyno`).
fn built_tools() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let profile = own
        .ancestors()
        .skip(1)
        .take(2)
        .find(|folder| folder.file_name().is_some_and(|name| name == "release" || name == "debug"))?;
    Some(profile.parent()?.join("tools"))
}

/// `tipg 1.6.1 uvicorn 0.54.0`, `martin 1.14.0`.
fn version(kind: TileServerKind, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match (kind, words[..].as_ref()) {
        (TileServerKind::Tipg, ["tipg", tipg, "uvicorn", uvicorn]) => {
            Some(format!("{tipg}, uvicorn {uvicorn}"))
        }
        (TileServerKind::Martin, ["martin", martin]) if is_new_enough(martin) => Some((*martin).to_owned()),
        _ => None,
    }
}

fn is_new_enough(martin: &str) -> bool {
    let mut parts = martin.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => major == LEAST_MARTIN.0 && minor >= LEAST_MARTIN.1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_those_with_other_files_refused() {
        for (kind, line, wanted) in [
            (TileServerKind::Tipg, "tipg 1.6.1 uvicorn 0.54.0", Some("1.6.1, uvicorn 0.54.0")),
            (
                TileServerKind::Tipg,
                "importlib.metadata.PackageNotFoundError: No package metadata was found for tipg",
                None,
            ),
            (TileServerKind::Martin, "martin 1.14.0", Some("1.14.0")),
            (TileServerKind::Martin, "martin 1.9.1", None),
            (TileServerKind::Martin, "martin 2.0.0-beta.5", None),
            (TileServerKind::Martin, "martin, a film library", None),
        ] {
            assert_eq!(version(kind, line).as_deref(), wanted, "{line}");
        }
    }
}
