//! Builds an experiment from the tables of a file, with defaults. Mistakes are noted in the document and
//! replaced by placeholders, so that the rest is checked too.

mod arms;
mod by_hand;
mod levels;
mod load;
mod measure;
mod servers;
mod users;
mod work;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use protocol::postgres::conninfo::ConnectionString;
use spec::Prices;
use toml::Value;
use workloads::{Preparation, Spec};

use crate::experiment::document::Document;
use crate::experiment::factors::Factors;
use crate::experiment::model::{ExperimentFile, NamedWorkload};
use crate::experiment::variables;
use crate::experiment::{keys, question};
use crate::factors::LevelNames;
use spec::experiment::{self as written, ValueList};
use spec::plan::{Named, ProbeOptions};

pub(super) struct Builder<'d, 'a> {
    pub(super) document: &'d mut Document<'a>,
    pub(super) path: &'d Path,
    pub(super) variables: &'d dyn Fn(&str) -> Option<String>,
    pub(super) look: bool,
    pub(super) logins: BTreeMap<String, ConnectionString>,
    pub(super) replica_logins: BTreeMap<String, Vec<ConnectionString>>,
}

impl Builder<'_, '_> {
    /// The whole file; complete only if no mistake was noted.
    pub(super) fn file(&mut self, kept: &str) -> ExperimentFile {
        self.tables_are_tables();
        let mut written: written::Experiment = self.document.read();
        self.in_order(&mut written);
        let as_written = written.clone();
        let calibrate = written.calibrate.as_ref().map(|calibrate| self.calibrate(calibrate, &as_written));
        let workloads = self.workloads(written.workload.into_iter().map(|(name, _)| name).collect());
        let named = Named {
            poolers: self.poolers(written.pooler),
            changes: self.changes(written.change),
            servers: self.servers(written.server),
            builds: self.builds(written.version),
            placements: self.placements(written.placement),
            storages: self.storages(written.storage),
            by_hand: self.by_hand(&written.by_hand, written.measure.rounds),
        };
        let prepare = self.prepare();
        let probe = written.probe.map(ProbeOptions::from);
        let known = LevelNames { preparation: Some(Cow::Borrowed(&prepare)), ..known(&workloads, &named) };
        let beside = written.beside.map(|beside| self.beside(beside, &known));
        let mut factors = self.factors(written.factors, &workloads, &known, beside.as_ref());
        self.levels_by_hand(&mut factors, &written.by_hand, &known);
        let load = self.load(&written.load, &mut factors);
        let with_session = self.scripts_of_session(&load, &workloads);
        if calibrate.is_some() {
            factors = Factors::default();
        }
        // With named servers the target is the first of them, unless it is named too.
        let target = match (written.target, named.servers.values().next()) {
            (None, Some(first)) => first.clone(),
            (target, _) => self.target(&["target"], target),
        };
        let only_jobs = workloads.is_empty() && calibrate.is_none();
        let has_jobs = self.has_jobs(&prepare, probe.as_ref());
        if only_jobs && !has_jobs && !self.document.is_wrong(&["workload"]) {
            self.document.missing(&[], "workload");
        }
        let probed = named.servers.values().chain(Some(&target).filter(|_| named.servers.is_empty()));
        let of_jobs = || question::of_jobs(&prepare, probed.filter(|_| probe.is_some()));
        let question = written.question.or_else(|| (only_jobs && has_jobs).then(of_jobs));
        if question.is_none() {
            self.document.missing(&[], "question");
        }
        let arms = self.arms(written.settings);
        let is_by_hand = !named.by_hand.is_empty();
        let is_compared = written.compare.is_some() || is_by_hand;
        let arms = self.taken_apart(arms, written.compare.as_ref());
        let former = "load.limit is now load.promise; the experiment is the same";
        ExperimentFile {
            logins: std::mem::take(&mut self.logins),
            replica_logins: std::mem::take(&mut self.replica_logins),
            name: self
                .path
                .file_stem()
                .map_or_else(|| "experiment".into(), |stem| stem.to_string_lossy().into_owned()),
            path: self.path.to_owned(),
            text: kept.to_owned(),
            written: as_written,
            asked_rounds: None,
            question: question.unwrap_or_default(),
            taste: written.taste,
            seed: written.seed.map(|seed| seed.0),
            target,
            compare: match written.compare {
                Some(compare) => Some(self.compare(compare, &known)),
                None => by_hand::compared(&named, &factors),
            },
            change_lines: self.lines_of_changes(&named.changes),
            prepare: prepare.clone(),
            probe,
            named: named.clone(),
            workloads: with_session,
            factors,
            beside,
            arms,
            load,
            measure: self.measure(
                written.measure,
                &written.load,
                (is_compared, is_by_hand, calibrate.is_some()),
            ),
            prices: self.prices(written.prices),
            calibrate,
            commands: Vec::new(),
            notes: written.load.limit.iter().map(|_| former.to_owned()).collect(),
        }
    }

