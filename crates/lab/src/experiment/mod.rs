//! The experiment file: a user's question in TOML, read with all its mistakes found at once.
//!
//! `docs/reference/experiment.md` explains every key. This module decides nothing that needs the target.

mod apart;
mod build;
mod checks;
mod commands;
mod document;
mod factors;
mod kept;
mod keys;
mod model;
mod only_jobs;
mod outside;
mod problem;
mod question;
mod schema;
mod tile_servers;
mod topology;
mod unused;
mod variables;
mod wording;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use spec::plan::TargetSpec;
use spec::plan::change::ChangePart;

use build::Builder;
use protocol::postgres::conninfo::ConnectionString;
use spec::Class::BadInput;
use spec::{Error, FileCommand};

use document::Document;
pub use factors::Factors;
pub(crate) use kept::without_credentials;
pub(crate) use model::{ArmSpec, Compare, DurationSpec, LoadKind, NamedWorkload};
pub use model::{AskedSlices, ExperimentFile, ExperimentOverrides, asked_slices};
pub use problem::{FileProblems, Problem};
pub use schema::schema;

use crate::error::of_file;
use crate::target_spec::{TargetAccess, by_url};

/// Options for reading a file.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    pub full: bool,
    /// The OSM extract for `$PGDYNO_DATA`; overrides the environment.
    pub data: Option<String>,
    /// Folder of the sources of all builds from git, in place of the file's.
    pub source: Option<PathBuf>,
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    of_file("read the experiment file", path, source)
}

/// The note that an odd number of rounds became even.
#[must_use]
fn balanced(rounds: u32) -> String {
    format!("{} rounds are measured in place of {rounds}, to keep the order balanced", rounds + 1)
}

/// Reads a whole text. The `[full]` table is always checked.
fn assemble(
    path: &Path,
    text: &str,
    full: bool,
    variables: &dyn Fn(&str) -> Option<String>,
    look: bool,
    source: Option<&Path>,
) -> Result<ExperimentFile, FileProblems> {
    let mut document = Document::parse(text);
    if !document.is_toml() {
        let (problems, is_cut) = document.into_problems();
        return Err(FileProblems { file: path.display().to_string(), problems, is_cut });
    }
    let kept = document.kept_text();
    if let Some(source) = source {
        document.put_source(&source.to_string_lossy().replace('$', "$$"));
    }
    let one = |document: &mut Document<'_>| {
        let mut file = {
            let (logins, replica_logins) = Default::default();
            Builder { document, path, variables, look, logins, replica_logins }.file(&kept)
        };
        file.balance_rounds();
        match file.has_only_jobs() {
            true => only_jobs::check(document, &file),
            false => checks::check(document, &file),
        }
        file.commands = commands::commands(document, &file, variables);
        if let Some(compare) = &file.compare {
            // The base is always first, whatever the order in the file.
            file.arms.sort_by_key(|arm| arm.name != compare.base);
        }
        file
    };
    let mut file = one(&mut document);
    if document.value(&["full"]).is_some() {
        document.put_full_over();
        let mut long = one(&mut document);
        if full {
            (long.taste, long.written.taste, long.written.full) = (None, None, None);
            long.write_anew();
            file = long;
        }
    } else if full && !document.is_wrong(&["full"]) {
        let hint = "add one, with what is different: [full.measure] rounds = 8";
        let message = "--full was asked for, but the file has no [full] table";
        document.wrong_key(&["full"], message.to_owned(), Some(hint));
    }
    if source.is_some() {
        file.write_anew();
    }
    let (problems, is_cut) = document.into_problems();
    match problems.is_empty() {
        true => Ok(file),
        false => Err(FileProblems { file: path.display().to_string(), problems, is_cut }),
    }
}

