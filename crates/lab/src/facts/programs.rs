//! What an experiment needs of this machine, as far as known without a server.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use server::child::Watchdog;
use server::home::{Home, HomeFolder};
use server::managed::{Choice, Installation, no_server_in};
use server::page_cache;
use server::placement::allowed;
use server::pooler::pgpool::Pgpool;
use server::pooler::{self, Installed};
use server::storage::available;
use server::{Stop, installed};
use spec::Error;
use spec::plan::pooler::PoolerChoice;
use spec::plan::storage::{Holds, Storage, StorageLocation};
use spec::plan::{Fact, Plan, PlannedRun, TargetSpec};
use workloads::Spec;

use crate::experiment::ExperimentFile;
use crate::factors::{PLACEMENT, own_placement};
use crate::plan::setups::{self, Setups};
use crate::plan::{availability, levels};
use crate::runner::load_of;
use crate::setup::{At, Cache, ConnectionPath, Server, Setup};

/// Which parts of a plan can be run here. A dry run executes no program that the file names.
pub(super) fn learn(
    plan: &Plan,
    file: &ExperimentFile,
    pg_bin: Option<&Path>,
    dry_run: bool,
    stop: &Stop,
) -> Vec<Fact> {
    let mut looked = Looked {
        plan,
        file,
        pg_bin,
        dry_run,
        stop,
        installed: BTreeMap::new(),
        pooler: None,
        versions: BTreeMap::new(),
    };
    let mut seen = BTreeSet::new();
    let mut facts = Vec::new();
    let mut setups = Setups::of(plan);
    for run in &plan.runs {
        let of_server = availability::of_server(plan, setups.without_load(run));
        let of_cell = availability::of_cell(plan, run);
        if seen.contains(&of_server) && seen.contains(&of_cell) {
            continue;
        }
        let setup = setups::setup(plan, run);
        let server = match &setup.server {
            Server::Sink => None,
            Server::Target(at) => looked.without_server(&at.template()),
        };
        let rest = match plan.content.calibrate {
            _ if server.is_some() => None,
            None => Some(looked.without_pooler(&setup).or_else(|| looked.without_cache(&setup))),
            Some(_) => looked.without_placement(run),
        };
        if server.is_none() && run.is_job() {
            looked.ask_osm2pgsql(&setup);
        }
        let parts = [(of_server, Some(server)), (of_cell, rest)];
        for (what, why) in parts.into_iter().filter_map(|(what, why)| Some((what, why?))) {
            if seen.insert(what.clone()) {
                facts.push(match why {
                    None => Fact::Found { what, from_round: 1 },
                    Some(why) => Fact::Missing { what, why },
                });
            }
        }
    }
    let versions = looked.versions.into_iter().filter_map(|(program, version)| Some((program, version?)));
    facts.extend(versions.map(|(program, version)| Fact::ProgramVersion { program, data: None, version }));
    facts
}

struct Looked<'a> {
    plan: &'a Plan,
    file: &'a ExperimentFile,
    pg_bin: Option<&'a Path>,
    dry_run: bool,
    stop: &'a Stop,
    installed: BTreeMap<At, Option<String>>,
    pooler: Option<Result<pooler::Version, String>>,
    /// Of the programs that runs use, if they report one.
    versions: BTreeMap<String, Option<String>>,
}

