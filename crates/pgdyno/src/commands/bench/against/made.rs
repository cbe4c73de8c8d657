//! Commands whose arguments become an experiment file (docs/decisions/0017): what is run is the plan of that file, whether it
//! is saved or not.

use std::path::{Path, PathBuf};

use lab::experiment::ExperimentFile;
use protocol::postgres::conninfo::ConnectionString;

use super::base::Folder;
use super::{NOWHERE, saved, told};
use crate::commands::bench::asked::Asked;
use crate::commands::run::{How, Shown};
use crate::exit::Outcome;
use crate::options::Output;
use crate::print::warning;

/// An experiment file that was made of arguments.
#[derive(Debug)]
pub(in crate::commands) struct Made {
    /// What it is called where it has no file.
    pub(in crate::commands) name: String,
    pub(in crate::commands) text: String,
    /// Connection strings as they were given: their passwords stand nowhere else.
    pub(in crate::commands) logins: Vec<ConnectionString>,
    /// Whether there are passwords in them.
    pub(in crate::commands) left_out: bool,
}

/// What is done with such a file.
pub(in crate::commands) struct Use<'a> {
    /// What messages call the file that stands nowhere.
    pub(in crate::commands) nowhere: &'static str,
    /// What pgbench's options say, where they are taken.
    pub(in crate::commands) asked: Option<Asked<'a>>,
    pub(in crate::commands) save: Option<&'a Path>,
    pub(in crate::commands) dry_run: bool,
    pub(in crate::commands) again: bool,
    /// Whether arms that are the same are compared.
    pub(in crate::commands) same: bool,
    pub(in crate::commands) report: Option<&'a Path>,
    pub(in crate::commands) output: &'a Output,
    pub(in crate::commands) shown: Shown,
}

impl Use<'_> {
    /// Checks what was asked, has the file made, and does what it says.
    pub(in crate::commands) fn carry_out(
        &self,
        make: impl FnOnce(&Folder) -> anyhow::Result<Made>,
    ) -> Outcome {
        let there = if self.nowhere.starts_with('-') { "with" } else { "in a" };
        if let Some(asked) = &self.asked {
            asked.check(&format!("{there} {}", self.nowhere))?;
        }
        self.save.map_or(Ok(()), saved::check_name)?;
        let how = How {
            name: self.nowhere.to_owned(),
            dry_run: self.dry_run,
            again: self.again,
            same: self.same,
            rounds: None,
            report: self.report,
            pg_bin: None,
            output: self.output,
            shown: self.shown,
            is_brief: self.nowhere == NOWHERE,
        };
        how.can_report()?;
        let made = make(&Folder::of(self.save))?;
        let file = made.read(self.nowhere, self.save)?;
        if let Some(path) = self.save {
            saved::save(&made.text, path, self.dry_run)?;
        }
        if made.left_out {
            let what = if self.save.is_some() { "the same command and its file" } else { "the same command" };
            warning(&format!(
                "the password that was given is used now and kept nowhere: give it by ~/.pgpass or PGPASSWORD, and {what} can do \
                 without it"
            ));
        }
        how.carry_out(&file).map_err(told::in_words_of_bench)
    }
}

impl Made {
    /// Reads it, as `pgdyno run` would.
    pub(in crate::commands) fn read(
        &self,
        nowhere: &'static str,
        saved: Option<&Path>,
    ) -> anyhow::Result<ExperimentFile> {
        let path = saved.map_or_else(|| PathBuf::from(nowhere), Path::to_owned);
        let read = ExperimentFile::of_text(&path, &self.text);
        let mut file = read.map_err(|found| told::problems(&self.text, &found, nowhere))?;
        if saved.is_none() {
            file.call(&self.name);
            file.without_lines();
        }
        file.log_in_by(&self.logins);
        Ok(file)
    }
}
