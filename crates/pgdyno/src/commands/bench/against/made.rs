//! Runs an experiment made from arguments (docs/decisions/0017), in the same way as an experiment from a
//! file.

use std::path::{Path, PathBuf};

use lab::experiment::ExperimentFile;
use protocol::postgres::conninfo::ConnectionString;
use spec::experiment::Experiment;

use super::base::{BaseServer, Folder};
use super::origins::Origins;
use super::{NOWHERE, advice, saved, sources};
use crate::commands::bench::asked::BenchRequest;
use crate::commands::carry_out::{How, Shown};
use crate::commands::part::AskedPart;
use crate::exit::ExitResult;
use crate::options::OutputArgs;
use crate::print::{talk, warning};

#[derive(Debug)]
pub(in crate::commands) struct MadeExperiment {
    pub(in crate::commands) name: String,
    pub(in crate::commands) experiment: Experiment,
    pub(in crate::commands) origins: Origins,
    saved_by: &'static str,
    /// Connection strings as given: the experiment itself does not hold their passwords.
    pub(in crate::commands) logins: Vec<ConnectionString>,
    /// Whether they contain passwords.
    pub(in crate::commands) left_out: bool,
}

pub(in crate::commands) struct Use<'a> {
    /// The name in messages for the unsaved file.
    pub(in crate::commands) nowhere: &'static str,
    /// Values of pgbench's options, if the command has them.
    pub(in crate::commands) asked: Option<BenchRequest<'a>>,
    pub(in crate::commands) save: Option<&'a Path>,
    pub(in crate::commands) dry_run: bool,
    pub(in crate::commands) again: bool,
    pub(in crate::commands) same: bool,
    pub(in crate::commands) report: Option<&'a Path>,
    pub(in crate::commands) pg_bin: Option<&'a Path>,
    pub(in crate::commands) output: &'a OutputArgs,
    pub(in crate::commands) shown: Shown,
}

impl Use<'_> {
    pub(in crate::commands) fn carry_out(
        &self,
        make: impl FnOnce(&Folder) -> anyhow::Result<MadeExperiment>,
    ) -> ExitResult {
        let there = if self.nowhere.starts_with('-') { "with" } else { "in a" };
        if let Some(asked) = &self.asked {
            asked.check(&format!("{there} {}", self.nowhere))?;
        }
        self.save.map_or(Ok(()), saved::check_name)?;
        let how = How {
            name: self.nowhere.to_owned(),
            dry_run: self.dry_run,
            again: self.again,
            report: self.report,
            pg_bin: self.pg_bin,
            output: self.output,
            part: AskedPart::WHOLE,
            shown: self.shown,
            is_brief: self.nowhere == NOWHERE,
            consents: true,
        };
        how.can_report()?;
        let mut made = make(&Folder::of(self.save))?;
        if let Some(compare) = &mut made.experiment.compare {
            compare.same = self.same;
        }
        let place = self.save.and_then(|path| sources::place(&mut made.experiment, path));
        let file = made.read(self.nowhere, self.save)?;
        if let Some(path) = self.save {
            saved::save(&made.text(), path, self.dry_run)?;
        }
        if let Some(place) = place {
            talk(&place);
        }
        if made.left_out {
            let what = if self.save.is_some() { "the same command and its file" } else { "the same command" };
            warning(&format!(
                "the password that was given is used now and kept nowhere: give it by ~/.pgpass or PGPASSWORD, and {what} can do \
                 without it"
            ));
        }
        how.carry_out(&file).map_err(advice::of_options)
    }
}

impl MadeExperiment {
    /// Empty, except for the logins of these servers.
    pub(in crate::commands) fn new(name: &str, saved_by: &'static str, servers: &[&BaseServer]) -> Self {
        Self {
            name: name.to_owned(),
            experiment: Experiment::default(),
            origins: Origins::usual(),
            saved_by,
            logins: servers.iter().filter_map(|server| server.url().cloned()).collect(),
            left_out: servers.iter().any(|server| server.has_secret()),
        }
    }

    pub(in crate::commands) fn text(&self) -> String {
        let by_environment = self.logins.iter().any(|url| url.to_string().is_empty());
        let notes = [
            (by_environment, "# url = \"\": as the environment says: PGHOST, PGDATABASE and the like\n"),
            (self.left_out, "# password: ~/.pgpass or PGPASSWORD\n"),
        ];
        let notes: String = notes.into_iter().filter(|(is_so, _)| *is_so).map(|(_, note)| note).collect();
        format!("# {}\n{notes}{}", self.saved_by, self.experiment.to_toml())
    }

    /// Reads it in the same way as `pgdyno run`.
    pub(in crate::commands) fn read(
        &self,
        nowhere: &'static str,
        saved: Option<&Path>,
    ) -> anyhow::Result<ExperimentFile> {
        let path = saved.map_or_else(|| PathBuf::from(nowhere), Path::to_owned);
        let read = ExperimentFile::of_text(&path, &self.text());
        let mut file = read.map_err(|found| self.origins.told(&found, nowhere))?;
        if saved.is_none() {
            file.call(&self.name);
            file.without_lines();
        }
        file.log_in_by(&self.logins);
        Ok(file)
    }
}