impl Looked<'_> {
    fn without_server(&mut self, at: &At) -> Option<String> {
        if let Some(known) = self.installed.get(at) {
            return known.clone();
        }
        let why = match levels::target(&self.plan.content, at) {
            // Without levels the start of the server itself reports the reason and the fix. A machine that only
            // generates load need not have a server to be calibrated.
            TargetSpec::Managed { .. }
                if *at == At::default()
                    && (self.plan.content.calibrate.is_none() || self.pg_bin.is_some()) =>
            {
                None
            }
            TargetSpec::Managed { version, bin, extensions, storage, .. } => {
                let lacks_storage = storage.and_then(|storage| available(&storage.on).err());
                let is_to_be_built = bin.as_ref().is_some_and(|bin| self.is_to_be_built(bin));
                let lacks_programs = match bin {
                    // Which extensions it will have is not known.
                    _ if is_to_be_built => None,
                    Some(bin) if self.dry_run => lacks_unasked(&bin, &extensions),
                    bin => {
                        let pg_bin = bin.or_else(|| self.pg_bin.map(Path::to_owned));
                        match Installation::find(&Choice { pg_bin, version }) {
                            Err(error) => Some(with_hint(&error)),
                            Ok(found) if lacks_storage.is_none() => lacks(&found, &extensions),
                            Ok(_) => None,
                        }
                    }
                };
                lacks_programs.or_else(|| lacks_storage.map(|lacks| lacks.to_string()))
            }
            TargetSpec::Url { .. } => None,
        };
        self.installed.insert(at.clone(), why.clone());
        why
    }

    /// Whether pgdyno makes this build before a run, and did not yet.
    fn is_to_be_built(&self, bin: &Path) -> bool {
        let mut builds = self.plan.content.named.builds.values();
        self.dry_run
            && !bin.join("initdb").is_file()
            && builds.any(|build| build.bin == bin && build.source.is_some())
    }

    /// Why a placement cannot be calibrated; `None` if that shows only with its server.
    fn without_placement(&self, run: &PlannedRun) -> Option<Option<String>> {
        let Some(level) = run.factors.get(PLACEMENT) else { return Some(None) };
        let cpus = match allowed() {
            Ok(cpus) if cpus.count() < 2 => {
                let why = format!(
                    "pgdyno may use one CPU, number {cpus}: client and server are always on the same"
                );
                return Some(Some(why));
            }
            Ok(cpus) => cpus,
            Err(error) => return Some(Some(error.to_string())),
        };
        own_placement(level, Some(&cpus)).err().map(Some)
    }

    fn without_pooler(&mut self, setup: &Setup) -> Option<String> {
        let ConnectionPath::Pooler(options) = &setup.connection else { return None };
        let options = match options {
            PoolerChoice::PgBouncer(options) => options,
            PoolerChoice::Pgpool(_) => return self.without_pgpool(),
        };
        let version = self.pooler.get_or_insert_with(|| find_pooler(self.stop)).clone();
        let version = match version {
            Ok(version) => version,
            Err(why) => return Some(why),
        };
        self.versions.insert("PgBouncer".to_owned(), Some(version.to_string()));
        let spec = levels::spec_of(&self.plan.content, setup).ok()?;
        let carried = spec.open(self.file.folder()).ok()?.carried();
        let none = BTreeMap::new();
        let session = setup.arm.as_ref().map_or(&none, |arm| &arm.settings);
        let load = load_of(setup.clients, carried, session);
        pooler::check_load(version, options, &[], &load).err().map(|error| error.to_string())
    }

    fn without_pgpool(&mut self) -> Option<String> {
        let watchdog = Watchdog::current().map_err(|error| error.to_string());
        let found = watchdog
            .and_then(|watchdog| Pgpool::installed(&watchdog, self.stop).map_err(|error| error.to_string()));
        match found {
            Ok(version) => {
                self.versions.insert("Pgpool-II".to_owned(), Some(version.to_string()));
                None
            }
            Err(why) => Some(why),
        }
    }
}

