//! Levels of factors.

use std::collections::BTreeMap;

use toml::Value;

use super::Builder;
use crate::experiment::factors::Factors;
use crate::experiment::model::NamedWorkload;
use crate::experiment::problem::suggestion;
use crate::experiment::unused::is_of_a_mistake;
use crate::factors::{self, LevelNames, factor};
use spec::experiment::{self as written, ValueList};

impl Builder<'_, '_> {
    pub(super) fn factors(
        &mut self,
        written: BTreeMap<String, ValueList>,
        workloads: &[NamedWorkload],
        known: &LevelNames<'_>,
        beside: Option<&Factors>,
    ) -> Factors {
        let aside: Vec<&str> = beside.iter().flat_map(|beside| beside.workloads()).collect();
        let names =
            workloads.iter().map(|workload| &workload.name).filter(|name| !aside.contains(&name.as_str()));
        let mut factors = Factors::of(names.cloned());
        // Servers and users' factors vary without being listed.
        if !known.named.servers.is_empty() {
            let mut servers: Vec<String> = known.named.servers.keys().cloned().collect();
            servers.sort_by_key(|name| self.document.start(&["server", name]));
            factors.set("server", servers);
        }
        for (name, levels) in &known.named.changes {
            let mut levels: Vec<String> = levels.keys().cloned().collect();
            levels.sort_by_key(|level| self.document.start(&["change", name, level]));
            factors.set(name, levels);
        }
        for (name, list) in &written {
            self.vary_below(&mut factors, &["factors", name], list, known);
        }
        factors
    }

    pub(super) fn beside(&mut self, written: written::Beside, known: &LevelNames<'_>) -> Factors {
        let mut factors = Factors::of([]);
        self.vary(&mut factors, &["beside", "workload"], &written.workload, known);
        if let Some(clients) = &written.clients {
            self.vary(&mut factors, &["beside", "clients"], clients, known);
        }
        factors
    }

    /// Sets the levels of a factor, or of all whose keys begin like that: `polygons.zooms = …` is a table to
    /// TOML.
    pub(super) fn vary_below(
        &mut self,
        factors: &mut Factors,
        place: &[&str],
        list: &ValueList,
        known: &LevelNames<'_>,
    ) {
        match &list.0[..] {
            [Value::Table(below)] => {
                for (key, value) in below {
                    let levels = match value {
                        Value::Array(levels) => levels.clone(),
                        one => vec![one.clone()],
                    };
                    self.vary_below(factors, &[place, &[key]].concat(), &ValueList(levels), known);
                }
            }
            _ => self.vary(factors, place, list, known),
        }
    }

    pub(super) fn vary(
        &mut self,
        factors: &mut Factors,
        place: &[&str],
        list: &ValueList,
        known: &LevelNames<'_>,
    ) {
        let key = place[1..].join(".");
        let Some(factor) = factor(&key, known).filter(|factor| factor.in_grid()) else {
            let named = self.document.named(place);
            let table = named.rsplit_once('.').map_or("", |(table, _)| table);
            let hint = suggestion(&key, &factors::names());
            let message = format!("unknown key `{key}` in [{table}]");
            return self.document.wrong_key(place, message, hint.as_deref());
        };
        if let Err(why) = factor.exists(&key, known) {
            let (message, hint) = why.split_once('\n').map_or((&*why, None), |(why, hint)| (why, Some(hint)));
            return self.document.wrong_key(place, message.to_owned(), hint);
        }
        let defined = self.document.names(&["workload"]);
        let mut levels = Vec::new();
        let read = self.each(place, list, |this, place, value| {
            let level = match value.as_str() {
                Some(level) if is_of_a_mistake(this.document, factor.name(), level) => level.to_owned(),
                _ => factor.read(&key, value, known)?,
            };
            if levels.contains(&level) {
                return Err(format!("lists {level} twice"));
            }
            if factor.name() == "workload" && !defined.contains(&level) {
                let defined: Vec<&str> = defined.iter().map(String::as_str).collect();
                let hint = suggestion(&level, &defined);
                this.document.wrong(place, format!("there is no [workload.{level}]"), hint.as_deref());
            }
            levels.push(level.clone());
            Ok(level)
        });
        factors.set(&key, read);
    }
}