impl ExperimentFile {
    /// Reads a file, and checks that the files it names are readable; variables come from the environment.
    ///
    /// # Errors
    /// When it cannot be read, and with all mistakes found in it.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Self, Error> {
        Self::read_by(path, options, || Ok(()))
    }

    /// The same for an experiment without files outside its folder: from now on, files below the folder are
    /// opened only inside it.
    ///
    /// # Errors
    /// As for [`ExperimentFile::read`].
    pub fn read_held(path: &Path, options: &ReadOptions) -> Result<Self, Error> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::read_by(path, options, || spec::given::hold_to(folder))
    }

    fn read_by(
        path: &Path,
        options: &ReadOptions,
        before_its_files: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<Self, Error> {
        let text = spec::given::read_text(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => unreadable(path, source),
            _ => Error::new(BadInput, format!("{} is not an experiment file: {source}", path.display()))
                .with_hint("docs/reference/experiment.md shows one")
                .because(source),
        })?;
        // Paths on the command line are relative to the current folder, not to the file's.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let data = options.data.as_ref().map(|data| absolute(data.as_ref()).to_string_lossy().into_owned());
        let source = options.source.as_deref().map(absolute);
        let variables = |name: &str| match (name, &data) {
            ("PGDYNO_DATA", Some(data)) => Some(data.clone()),
            _ => std::env::var(name).ok(),
        };
        before_its_files().map_err(|source| unreadable(path, source))?;
        Ok(assemble(path, &text, options.full, &variables, true, source.as_deref())?)
    }

    /// Reads a text as if it were the file `path`, which need not exist; the files that it names are checked,
    /// and variables come from the environment.
    ///
    /// # Errors
    /// All mistakes found in it.
    pub fn of_text(path: &Path, text: &str) -> Result<Self, FileProblems> {
        assemble(path, text, false, &|name| std::env::var(name).ok(), true, None)
    }

    /// The text that is stored with its runs: without the credentials of addresses.
    #[must_use]
    pub fn kept_text(&self) -> &str {
        &self.text
    }

    /// The commands and programs that it names and so runs, in the order of lines.
    #[must_use]
    pub fn commands(&self) -> &[FileCommand] {
        &self.commands
    }

    /// The commands and programs that a stored text names, with and without its `[full]` table. Variables
    /// keep their names, and no file is read.
    ///
    /// # Errors
    /// All mistakes found in it.
    pub fn commands_of(text: &str) -> Result<Vec<FileCommand>, FileProblems> {
        let path = Path::new("experiment.toml");
        // Another user who repeats the experiment may have another environment.
        let variable = |name: &str| match name {
            "PGPASSWORD" | "PGSERVICE" => Some(String::new()),
            _ => Some(format!("${name}")),
        };
        let mut found = Self::parse(path, text, false, &variable)?.commands;
        let full = Self::parse(path, text, true, &variable).map(|file| file.commands).unwrap_or_default();
        for command in full {
            if !found.contains(&command) {
                found.push(command);
            }
        }
        Ok(found)
    }

    /// The base goes first in every other round, so a comparison needs an even number of rounds.
    fn balance_rounds(&mut self) {
        let rounds = self.measure.rounds;
        if self.compare.is_some() && self.by_hand().is_none() && self.load.search.is_none() && rounds % 2 == 1
        {
            self.measure.rounds += 1;
            self.notes.push(balanced(rounds));
        }
    }

    /// Sets a name other than the file's.
    pub fn call(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Removes line numbers from messages, for an experiment without a file.
    pub fn without_lines(&mut self) {
        self.arms.iter_mut().for_each(|arm| arm.lines.clear());
        self.change_lines.clear();
        self.commands.iter_mut().for_each(|command| command.line = None);
    }

    /// Logs in with what these connection strings contain and the file does not, such as a password: at the
    /// servers of the file that they lead to. Neither the file nor its identity changes.
    pub fn log_in_by(&mut self, urls: &[ConnectionString]) {
        let servers = self.named.servers.iter().map(|(name, server)| (name.as_str(), server));
        for (name, target) in servers.chain([("", &self.target)]) {
            let same = |url: &&ConnectionString| by_url(url, None, false).is_place_of(target);
            if let Some(given) = urls.iter().find(same) {
                self.logins.insert(name.to_owned(), given.clone());
            }
        }
    }

    /// Reads a text as if it were the file `path`; the files that it names are not checked.
    ///
    /// # Errors
    /// All mistakes found in it.
    pub fn parse(
        path: &Path,
        text: &str,
        full: bool,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, FileProblems> {
        assemble(path, text, full, variables, false, None)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Line of an arm's setting in the file, from 1.
    pub(crate) fn line_of(&self, arm: &str, setting: Option<&str>) -> Option<usize> {
        let arm = self.arms.iter().find(|known| known.name == arm)?;
        arm.lines.get(&setting?.to_ascii_lowercase()).copied()
    }

    /// Line of a part of a user's change, or of its table, from 1.
    pub(crate) fn line_of_change(&self, name: &str, level: &str, part: Option<ChangePart>) -> Option<usize> {
        let table = format!("change.{name}.{level}");
        let key = part.map(|part| format!("{table}.{part}"));
        key.and_then(|key| self.change_lines.get(&key)).or_else(|| self.change_lines.get(&table)).copied()
    }

    pub(crate) fn targets(&self) -> impl Iterator<Item = &TargetSpec> {
        let own = Some(&self.target).filter(|_| self.named.servers.is_empty());
        self.named.servers.values().chain(own)
    }

    /// A server of the plan with its address, if given by URL.
    pub(crate) fn access(&self, spec: TargetSpec) -> TargetAccess {
        let servers = self.named.servers.iter().map(|(name, server)| (name.as_str(), server));
        let all = servers.chain([("", &self.target)]);
        let mut same = all.filter(|(_, read)| read.identity() == spec.identity());
        let found = same.find_map(|(name, _)| Some((self.logins.get(name).cloned()?, name)));
        let replicas = found.as_ref().and_then(|(_, name)| self.replica_logins.get(*name).cloned());
        TargetAccess { spec, replicas: replicas.unwrap_or_default(), url: found.map(|(url, _)| url) }
    }

    /// The workload of a name; every name in the grid has one.
    pub(crate) fn workload(&self, name: &str) -> Option<&NamedWorkload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }
}

#[cfg(test)]
pub(crate) mod tests;