impl Looked<'_> {
    /// Asks the osm2pgsql of a measured load for its version.
    fn ask_osm2pgsql(&mut self, setup: &Setup) {
        let Ok(Spec::Osm(options)) = levels::spec_of(&self.plan.content, setup) else { return };
        let is_usual = options.program.is_none();
        let program = options.program.as_deref().unwrap_or(Path::new("osm2pgsql")).display().to_string();
        if self.versions.contains_key(&program) || self.dry_run && !is_usual {
            return;
        }
        let path = options.in_folder(self.file.folder()).program.unwrap_or_else(|| "osm2pgsql".into());
        // A name is looked up in PATH, a path is not.
        let path =
            if path.components().count() > 1 { std::path::absolute(&path).unwrap_or(path) } else { path };
        let found = path.to_str().and_then(|name| installed::program(&[name]));
        self.versions.insert(program, found.and_then(|found| found.version));
    }

    /// Why its server cannot be restarted with its files in memory or not.
    fn without_cache(&self, setup: &Setup) -> Option<String> {
        if setup.cache == Cache::AsLeft {
            return None;
        }
        match levels::target(&self.plan.content, &setup.at()) {
            TargetSpec::Url { .. } => Some(
                "a server given by a connection string is not restarted, and the page cache of its machine is not pgdyno's"
                    .to_owned(),
            ),
            TargetSpec::Managed { .. } if setup.cache == Cache::Warm => None,
            TargetSpec::Managed { storage, .. } => {
                let home = Home::locate().ok()?.path(HomeFolder::Clusters);
                let places = match &storage {
                    None => vec![&home],
                    Some(Storage { holds: Holds::Data, on: StorageLocation::Folder(folder) }) => vec![folder],
                    Some(Storage { on: StorageLocation::Folder(folder), .. }) => vec![folder, &home],
                    // pgdyno mounts its own filesystem again; the image is in its home.
                    Some(_) => vec![&home],
                };
                places.into_iter().find_map(|place| page_cache::can_drop(place).err()).map(|kept| kept.to_string())
            }
        }
    }
}

/// A plan has one text for why a part of it is not run.
fn with_hint(error: &Error) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

fn lacks(found: &Installation, extensions: &[String]) -> Option<String> {
    let lacking = extensions.iter().find(|name| found.has_extension(name) == Some(false))?;
    let (version, bin) = (&found.version, found.bin.display());
    Some(format!("PostgreSQL {version} in {bin} has no extension {lacking}"))
}

/// The same for a build whose programs must not be executed: only its files are checked, and its version
/// stays unknown.
fn lacks_unasked(bin: &Path, extensions: &[String]) -> Option<String> {
    if !["initdb", "postgres"].iter().all(|program| bin.join(program).is_file()) {
        return Some(no_server_in(bin).to_string());
    }
    // The usual layout of a build; for others only `pg_config` knows.
    let near = ["../share/extension", "../share/postgresql/extension"].map(|folder| bin.join(folder));
    let folder = near.into_iter().find(|folder| folder.join("plpgsql.control").is_file())?;
    let lacking = extensions.iter().find(|name| !folder.join(format!("{name}.control")).is_file())?;
    Some(format!("PostgreSQL in {} has no extension {lacking}", bin.display()))
}

fn find_pooler(stop: &Stop) -> Result<pooler::Version, String> {
    let watchdog = Watchdog::current().map_err(|error| error.to_string())?;
    Installed::find(&watchdog, stop).map(|found| found.version).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    #[test]
    fn a_build_is_looked_at_by_its_files_alone() {
        let top = tempfile::tempdir().unwrap();
        let bin = top.path().join("pg/bin");
        let lacks = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            lacks_unasked(&bin, &names)
        };
        create_dir_all(&bin).unwrap();
        write(bin.join("initdb"), "").unwrap();
        assert!(lacks(&[]).unwrap().ends_with("holds no PostgreSQL server (initdb and postgres)"));
        // It cannot be executed.
        write(bin.join("postgres"), "").unwrap();
        assert_eq!(lacks(&["postgis"]), None, "where its extensions are is not known");
        let extensions = top.path().join("pg/share/extension");
        create_dir_all(&extensions).unwrap();
        write(extensions.join("plpgsql.control"), "").unwrap();
        assert!(lacks(&["plpgsql", "postgis"]).unwrap().ends_with("pg/bin has no extension postgis"));
        assert_eq!(lacks(&["plpgsql"]), None);
    }
}