    fn has_jobs(&self, prepare: &Preparation, probe: Option<&ProbeOptions>) -> bool {
        let is_wrong = || ["probe", "prepare"].iter().any(|table| self.document.is_wrong(&[table]));
        probe.is_some() || *prepare != Preparation::default() || is_wrong()
    }

    /// serde would read a list as the values of a table in their order.
    fn tables_are_tables(&mut self) {
        for (table, _) in keys::keys_of_tables() {
            self.document.must_be_table(&table.split('.').collect::<Vec<_>>());
        }
        for name in self.document.names(&["workload"]) {
            for kind in Spec::KINDS {
                self.document.must_be_table(&["workload", &name, kind]);
            }
        }
        for options in Preparation::TABLES {
            self.document.must_be_table(&["prepare", options]);
        }
    }

    /// Puts tables into the order of the file: it is the order of arms and levels.
    fn in_order(&self, written: &mut written::Experiment) {
        let start = |path: &[&str], name: &str| self.document.start(&[path, &[name]].concat());
        written.workload.sort_by_name(|name| start(&["workload"], name));
        written.server.sort_by_name(|name| start(&["server"], name));
        written.settings.sort_by_name(|name| start(&["settings"], name));
        written.change.sort_by_name(|name| start(&["change"], name));
        for (arm, settings) in written.settings.iter_mut() {
            settings.sort_by_name(|name| start(&["settings", arm], name));
        }
        for (factor, levels) in written.change.iter_mut() {
            levels.sort_by_name(|name| start(&["change", factor], name));
        }
    }

    fn noted<T>(&mut self, place: &[&str], read: Result<T, String>) -> Option<T> {
        let wrong = |why: String| {
            // Advice is on a separate line.
            let (why, hint) = why.split_once('\n').map_or((&*why, None), |(why, hint)| (why, Some(hint)));
            let key = format!("`{}`", self.document.named(place));
            self.document.wrong_value(place, Some(key), why.to_owned(), hint);
        };
        read.map_err(wrong).ok()
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Notes unreadable names in a table: empty or blank.
    fn names_are_names(&mut self, table: &str, of_what: &str) {
        for name in self.document.names(&[table]).iter().filter(|name| name.trim().is_empty()) {
            let message = format!("{of_what} needs a name, not `[{table}.\"{name}\"]`");
            self.document.wrong_key(&[table, name], message, None);
        }
    }

    fn each<T>(
        &mut self,
        place: &[&str],
        list: &ValueList,
        mut read: impl FnMut(&mut Self, &[&str], &Value) -> Result<T, String>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        for (index, value) in list.0.iter().enumerate() {
            let index = format!("[{index}]");
            let place = [place, &[&index]].concat();
            let read = read(self, &place, value);
            found.extend(self.noted(&place, read));
        }
        found
    }

    fn prices(&mut self, written: Option<Prices>) -> Option<Prices> {
        if let Some((keys, problem)) = written.as_ref().and_then(Prices::problem) {
            let keys: Vec<&str> = ["prices"].into_iter().chain(keys.iter().map(String::as_str)).collect();
            self.document.wrong_key(&keys, problem, None);
        }
        written
    }

    /// A text in which `$NAME` is a variable.
    fn expanded(&mut self, place: &[&str], text: &str) -> Option<String> {
        let name = match variables::expand(text, self.variables) {
            Ok(expanded) => return Some(expanded),
            Err(name) => name,
        };
        let key = self.document.named(place);
        let whole = text.contains(&format!("${{{name}}}")) || text == format!("${name}");
        let (message, hint) = match name.as_str() {
            // A dollar in a password looks like a variable.
            _ if ["target", "server"].contains(&place[0]) && !whole => (
                format!("`{key}` needs a variable that is not set"),
                "its name is not shown, since it may be part of a password; a plain dollar is written $$"
                    .to_owned(),
            ),
            _ => {
                let set = format!("set it: export {name}=…; a plain dollar is written $$");
                let data = "set it, or give --data FILE".to_owned();
                let hint = if name == "PGDYNO_DATA" { data } else { set };
                (format!("`{key}` needs the variable {name}, which is not set"), hint)
            }
        };
        self.document.wrong(place, message, Some(&hint));
        None
    }
}

pub(super) fn known<'w>(workloads: &'w [NamedWorkload], named: &'w Named) -> LevelNames<'w> {
    let workloads = workloads.iter().map(|workload| (workload.name.as_str(), Cow::Borrowed(&workload.spec)));
    LevelNames { workloads: workloads.collect(), named, ..LevelNames::default() }
}
