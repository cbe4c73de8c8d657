//! Arms: settings, changes, and what is compared.

use std::collections::BTreeMap;

use toml::Value;
use toml::de::DeValue;

use super::Builder;
use crate::experiment::apart::take_apart;
use crate::experiment::keys;
use crate::experiment::model::{ArmSpec, Compare};
use crate::factors::{self, LevelNames, SETTINGS, factor};
use server::settings::{Machine, reserved, resolve};
use spec::experiment::value::described;
use spec::experiment::{self as written, Tables};
use spec::plan::change::Change;

pub(super) const MARGIN: f64 = 0.03;

impl Builder<'_, '_> {
    pub(super) fn changes(
        &mut self,
        written: Tables<Tables<written::ChangeTable>>,
    ) -> BTreeMap<String, BTreeMap<String, Change>> {
        self.names_are_names("change", "a change");
        let mut changes = BTreeMap::new();
        for (name, levels) in written {
            let why = match factors::taken().contains(&name.as_str()) {
                true => Some("that is the name of a factor already"),
                false => name.contains('.').then_some("a point stands between a workload and its option"),
            };
            if why.is_some() {
                // Levels of that factor are not read as levels of this change.
                let message = format!("a change cannot be called `{name}`");
                self.document.wrong_key(&["change", &name], message, why);
                continue;
            }
            let levels = levels.into_iter().map(|(level, written)| {
                let change = Change::from(written);
                let place = ["change", &name, &level];
                // Whether it needs an undo depends on where it is made.
                if let (false, Err(error)) =
                    (self.document.is_wrong(&place), server::change::validate(&change, true))
                {
                    self.document.wrong_key(&place, error.to_string(), None);
                }
                (level, change)
            });
            let levels = levels.collect();
            changes.insert(name, levels);
        }
        changes
    }

    pub(super) fn lines_of_changes(
        &self,
        changes: &BTreeMap<String, BTreeMap<String, Change>>,
    ) -> BTreeMap<String, usize> {
        let tables = changes.iter().flat_map(|(name, levels)| levels.keys().map(move |level| (name, level)));
        let places = tables.flat_map(|(name, level)| {
            let table = vec!["change", name, level];
            let keys = ["do", "undo", "check"].map(|key| [&table[..], &[key]].concat());
            keys.into_iter().chain([table])
        });
        let line =
            |place: Vec<&str>| Some((place.join("."), self.document.line(self.document.start(&place)?)));
        places.filter_map(line).collect()
    }

    pub(super) fn arms(&mut self, written: Tables<Tables<Value>>) -> Vec<ArmSpec> {
        self.names_are_names("settings", "an arm");
        let arm = |(name, settings): (String, Tables<Value>)| {
            let mut arm = ArmSpec { name, settings: BTreeMap::new(), lines: BTreeMap::new() };
            for (key, value) in settings.iter() {
                let place = ["settings", &arm.name, key.as_str()];
                let line = self.document.line(self.document.start(&place).unwrap_or_default());
                let setting = key.to_ascii_lowercase();
                if arm.settings.contains_key(&setting) {
                    let hint = "names of settings are the same in any case";
                    self.document.wrong_key(&place, format!("`{key}` is set twice"), Some(hint));
                } else if let Some(value) = self.setting(&place, &setting, value) {
                    arm.lines.insert(setting.clone(), line);
                    arm.settings.insert(setting, value);
                }
            }
            arm
        };
        written.into_iter().map(arm).collect()
    }

    /// The arms, and the arms that split one of them if requested.
    pub(super) fn taken_apart(
        &mut self,
        mut arms: Vec<ArmSpec>,
        compare: Option<&written::Compare>,
    ) -> Vec<ArmSpec> {
        let place = ["compare", "take_apart"];
        let Some((compare, whole)) =
            compare.and_then(|compare| Some((compare, compare.take_apart.as_ref()?)))
        else {
            return arms;
        };
        let taken = match compare.factor.as_str() {
            SETTINGS => take_apart(&mut arms, compare.base.as_str().unwrap_or_default(), whole),
            other => Err(format!("is for arms that are settings, and {other} is compared")),
        };
        self.noted(&place, taken);
        arms
    }

    pub(super) fn setting(&mut self, place: &[&str], name: &str, written: &Value) -> Option<String> {
        let key = place.last().copied().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(plain) {
            self.document.wrong_key(place, format!("`{key}` is not the name of a setting"), None);
            return None;
        }
        if let Some((table, _)) = keys::keys_of_tables().iter().find(|(_, keys)| keys.contains(&name)) {
            let path = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            let hint = format!(
                "an arm holds settings by their names in pg_settings; `{path}` is a key of this file"
            );
            self.document.wrong_key(place, format!("`{key}` is not a setting"), Some(&hint));
            return None;
        }
        // Any machine will do to check a share.
        let any = Machine { memory_bytes: 1 << 30, cores: 1 };
        let value = match (written, self.document.value(place)) {
            (Value::Boolean(on), _) => if *on { "on" } else { "off" }.to_owned(),
            (Value::Integer(number), _) => number.to_string(),
            // As written: 1.0 is not 1.
            (Value::Float(_), Some(DeValue::Float(number))) => number.as_str().replace('_', ""),
            (Value::String(text), _) => match resolve(text, any) {
                Ok(_) => text.clone(),
                Err(error) => {
                    self.document.wrong(place, error.to_string(), None);
                    return None;
                }
            },
            (other, _) => {
                let why = format!("must be a text, a number, true or false, not {}", described(other));
                return self.noted(place, Err(why));
            }
        };
        if let Some(why) = reserved(name, &value) {
            self.document.wrong_key(place, format!("`{key}` cannot be a factor: {why}"), None);
            return None;
        }
        Some(value)
    }

    pub(super) fn compare(&mut self, written: written::Compare, known: &LevelNames<'_>) -> Compare {
        let written::Compare { factor: key, base, margin, metric, looks, same, take_apart: _ } = written;
        let read = factor(&key, known).map(|factor| factor.read(&key, &base, known));
        let base = match read {
            Some(read) => self.noted(&["compare", "base"], read).unwrap_or_default(),
            None => base.as_str().unwrap_or_default().to_owned(),
        };
        let margin = margin.map_or(MARGIN, |margin| margin.0);
        let looks = looks.map_or(1, |looks| looks.0 as u32);
        Compare { factor: key, base, margin, metric: metric.unwrap_or_default(), looks, same }
    }
}
