//! What the files of an experiment contain, and what its workloads do.

use std::collections::BTreeMap;
use std::path::Path;

use server::build::tree_of;
use server::managed::{no_server_in, real_folder};
use spec::plan::{Fact, Facts};
use spec::{Class, Error};
use workloads::{Preparation, Spec, Work};

use crate::experiment::ExperimentFile;
use crate::fingerprint::fingerprint;
use crate::plan::{levels_of, preparations};

/// What the files of an experiment contain, and what its workloads do.
///
/// # Errors
/// When a file cannot be read, or a script does not parse.
pub(super) fn learn(facts: &mut Facts, file: &ExperimentFile) -> Result<(), Error> {
    if let Ok(path) = std::path::absolute(file.folder().join(".")) {
        facts.learn(Fact::Folder { path });
    }
    for (_, jobs) in preparations(file)? {
        of_preparation(facts, &jobs)?;
    }
    for build in file.named.builds.values().filter(|build| build.source.is_none()) {
        let bin = real_folder(&build.bin).ok_or_else(|| no_server_in(&build.bin))?;
        facts.learn(Fact::File { path: build.bin.clone(), sha256: tree_of(&bin)?.sha256 });
    }
    let beside = file.beside.iter().flat_map(|beside| beside.workloads());
    let grid = file.factors.workloads().map(|name| (name, true));
    for (name, in_grid) in grid.chain(beside.map(|name| (name, false))) {
        let Some(workload) = file.workload(name) else { continue };
        if in_grid {
            let opened = open(file, name, &workload.spec)?;
            facts.learn(Fact::Workload {
                workload: name.to_owned(),
                writes: opened.writes(),
                is_job: opened.job().is_some(),
                reconnects: opened.carried().reconnects,
            });
        }
        let texts = |spec: &Spec, level| {
            Ok::<_, Error>(Fact::Texts { workload: name.to_owned(), level, texts: texts(file, name, spec)? })
        };
        facts.learn(texts(&workload.spec, None)?);
        for (level, changed) in levels_of(file, name, &workload.spec)? {
            facts.learn(texts(&changed, Some(level))?);
        }
    }
    Ok(())
}

/// What the input files of a preparation contain.
///
/// # Errors
/// When one cannot be read.
pub(super) fn of_preparation(facts: &mut Facts, jobs: &Preparation) -> Result<(), Error> {
    jobs.jobs().iter().flat_map(|job| job.files()).try_for_each(|(_, path)| of_file(facts, path))
}

fn of_file(facts: &mut Facts, path: &Path) -> Result<(), Error> {
    facts.learn(Fact::File { path: path.to_owned(), sha256: fingerprint(path)? });
    Ok(())
}

fn open(file: &ExperimentFile, name: &str, spec: &Spec) -> Result<Work, Error> {
    spec.open(file.folder()).map_err(|error| {
        Error::new(Class::BadInput, format!("{}: [workload.{name}] {error}", file.path.display()))
    })
}

/// The texts of a workload, and the content of the files it reads: name to SHA-256.
fn texts(file: &ExperimentFile, name: &str, spec: &Spec) -> Result<BTreeMap<String, String>, Error> {
    let opened = open(file, name, spec)?;
    let mut texts: BTreeMap<String, String> =
        opened.scripts().into_iter().map(|script| (script.name, script.text_hash)).collect();
    for path in spec.data_files() {
        texts.insert(path.display().to_string(), fingerprint(&file.folder().join(path))?);
    }
    Ok(texts)
}
